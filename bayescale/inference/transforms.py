"""From the real line onto the positive numbers, for parameters whose logarithm would bend what the table determines."""

from __future__ import annotations

from typing import Any

from numpyro.distributions import constraints, transforms

from bayescale._float64 import jax, jnp

__all__ = ["Softplus"]


class Softplus(transforms.ParameterFreeTransform):
    """``s softplus(z / s)``: onto the positive numbers, linear well above ``s``, exponential well below."""

    domain = constraints.real
    codomain = constraints.positive

    def __init__(self, bend: Any) -> None:
        self.bend = bend

    def __call__(self, z: Any) -> Any:
        return self.bend * jax.nn.softplus(z / self.bend)

    def _inverse(self, value: Any) -> Any:
        return value + self.bend * jnp.log(-jnp.expm1(-value / self.bend))

    def log_abs_det_jacobian(self, z: Any, value: Any, intermediates: Any = None) -> Any:
        return -jax.nn.softplus(-z / self.bend)
