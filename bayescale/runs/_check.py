"""`check`: everything that is to be said about a table, at once, whether or not it can be used."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bayescale.errors import Problem, RunsError
from bayescale.runs._assess import assess
from bayescale.runs._messages import describe
from bayescale.runs._record import record_of
from bayescale.runs._runs import Runs
from bayescale.runs._values import formulas

__all__ = ["Check", "check"]


@dataclass(frozen=True)
class Check:
    """The verdict on a table.

    Attributes
    ----------
    source : str
        What was checked.
    problems : list of Problem
        All of them: fatal for the table, fatal for rows (``--drop-bad`` leaves those out), and warnings (not fatal).
    n_runs : int
        Rows that can be used.
    n_read : int
        Rows that were read and selected.
    columns : dict
        Standard name -> table column or formula.
    available : frozenset of str
        Inputs the table gives, those that follow by C = 6 N D included. A law can be fitted when its inputs and
        ``loss`` are among them and no fatal problem stands in the way.
    runs : Runs or None
        The table without its bad rows; None where a problem of the whole table refuses it, or too few rows are left.
    """

    source: str
    problems: list[Problem]
    n_runs: int
    n_read: int
    columns: dict[str, str]
    available: frozenset[str]
    runs: Runs | None

    @property
    def ok(self) -> bool:
        """Whether a fit would be made of the table as it stands."""
        return not any(problem.fatal for problem in self.problems)

    def __str__(self) -> str:
        verdict = "can be used" if self.ok else "cannot be used as it stands"
        lines = [f"{self.source} {verdict}: {self.n_runs:,} of {self.n_read:,} rows"]
        lines += [f"  {name:<5} from {column}" for name, column in self.columns.items()]
        lines += [f"  {'problem' if p.fatal else 'warning'}: {describe(p)}" for p in self.problems]
        return "\n".join(lines)


def check(
    source: str | os.PathLike[str] | pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    where: str | None = None,
    needs: Sequence[str] | None = None,
) -> Check:
    """Find everything that is wrong with a table.

    Parameters
    ----------
    source, columns, where, needs
        As for `Runs.read`.

    Returns
    -------
    Check
        Also where no table can be made of the source: that is then the one problem.

    Examples
    --------
    >>> verdict = check(pd.DataFrame({"N": [1e8, 1e9], "D": [2e9, -1.0], "loss": [3.4, 2.8]}))
    >>> verdict.ok, verdict.problems[0].row, verdict.problems[0].column
    (False, 2, 'D')
    """
    name = "DataFrame" if isinstance(source, pd.DataFrame) else "standard input" if source == "-" else str(source)
    try:
        found = assess(source, columns=columns, where=where, needs=needs)
    except RunsError as error:
        problems = list(error.problems) or [Problem(str(error))]
        return Check(name, problems, 0, 0, {}, frozenset(), None)
    runs = None if found.of_table or found.too_few else Runs._made(record_of(found))
    return Check(
        source=found.raw.source,
        problems=[*found.refusing(drop_bad=False), *found.warnings],
        n_runs=int(found.kept.sum()),
        n_read=len(found.raw.frame),
        columns=formulas(found.found, found.values),
        available=found.values.available,
        runs=runs,
    )
