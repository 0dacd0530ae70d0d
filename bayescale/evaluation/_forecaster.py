"""What a backtest asks for forecasts: something that is given runs to learn from, and inputs of runs to come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from bayescale.errors import FitError
from bayescale.runs import Runs

__all__ = ["Draws", "Forecaster"]

# The outermost scores are those of the 99 % band: with fewer draws its ends are the extremes of what was drawn.
LEAST_DRAWS = 100
# Heavy tails of log loss leave the range of float64 now and then. A draw out there is as good as its largest number;
# from this share on, the ends of the 99 % band would be.
MOST_OUTSIDE = 0.0025
SMALLEST, LARGEST = 1e-300, 1e300


@dataclass(frozen=True)
class Draws:
    """A predictive distribution, as draws.

    Attributes
    ----------
    loss : numpy.ndarray
        Losses of a new run of each target (sample, run), nats per token: with the noise of a run, not the law alone.
        A few that are 0 or infinite, from tails beyond the range of float64, are held at 1e-300 and 1e300.
    warnings : tuple of str
        Reasons not to trust the forecast.
    seconds : float
        What it took.
    weights : mapping of str to float
        What each law counts for in an average of laws; empty for a forecast by one.

    Raises
    ------
    FitError
        Fewer than a hundred draws, one that is no number or below 0, or too many beyond the range of float64.

    Examples
    --------
    >>> Draws(np.full((200, 3), 2.5)).loss.shape
    (200, 3)
    """

    loss: np.ndarray
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values = np.asarray(self.loss, dtype=np.float64)
        if values.ndim != 2 or len(values) < LEAST_DRAWS:
            raise FitError(
                f"a forecast is an array (sample, run) of at least {LEAST_DRAWS} samples, and this one has the shape "
                f"{values.shape}: raise --draws or --replicates; a point estimate has no band to score"
            )
        unsound = np.isnan(values) | (values < 0)
        beyond = (values < SMALLEST) | (values > LARGEST)
        for bad, most in ((unsound, 0.0), (beyond, MOST_OUTSIDE)):
            share = bad.mean(axis=0)
            if (share > most).any():
                run = int(np.argmax(share > most))
                raise FitError(
                    f"{int(bad[:, run].sum())} of {len(values)} draws of test run {run + 1} are no loss (one is "
                    f"{values[bad[:, run], run][0]:g}): the forecast does not reach that far"
                )
        object.__setattr__(self, "loss", np.clip(values, SMALLEST, LARGEST))


class Forecaster(Protocol):
    """Anything that forecasts losses from a table: a procedure with a law, an average of laws, a baseline.

    Attributes
    ----------
    name : str
        What its rows are called.
    """

    @property
    def name(self) -> str: ...

    def forecast(self, train: Runs, targets: Mapping[str, np.ndarray], *, seed: int, without: frozenset[str]) -> Draws:
        """Forecast new runs.

        Parameters
        ----------
        train : Runs
            All that may be learnt from.
        targets : mapping of str to array (run,)
            Columns of the runs to forecast; never their loss.
        seed : int
            The same seed and table give the same draws.
        without : frozenset of str
            Groups that whatever was learnt from other tables, such as a prior set, must not have seen.

        Raises
        ------
        BayescaleError
            There is no forecast for this table; the message says why.
        """
        ...
