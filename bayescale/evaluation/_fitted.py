"""Forecasters that are procedures of the library with one law: nuts with default priors, huber, and the rest."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from bayescale.comparison._plan import Plan
from bayescale.errors import FitError
from bayescale.evaluation._forecaster import Draws
from bayescale.laws import get as get_law
from bayescale.procedures import fit, get
from bayescale.procedures._point_warnings import NO_EXPONENT
from bayescale.runs import Runs

__all__ = ["Fitted", "HuberBootstrap"]


@dataclass(frozen=True)
class Fitted:
    """A procedure of the registry, with the law, noise and settings of a plan.

    Attributes
    ----------
    name : str
        Of the procedure.
    plan : Plan
        As in `bayescale.compare`; its seed is replaced by that of the fold.

    Raises
    ------
    FitError
        The procedure gives the loss of compute-optimal runs only, so it cannot forecast the runs of a table.
    """

    name: str
    plan: Plan

    def __post_init__(self) -> None:
        own = get_law(get(self.name).default_law)
        if self.name in own.fitted_by and own.inputs == ("C",):
            raise FitError(
                f"{self.name} gives the loss of compute-optimal runs only, not that of the runs of a table: a backtest "
                "cannot score it. Use a procedure that fits a law of N and D, such as nuts or huber"
            )

    def forecast(
        self, train: Runs, targets: Mapping[str, np.ndarray], *, seed: int, without: frozenset[str] = frozenset()
    ) -> Draws:
        """Fit, and push every draw through the law with one draw of its noise. Default priors have seen no table."""
        began = time.perf_counter()
        made = replace(self.plan, seed=seed).fit(self.name, train)
        loss = made.forecast(dict(targets), seed=seed)["new_run_loss"].values
        return Draws(loss, made.diagnostics.warnings, time.perf_counter() - began)


@dataclass(frozen=True)
class HuberBootstrap:
    """Today's practice: Chinchilla's law by Huber's loss on log loss, bootstrap replicates, and resampled residuals.

    A new run is the law of one replicate, times the exponential of a residual of log loss drawn from those of the fit
    of the whole table. Replicates in which the loss does not fall with N or D, as a few resamples of a short table
    give, are left out: extrapolated, they reach 1e90 nats, and nobody forecasts with them.

    Attributes
    ----------
    replicates : int
    residuals : int
        Residuals drawn for each replicate.
    starts : int
        Of the search. On the tables of the ladder 64 end where Hoffmann's 4,500 do, in a tenth of the time.

    References
    ----------
    Hoffmann et al. 2022, arXiv 2203.15556; Besiroglu et al. 2024, arXiv 2404.10102.
    """

    replicates: int = 1000
    residuals: int = 4
    starts: int = 64
    name: str = "huber-bootstrap"

    def forecast(
        self, train: Runs, targets: Mapping[str, np.ndarray], *, seed: int, without: frozenset[str] = frozenset()
    ) -> Draws:
        """Fit, resample, and scatter by residuals."""
        began = time.perf_counter()
        made = fit(train, "chinchilla", "huber", seed=seed, replicates=self.replicates, starts=self.starts)
        falling = (made.theta["alpha"] > NO_EXPONENT) & (made.theta["beta"] > NO_EXPONENT)
        if 2 * falling.sum() < len(falling):
            raise FitError(f"in {1 - falling.mean():.0%} of the replicates the loss does not fall with N and D")
        mean = made.forecast(dict(targets), seed=seed)["mean_loss"].values[falling]
        fitted = made.at_estimate.forecast(train)["mean_loss"].values[0]
        residual = np.log(np.asarray(train["loss"], dtype=np.float64)) - np.log(fitted)
        generator = np.random.default_rng([seed, 23])
        drawn = generator.choice(residual, (self.residuals, *mean.shape))
        loss = (mean * np.exp(drawn)).reshape(-1, mean.shape[1])
        return Draws(loss, made.diagnostics.warnings, time.perf_counter() - began)
