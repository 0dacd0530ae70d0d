"""Coordinates in which a law is optimised: logarithms of positive parameters, exponents free on the real line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from bayescale._float64 import jax, jnp
from bayescale.laws import Law

__all__ = ["Coordinates", "coordinates_of"]

# Where a law is asked whether a parameter is an exponent: a few draws from its priors, at a few runs of any table.
PROBES = 3


@dataclass(frozen=True)
class Coordinates:
    """Which parameters of a law stand for themselves and which for their logarithm.

    Attributes
    ----------
    names : tuple of str
        Parameters that are fitted, in the law's order.
    logs : tuple of bool
        Whether the coordinate is the logarithm of the parameter.
    pinned : tuple of (str, float)
        Parameters that the law's own priors pin.
    """

    names: tuple[str, ...]
    logs: tuple[bool, ...]
    pinned: tuple[tuple[str, float], ...] = ()

    def part(self, places: tuple[int, ...]) -> Coordinates:
        """Those of some of the parameters."""
        return Coordinates(tuple(self.names[i] for i in places), tuple(self.logs[i] for i in places))

    def natural(self, z: Any) -> Any:
        """Parameters (dim, ...) from coordinates (dim, ...)."""
        return jnp.stack([jnp.exp(z[i]) if log else z[i] for i, log in enumerate(self.logs)])

    def from_natural(self, theta: Any) -> np.ndarray:
        """Coordinates (dim, ...) from parameters (dim, ...)."""
        with np.errstate(divide="ignore"):
            return np.stack([np.log(theta[i]) if log else np.asarray(theta[i]) for i, log in enumerate(self.logs)])

    def chain(self, theta: Any, gradient: Any, hessian: Any, curved: Any) -> tuple[Any, Any]:
        """Gradient (dim, lane) and Hessian (dim, dim, lane) in the coordinates, from those in the parameters.

        `curved` (lane,) is 0 where the Hessian is Gauss and Newton's, which leaves curvature out, and 1 elsewhere.
        """
        log = jnp.asarray(self.logs)[:, None]
        rate = jnp.where(log, theta, 1.0)
        gradient = gradient * rate
        bend = (curved[None] * jnp.where(log, gradient, 0.0))[:, None] * jnp.eye(len(self.names))[:, :, None]
        return gradient, hessian * rate[:, None] * rate[None, :] + bend


def _contributions(law: Law, columns: tuple[Any, ...], theta: dict[str, Any]) -> Any:
    """Logarithm of what each linear parameter contributes to the loss of one run, (linear,)."""
    units = np.eye(len(law.linear))
    parts = [law.loss(*columns, **theta | dict(zip(law.linear, unit, strict=True))) for unit in units]
    return jnp.log(jnp.stack(parts))


@lru_cache(maxsize=256)
def coordinates_of(law: Law) -> Coordinates:
    """Coordinates of a law.

    A law with linear parameters is a sum of contributions. Where the logarithm of each of them is affine in a
    parameter, as in the exponents of a power law, the loss is the log-sum-exp form of Hoffmann et al. (2022) and the
    parameter runs over the real line, as in theirs; every other parameter is positive and its coordinate is its
    logarithm.
    """
    free = tuple(name for name in law.parameters if not law.priors[name].fixed)
    pinned = tuple((name, law.priors[name].arguments[0]) for name in law.parameters if law.priors[name].fixed)
    generator = np.random.default_rng(0)
    draws = {name: law.priors[name].sample(generator, PROBES) for name in free}
    place = {"N": 3e9, "D": 7e10, "C": 2e21}
    columns = tuple(place.get(name, 2e9) for name in law.inputs)

    def affine(name: str) -> bool:
        if name in law.linear or not law.linear:
            return False
        for k in range(PROBES):
            at = {other: float(draws[other][k]) for other in free} | dict(pinned)

            def contribution(value: Any, at: dict[str, float] = at) -> Any:
                return _contributions(law, columns, at | {name: value})

            bend = jax.jacfwd(jax.jacfwd(contribution))(at[name])
            slope = jax.jacfwd(contribution)(at[name])
            # judged per unit of the parameter's own size: a shift of N by thousands bends little per parameter
            size = abs(at[name])
            if not bool((jnp.abs(bend) * size**2 <= 1e-6 * jnp.abs(slope) * size + 1e-12).all()):
                return False
        return True

    signed = {name for name in free if law.priors[name].sample(generator, 64).min() < 0}
    return Coordinates(free, tuple(name not in signed and not affine(name) for name in free), pinned)
