"""Discrepancy: how far runs may lie from a law that is not quite true, below the top of a ladder and beyond it.

The noise of a model is how runs scatter around the law they were fitted with. It says nothing of runs ten or a hundred
times as large, where the error of the law itself is what counts; and runs far below the top of the ladder carry such
errors into the fit. A `Discrepancy` is a statement about both, on log loss.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np

from bayescale.errors import PriorError
from bayescale.ladder import Ladder, Rehearsal
from bayescale.law_error import BEND, WINGS, bumps
from bayescale.prior import Prior

__all__ = ["BELOW", "BUMPS", "DISTANCES", "SAMPLED", "UNDERTRAINED", "Discrepancy"]

# Parameters of a model with a discrepancy: sds of log loss by which runs may be off for each decade that they lie away
# from what a law is for. Then the column with these decades, for each.
BELOW = "below"
UNDERTRAINED = "undertrained"
DISTANCES = {BELOW: "decades early", UNDERTRAINED: "decades undertrained"}
# The column with the bumps of the smooth error, and all parameters that a discrepancy may add to a model.
BUMPS = "bumps"
SAMPLED = (*DISTANCES, *BEND, *WINGS)
_PRIORS = {BELOW: Prior("LogNormal", math.log(0.03), 0.7), UNDERTRAINED: Prior("LogNormal", math.log(0.03), 1.0)}

# Slopes [log loss per decade of compute] between which the posterior of the law's own slope error is computed.
_GRID = np.geomspace(2e-4, 0.8, 200)
_NONE: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Discrepancy:
    r"""What a law may be wrong by, as sds of log loss.

    Across the table the loss bends away from the law by an error of sd ``bend`` at the frontier and of sd ``wings`` far
    out on IsoFLOP curves, that varies over a decade of compute (`bayescale.law_error`). Its heights are sampled with
    the law, so that bends of that size are no evidence of a floor or an exponent, however many runs show them. Beyond
    the top it fades over two decades, and a forecast carries what is left of it (`bayescale.model.Model.law_error`).

    Below the top of the ladder a run may be off by so much for each decade beyond ``near``: early or far from the
    frontier, it says less of the runs to come. How much is a parameter of the model, ``below``, which the table decides
    together with its prior: a ladder that the law describes all the way down counts as a whole. A run of fewer than
    ``fewest`` tokens per parameter has hardly begun to learn: its loss lies up to 40 % above a law that holds elsewhere
    (Porian et al. 2024). It may be off by ``undertrained``, likewise a parameter, for each decade of that ratio.

    Beyond the top, :math:`u` decades out, the law is off by

    .. math:: (b + r) u + v + w, \qquad v \sim N(0, \text{level}^2), \quad w \sim N(0, \text{run}^2)

    - :math:`w` is a run's own: the law has the wrong shape across sizes and tokens, whatever the budget.
    - :math:`v` is what all runs of a budget share: its schedule, batch size, tuning.
    - :math:`r` is that same error at the two ends of a ladder of :math:`S` decades, seen as a slope:
      ``sd = level / S``, and never more than ``steepest``, the slope that a loss may have without anybody knowing. A
      ladder of one budget says nothing of the slope, and the band then says so.
    - :math:`b` is the law's own error of slope: Normal with an sd :math:`\delta` that is ``slope`` give or take (an
      inverse gamma of ``shape`` degrees of freedom on its square), or, with probability ``breaks``, ``steepest``: the
      law does not hold here at all. Both are weighed by how the law forecast the top of the ladder from its lower part
      (`Rehearsal`); the error it made there is expected to carry on, and as much again may come.

    Parameters
    ----------
    near : float
        Decades from the top within which runs are not off for being early.
    bend, wings : float
        As above; 0 for none.
    run, level, slope, shape, breaks, steepest : float
        As above.
    fewest : float
        Tokens per parameter from which on a run is not undertrained.

    Raises
    ------
    PriorError
        One is out of its range.

    References
    ----------
    Kennedy and O'Hagan 2001, DOI 10.1111/1467-9868.00294, on model discrepancy. Porian et al. 2024, arXiv 2406.19146,
    for runs of few tokens per parameter.

    Examples
    --------
    >>> far = {"C": [1e22, 1e23]}
    >>> long, short = (Discrepancy().offsets(Ladder(1e21, span), far, 4000) for span in (3.0, 0.1))
    >>> bool((np.quantile(short, 0.95, axis=0) > 2 * np.quantile(long, 0.95, axis=0)).all())
    True
    """

    near: float = 0.5
    bend: float = 0.01
    wings: float = 0.03
    run: float = 0.007
    level: float = 0.002
    slope: float = 0.003
    shape: float = 4.0
    breaks: float = 0.05
    steepest: float = 0.2
    fewest: float = 3.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            strictly = each.name in ("slope", "shape", "steepest", "level", "run")
            if not (math.isfinite(value) and (value > 0 if strictly else value >= 0)):
                raise PriorError(
                    f"discrepancy: {each.name} must be {'above' if strictly else 'at least'} 0, got {value!r}"
                )
        if self.breaks >= 1:
            raise PriorError(f"discrepancy: breaks is a probability below 1, got {self.breaks!r}")

    def document(self) -> dict[str, float]:
        """Plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, float]) -> Self:
        """What a file of a fit described.

        Files from before there was a smooth error were fitted without one; the first with one have one number,
        ``smooth``, for ``bend`` and ``wings``.
        """
        told = dict(document)
        return cls(**dict.fromkeys(("bend", "wings"), told.pop("smooth", 0.0)) | told)

    def priors(self, columns: Collection[str]) -> dict[str, Prior]:
        """Default priors of what is sampled with the law, for a model that reads these columns."""
        sizes = {"N", "D"} <= set(columns)
        known = {name: prior for name, prior in _PRIORS.items() if name != UNDERTRAINED or sizes}
        heights = dict.fromkeys(BEND, self.bend) | dict.fromkeys(WINGS if sizes else (), self.wings)
        return known | {name: Prior("Normal", 0.0, sd) for name, sd in heights.items() if sd > 0}

    def read(self, ladder: Ladder, columns: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Columns (run, ..) that a model with this discrepancy needs beside these, which have the FLOPs ``C``."""
        away = {DISTANCES[name]: decades for name, decades in self.distances(ladder, columns).items()}
        return away | ({BUMPS: bumps(ladder.beyond(columns["C"]))} if self.bend + self.wings > 0 else {})

    def distances(self, ladder: Ladder, columns: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Decades (run,) by which runs lie away from what a law is for, by the parameter that is their sd.

        `columns` has their FLOPs ``C``; where it lacks ``N`` or ``D`` no run is undertrained.
        """
        found = {BELOW: np.maximum(-ladder.beyond(columns["C"]) - self.near, 0.0)}
        if "N" in columns and "D" in columns:
            ratio = np.asarray(columns["D"], np.float64) / np.asarray(columns["N"], np.float64)
            found[UNDERTRAINED] = np.log10(np.maximum(self.fewest / ratio, 1.0))
        return found

    def _variance(self, rehearsal: Rehearsal) -> float:
        """Of the error of a rehearsal, but for that of the law's slope."""
        return rehearsal.sd**2 + self.level**2 + self.run**2 / rehearsal.runs

    def _slope_weights(self, rehearsal: Rehearsal | None) -> tuple[np.ndarray, np.ndarray]:
        """Sds that the slope error may have, and the probability of each; the last is that of a law that breaks."""
        density = _GRID**-self.shape * np.exp(-0.5 * self.shape * (self.slope / _GRID) ** 2)
        sds = np.append(_GRID, self.steepest)
        weights = np.append((1.0 - self.breaks) * density / density.sum(), self.breaks)
        if rehearsal is not None:
            variance = self._variance(rehearsal) + (sds * rehearsal.decades) ** 2
            log_odds = -0.5 * np.log(variance) - 0.5 * rehearsal.error**2 / variance
            weights = weights * np.exp(log_odds - log_odds.max())
        return sds, weights / weights.sum()

    def broken(self, ladder: Ladder) -> float:
        """Probability that the law does not hold beyond this ladder."""
        return float(self._slope_weights(ladder.rehearsal)[1][-1])

    def _carried(self, sds: np.ndarray, rehearsal: Rehearsal | None) -> np.ndarray | float:
        """Expected slope error, given that of the rehearsal, for each sd (sample,): it carries on."""
        if rehearsal is None:
            return 0.0
        signal = (sds * rehearsal.decades) ** 2
        share = signal / (signal + self._variance(rehearsal))
        return np.asarray(share * rehearsal.error / rehearsal.decades)

    def _ladder_slope(self, ladder: Ladder) -> float:
        return 1.0 / math.hypot(1.0 / self.steepest, ladder.decades / self.level)

    def own_sds(self, ladder: Ladder, columns: Mapping[str, Any], theta: Mapping[str, Any]) -> np.ndarray:
        """Sd (sample, run) of what runs are off by for themselves: beyond the top, below it, or undertrained.

        `theta` holds draws (sample,) of the sds for each decade (`DISTANCES`); what it lacks is not allowed for.
        """
        away = self.distances(ladder, columns)
        terms = [np.where(ladder.beyond(columns["C"]) > 0, self.run, 0.0)[None, :]]
        terms += [np.reshape(theta[name], (-1, 1)) * decades for name, decades in away.items() if name in theta]
        return np.asarray(np.sqrt(sum(term**2 for term in terms)))

    def shared(self, ladder: Ladder, compute: Any, size: int, generator: np.random.Generator) -> np.ndarray:
        """Draws (size, run) of what runs are off by together: one error of slope a draw, one level for each budget."""
        values = np.asarray(compute, dtype=np.float64)
        sds, weights = self._slope_weights(ladder.rehearsal)
        drawn = generator.choice(sds, size, p=weights)
        slope = drawn * generator.standard_normal(size) + self._carried(drawn, ladder.rehearsal)
        slope += self._ladder_slope(ladder) * generator.standard_normal(size)
        _, budget = np.unique(values, return_inverse=True)
        levels = self.level * generator.standard_normal((size, budget.max() + 1))[:, budget]
        beyond = np.maximum(ladder.beyond(values), 0.0)
        return slope[:, None] * beyond + np.where(beyond > 0, levels, 0.0)

    def offsets(
        self, ladder: Ladder, columns: Mapping[str, Any], size: int, seed: int = 0, theta: Mapping[str, Any] = _NONE
    ) -> np.ndarray:
        """Draws of what to add to the log loss of the law.

        Parameters
        ----------
        ladder : Ladder
            The runs that were fitted.
        columns : mapping of str to array_like (run,)
            The runs to forecast: their FLOPs ``C`` and, where known, ``N`` and ``D``.
        size : int
            Draws.
        seed : int
            Seed of the draws.
        theta : mapping of str to array (size,)
            Sds for each decade that runs are early or undertrained; what it lacks is not allowed for.

        Returns
        -------
        numpy.ndarray (size, run)
            What runs share, and what each has of its own.
        """
        values = np.asarray(columns["C"], dtype=np.float64)
        generator = np.random.default_rng([seed, 41])
        together = self.shared(ladder, values, size, generator)
        return together + self.own_sds(ladder, columns, theta) * generator.standard_normal((size, values.size))
