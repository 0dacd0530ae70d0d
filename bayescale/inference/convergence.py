"""R-hat and effective sample sizes of chains, by ArviZ's formulas on plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

__all__ = ["MAX_RHAT", "MIN_ESS_PER_CHAIN", "Convergence", "bfmi", "convergence", "pareto_smoothed"]

# Vehtari et al. 2021 (arXiv 1903.08008): rank-normalised R-hat below 1.01, and 100 effective draws a chain.
MAX_RHAT = 1.01
MIN_ESS_PER_CHAIN = 100


class Convergence(NamedTuple):
    """Convergence of every parameter, and of the worst.

    Attributes
    ----------
    rhat, ess_bulk, ess_tail : dict of str to float
        Rank-normalised split R-hat, bulk and tail effective sample size; NaN with fewer than four draws a chain.
    good : bool
        Whether all are within the usual limits.
    """

    rhat: dict[str, float]
    ess_bulk: dict[str, float]
    ess_tail: dict[str, float]
    good: bool

    @property
    def max_rhat(self) -> float:
        """The largest R-hat."""
        return max(self.rhat.values(), default=float("nan"))

    @property
    def min_ess(self) -> float:
        """The smallest of all bulk and tail effective sample sizes."""
        return min([*self.ess_bulk.values(), *self.ess_tail.values()], default=float("nan"))


def convergence(theta: Mapping[str, np.ndarray]) -> Convergence:
    """R-hat, bulk and tail ESS of each parameter, arrays (chain, draw).

    A parameter that never moves, or holds a value that is not finite, has R-hat infinity. A single chain is compared
    with itself: its first half with its second.
    """
    # takes a second to load, which commands that only read a fit should not wait for
    from arviz_stats.base.array import array_stats

    rhat = dict.fromkeys(theta, float("inf"))
    bulk, tail = dict.fromkeys(theta, 0.0), dict.fromkeys(theta, 0.0)
    moving = [name for name, draws in theta.items() if np.isfinite(draws).all() and np.ptp(draws) > 0.0]
    if moving:
        draws = np.stack([theta[name] for name in moving])
        halves = draws[:, 0, : draws.shape[2] // 2 * 2].reshape(len(draws), 2, -1)
        axes = {"chain_axis": 1, "draw_axis": 2}
        found = (
            array_stats.rhat(draws if draws.shape[1] > 1 else halves, **axes),
            array_stats.ess(draws, method="bulk", **axes),
            array_stats.ess(draws, method="tail", prob=(0.05, 0.95), **axes),
        )
        for into, values in zip((rhat, bulk, tail), found, strict=True):
            into.update(zip(moving, map(float, np.atleast_1d(values)), strict=True))
    chains = len(next(iter(theta.values()))) if theta else 0
    good = all(r <= MAX_RHAT for r in rhat.values()) and all(
        e >= MIN_ESS_PER_CHAIN * chains for e in [*bulk.values(), *tail.values()]
    )
    return Convergence(rhat, bulk, tail, good)


def bfmi(energy: np.ndarray) -> np.ndarray:
    """Bayesian fraction of missing information of each chain (arXiv 1604.00695), from energies (chain, draw)."""
    from arviz_stats.base.array import array_stats

    return np.atleast_1d(array_stats.bfmi(energy, chain_axis=0, draw_axis=1))


def pareto_smoothed(log_weight: np.ndarray) -> tuple[np.ndarray, float]:
    """Pareto-smoothed log weights and the shape of their tail, k (Vehtari et al. 2015, arXiv 1507.02646)."""
    from arviz_stats.base.array import array_stats

    # it takes minus the log weights, as leave-one-out has them from log likelihoods
    # weights that differ by hundreds of orders of magnitude overflow in the fit of their tail
    with np.errstate(all="ignore"):
        smooth, pareto_k = array_stats.psislw(-log_weight)
    return smooth, float(pareto_k) if np.isfinite(pareto_k) else float("inf")
