"""How draws of several laws become one forecast: weights, the noise of a new point, the width of the band."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import lgamma, log, pi
from typing import Any, NamedTuple

import numpy as np

from bayescale._float64 import jax, jnp
from bayescale.curves._shapes import SHAPES

__all__ = ["Bands", "Calibration", "Components", "components", "log_density"]

# three nodes of Gauss-Hermite quadrature over the noise of new points
NODES = np.array([-np.sqrt(3.0), 0.0, np.sqrt(3.0)])
NODE_WEIGHTS = np.array([1.0, 4.0, 1.0]) / 6.0
LEAST_VARIANCE = 1e-10


@dataclass(frozen=True)
class Calibration:
    """What is learnt across curves; two numbers are for a curve that does not, and one that does fall at every step.

    A context of many points that never rises has been smoothed or sorted (isotonic regression, best so far), so that
    new points scatter more around the curve than its own points do, and lie above its lower edge.

    Attributes
    ----------
    log_weights : tuple of float
        Of the laws, in the order of `SHAPES`, before any data.
    falling_log_weights : tuple of float
        The same, for a curve that falls at every step.
    log_trust : float
        Log of the power of the predictive density of the last points of the context in the weights.
    noise : tuple of float
        Log ratio of the sd of a new point to that of a point of the context.
    longer : float
        What each e-fold of points beyond ten adds to that ratio, in a curve that always falls.
    noise_spread : tuple of float
        Log of the sd of that log ratio.
    offset : float
        How far new points lie above a curve that always falls, in sds of a new point.
    jump : tuple of float
        Log of the sd of a shift common to all new points, in the same unit.
    width : tuple of float
        Log of what the variance of the curve itself is multiplied with.
    """

    log_weights: tuple[float, ...] = (0.0,) * len(SHAPES)
    falling_log_weights: tuple[float, ...] = (0.0,) * len(SHAPES)
    log_trust: float = -1.2
    noise: tuple[float, float] = (0.1, 0.9)
    longer: float = 0.1
    noise_spread: tuple[float, float] = (-1.0, -0.7)
    offset: float = 0.5
    jump: tuple[float, float] = (-2.0, 0.0)
    width: tuple[float, float] = (0.0, 0.0)

    def flat(self) -> np.ndarray:
        """All numbers in one row."""
        return np.concatenate([np.ravel(getattr(self, field.name)) for field in fields(self)])

    @classmethod
    def of(cls, flat: Any) -> Calibration:
        """The inverse of `flat`; works on traced arrays too."""
        found: dict[str, Any] = {}
        start, default = 0, cls()
        for field in fields(cls):
            size = np.size(getattr(default, field.name))
            part = flat[start : start + size]
            found[field.name] = part[0] if isinstance(getattr(default, field.name), float) else tuple(part)
            start += size
        return cls(**found)


class Bands(NamedTuple):
    """Draws of every law at the targets of curves.

    Attributes
    ----------
    location, variance : array (curve, law, draw, target)
        Mean and variance of the curve, on the log scale.
    sigma : array (curve, law, draw)
        Sd of the noise of a point of the context.
    held_out : array (curve, law)
        Mean log predictive density of the last points of the context, given those before; a sum over neighbours would
        count what they share many times.
    falling : array (curve,)
        1.0 where the curve falls, or stays, at every step.
    log_points : array (curve,)
        Log of the number of different x, over ten.
    """

    location: Any
    variance: Any
    sigma: Any
    held_out: Any
    falling: Any
    log_points: Any


class Components(NamedTuple):
    """A mixture of Student-t distributions: log weight, location and scale of each, (curve, component[, target])."""

    log_weight: Any
    location: Any
    scale: Any


def components(bands: Bands, calibration: Calibration) -> Components:
    """The mixture that the forecast of each target is."""
    curves, laws, draws, targets = bands.location.shape
    falls = bands.falling

    def pick(pair: tuple[float, float]) -> Any:
        return (1.0 - falls) * pair[0] + falls * pair[1]

    log_ratio = pick(calibration.noise) + falls * calibration.longer * bands.log_points
    log_ratio = log_ratio[:, None] + jnp.exp(pick(calibration.noise_spread))[:, None] * NODES[None]
    fresh = bands.sigma[..., None] * jnp.exp(log_ratio)[:, None, None, :]
    noise = fresh**2 * (1.0 + jnp.exp(2.0 * pick(calibration.jump)))[:, None, None, None]
    widened = bands.variance * jnp.exp(pick(calibration.width))[:, None, None, None]
    location = bands.location[..., None, :] + (falls[:, None, None, None] * calibration.offset * fresh)[..., None]
    scale = jnp.sqrt(widened[..., None, :] + noise[..., None] + LEAST_VARIANCE)
    plain, falling = jnp.stack(calibration.log_weights), jnp.stack(calibration.falling_log_weights)
    before = jnp.where(falls[:, None] > 0, falling[None], plain[None])
    log_weight = jax.nn.log_softmax(before + jnp.exp(calibration.log_trust) * bands.held_out, axis=1)
    log_weight = log_weight[:, :, None, None] + jnp.log(NODE_WEIGHTS / draws)[None, None, None]
    shape = (curves, laws * draws * len(NODES))
    return Components(
        jnp.broadcast_to(log_weight, (curves, laws, draws, len(NODES))).reshape(shape),
        location.reshape(*shape, targets),
        scale.reshape(*shape, targets),
    )


def log_density(mixture: Components, log_y: Any, dof: int) -> Any:
    """Log density (curve, target) of log y (curve, target)."""
    apart = (log_y[:, None] - mixture.location) / mixture.scale
    constant = _log_constant(dof)
    each = constant - jnp.log(mixture.scale) - 0.5 * (dof + 1.0) * jnp.log1p(apart**2 / dof)
    return jax.scipy.special.logsumexp(mixture.log_weight[..., None] + each, axis=1)


def _log_constant(dof: int) -> float:
    return lgamma(0.5 * (dof + 1)) - lgamma(0.5 * dof) - 0.5 * log(dof * pi)
