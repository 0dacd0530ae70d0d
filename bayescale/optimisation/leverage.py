"""Residuals of the size that errors had: a fit follows the runs it rests on, and leaves their residuals too small."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bayescale._float64 import jax
from bayescale.optimisation.regression import Regression, Resampled

__all__ = ["leverage_free"]

# A run (or a group) that a parameter rests on alone has no residual, whatever its error was: what is known of the
# others is not stretched by more than this.
MOST = 5.0


@partial(jax.jit, static_argnames=("objective",))
def _slopes(objective: Regression, table: Resampled, position: Any) -> Any:
    natural = objective.coordinates.natural
    return jax.jacfwd(lambda position: objective.residuals(table, 0, natural(position)))(position)


def leverage_free(
    objective: Regression, table: Resampled, position: np.ndarray, residual: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    r"""Residuals as they would be had each group of runs taken no part in the fit, to first order.

    .. math:: \tilde r_g = (I - H_{gg})^{-1} r_g, \qquad H = J (J^\top J)^{-1} J^\top

    with J the slopes of the residuals at the fit. For groups of one run these are the residuals of the
    heteroscedasticity-consistent covariance HC3, which Davidson and Flachaire (2008, doi 10.1016/j.jeconom.2008.08.003)
    recommend for a wild bootstrap; for larger groups those of CV3, the cluster jackknife.

    Parameters
    ----------
    objective : Regression
    table : Resampled
    position : array (dim,)
        Coordinates of the fit.
    residual : array (run,)
        Observed less fitted.
    groups : array of int (run,)
        The independent group of each run.
    """
    runs = len(groups)
    slopes = np.asarray(_slopes(objective, table, position))[:runs]
    # a direction that the runs do not know adds no leverage
    basis, sizes, _ = np.linalg.svd(np.nan_to_num(slopes, posinf=0.0, neginf=0.0), full_matrices=False)
    basis = basis[:, sizes > 1e-9 * sizes.max(initial=0.0)]
    precision = np.asarray(table.precision)[:runs]
    free = residual * precision
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        left, stretch, right = np.linalg.svd(np.eye(len(rows)) - basis[rows] @ basis[rows].T)
        free[rows] = right.T @ ((left.T @ free[rows]) / np.maximum(stretch, 1.0 / MOST))
    return free / precision
