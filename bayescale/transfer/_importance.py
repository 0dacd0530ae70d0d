"""Draws from a smooth posterior of few dimensions: importance sampling from a Student-t that adapts to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from bayescale.inference.convergence import pareto_smoothed

__all__ = ["MAX_PARETO_K", "Drawn", "draw"]

# Above it the weights have no variance to speak of (Vehtari et al. 2015, arXiv 1507.02646).
MAX_PARETO_K = 0.7
DEGREES = 5.0
ROUNDS, FEW, MANY = 5, 4000, 20000
STEP = 1e-3

LogDensity = Callable[[np.ndarray], np.ndarray]


class Drawn(NamedTuple):
    """Draws and how good they are.

    Attributes
    ----------
    points : array (draw, dim)
        Equally weighted draws, resampled from weighted ones.
    pareto_k : float
        Shape of the tail of the weights; above .7 the draws are not to be trusted.
    ess : float
        Effective number of the weighted draws.
    """

    points: np.ndarray
    pareto_k: float
    ess: float


def draw(log_density: LogDensity, start: np.ndarray, draws: int, generator: np.random.Generator) -> Drawn:
    """Sample a density.

    Parameters
    ----------
    log_density : callable
        Log density, up to a constant, of points (point, dim), as an array (point,); minus infinity outside.
    start : array (dim,)
        Where the search for the mode begins.
    draws : int
        Draws wanted.
    generator : numpy.random.Generator
        Source of everything random.
    """
    centre, spread = _mode(log_density, start)
    found = _weighted(log_density, centre, 1.5 * spread, FEW, generator)
    for _ in range(ROUNDS):
        points, weights, _, _ = found
        centre = weights @ points
        apart = points - centre
        # a little wider than what was seen: a proposal that is too narrow does not find out
        spread = np.linalg.cholesky(1.2 * (apart * weights[:, None]).T @ apart + 1e-12 * np.diag(np.diag(spread) ** 2))
        found = _weighted(log_density, centre, spread, FEW, generator)
    points, weights, pareto_k, ess = _weighted(log_density, centre, spread, MANY, generator)
    # systematic resampling: each draw as often as its weight says, to within one
    places = (np.arange(draws) + generator.random()) / draws
    chosen = np.searchsorted(np.cumsum(weights) * (1.0 - 1e-12), places)
    return Drawn(points[generator.permutation(np.minimum(chosen, len(points) - 1))], pareto_k, ess)


def _mode(log_density: LogDensity, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mode, and the Cholesky factor of the inverse Hessian there."""
    dim = len(start)

    def value_and_slope(at: np.ndarray) -> tuple[float, np.ndarray]:
        steps = 1e-5 * np.concatenate([np.zeros((1, dim)), np.eye(dim), -np.eye(dim)])
        heights = -log_density(at + steps)
        return float(heights[0]), (heights[1 : dim + 1] - heights[dim + 1 :]) / 2e-5

    centre = minimize(value_and_slope, start, jac=True, method="BFGS", options={"maxiter": 300, "gtol": 1e-4}).x
    pairs = [(i, j) for i in range(dim) for j in range(i, dim)]
    corners = np.array(
        [(STEP * (a * np.eye(dim)[i] + b * np.eye(dim)[j])) for i, j in pairs for a in (1, -1) for b in (1, -1)]
    )
    heights = -log_density(centre + corners).reshape(len(pairs), 4)
    hessian = np.zeros((dim, dim))
    for (i, j), (up, across, back, down) in zip(pairs, heights, strict=True):
        hessian[i, j] = hessian[j, i] = (up - across - back + down) / (4.0 * STEP**2)
    sizes, vectors = np.linalg.eigh(np.where(np.isfinite(hessian), hessian, 0.0))
    # no direction is taken for flatter than its prior, whose sds are of order 1
    half = vectors / np.sqrt(np.maximum(np.abs(sizes), 0.25))
    return centre, np.linalg.cholesky(half @ half.T)


def _weighted(
    log_density: LogDensity, centre: np.ndarray, spread: np.ndarray, count: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Points of a Student-t, their smoothed normalised weights, the weights' Pareto k, and their effective number."""
    dim = len(centre)
    normal = generator.standard_normal((count, dim))
    tail = np.sqrt(DEGREES / generator.chisquare(DEGREES, count))[:, None]
    points = centre + (normal * tail) @ spread.T
    inside = ((normal * tail) ** 2).sum(axis=1)
    log_proposal = -0.5 * (DEGREES + dim) * np.log1p(inside / DEGREES)
    smooth, pareto_k = pareto_smoothed(log_density(points) - log_proposal)
    weights = np.exp(smooth - smooth.max())
    weights /= weights.sum()
    return points, weights, pareto_k, float(1.0 / (weights**2).sum())
