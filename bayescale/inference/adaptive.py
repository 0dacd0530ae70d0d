"""NumPyro's No-U-Turn sampler with dense windowed adaptation and trees of any depth: the careful kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpyro.infer.hmc import hmc
from numpyro.infer.util import ParamInfo

from bayescale._float64 import jax, jnp
from bayescale.inference.sampler import Kernel

__all__ = ["advance", "begin", "chances"]

Measure = Callable[[Any], tuple[Any, Any]]


def _potential(measure: Measure) -> Callable[[Any], Any]:
    """The potential with the gradient that `measure` finds along with it."""

    @jax.custom_vjp
    def potential(x: Any) -> Any:
        return measure(x)[0]

    potential.defvjp(measure, lambda gradient, ahead: (ahead * gradient,))
    return potential


def _step(potential: Callable[[Any], Any], kernel: Kernel, start: Any, key: Any) -> tuple[Any, Any]:
    """NumPyro's NUTS on a flat vector: its first state at `start` (position, potential, gradient), and its step."""
    init, step = hmc(potential, algo="NUTS")
    state = init(
        ParamInfo(*start),
        kernel.warmup,
        step_size=0.5,
        adapt_mass_matrix=True,
        dense_mass=True,
        inverse_mass_matrix=jnp.eye(start[0].size),
        target_accept_prob=kernel.target_accept,
        max_tree_depth=kernel.max_tree_depth,
        trajectory_length=None,
        rng_key=key,
    )
    return state, step


def begin(kernel: Kernel, x: Any, potential: Any, gradient: Any, key: Any) -> Any:
    """First state of a chain at whitened ``x`` (dim,); traceable."""
    return _step(jnp.sum, kernel, (x, potential, gradient), key)[0]


def chances(generator: np.random.Generator, shape: tuple[int, ...], dim: int, kernel: Kernel) -> np.ndarray:
    """Nothing, once for each step: NumPyro draws its random numbers from the key in its state."""
    return np.zeros(shape)


def advance(measure: Measure, kernel: Kernel, state: Any, chance: Any) -> tuple[Any, dict[str, Any]]:
    """Take one step of a chain for each entry of `chance`; traceable. Warm-up is over after ``kernel.warmup`` steps."""
    # this call fixes the settings inside NumPyro's closure; the state it makes is not used and not compiled
    _, step = _step(_potential(measure), kernel, (state.z, state.potential_energy, state.z_grad), state.rng_key)

    def move(state: Any, _: Any) -> tuple[Any, dict[str, Any]]:
        new = step(state)
        measured = {
            "position": new.z,
            "accept": new.accept_prob,
            "diverging": new.diverging,
            "leapfrogs": new.num_steps,
            "energy": new.energy,
            "potential": new.potential_energy,
            "step_size": new.adapt_state.step_size,
        }
        return new, measured

    return jax.lax.scan(move, state, chance)
