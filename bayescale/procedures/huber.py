"""Approach 3 of Hoffmann et al.: Huber's loss on log loss, minimised from many starts to an optimum that is one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bayescale.errors import FitError
from bayescale.optimisation.coordinates import coordinates_of
from bayescale.optimisation.merging import mergeable, merged
from bayescale.optimisation.newton import Ends
from bayescale.optimisation.regression import STAGES, Cost, Regression
from bayescale.optimisation.search import log_losses, meeting, search_all
from bayescale.optimisation.starts import from_priors, hoffmann, is_chinchilla
from bayescale.procedures._point_fit import Found, PointFit, Problem, rivals

__all__ = ["Huber", "HuberSettings"]

GRID = "hoffmann"
DRAWN = 1000


@dataclass(frozen=True)
class HuberSettings:
    """Settings of `huber`.

    Attributes
    ----------
    delta : float
        Where Huber's loss turns from quadratic to linear, in nats of log loss.
    starts : str or int
        ``hoffmann``: their grid of 4,500 for a law of the shape of theirs, 1,000 draws from the law's default priors
        for any other; or how many draws. The priors only spread the starts, and take no other part.
    tolerance : float
        The relative norm of the gradient (0 at an optimum, 1 where all runs pull the same way) above which a fit is
        said not to have converged.
    replicates : int
        Bootstrap replicates; 0 for a point.
    resample : {"rows", "clusters", "wild"}
        Runs, whole groups of runs (checkpoints of a run are no independent runs), or the signs of residuals.
    cluster : str, optional
        Column that says which group a run belongs to; its values may be text. With ``wild``, a group's residuals turn
        together.
    """

    delta: float = 1e-3
    starts: str | int = GRID
    merge: bool = True
    tolerance: float = 1e-8
    replicates: int = 1000
    resample: str = "rows"
    cluster: str | None = None


class Huber(PointFit):
    r"""The sum over runs of Huber's loss of the residual of log loss, minimised from many starts.

    .. math:: \min \sum_i \mathrm{Huber}_\delta(\log L(N_i, D_i) - \log L_i)

    in the log-sum-exp form: logarithms of the linear parameters, exponents free on the real line. A search begins with
    least squares and lets delta shrink to the one that is meant, and goes on until a step promises less than rounding,
    since the optimisers of common use stop this objective early and say that they have converged.

    Parameters
    ----------
    model : Model
        Law and noise; priors take no part.
    settings : HuberSettings, optional

    References
    ----------
    Hoffmann et al. 2022, arXiv 2203.15556, Appendix D.3; Besiroglu et al. 2024, arXiv 2404.10102.

    Examples
    --------
    >>> import bayescale
    >>> toy = bayescale.datasets.load("toy", where="sweep == 'isoflop'")
    >>> fit = bayescale.fit(toy, procedure="huber", starts=64, replicates=0)
    >>> fit.kind
    'point'
    """

    name = "huber"
    kind = "bootstrap"
    summary = "Huber's loss on log loss from Hoffmann's 4,500 starts, with bootstrap replicates"
    citation = "arXiv:2203.15556"
    Settings = HuberSettings
    settings: HuberSettings

    def _check(self, settings: HuberSettings) -> None:
        super()._check(settings)
        if not (settings.delta > 0 and math.isfinite(settings.delta)):
            raise FitError(f"huber: delta={settings.delta}; expected nats of log loss above 0, such as 1e-3")
        if settings.starts != GRID and not (isinstance(settings.starts, int) and settings.starts >= 1):
            raise FitError(f"huber: starts={settings.starts!r}; expected {GRID!r}, or how many to draw")

    def objective(self) -> Regression:
        """Residuals of log loss."""
        return Regression(self.model.law, coordinates_of(self.model.law), True)

    def costs(self) -> tuple[Cost, ...]:
        """Least squares, then deltas that shrink to the one that is meant."""
        delta = self.settings.delta
        return Cost(math.inf, False), Cost(10 * delta, True), Cost(3 * delta, True), Cost(delta, True)

    def _starts(self, seed: int) -> np.ndarray:
        law, coordinates, starts = self.model.law, coordinates_of(self.model.law), self.settings.starts
        if starts == GRID and is_chinchilla(law):
            return hoffmann(law, coordinates)
        return from_priors(law, coordinates, DRAWN if isinstance(starts, str) else starts, seed)

    def search(self, problem: Problem, seed: int) -> Found:
        """Follow the starts to their least squares, and on to their ends; those that have met go on as one."""
        starts, stages = self._starts(seed), range(STAGES)
        if not self.settings.merge:
            ends = self._follow(problem, starts, stages)
            return Found(rivals(ends), ends.value, len(starts))
        points, start = starts, np.arange(len(starts))
        if mergeable(problem.objective):
            points, start = merged(problem.objective, problem.table, starts)
        smooth = self._follow(problem, points, stages[:1])
        fitted = log_losses(problem.objective, problem.table, smooth.position)
        first, kind = meeting(fitted[:, : problem.runs])
        ends = self._follow(problem, smooth.position[first], stages[1:])
        return Found(rivals(ends), ends.value[kind][start], len(points))

    def _follow(self, problem: Problem, starts: np.ndarray, stages: range) -> Ends:
        none = np.zeros(len(starts), dtype=np.int64)
        return search_all(problem.objective, problem.table, starts, none, stages=stages)
