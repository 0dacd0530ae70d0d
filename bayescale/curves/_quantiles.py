"""Quantiles of mixtures of Student-t distributions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from bayescale._float64 import jax, jnp
from bayescale.curves._calibration import Components

__all__ = ["quantiles", "student_cdf"]

GRID = 72
# standard normal scores between which a grid is laid
REACH = 4.0
# each lays the grid where the last one found the mass
PASSES = 2


def student_cdf(t: Any, dof: int) -> Any:
    """Distribution function of Student's t for an even number of degrees of freedom, where it is algebraic.

    Examples
    --------
    >>> round(float(student_cdf(2.132, 4)), 3)
    0.95
    """
    cosine = dof / (dof + t * t)
    term, total = 1.0, 1.0
    for k in range(1, dof // 2):
        term = term * (2 * k - 1) / (2 * k) * cosine
        total = total + term
    return 0.5 + 0.5 * total * t / jnp.sqrt(dof + t * t)


@partial(jax.jit, static_argnames="dof")
def _distribution(mixture: Components, at: Any, dof: int) -> Any:
    """Distribution function of one curve's mixture: at (point, target) to the same shape."""
    weight = jnp.exp(mixture.log_weight)[:, None]

    def one(y: Any) -> Any:
        return (weight * student_cdf((y[None] - mixture.location) / mixture.scale, dof)).sum(axis=0)

    return jax.lax.map(one, at)


def quantiles(mixture: Components, levels: np.ndarray, dof: int) -> np.ndarray:
    """Quantiles of the mixtures of one curve, by passes over a grid and interpolation of normal scores.

    Parameters
    ----------
    mixture : Components
        Log weights (component,), locations and scales (component, target).
    levels : array (level,)
        Probabilities.
    dof : int
        Degrees of freedom, even.

    Returns
    -------
    array (level, target)
    """
    weight = np.exp(np.asarray(mixture.log_weight))[:, None]
    location, scale = np.asarray(mixture.location), np.asarray(mixture.scale)
    centre = (weight * location).sum(axis=0)
    narrow = np.exp((weight * np.log(scale)).sum(axis=0))
    wide = np.sqrt((weight * (scale**2 + (location - centre) ** 2)).sum(axis=0))
    stretch = np.arcsinh(60.0 * wide / narrow)
    grid = centre + narrow * np.sinh(np.linspace(-1.0, 1.0, GRID)[:, None] * stretch)
    scores = np.linspace(-REACH, REACH, GRID)
    for _ in range(PASSES):
        grid = _inverted(grid, np.asarray(_distribution(mixture, grid, dof)), scores)
    return _inverted(grid, np.asarray(_distribution(mixture, grid, dof)), ndtri(levels))


def _inverted(grid: np.ndarray, distribution: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Points of the grid (point, target) at these normal scores; each column's grid is sorted."""
    known = ndtri(np.clip(distribution, ndtr(-8.0), ndtr(8.0)))
    known = np.maximum.accumulate(known, axis=0) + 1e-12 * np.arange(len(grid))[:, None]
    columns = [np.interp(scores, known[:, k], grid[:, k]) for k in range(grid.shape[1])]
    return np.stack(columns, axis=1)
