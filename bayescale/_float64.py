"""The one door to JAX: float64 is switched on here, before anything is traced.

``6 * N * D`` overflows int64 and loses digits in float32, and the Chinchilla posterior is badly conditioned
(eigenvalues over eleven decades), so nothing in this package runs in single precision.
"""

import jax
import jax.export

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402  (after the switch, so that no constant is made in float32)

from bayescale.errors import BayescaleError  # noqa: E402

__all__ = ["assert_float64", "jax", "jnp"]


def assert_float64() -> None:
    """Raise if somebody has switched float64 off since import.

    Raises
    ------
    BayescaleError
        ``jax_enable_x64`` is off.
    """
    if not jax.config.jax_enable_x64:
        raise BayescaleError(
            "jax_enable_x64 is off, and bayescale computes in float64 only: in single precision A/N^alpha loses its "
            "digits and NUTS diverges. Remove JAX_ENABLE_X64=0 or jax.config.update('jax_enable_x64', False)."
        )
