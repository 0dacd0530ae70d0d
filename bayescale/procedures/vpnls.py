"""Variable projection: linear parameters solved exactly under non-negativity, the others searched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from bayescale.errors import FitError
from bayescale.model import Model
from bayescale.optimisation.coordinates import coordinates_of
from bayescale.optimisation.newton import Ends
from bayescale.optimisation.projection import MOST_LINEAR, Projection
from bayescale.optimisation.regression import Cost, Regression
from bayescale.optimisation.search import best_linear, residual_sum, search_all
from bayescale.optimisation.starts import grid_of
from bayescale.procedures._error_bars import mismatch, precision_of
from bayescale.procedures._point_fit import LAST, Found, PointFit, Problem, rivals
from bayescale.runs import Runs

__all__ = ["VPNLS", "VPNLSSettings"]

REFINED = 16


@dataclass(frozen=True)
class VPNLSSettings:
    """Settings of `vpnls`.

    Attributes
    ----------
    grid : int
        How many settings of the nonlinear parameters are tried before the best are refined.
    sd_column : str, optional
        Column with the standard deviation of each run's loss, in nats per token: not its variance, not a weight.
    tolerance, replicates, resample, cluster
        As in `huber`.
    """

    grid: int = 1024
    sd_column: str | None = None
    tolerance: float = 1e-8
    replicates: int = 1000
    resample: str = "rows"
    cluster: str | None = None


class VPNLS(PointFit):
    r"""Least squares on loss by variable projection.

    .. math:: \min_{\alpha, \beta} \; \min_{E, a, b \ge 0} \sum_i (L(N_i, D_i) - L_i)^2

    For each setting of the exponents the best E, a and b are solved exactly, so that only the exponents are searched:
    first on a grid, then from its best points by Newton's method on the projected objective, whose gradient is that of
    the full one (the envelope theorem) and whose Hessian is its Schur complement. For any law that says which of its
    parameters are linear.

    Parameters
    ----------
    model : Model
        Law and noise; priors take no part.
    settings : VPNLSSettings, optional

    References
    ----------
    Golub and Pereyra 1973, doi 10.1137/0710036.

    Examples
    --------
    >>> import bayescale
    >>> toy = bayescale.datasets.load("toy", where="sweep == 'isoflop'")
    >>> fit = bayescale.fit(toy, procedure="vpnls", replicates=0)
    >>> fit.kind
    'point'
    """

    name = "vpnls"
    kind = "bootstrap"
    summary = (
        "least squares on loss by variable projection, linear parameters solved exactly, with bootstrap replicates"
    )
    citation = "doi:10.1137/0710036"
    Settings = VPNLSSettings
    settings: VPNLSSettings

    def __init__(self, model: Model, settings: VPNLSSettings | None = None) -> None:
        super().__init__(model, settings)
        law = model.law
        if not law.linear:
            raise FitError(f"vpnls needs a law that is linear in some parameters, and {law.name} is in none; use huber")
        if len(law.linear) > MOST_LINEAR:
            raise FitError(f"vpnls solves up to {MOST_LINEAR} linear parameters; {law.name} has {len(law.linear)}")
        if set(law.linear) >= set(coordinates_of(law).names):
            raise FitError(f"vpnls: {law.name} has no parameter to search; use least-squares")

    def _check(self, settings: VPNLSSettings) -> None:
        super()._check(settings)
        if settings.grid < REFINED:
            raise FitError(f"vpnls: grid={settings.grid}; expected at least {REFINED} settings of the exponents")

    def objective(self) -> Regression:
        """Residuals of loss."""
        return Regression(self.model.law, coordinates_of(self.model.law), False)

    def costs(self) -> tuple[Cost, ...]:
        """Newton's method; the grid has come near."""
        return (Cost(math.inf, True),)

    def precision(self, runs: Runs, loss: np.ndarray) -> np.ndarray:
        """One over the standard deviation of each loss."""
        return precision_of(self.name, runs, self.settings.sd_column)

    def measured(self, value: float) -> float:
        """The sum of squares."""
        return 2.0 * value

    def search(self, problem: Problem, seed: int) -> Found:
        """A grid, then Newton's method from its best points."""
        projection = Projection(problem.objective)
        points = grid_of(self.model.law, problem.objective.coordinates.part(projection.free), self.settings.grid, seed)
        _, whole = best_linear(projection, problem.table, np.zeros(len(points), dtype=np.int64), points)
        height = residual_sum(problem.objective, problem.table, whole)
        chosen = np.argsort(np.where(np.isfinite(height), height, np.inf))[:REFINED]
        none = np.zeros(len(chosen), dtype=np.int64)
        ends = self._project(problem, points[chosen], none)
        return Found(rivals(ends), ends.value, len(ends.value))

    def replicate(self, problem: Problem, found: Found) -> Ends:
        """The projected search on the table and on every resample."""
        free = list(Projection(problem.objective).free)
        return super().replicate(problem, replace(found, positions=found.positions[:, free]))

    def _project(self, problem: Problem, starts: np.ndarray, which: np.ndarray) -> Ends:
        projection = Projection(problem.objective)
        ends = search_all(projection, problem.table, starts, which, stages=LAST, refine=True)
        _, whole = best_linear(projection, problem.table, which, ends.position)
        return ends._replace(position=whole)

    def solve(self, problem: Problem, starts: np.ndarray, which: np.ndarray) -> Ends:
        """Search the exponents; the linear parameters are solved."""
        return self._project(problem, starts, which)

    def warn(self, problem: Problem, estimate: Mapping[str, float], value: float) -> list[str]:
        """Whether the error bars are of the size of the residuals."""
        return mismatch(self.settings.sd_column, value, problem.runs - problem.dim)
