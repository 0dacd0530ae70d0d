"""Many tables of one size in one compiled call: for studies that fit hundreds of simulated tables."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bayescale._float64 import assert_float64, jax, jnp
from bayescale.inference.density import Density, Table, pad
from bayescale.inference.frame import log_jacobian, to_z
from bayescale.inference.mode import find_modes
from bayescale.inference.nuts import Kernel, advance, begin
from bayescale.model import Model

__all__ = ["BATCH_KERNEL", "sample_tables"]

# No table of a batch can be looked at and sampled again, so all get the careful settings.
BATCH_KERNEL = Kernel(warmup=400, dense=True, target_accept=0.95)
CANDIDATES = 256


@partial(jax.jit, static_argnames=("model", "kernel", "draws"))
def _sample_batch(
    model: Model, kernel: Kernel, draws: int, tables: Table, candidates: dict[str, Any], keys: Any
) -> tuple[dict[str, Any], Any]:
    def one(table: Table, key: Any) -> tuple[dict[str, Any], Any]:
        density = Density(model, table)
        modes = find_modes(density, candidates)
        start_key, chain_key = jax.random.split(key)
        x = jax.random.normal(start_key, (1, density.dim))

        def potential(x: Any) -> Any:
            return density.potential(to_z(modes.frame, x)) - log_jacobian(modes.frame, x)

        values, gradients = jax.vmap(jax.value_and_grad(potential))(x)
        states = begin(kernel, (x, values, gradients), chain_key[None])
        _, steps = advance(potential, kernel, kernel.warmup + draws, states)
        kept = jax.tree.map(lambda array: array[0, kernel.warmup :], steps)
        return jax.vmap(lambda x: density.constrain(to_z(modes.frame, x)))(kept.position), kept.diverging

    return jax.vmap(one)(tables, keys)


def sample_tables(
    model: Model,
    columns: dict[str, np.ndarray],
    log_losses: np.ndarray,
    *,
    draws: int = 800,
    batch: int = 50,
    seed: int = 0,
    kernel: Kernel = BATCH_KERNEL,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Sample the posterior of each of many tables that share their columns, one chain each.

    Parameters
    ----------
    model : Model
        Law, noise and priors.
    columns : dict of str to array (run,)
        Inputs, the same for every table.
    log_losses : array (table, run)
        Log loss of every run of every table.
    draws : int
        Draws kept of each chain.
    batch : int
        Tables sampled at the same time; divides the number of tables.
    seed : int
        Seed of the chains.
    kernel : Kernel
        Settings; one careful kernel for all, as there is no second try.

    Returns
    -------
    theta, diverging
        Parameters, each (table, draw), and whether a transition diverged, (table, draw).
    """
    assert_float64()
    count = len(log_losses)
    if count % batch:
        raise ValueError(f"{batch} tables at a time do not divide {count} tables")
    drawn = model.sample_priors(CANDIDATES, seed)
    candidates = {name: drawn[name] for name, prior in model.priors.items() if not prior.fixed}
    padded = [pad(columns, row) for row in log_losses]
    keys = jax.random.split(jax.random.key(seed), count)
    parts = []
    for start in range(0, count, batch):
        tables = jax.tree.map(lambda *arrays: jnp.stack(arrays), *padded[start : start + batch])
        made = _sample_batch(model, kernel, draws, tables, candidates, keys[start : start + batch])
        parts.append(jax.device_get(made))
    theta, diverging = jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)
    return theta, diverging
