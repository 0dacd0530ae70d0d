"""The laws of one variable, in units of the last point: log f(x) - log f(x of the last point)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from bayescale._float64 import jax, jnp
from bayescale.laws.bnsl_1 import BNSL1
from bayescale.laws.m1 import M1
from bayescale.laws.m2 import M2
from bayescale.laws.m3 import M3
from bayescale.laws.m4 import M4

__all__ = ["SHAPES", "Shape", "pull_back", "values"]

# where the equation of M4 is solved to the last digit
MAX_SUDDENNESS = 30.0


class Shape(NamedTuple):
    """A law as a function of u = log x - log x of the last point, its parameters standard normal a priori.

    Attributes
    ----------
    size : int
        Number of parameters.
    log_value : callable
        ``(z, u) -> log f`` with z of shape (size,).
    says : str
        What it is, for a person.
    """

    size: int
    log_value: Callable[[Any, Any], Any]
    says: str


def _lognormal(z: Any, median: float, sd: float) -> Any:
    return median * jnp.exp(sd * z)


def _trend(z: Any, u: Any) -> Any:
    return 0.0 * u


def _m1(z: Any, u: Any) -> Any:
    return jnp.log(M1().at(D=1.0).loss(jnp.exp(u), r=1.0, c=_lognormal(z[0], 0.15, 1.0)))


def _floor(z: Any) -> Any:
    """The floor as a share of the last value."""
    return jax.nn.sigmoid(1.5 * z)


def _m2(z: Any, u: Any) -> Any:
    floor = _floor(z[0])
    return jnp.log(M2().at(D=1.0).loss(jnp.exp(u), E=floor, r=1.0 - floor, c=_lognormal(z[1], 0.4, 0.7)))


def _m3(z: Any, u: Any) -> Any:
    return jnp.log(M3().at(D=1.0).loss(jnp.exp(u), r=1.0, s=_floor(z[0]), c=_lognormal(z[1], 0.3, 0.7)))


def _m4(z: Any, u: Any) -> Any:
    """The slopes late and early, c and c / alpha, are what has a prior, and the share of the drop that is left."""
    floor, left = _floor(z[0]), jax.nn.sigmoid(1.7 * z[3])
    c = _lognormal(z[1], 0.5, 0.7)
    alpha = jnp.clip(c / _lognormal(z[2], 0.7, 0.6), 1.0 / MAX_SUDDENNESS, MAX_SUDDENNESS)
    drop = (1.0 - floor) / left
    r = drop * left * (1.0 - left) ** -alpha
    return jnp.log(M4().at(D=1.0).loss(jnp.exp(u), E=floor, H=drop, r=r, c=c, alpha=alpha))


def _bnsl(z: Any, u: Any) -> Any:
    """Its first slope may be negative: a curve that rises before it falls."""
    floor = _floor(z[0])
    theta = {
        "s_0": 0.1 + 0.3 * z[1],
        "s_1": _lognormal(z[2], 0.4, 0.8),
        "k_1": _lognormal(z[3], 0.22, 1.5),
        "f_1": 0.05 + 0.9 * jax.nn.sigmoid(1.2 * z[4] - 0.5),
    }
    return jnp.log(BNSL1().at(D=1.0).loss(jnp.exp(u), E=floor, r=1.0 - floor, **theta))


SHAPES: Mapping[str, Shape] = {
    "trend": Shape(0, _trend, "no law: the slope of the last points, for as long as slopes last"),
    "m1": Shape(1, _m1, "a power law"),
    "m2": Shape(2, _m2, "a power law on a floor"),
    "m3": Shape(2, _m3, "a power law that wears off"),
    "m4": Shape(4, _m4, "a power law between two levels"),
    "bnsl-1": Shape(5, _bnsl, "a power law with a break"),
}


@partial(jax.jit, static_argnames="name")
def values(name: str, z: Any, u: Any) -> Any:
    """Log f of many draws: z (lane, size) and u (lane, point) to (lane, point)."""
    return jax.vmap(SHAPES[name].log_value)(z, u)


@partial(jax.jit, static_argnames="name")
def pull_back(name: str, z: Any, u: Any, cotangent: Any) -> Any:
    """Gradient with respect to z (lane, size), of the sum of `cotangent` (lane, point) times log f."""
    return jax.vjp(lambda z: values(name, z, u), z)[1](cotangent)[0]
