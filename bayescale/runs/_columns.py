"""Which column of a table is N, D, C, U and the loss: exact names, then aliases, never a guess between two."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bayescale.errors import Problem, RunsError
from bayescale.runs._cells import is_blank, shown
from bayescale.runs._column_source import Source
from bayescale.runs._loss_sd import error_bar, settled
from bayescale.runs._messages import column_option, names
from bayescale.runs._names import (
    KNOWN,
    LOSS_SD,
    OTHERS,
    STANDARD,
    aliases_of,
    metric_named,
    split_unit,
    standard_name,
    unit_named,
)
from bayescale.runs._raw import RawTable

__all__ = ["Resolution", "Source", "resolve"]

# What some laws read once for each domain or language.
_WIDE = re.compile(r"(share|tokens|unique)\[.+\]")


@dataclass
class Resolution:
    """What was found for every standard name, and why the rest was not."""

    sources: dict[str, Source] = field(default_factory=dict)
    ambiguous: dict[str, Problem] = field(default_factory=dict)
    ignored: set[str] = field(default_factory=set)
    unreadable: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)


def resolve(raw: RawTable, columns: Mapping[str, str] | None, extra: Iterable[str] = ()) -> Resolution:
    """Settle the columns.

    Parameters
    ----------
    raw : RawTable
        The table.
    columns : mapping or None
        What the person settled: standard name -> table column, ``"COLUMN (UNIT)"``, or ``"none"``; ``"share[*]"`` ->
        ``"weight_*"`` settles ``share[arxiv]`` as ``weight_arxiv`` and so on.
    extra : iterable of str
        Other inputs a law needs, found by their exact name, by the aliases of `OTHERS`, or in `columns`.

    Returns
    -------
    Resolution
    """
    found = Resolution()
    extra = tuple(extra)
    named = {_checked_key(key, extra): spec for key, spec in _expanded(columns or {}, raw)}
    for name, spec in named.items():
        if name != LOSS_SD:
            _settle(found, raw, name, spec)
    for name in STANDARD:
        if name not in found.sources and name not in found.ignored:
            _find(found, raw, name)
    for name in extra:
        if name not in found.sources and name in raw.frame.columns:
            found.sources[name] = Source(name)
        elif name not in found.sources and name in OTHERS:
            _find(found, raw, name)
    _find_error_bar(found, raw, named.get(LOSS_SD))
    _check_sources(found, raw)
    return found


def _expanded(columns: Mapping[str, str], raw: RawTable) -> Iterator[tuple[str, str]]:
    """What was settled, with ``share[*]=weight_*`` written out for every column that it means."""
    for key, spec in columns.items():
        if "*" not in str(key):
            yield str(key), str(spec)
            continue
        if str(key).count("*") != 1 or str(spec).count("*") != 1 or _WIDE.fullmatch(str(key)) is None:
            raise RunsError(
                f"{column_option(key, spec)}: a star stands for the name in brackets, once on each side, as in "
                f"{column_option('share[*]', 'weight_*')}"
            )
        before, after = map(re.escape, str(spec).split("*"))
        found = [m for column in raw.frame.columns if (m := re.fullmatch(f"{before}(.+){after}", column))]
        if not found:
            raise RunsError(
                f"{column_option(key, spec)}: {raw.source} has no such column. Its columns are "
                f"{names(raw.frame.columns, 30)}"
            )
        yield from ((str(key).replace("*", match[1]), match[0]) for match in found)


def _checked_key(key: str, extra: tuple[str, ...]) -> str:
    name = key if key in extra or _WIDE.fullmatch(key) else standard_name(key)
    if name is None:
        raise RunsError(
            f"--column {key}=...: {key!r} is not a quantity that a law reads; expected one of "
            f"{', '.join([*STANDARD, *extra])}, share[xx], tokens[xx] or unique[xx] on the left of the equals sign"
        )
    return name


def _settle(found: Resolution, raw: RawTable, name: str, spec: str) -> None:
    if spec in raw.frame.columns:
        alias = aliases_of(spec)
        unit = alias[1] if alias is not None and alias[0] == name else None
        if unit is None and (bracketed := split_unit(spec)[1]) is not None:
            unit = unit_named(bracketed, name)
        found.sources[name] = Source(spec, unit)
        return
    if spec.strip().lower() == "none":
        found.ignored.add(name)
        return
    base, unit_text = split_unit(spec)
    if base in raw.frame.columns and unit_text is not None:
        unit = unit_named(unit_text, name)
        if unit is None:
            known = "(bits), (perplexity)" if name == "loss" else "(M), (B), (T), (1e21), (GFLOPs), (PF-days), (log10)"
            raise RunsError(
                f"{column_option(name, spec)}: {unit_text!r} is not a known unit for {name}; known are, among others, "
                f"{known}"
            )
        found.sources[name] = Source(base, unit)
        return
    close = difflib.get_close_matches(spec, list(raw.frame.columns), n=1, cutoff=0.5)
    hint = f"did you mean {column_option(name, close[0])}? " if close else ""
    raise RunsError(
        f"{column_option(name, spec)}: {raw.source} has no column {spec!r}; {hint}Its columns are "
        f"{names(raw.frame.columns, 30)}"
    )


def _find_error_bar(found: Resolution, raw: RawTable, spec: str | None) -> None:
    """The sd of the loss: as it was named, or by its name where that belongs to the loss that was found."""
    loss = found.sources.get("loss")
    if spec is not None and spec.strip().lower() == "none":
        found.ignored.add(LOSS_SD)
    elif spec is not None and loss is None:
        raise RunsError(f"{column_option(LOSS_SD, spec)} is the sd of a loss, and no column holds one")
    elif loss is not None:
        source, problem = (settled(raw, spec, loss), None) if spec is not None else error_bar(raw, loss)
        if source is not None:
            found.sources[LOSS_SD] = source
        elif problem is not None:
            (found.problems if problem.fatal else found.warnings).append(problem)


def _find(found: Resolution, raw: RawTable, name: str) -> None:
    taken = {source.column for source in found.sources.values()}
    candidates = _candidates(raw, name, taken)
    readable = []
    for source in candidates:
        cells = raw.frame[source.column].to_numpy()
        exact = source.column == name
        if all(is_blank(cell) for cell in cells):
            found.unreadable.setdefault(name, f"column {source.column!r} is empty")
        elif exact or source.read(raw, name).any_readable:
            readable.append(source)
        else:
            first = shown(next(cell for cell in cells if not is_blank(cell)))
            found.unreadable.setdefault(name, f"column {source.column!r} holds no number (first value {first!r})")
    if len(readable) == 1:
        found.sources[name] = readable[0]
    elif readable:
        found.ambiguous[name] = _ambiguous(name, [source.column for source in readable])


def _candidates(raw: RawTable, name: str, taken: set[str]) -> list[Source]:
    if name in raw.frame.columns:
        # Even where the person gave this column to another quantity: that conflict is then reported.
        return [Source(name)]
    candidates = []
    for column in raw.frame.columns:
        alias = aliases_of(column)
        if alias is not None and alias[0] == name and column not in taken and column not in STANDARD:
            candidates.append(Source(column, alias[1]))
    return candidates


def _ambiguous(name: str, columns: list[str]) -> Problem:
    options = " or ".join(column_option(name, column) for column in columns[:3]) + (" or ..." if columns[3:] else "")
    return Problem(
        f"{len(columns)} columns could be {name} ({KNOWN[name]}): {names(columns, 10)}; say which: {options}"
    )


def _check_sources(found: Resolution, raw: RawTable) -> None:
    users: dict[str, list[str]] = {}
    for name, source in found.sources.items():
        for column in source.columns:
            users.setdefault(column, []).append(name)
            if column in raw.repeated:
                message = f"more than one column has this name, so which of them is {name} cannot be told; rename one"
                found.problems.append(Problem(message, column=column))
    for column, both in users.items():
        if len(both) > 1:
            message = f"the one column is taken for {' and '.join(both)}; settle one of them with --column"
            found.problems.append(Problem(message, column=column))
    if "loss" in found.sources:
        _check_metric(found, found.sources["loss"])


def _check_metric(found: Resolution, source: Source) -> None:
    metric = metric_named(source.column)
    if metric == "perplexity" and (source.unit is None or source.unit.transform != "perplexity"):
        option = column_option("loss", f"{source.column} (perplexity)")
        message = f"a perplexity is not a loss in nats per token; have its natural logarithm taken: {option}"
        found.problems.append(Problem(message, column=source.column))
    elif metric == "accuracy" and (source.unit is None or source.unit.transform != "error"):
        option = column_option("loss", f"{source.column} (accuracy)")
        message = (
            "an accuracy is not a loss: it rises, and ends at 1. Name the column of the cross-entropy with --column "
            f"loss=COLUMN, or fit the error, 1 - accuracy, under a law that is bounded: {option} --law bounded"
        )
        found.problems.append(Problem(message, column=source.column))
    elif metric == "bits per byte":
        message = "these are bits per byte, not nats per token: the floor E and its prior are then in bits per byte too"
        found.warnings.append(Problem(message, column=source.column, fatal=False))
