"""The posterior density of a model on a flat, unconstrained vector: what every sampler and optimiser here works on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpyro.distributions import biject_to, constraints, transforms
from numpyro.infer.util import log_density

from bayescale._float64 import jax, jnp
from bayescale.laws._positive import Positive
from bayescale.model import Model

__all__ = ["Density", "Table", "pad"]

# A law is a sum of contributions to the loss, so its posterior ridges (a higher floor against a smaller term) are
# straight lines in the contributions themselves and curved in their logarithms. Softplus is the identity above a bend
# and a logarithm below it; the bend sits at this fraction of the prior median.
BEND = 1.0 / 8.0


class Table(NamedTuple):
    """A padded table of runs: the columns, the log losses, and which rows are real."""

    columns: dict[str, Any]
    log_loss: Any
    weight: Any


def pad(columns: Mapping[str, np.ndarray], log_loss: np.ndarray) -> Table:
    """Pad a table to the next power of two (at least 16) rows, so that tables of similar size share compiled code.

    Padding repeats the first run and carries weight False, so it adds exactly nothing to the density.
    """
    size = len(log_loss)
    room = max(16, 1 << (size - 1).bit_length()) - size

    def grow(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, np.full(room, values[0])])

    columns = {name: grow(values) for name, values in columns.items()}
    held = {name: Positive(np.log(values), values) for name, values in columns.items()}
    return Table(held, grow(log_loss), np.arange(size + room) < size)


class _Softplus(transforms.ParameterFreeTransform):
    """``s softplus(z / s)``: onto the positive numbers, linear well above ``s``, exponential well below."""

    domain = constraints.real
    codomain = constraints.positive

    def __init__(self, bend: float) -> None:
        self.bend = bend

    def __call__(self, z: Any) -> Any:
        return self.bend * jax.nn.softplus(z / self.bend)

    def _inverse(self, value: Any) -> Any:
        return value + self.bend * jnp.log(-jnp.expm1(-value / self.bend))

    def log_abs_det_jacobian(self, z: Any, value: Any, intermediates: Any = None) -> Any:
        return -jax.nn.softplus(-z / self.bend)


class Density:
    """Potential energy (minus log posterior density, up to a constant) of a model on R^dim.

    Parameters
    ----------
    model : Model
        Hashable, so that a `Density` can be rebuilt from it inside a jitted function for free.
    table : Table
        Data; arrays or tracers.
    """

    def __init__(self, model: Model, table: Table) -> None:
        self.model, self.table = model, table

    @cached_property
    def _transforms(self) -> dict[str, Any]:
        """Transform from the real line onto the support of every sampled parameter, in the order of the flat vector."""
        priors = self.model.priors
        return {name: self._transform(name, priors[name].distribution()) for name in priors if not priors[name].fixed}

    def _transform(self, name: str, distribution: Any) -> Any:
        if name in self.model.law.parameters and distribution.support is constraints.positive:
            return _Softplus(BEND * self.model.priors[name].median)
        return biject_to(distribution.support)

    @property
    def names(self) -> tuple[str, ...]:
        """Sampled parameters, in the order of the flat vector."""
        return tuple(self._transforms)

    @property
    def dim(self) -> int:
        """Length of the flat vector."""
        return len(self._transforms)

    def constrain(self, z: Any) -> dict[str, Any]:
        """Parameters on their own scale from a flat vector of shape (dim,)."""
        return {name: transform(z[i]) for i, (name, transform) in enumerate(self._transforms.items())}

    def unconstrain(self, theta: Mapping[str, Any]) -> Any:
        """The flat vector, shape (dim,), of parameters on their own scale."""
        return jnp.stack([transform.inv(theta[name]) for name, transform in self._transforms.items()])

    def potential(self, z: Any) -> Any:
        """Minus the log density of the posterior on the unconstrained scale, Jacobians included."""
        theta = self.constrain(z)
        jacobian = sum(
            transform.log_abs_det_jacobian(z[i], theta[name]) for i, (name, transform) in enumerate(self._transforms.items())
        )
        return -log_density(self.model, tuple(self.table), {}, theta)[0] - jacobian
