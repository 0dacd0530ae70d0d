"""A table of scores of language pairs, as a matrix of targets and sources."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from bayescale.errors import RunsError
from bayescale.runs._cells import is_blank, numbers
from bayescale.runs._raw import RawTable
from bayescale.runs._source import raw_table

__all__ = ["Pairs", "read_pairs"]

SCORES = ("score", "bts", "median")


@dataclass(frozen=True)
class Pairs:
    """Scores of pairs of languages.

    Attributes
    ----------
    languages : tuple of str
        All that occur, as target or source, in the order of the table.
    score : array (target, source)
        NaN where a pair was not measured, and for a language with itself.
    sd : array (target, source)
        Error of each score; 0 where it is taken as it is.
    covariates : mapping of str to array (target, source)
        What may explain scores, such as ``same_script``; known for every pair.
    """

    languages: tuple[str, ...]
    score: np.ndarray
    sd: np.ndarray
    covariates: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def measured(self) -> np.ndarray:
        """Which pairs have a score, bool (target, source)."""
        return np.isfinite(self.score)

    @property
    def apart(self) -> np.ndarray:
        """Which cells are pairs of two languages, bool (target, source)."""
        return ~np.eye(len(self.languages), dtype=bool)

    def without(self, hidden: np.ndarray) -> Pairs:
        """The same with the scores of some pairs, bool (target, source), hidden."""
        return Pairs(self.languages, np.where(hidden, np.nan, self.score), self.sd, self.covariates)


def read_pairs(
    source: str | os.PathLike[str] | pd.DataFrame, groups: str | os.PathLike[str] | pd.DataFrame | None = None
) -> Pairs:
    """Read scores of pairs.

    Parameters
    ----------
    source : str, path or DataFrame
        Either one row a pair, with columns ``target``, ``source``, ``score`` and perhaps ``sd`` (a blank score is a
        pair to be predicted); or a matrix, with the targets in the first column and one column for each source.
    groups : str, path or DataFrame, optional
        One row a language: its name in the first column, and in each further one a group that it belongs to (script,
        family). Each makes a covariate: whether both languages of a pair are in one group.

    Returns
    -------
    Pairs

    Raises
    ------
    RunsError
        What is wrong, and in which row.

    Examples
    --------
    >>> pairs = read_pairs(pd.DataFrame({"target": ["en", "de"], "source": ["de", "en"], "score": [0.2, -0.1]}))
    >>> pairs.languages, pairs.score.tolist()
    (('en', 'de'), [[nan, 0.2], [-0.1, nan]])
    """
    raw = raw_table(source)
    languages, rows = _long(raw) if {"target", "source"} <= set(raw.frame.columns) else _wide(raw)
    place = {name: i for i, name in enumerate(languages)}
    score, sd = np.full((2, len(languages), len(languages)), np.nan)
    for row, target, origin, value, error in rows:
        at = place[target], place[origin]
        if target == origin and np.isfinite(value):
            raise RunsError(f"{raw.source}, row {row}: {target} is its own source; a pair has two languages")
        if np.isfinite(score[at]) and np.isfinite(value):
            raise RunsError(
                f"{raw.source}, row {row}: {origin} -> {target} has a score already; average repeated measurements and "
                "give their sd"
            )
        if np.isfinite(value):
            score[at], sd[at] = value, error
    if not np.isfinite(score).any():
        raise RunsError(f"{raw.source}: no pair has a score")
    sd = np.where(np.isfinite(sd), sd, 0.0)
    return Pairs(tuple(languages), score, sd, {} if groups is None else _covariates(raw_table(groups), languages))


Row = tuple[int, str, str, float, float]


def _long(raw: RawTable) -> tuple[list[str], list[Row]]:
    frame = raw.frame
    column = next((name for name in SCORES if name in frame.columns), None)
    if column is None:
        raise RunsError(f"{raw.source} has no column {SCORES[0]!r} (or {', '.join(SCORES[1:])}); its columns are "
                        f"{', '.join(frame.columns)}")  # fmt: skip
    targets, origins = (
        [_named(raw, row, cell, name) for row, cell in zip(raw.rows, frame[name], strict=True)]
        for name in ("target", "source")
    )
    values = _numbers(raw, column)
    errors = _numbers(raw, "sd") if "sd" in frame.columns else np.full(len(frame), np.nan)
    negative = np.flatnonzero(errors < 0)
    if negative.size:
        raise RunsError(f"{raw.source}, row {raw.rows[negative[0]]}: sd is {errors[negative[0]]:g}, below 0")
    languages = list(dict.fromkeys([*targets, *origins]))
    return languages, list(zip(raw.rows.tolist(), targets, origins, values, errors, strict=True))


def _wide(raw: RawTable) -> tuple[list[str], list[Row]]:
    first, *origins = raw.frame.columns
    if not origins:
        raise RunsError(f"{raw.source} has one column; expected target, source and score, or a matrix of scores")
    targets = [_named(raw, row, cell, first) for row, cell in zip(raw.rows, raw.frame[first], strict=True)]
    if not set(targets) & set(origins):
        raise RunsError(
            f"{raw.source} has neither columns target, source and score, nor languages that are both in its first "
            f"column and at its head; its columns are {', '.join(raw.frame.columns[:12])}"
        )
    rows: list[Row] = []
    for origin in origins:
        values = _numbers(raw, origin)
        rows += [
            (row, target, origin, value, np.nan)
            for row, target, value in zip(raw.rows.tolist(), targets, values, strict=True)
        ]
    return list(dict.fromkeys([*targets, *origins])), rows


def _named(raw: RawTable, row: int, cell: object, column: str) -> str:
    if is_blank(cell):
        raise RunsError(f"{raw.source}, row {row}: {column} is empty; expected the name of a language")
    return str(cell).strip()


def _numbers(raw: RawTable, column: str) -> np.ndarray:
    """A column as float64, NaN in blank cells."""
    cells = raw.frame[column].to_numpy()
    read = numbers(cells, quantities=False)
    for place, reason in read.reasons.items():
        if not is_blank(cells[place]):
            raise RunsError(
                f"{raw.source}, row {raw.rows[place]}, column {column!r}: {str(cells[place])!r} {reason}; leave the "
                "cell empty where there is no score"
            )
    infinite = np.flatnonzero(np.isinf(read.values))
    if infinite.size:
        raise RunsError(
            f"{raw.source}, row {raw.rows[infinite[0]]}, column {column!r}: the value is infinite; leave the cell "
            "empty where a pair never reaches the loss"
        )
    return read.values


def _covariates(raw: RawTable, languages: list[str]) -> dict[str, np.ndarray]:
    first, *names = raw.frame.columns
    if not names:
        raise RunsError(f"{raw.source} has one column; expected a language and its group, such as language,script")
    known = [_named(raw, row, cell, first) for row, cell in zip(raw.rows, raw.frame[first], strict=True)]
    missing = [language for language in languages if language not in known]
    if missing:
        raise RunsError(f"{raw.source} says nothing of {', '.join(missing[:10])}; give a row to each language")
    made = {}
    for name in names:
        group = dict(zip(known, map(str, raw.frame[name]), strict=True))
        of = np.array([group[language] for language in languages])
        made[f"same_{name}"] = (of[:, None] == of[None, :]).astype(np.float64)
    return made
