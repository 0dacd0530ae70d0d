"""How problems are put to a person: where, what, and the option to type."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from bayescale.errors import Problem, RunsError

__all__ = ["column_option", "describe", "names", "refusal", "row_list"]

_SHOWN = 10


def column_option(name: str, column: str) -> str:
    """The option that settles a column, ready to paste into a shell: ``--column N=params``."""
    return f"--column {shlex.quote(f'{name}={column}')}"


def names(columns: Iterable[str], limit: int = 12) -> str:
    """Column names for a message, in quotes, the first few of many."""
    listed = list(columns)
    text = ", ".join(repr(name if len(name) <= 60 else name[:57] + "...") for name in listed[:limit])
    return text + (f" and {len(listed) - limit} more" if len(listed) > limit else "")


def row_list(rows: Sequence[int], limit: int = 8) -> str:
    """``row 4`` or ``rows 4, 9, 12 and 3 more``."""
    text = ", ".join(str(int(row)) for row in rows[:limit]) + (
        f" and {len(rows) - limit} more" if len(rows) > limit else ""
    )
    return f"row {text}" if len(rows) == 1 else f"rows {text}"


def describe(problem: Problem) -> str:
    """One problem in one line: ``row 3, column 'loss', value '-1': ...``."""
    where = [f"row {problem.row}"] if problem.row is not None else []
    where += [f"column {problem.column!r}"] if problem.column is not None else []
    where += [f"value {problem.value!r}"] if problem.value else []
    return (", ".join(where) + ": " if where else "") + problem.message


def refusal(source: str, problems: Sequence[Problem], n_read: int) -> RunsError:
    """The error that refuses a table: the first problems in words, all of them in ``problems``."""
    whole = [problem for problem in problems if problem.row is None]
    of_rows = [problem for problem in problems if problem.row is not None]
    listed = (whole + of_rows)[: max(_SHOWN, len(whole))]
    lines = [f"{source} cannot be used as it stands ({_count(whole, of_rows, n_read)}):"]
    lines += [f"  {describe(problem)}" for problem in listed]
    rest = len(problems) - len(listed)
    if rest:
        lines.append(f"  and {rest:,} more ('bayescale check' lists all of them)")
    if of_rows:
        n_rows = len({problem.row for problem in of_rows})
        them = "this row" if n_rows == 1 else f"these {n_rows:,} rows"
        it = "it" if n_rows == 1 else "them"
        lines.append(f"Correct {them}, or leave {it} out and have that counted: --drop-bad")
    return RunsError("\n".join(lines), problems)


def _count(whole: Sequence[Problem], of_rows: Sequence[Problem], n_read: int) -> str:
    parts = []
    if whole:
        parts.append(f"{len(whole)} {'problem' if len(whole) == 1 else 'problems'} with the table")
    if of_rows:
        parts.append(f"{len({problem.row for problem in of_rows}):,} of {n_read:,} rows with a problem")
    return ", ".join(parts)
