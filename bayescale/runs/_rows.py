"""Rows that cannot be used, each named by row, column, value and remedy; rows counted twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bayescale.errors import Problem
from bayescale.runs._cells import is_blank, shown
from bayescale.runs._columns import Resolution
from bayescale.runs._messages import column_option
from bayescale.runs._names import KNOWN, LOSS_SD
from bayescale.runs._raw import RawTable
from bayescale.runs._values import Values

__all__ = ["duplicate_rows", "row_problems"]

_COUNTER_NAMES = {"", "index", "unnamed: 0", "column 1", "__index_level_0__"}


def row_problems(
    raw: RawTable, found: Resolution, values: Values, wanted: Sequence[str], *, duplicates: bool = True
) -> list[Problem]:
    """Everything that is wrong with single rows, in the order of the table.

    Parameters
    ----------
    raw, found, values
        The table, its columns, its numbers.
    wanted : sequence of str
        Inputs that will be used; other columns may hold what they like.
    duplicates : bool
        Whether a row equal to an earlier one is a problem.

    Returns
    -------
    list of Problem
        All fatal: such a row stops a fit until it is dropped and counted.
    """
    sound_somewhere = any(not read.reasons for read in values.read.values())
    empty = np.zeros(len(raw.frame), dtype=bool) if sound_somewhere else _empty_rows(raw)
    problems = {int(row): [Problem("the row is empty", row=int(row))] for row in raw.rows[empty]}
    for problem in raw.problems:
        problems.setdefault(int(problem.row or 0), []).append(problem)
    for name in values.behind(wanted):
        for place, message in _cell_problems(found, values, name).items():
            if not empty[place]:
                columns = found.sources[name].columns
                cell = " to ".join(shown(raw.frame[column].iat[place]) for column in columns)
                column, row = " and ".join(columns), int(raw.rows[place])
                problems.setdefault(row, []).append(Problem(message, row=row, column=column, value=cell))
    for row, message in _derived_problems(raw, values, wanted):
        if row not in problems:
            problems[row] = [Problem(message, row=row)]
    for row, first in duplicate_rows(raw, ~empty) if duplicates else ():
        message = (
            f"the same as row {first} in every column: a run counted twice makes intervals too narrow. If these are "
            f"two runs, give the table a column that tells them apart, such as the seed"
        )
        problems.setdefault(row, []).append(Problem(message, row=row))
    return [problem for row in sorted(problems) for problem in problems[row]]


def duplicate_rows(raw: RawTable, mask: np.ndarray) -> list[tuple[int, int]]:
    """Rows equal to an earlier one in every column, as (row, earlier row); row counters aside."""
    frame = raw.frame[[column for column in raw.frame.columns if not _counts_rows(raw, column)]]
    if frame.empty:
        return []
    frame = frame[mask]
    try:
        repeats = frame.duplicated()
    except TypeError:
        frame = frame.map(repr)
        repeats = frame.duplicated()
    if not repeats.any():
        return []
    rows = raw.rows[mask]
    first_of = rows[~repeats.to_numpy()]
    keys = pd.util.hash_pandas_object(frame.map(repr), index=False).to_numpy()
    first = dict(zip(keys[~repeats.to_numpy()][::-1], first_of[::-1], strict=True))
    return [
        (int(row), int(first.get(key, row)))
        for row, key, repeat in zip(rows, keys, repeats.to_numpy(), strict=True)
        if repeat
    ]


def _cell_problems(found: Resolution, values: Values, name: str) -> dict[int, str]:
    """Place -> what is wrong, for one input."""
    read = values.read[name]
    what = KNOWN.get(name, "an input of the law")
    remedy = "" if name in {"loss"} or name not in KNOWN else _remedy(values, name)
    expected = f"; {name} ({what}) is expected here"
    problems = {place: f"{reason}{expected}{remedy}" for place, reason in read.reasons.items()}
    with np.errstate(all="ignore"):
        bad = ~np.isfinite(read.values) | ((read.values <= 0) & (name in KNOWN))
    for place in np.flatnonzero(bad):
        if place not in problems:
            problems[int(place)] = f"{_why(read.values[place])}{expected}, {_range(name)}{remedy}"
    return problems


def _why(value: float) -> str:
    if np.isinf(value):
        return "is infinite"
    if np.isnan(value):
        return "has no value in the unit that the column is read in"
    return "is zero" if value == 0 else "is negative"


def _range(name: str) -> str:
    return "finite and above zero" if name in KNOWN else "a finite number"


def _remedy(values: Values, name: str) -> str:
    others = {"N", "D", "C"} - {name}
    if name in {"N", "D", "C"} and others <= set(values.read):
        return f" (or {column_option(name, 'none')}: it is then computed from {' and '.join(sorted(others))})"
    if name == LOSS_SD:
        return (
            f" (or {column_option(name, 'none')}: the error of the evaluation then counts with the scatter of the runs)"
        )
    if name == "U":
        return f" (or {column_option(name, 'none')}, where no law needs it)"
    return ""


def _derived_problems(raw: RawTable, values: Values, wanted: Sequence[str]) -> list[tuple[int, str]]:
    problems = []
    for name in values.derived:
        if name in wanted:
            numbers = values.derived[name]
            bad = ~(np.isfinite(numbers) & (numbers > 0))
            for place in np.flatnonzero(bad):
                message = f"{name} computed from the other two is {numbers[place]:g}, which float64 cannot hold"
                problems.append((int(raw.rows[place]), message))
    return problems


def _empty_rows(raw: RawTable) -> np.ndarray:
    columns = [column for column in raw.frame.columns if not _counts_rows(raw, column)]
    empty = np.ones(len(raw.frame), dtype=bool)
    for column in columns:
        cells = raw.frame[column].to_numpy()
        places = np.flatnonzero(empty)
        empty[places] = [is_blank(cell) for cell in cells[places]]
        if not empty.any():
            break
    return empty if columns else np.zeros(len(raw.frame), dtype=bool)


def _counts_rows(raw: RawTable, column: str) -> bool:
    if column.lower() not in _COUNTER_NAMES or not len(raw.frame):
        return False
    cells = raw.frame[column].to_numpy()
    try:
        counted = cells.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return bool(len(cells) > 1 and np.all(np.diff(counted) == 1.0) and counted[0] in (0.0, 1.0))
