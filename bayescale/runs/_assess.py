"""The one path from a source to a verdict, shared by reading a table and checking it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from bayescale.errors import Problem
from bayescale.runs._cells import is_blank, numbers
from bayescale.runs._columns import Resolution, resolve
from bayescale.runs._design import design_warnings
from bayescale.runs._messages import row_list
from bayescale.runs._names import LOSS_SD, STANDARD
from bayescale.runs._raw import RawTable
from bayescale.runs._rows import row_problems
from bayescale.runs._scale import flops_problems, loss_problems, size_problems
from bayescale.runs._source import raw_table
from bayescale.runs._values import Values, missing, read_values
from bayescale.runs._where import names_in, select_rows

__all__ = ["Assessment", "assess", "typed_column"]


@dataclass(frozen=True)
class Assessment:
    """A table, its numbers, and everything that is to be said about it.

    Attributes
    ----------
    raw, found, values
        The selected rows, their columns, their numbers.
    of_table : tuple of Problem
        Fatal, and no dropping of rows helps.
    of_rows : tuple of Problem
        Fatal until the rows are dropped.
    too_few : tuple of Problem
        Fatal for the rows that are left once the bad ones are dropped.
    warnings : tuple of Problem
        Said, not fatal.
    kept : numpy.ndarray
        Rows without a problem, one bool each.
    """

    raw: RawTable
    found: Resolution
    values: Values
    of_table: tuple[Problem, ...]
    of_rows: tuple[Problem, ...]
    too_few: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    kept: np.ndarray

    def refusing(self, *, drop_bad: bool) -> list[Problem]:
        """What stands in the way of using the table."""
        if drop_bad or not self.of_rows:
            # As long as bad rows may still be corrected, how many are left without them is not the point.
            return [*self.of_table, *self.too_few]
        return [*self.of_table, *self.of_rows]


def assess(
    source: str | os.PathLike[str] | pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    where: str | None = None,
    needs: Sequence[str] | None = None,
) -> Assessment:
    """Read a table and find everything that is wrong with it.

    Parameters
    ----------
    source, columns, where, needs
        As for `Runs.read`.

    Returns
    -------
    Assessment

    Raises
    ------
    RunsError
        No table can be made of the source, or `columns` or `where` cannot be understood.
    """
    raw = raw_table(source)
    extra = [name for name in needs or () if name not in STANDARD]
    found = resolve(raw, columns, extra)
    values = read_values(raw, found)
    warnings = list(found.warnings)
    if where is not None and where.strip():
        mask = _selected(raw, values, where)
        warnings += _unselected_blanks(raw, values, where, mask)
        raw = raw.select(mask)
        values = read_values(raw, found)
    wanted = list(needs) if needs is not None else [name for name in STANDARD if name in values]
    if "loss" in wanted and LOSS_SD in values:
        wanted.append(LOSS_SD)
    of_table = [*found.problems, *missing(raw, found, values, needs)]
    of_loss = loss_problems(found, values, raw.rows) if "loss" in wanted else []
    # A loss column that is refused whole is not listed again cell by cell.
    of_rows = row_problems(raw, found, values, [name for name in wanted if not (of_loss and name == "loss")])
    kept = ~np.isin(raw.rows, [problem.row for problem in of_rows if problem.row is not None])
    of_table += of_loss
    for problem in _unit_problems(raw, found, values):
        (of_table if problem.fatal else warnings).append(problem)
    learning = needs is None or "loss" in needs
    too_few = _too_few(raw, kept, where, learning=learning)
    if learning and not of_table and not too_few:
        used = {name: values[name][kept] for name in STANDARD if name in values}
        used = {name: numbers_kept for name, numbers_kept in used.items() if _sound(numbers_kept)}
        warnings += design_warnings(raw.select(kept), used, wanted)
    return Assessment(raw, found, values, tuple(of_table), tuple(of_rows), tuple(too_few), tuple(warnings), kept)


def typed_column(cells: np.ndarray) -> np.ndarray:
    """Any column as float64, bool or text: what `where` compares and what `Runs` keeps."""
    read = numbers(cells, quantities=False)
    if all(is_blank(cells[place]) or read.reasons[place] == "is NaN" for place in read.reasons) and read.any_readable:
        return read.values
    if all(isinstance(cell, bool | np.bool_) for cell in cells):
        return cells.astype(bool)
    text = np.empty(len(cells), dtype=object)
    text[:] = ["" if is_blank(cell) else cell if isinstance(cell, str) else str(cell) for cell in cells]
    if len(text) and set(text) <= {"True", "False", "true", "false", "TRUE", "FALSE"}:
        return np.array([cell.lower() == "true" for cell in text], dtype=bool)
    return text


def _selected(raw: RawTable, values: Values, where: str) -> np.ndarray:
    lookup: dict[str, Callable[[], np.ndarray]]
    lookup = {name: partial(values.__getitem__, name) for name in STANDARD if name in values}
    for column in raw.frame.columns:
        lookup.setdefault(column, partial(typed_column, raw.frame[column].to_numpy()))
    return select_rows(where, lookup, len(raw.frame))


def _unselected_blanks(raw: RawTable, values: Values, where: str, mask: np.ndarray) -> list[Problem]:
    """Rows that a comparison passed over only because a cell in it holds no number."""
    warnings = []
    for name in names_in(where):
        if name in values:
            unknown = np.isnan(values[name]) & ~mask
            if unknown.any():
                message = (
                    f"--where compares {name}, which {row_list(raw.rows[unknown].tolist())} "
                    f"{'does' if unknown.sum() == 1 else 'do'} not have: not selected"
                )
                warnings.append(Problem(message, fatal=False))
    return warnings


def _unit_problems(raw: RawTable, found: Resolution, values: Values) -> list[Problem]:
    usable = np.ones(len(raw.frame), dtype=bool)
    for name in ("N", "D", "C"):
        if name in values.read:
            numbers_read = values[name]
            usable &= np.isfinite(numbers_read) & (numbers_read > 0)
    problems = []
    for name in ("N", "D", "C", "U"):
        if name in values.read:
            sound = np.isfinite(values[name]) & (values[name] > 0)
            problems += size_problems(found, Values({name: values.read[name]}, {}), sound)
    if any(problem.fatal for problem in problems):
        # The ratio C / (6 N D) would only repeat that a column is in another unit.
        return problems
    return problems + flops_problems(found, values, raw.rows, usable)


def _too_few(raw: RawTable, kept: np.ndarray, where: str | None, *, learning: bool) -> list[Problem]:
    if not len(raw.frame):
        return [Problem(f"--where {where!r} selects none of the rows; loosen it, or leave it out")]
    if not kept.any():
        return [Problem("no row can be used: every one has a problem")]
    if learning and kept.sum() == 1:
        return [
            Problem(
                f"one run can be used (row {raw.rows[kept][0]}), and a law cannot be learnt from one run; "
                f"give at least two, of different sizes"
            )
        ]
    return []


def _sound(values: np.ndarray) -> bool:
    """Whether a column that no law asked for is fit to be compared with all the same."""
    return bool(np.all(np.isfinite(values) & (values > 0)))
