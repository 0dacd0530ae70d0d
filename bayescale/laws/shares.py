"""The mixture that is best for a weighted sum of losses: of powers of their own share, or of any loss of all shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from bayescale._float64 import jax, jnp
from bayescale.errors import LawError

__all__ = ["lowest_shares", "optimal_shares"]

HALVINGS = 200
# Newton steps of a search on the simplex; a share that goes to 0 loses a factor of e a step.
STEPS = 100
# A start lies this far from the middle towards one domain.
TOWARDS = 0.6


def optimal_shares(loss: Any, gamma: Any, weight: Any = 1.0) -> np.ndarray:
    r"""Shares that minimise :math:`\sum_i w_i c_i p_i^{-\gamma_i}` with :math:`\sum_i p_i = 1`.

    At the minimum :math:`p_i \propto (w_i c_i \gamma_i)^{1/(1+\gamma_i)}` up to a common multiplier, which is found by
    bisection; with one exponent for all it is :math:`p_i \propto (w_i c_i)^{1/(1+\gamma)}`.

    Parameters
    ----------
    loss : array (..., domain)
        Loss of each domain or family at share 1, :math:`c_i`; leading dimensions are draws.
    gamma : float or array (..., domain)
        Exponent of each, ``gamma`` of `msl` or ``alpha`` of `bimix`; above 0.
    weight : float or array (..., domain)
        What each counts in the sum; above 0.

    Returns
    -------
    array (..., domain)

    Raises
    ------
    LawError
        A value that is not a finite number above 0.

    References
    ----------
    He et al. 2024, arXiv 2410.12883, Sec. 4.

    Examples
    --------
    >>> optimal_shares([2.0, 2.0, 4.0], gamma=1.0, weight=[1.0, 1.0, 2.0]).round(3).tolist()
    [0.25, 0.25, 0.5]
    """
    c, g, w = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (loss, gamma, weight)))
    for name, values in (("loss", c), ("gamma", g), ("weight", w)):
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise LawError(f"optimal_shares needs a {name} above 0 for each domain; got {values[~(values > 0)][:1]}")
    pull = np.log(w * c * g)
    # each share falls in the multiplier; at one end all are below 1/n, at the other one of them is above 1
    low, high = pull.min(axis=-1), (pull + (1.0 + g) * np.log(c.shape[-1])).max(axis=-1)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        above = np.exp((pull - middle[..., None]) / (1.0 + g)).sum(axis=-1) > 1.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    shares = np.exp((pull - 0.5 * (low + high)[..., None]) / (1.0 + g))
    return shares / shares.sum(axis=-1, keepdims=True)


def lowest_shares(loss: Callable[..., Any], theta: Mapping[str, Any], domains: int) -> np.ndarray:
    """Shares of the lowest loss under each draw, for any loss of all shares (`optimal-mixture`, `data-mixing`).

    Damped Newton in the logits of the shares, from the uniform mixture and from one towards each domain; the lowest end
    counts. A share that is best at 0 ends within 1e-8 of it.

    Parameters
    ----------
    loss : callable
        ``loss(h, **draw)``: a number for shares ``h`` (domain,), traceable by JAX. Laws that are equal and shapes that
        are alike share compiled code where `loss` is hashable.
    theta : mapping of str to array (draw, ...)
        Draws of what the loss depends on.
    domains : int

    Returns
    -------
    array (draw, domain)
        NaN for a draw with no finite loss.

    Examples
    --------
    >>> shares = lowest_shares(lambda h, w: (w / h).sum(), {"w": jnp.array([[1.0, 1.0, 4.0]])}, 3)
    >>> shares.round(3).tolist()
    [[0.25, 0.25, 0.5]]
    """
    starts = np.concatenate([np.zeros((1, domains)), np.log1p(np.eye(domains) * domains * TOWARDS / (1.0 - TOWARDS))])
    return np.asarray(_lowest(loss, dict(theta), starts))


@partial(jax.jit, static_argnames=("loss",))
def _lowest(loss: Callable[..., Any], theta: Mapping[str, Any], starts: Any) -> Any:
    def of_draw(draw: Mapping[str, Any]) -> Any:
        ends, values = jax.vmap(lambda start: _descend(lambda z: loss(jax.nn.softmax(z), **draw), start))(starts)
        best = jnp.argmin(jnp.where(jnp.isfinite(values), values, jnp.inf))
        return jnp.where(jnp.isfinite(values[best]), jax.nn.softmax(ends[best]), jnp.nan)

    return jax.lax.map(of_draw, theta, batch_size=256)


def _descend(loss: Callable[[Any], Any], start: Any) -> tuple[Any, Any]:
    """Logits of a local minimum, and the loss there."""

    def step(_: int, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        z, value, damping = state
        sizes, vectors = jnp.linalg.eigh(jax.hessian(loss)(z))
        # the flat direction, in which all logits grow alike, has no slope; along others no step is longer than 2
        along = (vectors.T @ jax.grad(loss)(z)) / (jnp.abs(sizes) + damping)
        move = vectors @ along
        tried = z - move / jnp.maximum(1.0, jnp.abs(move).max() / 2.0)
        tried = tried - tried.mean()
        found = loss(tried)
        better = found < value
        scale = jnp.where(better, 0.2, 5.0)
        return jnp.where(better, tried, z), jnp.where(better, found, value), jnp.clip(damping * scale, 1e-14, 1e6)

    z, value, _ = jax.lax.fori_loop(0, STEPS, step, (start, loss(start), 1e-4))
    return z, value
