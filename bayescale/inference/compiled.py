"""The functions that are compiled: each once for a model, a kernel and a padded table size, and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bayescale._float64 import jax
from bayescale.inference.density import Density, Table
from bayescale.inference.mode import Modes, find_modes
from bayescale.inference.nuts import Kernel, Steps, advance, begin
from bayescale.model import Model

__all__ = ["BATCH", "TRACES", "Frame", "heights", "locate", "start_chains", "step_chains"]

# How often each function below has been traced. A second fit of an equal model to a table of similar size must leave
# this unchanged; the tests hold that.
TRACES: Counter[str] = Counter()
BATCH = 256


class Frame(NamedTuple):
    """The whitening: ``z = centre + factor @ x``, with ``x`` about standard normal under the posterior."""

    centre: Any
    factor: Any


def _whitened(model: Model, table: Table, frame: Frame) -> Callable[[Any], Any]:
    density = Density(model, table)
    return lambda x: density.potential(frame.centre + frame.factor @ x)


@partial(jax.jit, static_argnames=("model",))
def heights(model: Model, table: Table, points: Any) -> Any:
    """Potential at each of BATCH points (BATCH, dim), a few at a time so that a million rows fit into memory."""
    TRACES["heights"] += 1
    return jax.lax.map(Density(model, table).potential, points, batch_size=8)


@partial(jax.jit, static_argnames=("model",))
def locate(model: Model, table: Table, starts: Any) -> Modes:
    """The modes of the posterior; see `find_modes`."""
    TRACES["locate"] += 1
    return find_modes(Density(model, table).potential, starts)


@partial(jax.jit, static_argnames=("model", "kernel"))
def start_chains(model: Model, kernel: Kernel, table: Table, frame: Frame, positions: Any, keys: Any) -> Any:
    """First states of the chains at whitened `positions` (chain, dim)."""
    TRACES["start_chains"] += 1
    return begin(_whitened(model, table, frame), kernel, positions, keys)


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
        z = frame.centre + steps.position @ frame.factor.T
        return states, steps, jax.vmap(jax.vmap(density.constrain))(z)

    if devices == 1:
        return run(table, frame, states)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:devices]), ("chain",))
    whole, split = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec("chain")
    # without check_vma, a loop whose length differs from chain to chain would have to be proved alike on all devices
    return jax.shard_map(run, mesh=mesh, in_specs=(whole, whole, split), out_specs=split, check_vma=False)(
        table, frame, states
    )
