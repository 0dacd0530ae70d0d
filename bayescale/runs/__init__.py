"""Tables of training runs: reading, checking, and the record of what was read from where."""

from bayescale.errors import Problem, RunsError
from bayescale.runs._check import Check, check
from bayescale.runs._messages import describe
from bayescale.runs._runs import Runs

__all__ = ["Check", "Problem", "Runs", "RunsError", "check", "describe"]
