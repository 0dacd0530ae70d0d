"""The functions that are compiled: each once for a model, a kernel and a padded table size, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bayescale._float64 import jax
from bayescale.inference.density import Density, Table
from bayescale.inference.frame import Frame, log_jacobian, to_z
from bayescale.inference.mode import Modes, find_modes
from bayescale.inference.nuts import Kernel, Steps, advance, begin
from bayescale.model import Model

__all__ = ["BATCH", "TRACES", "locate", "start_chains", "step_chains", "weigh"]

# How often each function below has been traced. A second fit of an equal model to a table of similar size must leave
# this unchanged; the tests hold that.
TRACES: Counter[str] = Counter()
BATCH = 256


def _whitened(model: Model, table: Table, frame: Frame) -> Callable[[Any], Any]:
    density = Density(model, table)
    return lambda x: density.potential(to_z(frame, x)) - log_jacobian(frame, x)


@partial(jax.jit, static_argnames=("model",))
def weigh(model: Model, table: Table, frame: Frame, x: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Potential and its gradient at BATCH whitened points (BATCH, dim), and the parameters there.

    A few points at a time, so that a long table fits into memory.
    """
    TRACES["weigh"] += 1
    density, potential = Density(model, table), _whitened(model, table, frame)
    values, gradients = jax.lax.map(jax.value_and_grad(potential), x, batch_size=8)
    return values, gradients, jax.vmap(lambda x: density.constrain(to_z(frame, x)))(x)


@partial(jax.jit, static_argnames=("model",))
def locate(model: Model, table: Table, candidates: dict[str, Any]) -> Modes:
    """The modes of the posterior; see `find_modes`."""
    TRACES["locate"] += 1
    return find_modes(Density(model, table), candidates)


@partial(jax.jit, static_argnames=("kernel",))
def start_chains(kernel: Kernel, starts: tuple[Any, Any, Any], keys: Any) -> Any:
    """First states of the chains at whitened `starts`: positions, potentials and gradients."""
    TRACES["start_chains"] += 1
    return begin(kernel, starts, keys)


@partial(jax.jit, static_argnames=("model", "kernel", "count", "devices"))
def step_chains(
    model: Model, kernel: Kernel, count: int, devices: int, table: Table, frame: Frame, states: Any
) -> tuple[Any, Steps, dict[str, Any]]:
    """Take `count` steps of every chain, the chains shared out over `devices`.

    Returns
    -------
    states, steps, theta
        New states; what was measured, leading dimensions (chain, step); parameters on their own scale, likewise.
    """
    TRACES["step_chains"] += 1

    def run(table: Table, frame: Frame, states: Any) -> tuple[Any, Steps, dict[str, Any]]:
        states, steps = advance(_whitened(model, table, frame), kernel, count, states)
        density = Density(model, table)
        return states, steps, jax.vmap(jax.vmap(lambda x: density.constrain(to_z(frame, x))))(steps.position)

    if devices == 1:
        return run(table, frame, states)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:devices]), ("chain",))
    whole, split = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec("chain")
    # without check_vma, a loop whose length differs from chain to chain would have to be proved alike on all devices
    return jax.shard_map(run, mesh=mesh, in_specs=(whole, whole, split), out_specs=split, check_vma=False)(
        table, frame, states
    )
