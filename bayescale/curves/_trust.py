"""Forecasts that should not be trusted, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bayescale.curves._tasks import Task

__all__ = ["Evidence", "doubts"]

FEWEST_POINTS = 4
FEWEST_EFFECTIVE = 4.0
MOST_DOUBTFUL = 0.5


class Evidence(NamedTuple):
    """What the doubts are judged by.

    Attributes
    ----------
    weights : array (curve, law)
        Weights of the laws.
    effective : array (curve, law)
        Effective number of draws.
    """

    weights: np.ndarray
    effective: np.ndarray


def doubts(tasks: Sequence[Task], evidence: Evidence) -> dict[str, list[str]]:
    """Task to sentences; tasks without any are left out."""
    found: dict[str, list[str]] = {}
    for place, task in enumerate(tasks):
        said = []
        points = len(np.unique(task.x))
        if points < FEWEST_POINTS:
            said.append(f"{points} different x are known: the band is that of the priors; add points")
        span, horizon = np.log(task.x[-1] / task.x[0]), np.log(task.at.max() / task.x[-1])
        if horizon > span:
            said.append(
                f"x is extrapolated {np.exp(horizon):.3g} times, further than the known points reach "
                f"({np.exp(span):.3g} times); ask for less, or add smaller x"
            )
        thin = evidence.effective[place] < FEWEST_EFFECTIVE
        lost = float(evidence.weights[place][thin].sum())
        if lost > MOST_DOUBTFUL:
            said.append(
                f"laws with {lost:.0%} of the weight rest on fewer than {FEWEST_EFFECTIVE:g} effective draws: their "
                "posterior is not near its modes; try another --seed and compare"
            )
        if said:
            found[task.name] = said
    return found
