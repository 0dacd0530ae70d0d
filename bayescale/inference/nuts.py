"""The No-U-Turn sampler in whitened coordinates, compiled once for a model and the size of its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from numpyro.infer.hmc import hmc
from numpyro.infer.util import ParamInfo

from bayescale._float64 import jax, jnp

__all__ = ["Kernel", "Steps", "advance", "begin"]


@dataclass(frozen=True)
class Kernel:
    """What has to be known when NUTS is compiled.

    Attributes
    ----------
    warmup : int
        Steps that adapt; the step size only, unless `dense`.
    dense : bool
        Adapt a dense mass matrix too, in windows: for posteriors that a whitening at the mode does not make round.
    target_accept : float
        Mean acceptance probability that the step size is tuned to.
    max_tree_depth : int
        At most ``2**max_tree_depth - 1`` leapfrog steps a draw.
    """

    warmup: int = 150
    dense: bool = False
    target_accept: float = 0.8
    max_tree_depth: int = 10


class Steps(NamedTuple):
    """What a chunk of sampling brings, each with leading dimensions (chain, step)."""

    position: Any
    accept: Any
    diverging: Any
    leapfrogs: Any
    energy: Any
    potential: Any
    step_size: Any


def _step(potential: Callable[[Any], Any], kernel: Kernel, start: Any, key: Any) -> tuple[Any, Any]:
    """NumPyro's NUTS on a flat vector: its first state at `start` (position, potential, gradient), and its step."""
    init, step = hmc(potential, algo="NUTS")
    state = init(
        ParamInfo(*start),
        kernel.warmup,
        step_size=0.5,
        adapt_mass_matrix=kernel.dense,
        dense_mass=True,
        inverse_mass_matrix=jnp.eye(start[0].size),
        target_accept_prob=kernel.target_accept,
        max_tree_depth=kernel.max_tree_depth,
        trajectory_length=None,
        rng_key=key,
    )
    return state, step


def begin(kernel: Kernel, starts: tuple[Any, Any, Any], keys: Any) -> Any:
    """First states of the chains; traceable.

    Parameters
    ----------
    kernel : Kernel
        Settings.
    starts : tuple of arrays (chain, dim), (chain,), (chain, dim)
        Position, potential and gradient of each chain.
    keys : array (chain,)
        PRNG keys.
    """
    return jax.vmap(lambda start, key: _step(jnp.sum, kernel, start, key)[0])(starts, keys)


def advance(potential: Callable[[Any], Any], kernel: Kernel, count: int, states: Any) -> tuple[Any, Steps]:
    """Take `count` steps of every chain; traceable. Warm-up is over when a chain has taken ``kernel.warmup`` steps."""

    def one_chain(state: Any) -> tuple[Any, Steps]:
        # this call fixes the settings inside NumPyro's closure; the state it makes is not used and not compiled
        _, step = _step(potential, kernel, (state.z, state.potential_energy, state.z_grad), state.rng_key)

        def move(state: Any, _: None) -> tuple[Any, Steps]:
            new = step(state)
            measured = Steps(
                new.z,
                new.accept_prob,
                new.diverging,
                new.num_steps,
                new.energy,
                new.potential_energy,
                new.adapt_state.step_size,
            )
            return new, measured

        return jax.lax.scan(move, state, None, length=count)

    return jax.vmap(one_chain)(states)
