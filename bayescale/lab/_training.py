"""Training: one pass with AdamW and a cosine decay, vmapped over training seeds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import optax
from numpy.typing import NDArray

from bayescale._float64 import jax, jnp
from bayescale.errors import BayescaleError
from bayescale.lab._mlp import Parameters, initial_parameters, losses
from bayescale.lab._source import DOCUMENT, Source
from bayescale.lab._sweeps import SWEEPS, Cell

__all__ = ["train", "training_keys"]

BATCH = 512
LEARNING_RATE = 1e-2
WEIGHT_DECAY = 1e-2


def training_keys(source: Source, cell: Cell, seeds: Sequence[int]) -> tuple[jax.Array, list[np.random.Generator]]:
    """Random numbers of the training runs of one cell, apart from the source's own and from every other cell's.

    Parameters
    ----------
    source : Source
        The language; only its seed is used.
    cell : Cell
        Sweep, width and tokens.
    seeds : sequence of int
        Training seeds.

    Returns
    -------
    keys : jax.Array, shape (len(seeds),)
        Keys of the initial weights.
    orders : list of numpy.random.Generator
        Generators of the order of the data.
    """
    # SeedSequence hashes the whole tuple, so that no seed here can meet jax.random.key(source.seed).
    names = [(source.seed, seed, SWEEPS.index(cell.sweep), cell.width, cell.D) for seed in seeds]
    pairs = [np.random.SeedSequence(name).spawn(2) for name in names]
    words = np.stack([initial.generate_state(2, np.uint32) for initial, _ in pairs])
    return jax.random.wrap_key_data(jnp.asarray(words)), [np.random.default_rng(order) for _, order in pairs]


def train(source: Source, cell: Cell, seeds: Sequence[int]) -> NDArray[np.float64]:
    """Train one model for each seed on D tokens of the pool, once each, and give its held-out losses.

    AdamW (learning rate 1e-2, weight decay 1e-2) with a cosine decay to zero, batches of 512; the last batch holds
    what is left. Each seed draws its own tokens from the pool without replacement, so runs of one cell differ in
    initial weights, data and order.

    Parameters
    ----------
    source : Source
        The language.
    cell : Cell
        Width and tokens of the runs.
    seeds : sequence of int
        Training seeds.

    Returns
    -------
    ndarray, shape (len(seeds),)
        Mean loss over the held-out slice [nats/token].

    Raises
    ------
    BayescaleError
        More tokens than the pool has.

    Examples
    --------
    >>> from bayescale.lab import Cell, Source, train
    >>> source = Source.draw(pool=50_000, held_out=10_000)
    >>> bool(train(source, Cell("D", width=8, D=20_000), seeds=[0])[0] < 2.7726)
    True
    """
    if not 0 < cell.D <= source.pool.size:
        raise BayescaleError(
            f"train: {cell.D:,} tokens asked for, and the pool has {source.pool.size:,}, each used once. "
            "Ask for fewer, or draw the source with a larger pool."
        )
    keys, orders = training_keys(source, cell, seeds)
    # Padded to the whole pool, so that every D of a width shares one compiled function; zeros cost nothing untouched.
    data = np.zeros((len(orders), -(-source.pool.size // BATCH) * BATCH), np.int32)
    for row, order in zip(data, orders, strict=True):
        row[: cell.D] = source.pool[order.choice(source.pool.size, cell.D, replace=False)]
    batches = data.reshape(len(orders), -1, BATCH)
    held_out = source.held_out.reshape(-1, DOCUMENT)
    return np.asarray(_train_all(keys, batches, cell.D, held_out, cell.width), np.float64)


@partial(jax.jit, static_argnames="width")
def _train_all(keys: jax.Array, batches: jax.Array, tokens: jax.Array, held_out: jax.Array, width: int) -> jax.Array:
    """Held-out loss of one model for each key; ``batches`` is (seed, step, window)."""

    def run(key: jax.Array, own_batches: jax.Array) -> jax.Array:
        return _held_out_loss(_fit(initial_parameters(key, width), own_batches, tokens), held_out)

    return jax.vmap(run)(keys, batches)


def _fit(parameters: Parameters, batches: jax.Array, tokens: jax.Array) -> Parameters:
    """One pass over the first ``tokens`` windows of ``batches``."""
    steps = (tokens + BATCH - 1) // BATCH

    def learning_rate(step: jax.Array) -> jax.Array:
        return (0.5 * LEARNING_RATE * (1.0 + jnp.cos(jnp.pi * step / steps))).astype(jnp.float32)

    optimiser = optax.adamw(learning_rate, weight_decay=WEIGHT_DECAY)

    def mean_loss(parameters: Parameters, step: jax.Array) -> jax.Array:
        real = (step * BATCH + jnp.arange(BATCH) < tokens).astype(jnp.float32)
        return jnp.sum(losses(parameters, batches[step]) * real) / jnp.sum(real)

    def update(step: jax.Array, state: tuple[Parameters, optax.OptState]) -> tuple[Parameters, optax.OptState]:
        parameters, optimiser_state = state
        gradient = jax.grad(mean_loss)(parameters, step)
        updates, optimiser_state = optimiser.update(gradient, optimiser_state, parameters)
        return optax.apply_updates(parameters, updates), optimiser_state

    trained, _ = jax.lax.fori_loop(0, steps, update, (parameters, optimiser.init(parameters)))
    return trained


def _held_out_loss(parameters: Parameters, held_out: jax.Array) -> jax.Array:
    """Mean loss over documents (document, window), a document at a time to bound the memory, summed in float64."""
    by_document = jax.lax.map(lambda document: jnp.mean(losses(parameters, document), dtype=jnp.float64), held_out)
    return jnp.mean(by_document)
