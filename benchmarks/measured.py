"""One run of one sampler, and what is computed from it in the same way for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayescale.inference.convergence import Convergence, convergence

__all__ = ["Measured", "disagreement"]

# Means of two correct samplers differ by Monte Carlo error alone; the largest of seven stays below this many of its
# standard deviations in all but one comparison of ten thousand.
LIMIT = 4.5


@dataclass(frozen=True)
class Measured:
    """Draws and the seconds they took.

    Attributes
    ----------
    method : str
        Who drew.
    draws : mapping of str to array (chain, draw)
        Sampled parameters, on their own scale.
    seconds : float
        What effective samples are divided by; each sampler's module says what is in it.
    whole : float
        Seconds of the whole call as a user makes it.
    leapfrogs : float
        Gradient evaluations per kept draw.
    """

    method: str
    draws: Mapping[str, np.ndarray]
    seconds: float
    whole: float
    leapfrogs: float

    @cached_property
    def convergence(self) -> Convergence:
        """R-hat, bulk and tail ESS by ArviZ's formulas."""
        return convergence(self.draws)

    @property
    def min_ess(self) -> float:
        """The smallest bulk or tail ESS of the sampled parameters."""
        return self.convergence.min_ess

    @property
    def ess_per_second(self) -> float:
        """``min_ess / seconds``."""
        return self.min_ess / self.seconds


def disagreement(one: Measured, other: Measured) -> tuple[float, bool]:
    """Largest difference of posterior means in posterior sds, and whether Monte Carlo error explains them all."""
    gaps, within = [], True
    for name, draws in one.draws.items():
        gap = abs(float(draws.mean() - other.draws[name].mean())) / float(draws.std())
        error = np.sqrt(1 / one.convergence.ess_bulk[name] + 1 / other.convergence.ess_bulk[name])
        gaps.append(gap)
        within &= bool(gap <= LIMIT * error)
    return max(gaps), within
