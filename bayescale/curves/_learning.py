"""Learning a calibration from curves whose targets are known."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bayescale._float64 import jax, jnp
from bayescale.curves._calibration import Bands, Calibration, components, log_density

__all__ = ["learn"]

# sd of each number around its default a priori, and how many curves that prior is worth
SPREAD = 1.0
WORTH = 4.0
ITERATIONS = 60


@partial(jax.jit, static_argnames="dof")
def _loss(flat: Any, bands: Bands, log_y: Any, weight: Any, counted: Any, dof: int) -> Any:
    """Minus the mean log density of a curve's targets, each curve counted alike, and the prior."""
    density = log_density(components(bands, Calibration.of(flat)), log_y, dof)
    per_curve = jnp.where(weight > 0, density * weight, 0.0).sum(axis=1)
    prior = 0.5 * jnp.sum(((flat - Calibration().flat()) / SPREAD) ** 2)
    return (WORTH * prior / 10.0 - (per_curve * counted).sum()) / counted.sum()


_slope = partial(jax.jit, static_argnames="dof")(jax.value_and_grad(_loss))


def learn(
    bands: Bands, log_y: np.ndarray, counted: np.ndarray, dof: int, start: Calibration | None = None
) -> Calibration:
    """The calibration under which the targets of these curves are most likely.

    Parameters
    ----------
    bands : Bands
        Draws of every law at the targets.
    log_y : array (curve, target)
        What was seen there, NaN where nothing was.
    counted : array (curve,)
        1.0 for curves to learn from, 0.0 for those to leave out.
    dof : int
        Degrees of freedom of the errors.
    start : Calibration, optional
        Where to start.
    """
    seen = np.isfinite(log_y)
    weight = seen / np.maximum(seen.sum(axis=1, keepdims=True), 1)
    arguments = (bands, np.where(seen, log_y, 0.0), weight, counted * seen.any(axis=1), dof)

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        loss, slope = _slope(flat, *arguments)
        return float(loss), np.asarray(slope)

    first = (start or Calibration()).flat()
    found = minimize(value, first, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS})
    return Calibration.of([float(number) for number in found.x])
