"""Starts that become one: at the same exponents the best linear parameters are the same, wherever a search began."""

from __future__ import annotations

import numpy as np

from bayescale.optimisation.projection import MOST_LINEAR, Projection
from bayescale.optimisation.regression import Regression, Resampled
from bayescale.optimisation.search import best_linear

__all__ = ["mergeable", "merged"]

# The least that a linear parameter contributes where a search starts, as a share of the loss (root mean square over
# runs): one that is 0 has no gradient in its logarithm, and a search cannot bring it back.
LEAST = 0.1


def mergeable(objective: Regression) -> bool:
    """Whether a law has parameters to solve and others to search, and none of the former is pinned by its prior."""
    law, free = objective.law, set(objective.coordinates.names)
    linear = set(law.linear)
    return 0 < len(linear) <= MOST_LINEAR and linear <= free and linear != free


def merged(objective: Regression, table: Resampled, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Starts with their linear parameters at their best, each point once.

    For the parameters in which the law is linear, least squares of the relative residual (on loss, with weights one
    over the observed loss squared: log loss to first order) is solved exactly under non-negativity at each start's
    other parameters, and what came out smaller is raised to a contribution of a tenth of the loss. All starts with the
    same other parameters are one point afterwards.

    Parameters
    ----------
    objective : Regression
        Of residuals of log loss, of a law that is `mergeable`.
    table : Resampled
        The table itself is resample 0.
    starts : array (start, dim)
        Coordinates.

    Returns
    -------
    points, kind : array (point, dim), array of int (start,)
        The distinct points, and the point that each start became.
    """
    projection = Projection(Regression(objective.law, objective.coordinates, False))
    loss = np.exp(np.asarray(table.centre))
    relative = table._replace(centre=loss, precision=np.asarray(table.precision) / loss)
    others, first, kind = np.unique(starts[:, projection.free], axis=0, return_index=True, return_inverse=True)
    _, points = best_linear(projection, relative, np.zeros(len(others), dtype=np.int64), others, LEAST)
    usable = np.isfinite(points).all(axis=1, keepdims=True)
    return np.where(usable, points, starts[first]), kind.ravel()
