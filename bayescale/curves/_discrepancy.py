"""What a law does not say: a residual with a slope of its own, correlated errors, and the noise of single points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bayescale._float64 import jax, jnp

__all__ = ["Discrepancy", "Rows", "State", "ahead", "final_states", "log_densities", "log_densities_and_gradients"]

# sd of a computed loss that repeats to the last printed digit
FLOOR = 1e-10


@dataclass(frozen=True)
class Discrepancy:
    r"""Priors and constants of the residual of log y around a law, along u = log x - log x of the last point.

    .. math:: \log y_i = \log f(x_i) + g(u_i) + a_i + \epsilon_i

    ``g`` is an integrated Ornstein-Uhlenbeck process: it keeps its level for ever, and its slope for about ``memory``
    e-folds of x, so that a forecast starts where the last points are and a band grows with the distance. Its slope has
    the sd tau at the end of the curve, and is freer the further before it: sd tau exp(-early u / 2). ``a`` is an
    error shared by about ``run`` neighbouring points, of sd omega; the noise has sd s. Points far from their forecast
    count less, as under a Student-t with ``dof`` degrees of freedom. s, tau, omega and early are learnt for each curve.

    Attributes
    ----------
    noise, slope, shared, early : tuple of float
        Median and sd of the logarithm of s, tau, omega and early a priori; early is per e-fold of x.
    memory : float
        E-folds of x over which the slope of g is forgotten.
    dof : int
        Degrees of freedom of the errors; even, so that their distribution function is algebraic.
    start : float
        Sd of g at the first point.
    run : float
        Number of neighbouring points that share errors.
    level : float
        Sd of the law's level at the last point, around the last points.
    """

    noise: tuple[float, float] = (0.004, 1.3)
    slope: tuple[float, float] = (0.04, 1.0)
    shared: tuple[float, float] = (0.003, 1.0)
    early: tuple[float, float] = (1.0, 0.6)
    memory: float = 3.0
    dof: int = 4
    start: float = 0.05
    run: float = 3.0
    level: float = 0.1

    @property
    def locations(self) -> np.ndarray:
        """Log of the prior medians of s, tau, omega, early; shape (4,)."""
        return np.log([self.noise[0], self.slope[0], self.shared[0], self.early[0]])

    @property
    def scales(self) -> np.ndarray:
        """Prior sds of the logarithms of s, tau, omega, early; shape (4,)."""
        return np.array([self.noise[1], self.slope[1], self.shared[1], self.early[1]])


class Rows(NamedTuple):
    """Thinned points of curves, padded to one length; every field is (curve, point) or (curve,).

    Attributes
    ----------
    u, log_y : array (curve, point)
        Log x and log y, both relative to the end of the curve.
    step : array (curve, point)
        Distance in u from the point before.
    spread : array (curve, point)
        Variance of a point over that of a single one: smaller where several were brought together.
    used : array (curve, point)
        1.0 where there is a point, 0.0 for padding.
    within, within_dof : array (curve,)
        Variance of single points around their bin, and the degrees of freedom behind it.
    spacing : array (curve,)
        Mean step between the last points.
    """

    u: Any
    log_y: Any
    step: Any
    spread: Any
    used: Any
    within: Any
    within_dof: Any
    spacing: Any


class State(NamedTuple):
    """Mean (level, slope, shared error) and covariance of the discrepancy; each of the nine is a number or an array."""

    mean: tuple[Any, Any, Any]
    covariance: tuple[Any, Any, Any, Any, Any, Any]


def ahead(state: State, distance: Any, points: Any, scales: tuple[Any, Any], settings: Discrepancy) -> State:
    """The state a distance in u, and a number of points, further on.

    Parameters
    ----------
    state : State
        At the start.
    distance, points : float or array
        How far, in e-folds of x and in points of the curve.
    scales : tuple
        tau, its early freedom included, and omega.
    settings : Discrepancy
        Constants.
    """
    (level, slope, error), (p00, p01, p11, p02, p12, p22) = state
    tau, omega = scales
    rate = 1.0 / settings.memory
    kept = jnp.exp(-rate * distance)
    reach = (1.0 - kept) / rate
    shared = jnp.exp(-points / settings.run)
    bent = jnp.maximum(2.0 * rate * distance - 3.0 + 4.0 * kept - kept * kept, 0.0) / rate**2
    covariance = (
        p00 + 2.0 * reach * p01 + reach**2 * p11 + tau**2 * bent,
        kept * (p01 + reach * p11) + tau**2 / rate * (1.0 - kept) ** 2,
        kept**2 * p11 + tau**2 * (1.0 - kept**2),
        shared * (p02 + reach * p12),
        shared * kept * p12,
        shared**2 * p22 + omega**2 * (1.0 - shared**2),
    )
    return State((level + reach * slope, kept * slope, shared * error), covariance)


def _updated(state: State, residual: Any, variance: Any, dof: int) -> tuple[State, Any]:
    """The state after one residual, and the log density of that residual; a far one moves the state less."""
    (level, slope, error), (p00, p01, p11, p02, p12, p22) = state
    to_level, to_slope, to_error = p00 + p02, p01 + p12, p02 + p22
    known = to_level + to_error
    total = known + variance
    surprise = residual - level - error
    squared = surprise**2 / total
    weight = jnp.minimum(1.0, (dof + 1.0) / (dof + squared))
    discounted = known + variance / weight
    gain = (to_level / discounted, to_slope / discounted, to_error / discounted)
    mean = (level + gain[0] * surprise, slope + gain[1] * surprise, error + gain[2] * surprise)
    covariance = (
        p00 - gain[0] * to_level,
        p01 - gain[0] * to_slope,
        p11 - gain[1] * to_slope,
        p02 - gain[0] * to_error,
        p12 - gain[1] * to_error,
        p22 - gain[2] * to_error,
    )
    constant = (
        jax.scipy.special.gammaln((dof + 1.0) / 2.0)
        - jax.scipy.special.gammaln(dof / 2.0)
        - 0.5 * jnp.log(dof * jnp.pi)
    )
    density = constant - 0.5 * jnp.log(total) - (dof + 1.0) / 2.0 * jnp.log1p(squared / dof)
    return State(mean, covariance), density


def _filtered(residuals: Any, log_scales: Any, rows: Rows, settings: Discrepancy) -> tuple[State, Any]:
    """State at the end of one curve, and the log density of its residuals (point,), given the logs of its scales."""
    sigma, tau, omega, early = jnp.exp(log_scales)
    freedom = jnp.exp(-0.5 * early * rows.u)
    nought = 0.0 * sigma
    first = tau * freedom[0]
    start = State(
        (nought, nought, nought), (settings.start**2 + nought, nought, first**2, nought, nought, omega**2 + nought)
    )

    def step(carried: tuple[State, Any], point: tuple[Any, ...]) -> tuple[tuple[State, Any], None]:
        state, total = carried
        residual, distance, free, spread, used = point
        predicted = ahead(state, distance, 1.0, (tau * free, omega), settings)
        seen, density = _updated(predicted, residual, sigma**2 * spread + FLOOR, settings.dof)
        state = jax.tree.map(lambda new, old: jnp.where(used > 0, new, old), seen, state)
        return (state, total + jnp.where(used > 0, density, 0.0)), None

    points = (residuals, rows.step, freedom, rows.spread, rows.used)
    (state, total), _ = jax.lax.scan(step, (start, nought), points)
    return state, total - rows.within_dof * (jnp.log(sigma) + rows.within / (2.0 * sigma**2))


def _log_density(residuals: Any, log_scales: Any, rows: Rows, settings: Discrepancy) -> Any:
    return _filtered(residuals, log_scales, rows, settings)[1]


def _over_lanes(function: Any) -> Any:
    """The function for many curves side by side; compiled once for all laws, curves and draws."""

    @partial(jax.jit, static_argnames="settings")
    def lanes(residuals: Any, log_scales: Any, rows: Rows, settings: Discrepancy) -> Any:
        return jax.vmap(partial(function, settings=settings))(residuals, log_scales, rows)

    return lanes


log_densities = _over_lanes(_log_density)
log_densities_and_gradients = _over_lanes(
    lambda residuals, log_scales, rows, settings: jax.value_and_grad(_log_density, argnums=(0, 1))(
        residuals, log_scales, rows, settings
    )
)
final_states = _over_lanes(
    lambda residuals, log_scales, rows, settings: _filtered(residuals, log_scales, rows, settings)[0]
)
