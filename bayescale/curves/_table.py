"""One curve's forecast as rows: quantiles and log densities."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayescale._float64 import jax
from bayescale.curves._calibration import Components, log_density
from bayescale.curves._posterior import filled
from bayescale.curves._quantiles import quantiles
from bayescale.curves._tasks import Task

__all__ = ["LEVELS", "forecast_rows"]

LEVELS = (0.005, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 0.975, 0.995)
TOGETHER = 24

_log_density = jax.jit(log_density, static_argnames="dof")


def forecast_rows(
    task: Task, mixture: Components, at: np.ndarray, origin: tuple[float, float], dof: int
) -> pd.DataFrame:
    """Quantiles of a new point at every target, and its log density where y is known.

    Parameters
    ----------
    task : Task
        The curve.
    mixture : Components
        Of this curve, at the distances `at`.
    at : array (distance,)
        Sorted; the last may be repeated.
    origin : tuple of float
        Log x and log y that distances and locations are counted from.
    dof : int
        Degrees of freedom.
    """
    u, level = np.log(task.at) - origin[0], origin[1]
    grid, first = np.unique(at, return_index=True)
    found = quantiles(mixture, np.array(LEVELS), dof)[:, first]
    table = pd.DataFrame({"row": task.rows, "task": task.name, "x": task.at})
    for probability, row in zip(LEVELS, found, strict=True):
        table[f"q{round(1000 * probability):03d}"] = np.exp(level + np.interp(u, grid, row))
    known = np.isfinite(task.truth)
    table["logp"] = np.nan
    if known.any():
        log_y = np.log(task.truth[known])
        places = np.interp(u[known], grid, first.astype(float))
        table.loc[known, "logp"] = _densities(mixture, places, log_y - level, dof) - log_y + np.log(task.unit)
    return table


def _densities(mixture: Components, places: np.ndarray, log_y: np.ndarray, dof: int) -> np.ndarray:
    """Log density at places between the distances: locations and scales are interpolated."""
    location, scale = np.asarray(mixture.location), np.asarray(mixture.scale)
    left = np.floor(places).astype(int)
    right, share = np.minimum(left + 1, location.shape[1] - 1), places - left
    found = []
    for start in range(0, len(places), TOGETHER):
        part = slice(start, start + TOGETHER)
        low, high, between = (filled(array[part], TOGETHER) for array in (left, right, share))
        pieces = Components(
            np.asarray(mixture.log_weight)[None],
            ((1.0 - between) * location[:, low] + between * location[:, high])[None],
            ((1.0 - between) * scale[:, low] + between * scale[:, high])[None],
        )
        density = np.asarray(_log_density(pieces, filled(log_y[part], TOGETHER)[None], dof))
        found.append(density[0, : len(places[part])])
    return np.concatenate(found)
