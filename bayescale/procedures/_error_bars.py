"""A column of standard deviations, and what says that it is none."""

from __future__ import annotations

import math
import re

import numpy as np

from bayescale.errors import FitError, RunsError
from bayescale.runs import Runs

__all__ = ["mismatch", "precision_of"]

NOT_AN_SD = re.compile(r"(?i)weight|\bw\b|inv|precision|(?:^|[^a-z])var(?:$|[^a-z])|variance|std\^?2|sd\^?2|squared?")
# Residuals this many times larger or smaller than their standard deviations are not of the same unit.
MISMATCH = 20.0


def precision_of(name: str, runs: Runs, column: str | None) -> np.ndarray:
    """One over the standard deviation of each run's loss (run,); ones without a column.

    Raises
    ------
    FitError
        The column is called a weight or a variance.
    RunsError
        A value is no finite number above 0.
    """
    if column is None:
        return np.ones(len(runs))
    if NOT_AN_SD.search(column):
        raise FitError(
            f"{name}: sd_column={column!r} is named like a weight or a variance; expected standard deviations of the "
            "loss in nats per token. Take the square root of a variance, or of one over a weight, into a column of "
            "another name"
        )
    try:
        values = np.asarray(runs[column], dtype=np.float64)
    except ValueError:
        raise RunsError(
            f"column {column!r} of {runs.source} holds text; expected sds of the loss in nats per token"
        ) from None
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if bad.size:
        raise RunsError(
            f"run {bad[0] + 1} of {runs.source}: {column} is {values[bad[0]]:.6g}; expected a standard deviation of "
            "the loss, in nats per token and above 0"
        )
    return 1.0 / values


def mismatch(column: str | None, value: float, freedom: int) -> list[str]:
    """Warn where residuals and error bars are not of the same size.

    Parameters
    ----------
    column : str or None
        The column of standard deviations.
    value : float
        Half the sum of squares of residuals over standard deviations.
    freedom : int
        Runs minus parameters.
    """
    if column is None:
        return []
    ratio = math.sqrt(2.0 * value / freedom)
    if 1.0 / MISMATCH < ratio < MISMATCH:
        return []
    return [
        f"residuals are {ratio:.3g} times the standard deviations in {column}: these are hardly standard deviations of "
        "the loss in nats per token. A variance, one over it, or another unit weights the runs wrongly."
    ]
