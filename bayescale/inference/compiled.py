"""The functions that are compiled: each once for a model, a kernel and a padded table size.

Everything here takes several tables at a time, the first axis of its arrays; one fit is one table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayescale._float64 import jax, jnp
from bayescale.inference import adaptive, trajectory
from bayescale.inference.density import Density, Table
from bayescale.inference.frame import Frame, pull_back, to_z
from bayescale.inference.program import program
from bayescale.inference.sampler import Kernel
from bayescale.model import Model

__all__ = ["BATCH", "constrain", "evaluate", "start_chains", "step_chains", "trace_density", "unconstrain"]

BATCH = 256
# Points that are measured side by side; one after the other above LONG_TABLE rows (padded), to spare memory.
TOGETHER = 4
LONG_TABLE = 1 << 13


def trace_density(model: Model, tables: Table) -> None:
    """Trace the density, on which the other functions here stand, so that two threads need not do it twice."""
    density = Density(model, jax.tree.map(lambda array: jax.ShapeDtypeStruct(array.shape[1:], array.dtype), tables))
    jax.eval_shape(density.measure, jax.ShapeDtypeStruct((density.dim,), float))


@program(1)
def _evaluate(model: Model, tables: Table, z: Any, count: Any) -> tuple[Any, Any]:
    together = TOGETHER if tables.weight.shape[1] <= LONG_TABLE else 1

    def measure(block: Any, found: tuple[Any, Any]) -> tuple[Any, Any]:
        points = jax.lax.dynamic_slice_in_dim(z, block * together, together, axis=1)
        new = jax.vmap(lambda table, points: jax.vmap(Density(model, table).measure)(points))(tables, points)
        return jax.tree.map(
            lambda old, part: jax.lax.dynamic_update_slice_in_dim(old, part, block * together, axis=1), found, new
        )

    nothing = jnp.full(z.shape[:2], jnp.nan), jnp.full(z.shape, jnp.nan)
    return jax.lax.fori_loop(0, (count + together - 1) // together, measure, nothing)


def evaluate(model: Model, tables: Table, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Potential (table, point) and gradient (table, point, dim) at points ``z`` (table, point, dim).

    Any number of points: they are handed over BATCH at a time, so that there is one shape to compile.
    """
    count = z.shape[1]
    values, gradients = np.empty(z.shape[:2]), np.empty(z.shape)
    for start in range(0, count, BATCH):
        part = z[:, start : start + BATCH]
        used = part.shape[1]
        room = np.zeros((len(z), BATCH - used, z.shape[2]))
        found = jax.device_get(_evaluate(model, tables, np.concatenate([part, room], axis=1), used))
        values[:, start : start + used], gradients[:, start : start + used] = (a[:, :used] for a in found)
    return values, gradients


@program(1)
def _constrain(model: Model, z: Any, anchors: dict[str, Any]) -> dict[str, Any]:
    return jax.vmap(Density(model, None, anchors).constrain)(z)


def constrain(model: Model, z: np.ndarray, anchors: dict[str, Any] | None = None) -> dict[str, np.ndarray]:
    """Parameters on their own scale at points ``z`` (..., dim), each (...), or (..., group) where it has groups."""
    flat = z.reshape(-1, z.shape[-1])
    padded = np.concatenate([flat, np.zeros((-len(flat) % BATCH, z.shape[-1]))])
    parts = [jax.device_get(_constrain(model, part, anchors or {})) for part in padded.reshape(-1, BATCH, z.shape[-1])]
    joined = {name: np.concatenate([part[name] for part in parts])[: len(flat)] for name in parts[0]}
    return {name: values.reshape(*z.shape[:-1], *values.shape[1:]) for name, values in joined.items()}


@program(1)
def unconstrain(model: Model, theta: dict[str, Any], anchors: dict[str, Any] | None = None) -> Any:
    """Flat vectors (point, dim) of parameters on their own scale, each (point,) or (point, group)."""
    return jax.vmap(Density(model, None, anchors or {}).unconstrain)(theta)


@program(1, (trajectory.State,))
def start_chains(kernel: Kernel, frames: Frame, x: Any, potentials: Any, gradients: Any, keys: Any) -> Any:
    """First states of the chains at whitened ``x`` (table, chain, dim).

    ``potentials`` and ``gradients`` are those on the unconstrained scale, `keys` one PRNG key a chain.
    """
    begin = adaptive.begin if kernel.dense else trajectory.begin

    def one(frame: Frame, x: Any, potential: Any, gradient: Any, key: Any) -> Any:
        return begin(kernel, x, *pull_back(frame, x, potential, gradient), key)

    return jax.vmap(jax.vmap(one, in_axes=(None, 0, 0, 0, 0)))(frames, x, potentials, gradients, keys)


@program(3, (trajectory.State,))
def step_chains(
    model: Model, kernel: Kernel, devices: int, tables: Table, frames: Frame, states: Any, chance: Any
) -> tuple[Any, dict[str, Any]]:
    """Take as many steps of every chain as there are random numbers in `chance`, the chains shared out over `devices`.

    Returns
    -------
    states, steps
        New states; what was measured and the whitened ``position``, leading dimensions (table, chain, step).
    """
    advance = adaptive.advance if kernel.dense else trajectory.advance

    def of_table(table: Table, frame: Frame, states: Any, chance: Any) -> tuple[Any, dict[str, Any]]:
        density = Density(model, table)

        def measure(x: Any) -> tuple[Any, Any]:
            return pull_back(frame, x, *density.measure(to_z(frame, x)))

        return jax.vmap(lambda state, chance: advance(measure, kernel, state, chance))(states, chance)

    run = jax.vmap(of_table)
    if devices == 1:
        return run(tables, frames, states, chance)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:devices]), ("chain",))
    whole, split = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec(None, "chain")
    # without check_vma, a loop whose length differs from chain to chain would have to be proved alike on all devices
    return jax.shard_map(run, mesh=mesh, in_specs=(whole, whole, split, split), out_specs=split, check_vma=False)(
        tables, frames, states, chance
    )
