"""The compute-optimal run of a law that gives it in no closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayescale._float64 import jax, jnp

__all__ = ["numeric_optimum"]

GRID = 257
HALVINGS = 60


def numeric_optimum(loss: Callable[..., Any], low: Any, high: Any, log_product: Any) -> tuple[Any, Any]:
    """Parameters and tokens of the lowest ``loss(N=.., D=..)`` with ``log(N D) = log_product``.

    The best of a grid of log N from `low` to `high`, then bisection of the slope around it.

    Returns
    -------
    N, D : float
        NaN where the best of the grid is one of its ends.
    """

    def at(log_N: Any) -> Any:
        return loss(N=jnp.exp(log_N), D=jnp.exp(log_product - log_N))

    grid = jnp.linspace(low, high, GRID)
    best = jnp.argmin(jax.vmap(at)(grid))
    slope = jax.grad(at)

    def halve(_: int, bracket: tuple[Any, Any]) -> tuple[Any, Any]:
        left, right = bracket
        middle = 0.5 * (left + right)
        falls = slope(middle) < 0
        return jnp.where(falls, middle, left), jnp.where(falls, right, middle)

    bracket = grid[jnp.maximum(best - 1, 0)], grid[jnp.minimum(best + 1, GRID - 1)]
    left, right = jax.lax.fori_loop(0, HALVINGS, halve, bracket)
    log_N = jnp.where((best == 0) | (best == GRID - 1), jnp.nan, 0.5 * (left + right))
    return jnp.exp(log_N), jnp.exp(log_product - log_N)
