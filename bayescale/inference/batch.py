"""Many tables of one size side by side: for studies that fit hundreds of simulated tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayescale._float64 import assert_float64, jax
from bayescale.inference import compiled, trajectory
from bayescale.inference.anchors import anchors_of
from bayescale.inference.convergence import convergence
from bayescale.inference.density import Table, pad
from bayescale.inference.frame import Frame, adapted, to_whitened, to_z
from bayescale.inference.mode import find_modes
from bayescale.inference.sample import sample
from bayescale.inference.sampler import Kernel, Sampler
from bayescale.model import Model

__all__ = ["sample_tables"]

CANDIDATES = 512
FIRST_DRAWS = 250
# One chain a table, judged by its halves: these many effective draws, and no more than this R-hat.
MAX_RHAT = 1.03
MIN_ESS = 200


def _run(
    model: Model, kernel: Kernel, tables: Table, frames: list[Frame], z: np.ndarray, chance: Any
) -> tuple[np.ndarray, np.ndarray]:
    """One chain a table from ``z`` (table, dim): unconstrained draws (table, draw, dim), and which steps diverged."""
    potentials, gradients = compiled.evaluate(model, tables, z[:, None])
    x = np.stack([to_whitened(frame, at) for frame, at in zip(frames, z, strict=True)])[:, None]
    stacked = jax.tree.map(lambda *arrays: np.stack(arrays), *frames)
    states = compiled.start_chains(kernel, stacked, x, potentials, gradients, np.zeros(x.shape[:2]))
    _, made = compiled.step_chains(model, kernel, 1, tables, stacked, states, chance)
    kept = np.asarray(made["position"])[:, 0, kernel.warmup :]
    drawn = np.stack([to_z(frame, at) for frame, at in zip(frames, kept, strict=True)])
    return drawn, np.asarray(made["diverging"])[:, 0, kernel.warmup :]


def sample_tables(
    model: Model,
    columns: dict[str, np.ndarray],
    log_losses: np.ndarray,
    *,
    draws: int = 800,
    batch: int = 50,
    seed: int = 0,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Sample the posterior of each of many tables that share their columns, one chain each.

    With the kernels that a fit has: all tables go through the first and the second, and a table whose chain does not
    look converged then is sampled alone, by everything a fit would try.

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
    anchors = anchors_of(model, columns)
    padded = [pad(columns, row, anchors) for row in log_losses]
    generator = np.random.default_rng(seed)
    parts = []
    for start in range(0, count, batch):
        several = padded[start : start + batch]
        tables = jax.device_put(jax.tree.map(lambda *arrays: np.stack(arrays), *several))
        theta, diverging = _together(model, tables, candidates, draws, generator)
        for place, table in enumerate(several):
            if not _settled({name: values[place] for name, values in theta.items()}, diverging[place]):
                alone = sample(model, table, Sampler(chains=1, draws=draws), seed + start + place)
                for name, values in alone.theta.items():
                    theta[name][place] = values[0]
                diverging[place] = alone.stats["diverging"][0]
        parts.append((theta, diverging))
    theta, diverging = jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)
    return theta, diverging


def _together(
    model: Model, tables: Table, candidates: dict[str, np.ndarray], draws: int, generator: np.random.Generator
) -> tuple[dict[str, Any], np.ndarray]:
    first, second, _ = Sampler().kernels
    frames = [modes.frame for modes in find_modes(model, tables, candidates)]
    count, dim = len(frames), frames[0].centre.size

    def chance(kernel: Kernel, draws: int) -> Any:
        return trajectory.chances(generator, (count, 1, kernel.warmup + draws), dim, kernel)

    z = np.stack([to_z(frame, generator.standard_normal(dim)) for frame in frames])
    seen, _ = _run(model, first, tables, frames, z, chance(first, FIRST_DRAWS))
    frames = [adapted(f, to_whitened(f, at)[None], apart=False) for f, at in zip(frames, seen, strict=True)]
    z, diverging = _run(model, second, tables, frames, seen[:, -1], chance(second, draws))
    return compiled.constrain(model, z, tables.anchors_of_first), diverging.copy()


def _settled(theta: dict[str, np.ndarray], diverging: np.ndarray) -> bool:
    found = convergence({name: values[None] for name, values in theta.items()})
    return found.max_rhat <= MAX_RHAT and found.min_ess >= MIN_ESS and not diverging.any()
