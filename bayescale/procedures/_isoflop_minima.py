"""Where a budget's loss is lowest: by a parabola in log size, or by Akima interpolation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayescale.procedures._isoflop_budgets import Budget, cells

__all__ = ["APART", "Minima", "akima_minima", "cell_means", "parabola_minima", "parabola_residuals", "window_weights"]

# Sizes read off a figure, or of one architecture at slightly different compute, scatter by less than this: an
# interpolant through two of them would swing far out of the data.
APART = 0.01


class Minima(NamedTuple):
    """The lowest point of each replicate's profile; arrays (replicate,).

    ``log_size`` is NaN where there is no interior minimum: the parabola opens downward, or its vertex (or the lowest
    point of the interpolant) does not lie between the budget's smallest and largest size. ``loss`` is then the lowest
    of the fitted profile at the budget's sizes. ``vertex`` is where a parabola that opens upward has its vertex,
    inside or not, else NaN.
    """

    log_size: np.ndarray
    loss: np.ndarray
    vertex: np.ndarray


class _Parabolas(NamedTuple):
    """``y = height + slope z + bend z**2`` in ``z = (log_size - centre) / scale``."""

    bend: np.ndarray
    slope: np.ndarray
    height: np.ndarray
    centre: np.ndarray
    scale: np.ndarray

    def at(self, log_size: np.ndarray) -> np.ndarray:
        z = (log_size - self.centre[:, None]) / self.scale[:, None]
        return self.height[:, None] + (self.slope[:, None] + self.bend[:, None] * z) * z


def cell_means(cell: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Mean over the runs of each cell, (.., cell) of values (.., run)."""
    share = (cell[:, None] == np.arange(cell[-1] + 1)).astype(np.float64)
    return values @ (share / share.sum(axis=0))


def window_weights(budget: Budget, losses: np.ndarray, window: int | None) -> np.ndarray:
    """1 for the runs of the `window` sizes in a row around the best one, else 0; (replicate, run).

    The best size has the lowest mean loss. It stands in the middle, or as near to it as the ends of the budget allow
    (one more to its left where `window` is even): sizes are counted and not measured, so that an uneven grid does not
    put the window to one side of the best run.
    """
    if window is None or window >= budget.n_sizes:
        return np.ones_like(losses)
    best = np.argmin(cell_means(budget.cell, losses), axis=1)
    first = np.clip(best - window // 2, 0, budget.n_sizes - window)[:, None]
    return ((budget.cell >= first) & (budget.cell < first + window)).astype(np.float64)


def _fit(log_size: np.ndarray, losses: np.ndarray, weight: np.ndarray) -> _Parabolas:
    """Weighted least squares; NaN where fewer than three sizes have weight."""
    total = weight.sum(axis=1)
    total = np.where(total > 0, total, np.nan)
    middle = log_size.mean()
    centre = middle + weight @ (log_size - middle) / total
    offset = log_size - centre[:, None]
    scale = np.sqrt((weight * offset**2).sum(axis=1) / total)
    scale = np.where(scale > 0, scale, np.nan)
    z = offset / scale[:, None]
    mean = (weight * losses).sum(axis=1) / total
    y = losses - mean[:, None]
    # Moments of z are 0, 1, third, fourth: the normal equations solve by hand.
    third, fourth = ((weight * z**power).sum(axis=1) / total for power in (3, 4))
    tilt, bow = ((weight * y * z**power).sum(axis=1) / total for power in (1, 2))
    spare = fourth - third**2 - 1.0
    bend = (bow - third * tilt) / np.where(spare > 1e-9, spare, np.nan)
    return _Parabolas(bend, tilt - third * bend, mean - bend, centre, scale)


def parabola_minima(budget: Budget, losses: np.ndarray, weight: np.ndarray, interior: bool) -> Minima:
    """Vertex of the least-squares parabola of loss in log size.

    Parameters
    ----------
    budget : Budget
        The sizes.
    losses : array (replicate, run)
        Nats per token.
    weight : array (replicate, run)
        Weight of each run; 0 outside the window.
    interior : bool
        Whether a vertex outside the budget's sizes is none.
    """
    x = budget.log_size
    fitted = _fit(x, losses, weight)
    upward = np.isfinite(fitted.bend) & (fitted.bend > 0)
    bend = np.where(upward, fitted.bend, np.nan)
    vertex = fitted.centre - fitted.scale * fitted.slope / (2.0 * bend)
    inside = upward & ((vertex >= x[0]) & (vertex <= x[-1]) | (not interior))
    depth = fitted.height - fitted.slope**2 / (4.0 * bend)
    # A flat parabola far from its window can reach below any loss.
    inside &= depth > 0
    seen = np.where(weight > 0, fitted.at(x), np.inf).min(axis=1)
    lowest = np.where(inside, depth, np.where(seen > 0, seen, np.nan))
    return Minima(np.where(inside, vertex, np.nan), lowest, vertex)


def parabola_residuals(budget: Budget, weight: np.ndarray) -> np.ndarray:
    """Residuals of log loss around the parabola of the runs with weight, each over ``sqrt(1 - leverage)``.

    So scaled, they have the variance of the noise; (run with weight,), empty where the parabola goes through them all.
    """
    kept = weight > 0
    fitted = _fit(budget.log_size, budget.loss[None], weight[None])
    z = (budget.log_size[kept] - fitted.centre[0]) / fitted.scale[0]
    basis, _ = np.linalg.qr(np.stack([np.ones_like(z), z, z * z], axis=1))
    spare = 1.0 - (basis**2).sum(axis=1)
    residual = np.log(budget.loss[kept] / fitted.at(budget.log_size)[0, kept])
    # A run that alone fixes the parabola somewhere has no residual to learn from.
    return residual[spare > 1e-6] / np.sqrt(spare[spare > 1e-6])


def akima_minima(budget: Budget, losses: np.ndarray) -> Minima:
    """Lowest point of the Akima interpolant of log loss in log size, through the mean of each size's runs.

    Sizes within 1 % of the next are one size.

    References
    ----------
    Akima 1970, doi 10.1145/321607.321609; Porian et al. 2024, arXiv 2406.19146, section 3.
    """
    cell = cells(budget.log_size, APART)
    x, y = cell_means(cell, budget.log_size), np.log(cell_means(cell, losses)).T
    from scipy.interpolate import Akima1DInterpolator  # slow to load, and seldom needed

    cubic, square, linear, constant = Akima1DInterpolator(x, y, axis=0).c
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(square**2 - 3.0 * cubic * linear)
        # The root of the derivative at which the cubic is bent upward, in the form that survives a vanishing cubic.
        step = np.where(square >= 0, -linear / (square + root), (root - square) / (3.0 * cubic))
    within = np.isfinite(step) & (step > 0) & (step < np.diff(x)[:, None])
    step = np.where(within, step, 0.0)
    turning = constant + step * (linear + step * (square + step * cubic))
    at = np.concatenate([x[:-1, None] + step, np.broadcast_to(x[:, None], y.shape)])
    value = np.concatenate([turning, y])
    lowest, replicate = np.argmin(value, axis=0), np.arange(y.shape[1])
    log_size, loss = at[lowest, replicate], np.exp(value[lowest, replicate])
    inside = (log_size > x[0]) & (log_size < x[-1])
    return Minima(np.where(inside, log_size, np.nan), loss, np.where(inside, log_size, np.nan))
