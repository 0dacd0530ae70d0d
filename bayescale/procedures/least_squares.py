"""Least squares on loss or on log loss, from many starts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayescale.errors import FitError
from bayescale.optimisation.coordinates import coordinates_of
from bayescale.optimisation.regression import Cost, Regression
from bayescale.optimisation.search import search_all
from bayescale.optimisation.starts import from_priors
from bayescale.procedures._error_bars import mismatch, precision_of
from bayescale.procedures._point_fit import Found, PointFit, Problem, rivals
from bayescale.runs import Runs

__all__ = ["LeastSquares", "LeastSquaresSettings"]

SCALES = ("loss", "log-loss")


@dataclass(frozen=True)
class LeastSquaresSettings:
    """Settings of `least-squares`.

    Attributes
    ----------
    scale : {"loss", "log-loss"}
        Whether residuals are of loss, as `curve_fit` has them, or of log loss.
    sd_column : str, optional
        Column with the standard deviation of each run's loss, in nats per token: not its variance, not a weight.
    starts : int
        How many starts to draw from the law's default priors, which take no other part.
    tolerance, replicates, resample, cluster
        As in `huber`.
    """

    scale: str = "loss"
    sd_column: str | None = None
    starts: int = 256
    tolerance: float = 1e-8
    replicates: int = 1000
    resample: str = "rows"
    cluster: str | None = None


class LeastSquares(PointFit):
    r"""The sum over runs of squared residuals, minimised from many starts.

    .. math:: \min \sum_i ((L(N_i, D_i) - L_i) / s_i)^2

    with :math:`s_i = 1` or a column of standard deviations. What `scipy.optimize.curve_fit` does from one start, with
    exact derivatives; an argument there takes standard deviations, and has been given weights (arXiv 2406.19146's code
    passes one over the variance, and keeps its first guess).

    Parameters
    ----------
    model : Model
        Law and noise; priors take no part.
    settings : LeastSquaresSettings, optional

    References
    ----------
    Marquardt 1963, doi 10.1137/0111030.

    Examples
    --------
    >>> import bayescale
    >>> toy = bayescale.datasets.load("toy", where="sweep == 'isoflop'")
    >>> fit = bayescale.fit(toy, procedure="least-squares", starts=64, replicates=0)
    >>> fit.kind
    'point'
    """

    name = "least-squares"
    kind = "bootstrap"
    summary = "least squares on loss or log loss from many starts, with bootstrap replicates"
    citation = "doi:10.1137/0111030"
    Settings = LeastSquaresSettings
    settings: LeastSquaresSettings

    def _check(self, settings: LeastSquaresSettings) -> None:
        super()._check(settings)
        if settings.scale not in SCALES:
            raise FitError(f"least-squares: scale is one of {', '.join(SCALES)}; got {settings.scale!r}")
        if settings.starts < 1:
            raise FitError(f"least-squares: starts={settings.starts}; expected 1 or more")

    def objective(self) -> Regression:
        """Residuals of loss or of log loss."""
        return Regression(self.model.law, coordinates_of(self.model.law), self.settings.scale == "log-loss")

    def costs(self) -> tuple[Cost, ...]:
        """Gauss-Newton while far, Newton at the end."""
        return Cost(math.inf, False), Cost(math.inf, True)

    def precision(self, runs: Runs, loss: np.ndarray) -> np.ndarray:
        """One over the sd of each residual; a small sd of a loss is one of its logarithm times the loss."""
        precision = precision_of(self.name, runs, self.settings.sd_column)
        return precision * loss if self.settings.sd_column and self.settings.scale == "log-loss" else precision

    def measured(self, value: float) -> float:
        """The sum of squares."""
        return 2.0 * value

    def search(self, problem: Problem, seed: int) -> Found:
        """Follow every start to its end."""
        starts = from_priors(self.model.law, problem.objective.coordinates, self.settings.starts, seed)
        none = np.zeros(len(starts), dtype=np.int64)
        ends = search_all(problem.objective, problem.table, starts, none)
        return Found(rivals(ends), ends.value, len(ends.value))

    def warn(self, problem: Problem, estimate: Mapping[str, float], value: float) -> list[str]:
        """Whether the error bars are of the size of the residuals."""
        return mismatch(self.settings.sd_column, value, problem.runs - problem.dim)
