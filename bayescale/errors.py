"""Errors meant for a person: each says what is wrong, where, what was expected and what to try."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "BayescaleError",
    "FitError",
    "LawError",
    "NoiseError",
    "PriorError",
    "Problem",
    "RunsError",
    "TargetError",
]


class BayescaleError(Exception):
    """Base of every error raised on purpose; the command line prints it and exits with status 2."""


class PriorError(BayescaleError, ValueError):
    """A prior that cannot be read, or that names a parameter the model does not have."""


class LawError(BayescaleError, ValueError):
    """An unknown law, or a law whose formula and priors do not line up."""


class NoiseError(BayescaleError, ValueError):
    """A noise model that cannot be read, or that needs a column the table lacks."""


class TargetError(BayescaleError, ValueError):
    """A forecast or allocation asked for something the law cannot answer."""


class FitError(BayescaleError, RuntimeError):
    """A fit that could not be made, or a fit file that cannot be read."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a table of runs.

    Attributes
    ----------
    message : str
        What is wrong, what was expected, and what to try.
    row : int or None
        Data row counted from 1 (the header is not counted); None when the whole column or table is meant.
    column : str or None
        Column as it is spelt in the table.
    value : str or None
        The offending cell as written.
    fatal : bool
        Whether a fit is refused because of it (``--drop-bad`` drops rows, not columns).
    """

    message: str
    row: int | None = None
    column: str | None = None
    value: str | None = None
    fatal: bool = True


class RunsError(BayescaleError, ValueError):
    """A table of runs that cannot be used as it stands.

    Attributes
    ----------
    problems : tuple of Problem
        Everything that was found wrong, not only the first thing.
    """

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)
