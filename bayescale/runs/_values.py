"""The numbers of a resolved table: N, D, C, U, loss as float64, the missing one of N, D, C by C = 6 N D."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayescale.compute import training_flops, training_parameters, training_tokens
from bayescale.errors import Problem
from bayescale.runs._cells import Numbers
from bayescale.runs._columns import Resolution
from bayescale.runs._messages import column_option, names
from bayescale.runs._names import KNOWN, STANDARD, metric_named
from bayescale.runs._raw import RawTable

__all__ = ["Values", "formulas", "missing", "read_values"]

_DERIVED = {"N": ("C", "D"), "D": ("C", "N"), "C": ("N", "D")}
_FORMULAS = {"N": "C / (6 D)", "D": "C / (6 N)", "C": "6 N D"}


@dataclass(frozen=True)
class Values:
    """Every input the table gives, read or derived.

    Attributes
    ----------
    read : dict of str to Numbers
        What stands in a column, in standard units.
    derived : dict of str to numpy.ndarray
        What follows by C = 6 N D.
    """

    read: dict[str, Numbers]
    derived: dict[str, np.ndarray]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.read[name].values if name in self.read else self.derived[name]

    def __contains__(self, name: object) -> bool:
        return name in self.read or name in self.derived

    @property
    def available(self) -> frozenset[str]:
        return frozenset(self.read) | frozenset(self.derived)

    def behind(self, wanted: Sequence[str]) -> list[str]:
        """The columns that must be sound for `wanted`: each itself, or the two it is derived from."""
        used: dict[str, None] = {}
        for name in wanted:
            for part in (name,) if name in self.read else _DERIVED.get(name, ()):
                used.setdefault(part)
        return [name for name in used if name in self.read]


def read_values(raw: RawTable, found: Resolution) -> Values:
    """Read every resolved column and derive the third of N, D, C."""
    read = {name: source.read(raw, name) for name, source in found.sources.items()}
    derived = {}
    for name, (first, second) in _DERIVED.items():
        if name not in read and first in read and second in read:
            with np.errstate(all="ignore"):
                derived[name] = _third(name, read[first].values, read[second].values)
    return Values(read, derived)


def formulas(found: Resolution, values: Values) -> dict[str, str]:
    """Standard name -> the column it was read from, or the formula that gave it."""
    listed = {name: found.sources[name].formula for name in values.read}
    listed |= {name: _FORMULAS[name] for name in values.derived}
    order = [*STANDARD, *(name for name in listed if name not in STANDARD)]
    return {name: listed[name] for name in order if name in listed}


def missing(raw: RawTable, found: Resolution, values: Values, needs: Sequence[str] | None) -> list[Problem]:
    """What a law needs and the table does not give; with no law in mind, the loss and one of N, D, C."""
    if needs is not None:
        wanted = [name for name in needs if name not in values]
        ambiguous = {part for name in wanted for part in (name, *_DERIVED.get(name, ())) if part in found.ambiguous}
        problems = [found.ambiguous[name] for name in KNOWN if name in ambiguous]
        explained = [name for name in wanted if ambiguous & {name, *_DERIVED.get(name, ())}]
        return problems + [_absent(raw, found, name) for name in wanted if name not in explained]
    problems = list(found.ambiguous.values())
    if "loss" not in values and "loss" not in found.ambiguous:
        problems.append(_absent(raw, found, "loss"))
    if not {"N", "D", "C"} & (values.available | set(found.ambiguous)):
        why = "".join(f"; {found.unreadable[name]}" for name in "NDC" if name in found.unreadable)
        problems.append(
            Problem(
                f"no column holds N (parameters), D (training tokens) or C (training FLOPs){why}; name one with "
                f"--column N=COLUMN, D=COLUMN or C=COLUMN. Columns: {names(raw.frame.columns)}"
            )
        )
    return problems


def _third(name: str, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if name == "C":
        return training_flops(first, second)
    return training_parameters(first, second) if name == "N" else training_tokens(first, second)


def _absent(raw: RawTable, found: Resolution, name: str) -> Problem:
    what = f"no column holds {name} ({KNOWN[name]})" if name in KNOWN else f"there is no column {name!r}"
    if name in found.ignored:
        what = f"{name} is set aside with --column {name}=none, and is needed"
    if name in found.unreadable:
        what += f"; {found.unreadable[name]}"
    hints = [f"name it with --column {name}=COLUMN"]
    if name in _DERIVED:
        hints.append(f"or give {' and '.join(_DERIVED[name])}, from which {name} = {_FORMULAS[name]}")
    if name == "loss":
        hints += _metric_hints(raw)
    return Problem(f"{what}; {', '.join(hints)}. Columns: {names(raw.frame.columns)}")


def _metric_hints(raw: RawTable) -> list[str]:
    by_metric = {metric_named(column): column for column in reversed(raw.frame.columns)}
    hints = []
    if column := by_metric.get("perplexity"):
        option = column_option("loss", f"{column} (perplexity)")
        hints.append(f"or, as {column!r} is a perplexity, have its natural logarithm taken: {option}")
    if column := by_metric.get("bits per byte"):
        hints.append(f"or fit bits per byte as they are: {column_option('loss', column)}")
    if column := by_metric.get("accuracy"):
        hints.append(f"({column!r} is an accuracy, which these laws do not describe)")
    return hints
