"""An order-4 Markov source over 16 symbols, drawn from a random network, with its entropy known exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from bayescale._float64 import jax, jnp
from bayescale.errors import BayescaleError

__all__ = ["DOCUMENT", "ORDER", "SYMBOLS", "Source"]

SYMBOLS = 16
ORDER = 4
CONTEXTS = SYMBOLS**ORDER
DOCUMENT = 5_000
EMBEDDING = 8
HIDDEN = 96
LARGEST_SCALE = 16.0


@dataclass(frozen=True, eq=False)
class Source:
    """A synthetic language whose irreducible loss is known.

    Each symbol depends on the four before it: an embedding (16 x 8), a tanh layer of 96 units and a linear layer give
    the logits of the next symbol. The scale of the last layer is solved for, so that the conditional entropy under
    the stationary distribution of the chain is the one asked for.

    A window is a context and the symbol after it, as one integer below 16^5: symbol ``j`` of the context sits at bits
    ``16 - 4 j`` and the next symbol in the lowest four bits.

    Attributes
    ----------
    seed : int
        Seed of the network and of the tokens.
    scale : float
        Output scale of the network (dimensionless).
    embedding : ndarray, shape (16, 8)
        The network's own embedding.
    probabilities : ndarray, shape (65536, 16)
        Probability of each next symbol given each context.
    stationary : ndarray, shape (65536,)
        Stationary probability of each context.
    entropy : float
        Conditional entropy of the next symbol under the stationary distribution [nats/token], exact.
    pool : ndarray of int32
        Windows for training, one for each token.
    held_out : ndarray of int32
        Windows for evaluation, from documents that the pool has no part of.
    attainable_floor : float
        Cross-entropy of the true probabilities on ``held_out`` [nats/token]: the loss on that slice that no model
        beats but by luck. It differs from ``entropy`` by the sampling error of the slice.
    """

    seed: int
    scale: float
    embedding: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    stationary: NDArray[np.float64]
    entropy: float
    pool: NDArray[np.int32]
    held_out: NDArray[np.int32]
    attainable_floor: float

    @classmethod
    def draw(cls, seed: int = 0, *, entropy: float = 2.0, pool: int = 4_400_000, held_out: int = 100_000) -> Source:
        """Draw a network, solve for its scale and sample the tokens.

        The tokens are documents of 5,000, each opened by a context from the stationary distribution, so the stream is
        stationary from its first token and the documents are independent.

        Parameters
        ----------
        seed : int
            Seed of the network and of the tokens.
        entropy : float
            Conditional entropy to reach [nats/token], below log 16 = 2.7726.
        pool, held_out : int
            Tokens for training and for evaluation; multiples of 5,000.

        Returns
        -------
        Source

        Raises
        ------
        BayescaleError
            A token count that is not a positive multiple of 5,000, or an entropy that no scale reaches.

        Examples
        --------
        >>> from bayescale.lab import Source
        >>> source = Source.draw(seed=0, pool=50_000, held_out=10_000)
        >>> round(source.entropy, 6)
        2.0
        """
        for name, tokens in (("pool", pool), ("held_out", held_out)):
            if tokens <= 0 or tokens % DOCUMENT:
                raise BayescaleError(
                    f"Source.draw: {name} is {tokens:,} tokens; expected a positive multiple of {DOCUMENT:,}, the "
                    f"length of a document. Try {max(1, round(tokens / DOCUMENT)) * DOCUMENT:,}."
                )
        network_key, token_key = jax.random.split(jax.random.key(seed))
        embedding, logits, bias = _network(network_key)
        scale = _solve_scale(logits, bias, entropy)
        probabilities = _probabilities(logits, bias, scale)
        stationary = stationary_distribution(probabilities)
        documents = (pool + held_out) // DOCUMENT
        windows = np.asarray(_sample(token_key, probabilities, stationary, documents)).reshape(-1)
        arrays = [np.array(a) for a in (embedding, probabilities, stationary, windows[:pool], windows[pool:])]
        for array in arrays:
            array.setflags(write=False)
        return cls(
            seed=seed,
            scale=scale,
            embedding=arrays[0],
            probabilities=arrays[1],
            stationary=arrays[2],
            entropy=float(conditional_entropy(probabilities)),
            pool=arrays[3],
            held_out=arrays[4],
            attainable_floor=float(-np.log(arrays[1].reshape(-1)[arrays[4]]).mean()),
        )


@jax.jit
def _network(key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Embedding (16, 8), logits of every context at scale 1 (65536, 16) and output bias (16,)."""
    keys = jax.random.split(key, 5)
    fan_in = ORDER * EMBEDDING
    embedding = jax.random.normal(keys[0], (SYMBOLS, EMBEDDING), jnp.float64)
    weights = jax.random.normal(keys[1], (fan_in, HIDDEN), jnp.float64) / math.sqrt(fan_in)
    hidden_bias = 0.1 * jax.random.normal(keys[2], (HIDDEN,), jnp.float64)
    readout = jax.random.normal(keys[3], (HIDDEN, SYMBOLS), jnp.float64) / math.sqrt(HIDDEN)
    bias = 0.1 * jax.random.normal(keys[4], (SYMBOLS,), jnp.float64)
    contexts = np.stack(np.unravel_index(np.arange(CONTEXTS), (SYMBOLS,) * ORDER), axis=1)
    hidden = jnp.tanh(embedding[contexts].reshape(CONTEXTS, fan_in) @ weights + hidden_bias[None, :])
    return embedding, hidden @ readout, bias


@jax.jit
def _probabilities(logits: jax.Array, bias: jax.Array, scale: float) -> jax.Array:
    """Probability of each next symbol given each context, (65536, 16)."""
    return jax.nn.softmax(scale * logits + bias[None, :], axis=-1)


@jax.jit
def stationary_distribution(probabilities: jax.Array) -> jax.Array:
    """Stationary distribution of the chain over contexts, by power iteration.

    Every probability is positive, so any context is reached from any other in four steps and the limit is unique.

    Parameters
    ----------
    probabilities : array, shape (65536, 16)
        Probability of each next symbol given each context; the last symbol varies fastest in the context's number.

    Returns
    -------
    array, shape (65536,)
        Sums to 1.
    """
    by_oldest = probabilities.reshape(SYMBOLS, CONTEXTS // SYMBOLS, SYMBOLS)

    def unfinished(state: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        _, change, step = state
        return (change > 1e-14) & (step < 10_000)

    def advance(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        old, _, step = state
        joint = old.reshape(SYMBOLS, CONTEXTS // SYMBOLS, 1) * by_oldest
        new = joint.sum(axis=0).reshape(CONTEXTS)
        new = new / new.sum()
        return new, jnp.abs(new - old).sum(), step + 1

    uniform = jnp.full(CONTEXTS, 1.0 / CONTEXTS)
    distribution, _, _ = jax.lax.while_loop(unfinished, advance, (uniform, jnp.asarray(jnp.inf), jnp.asarray(0)))
    return distribution


@jax.jit
def conditional_entropy(probabilities: jax.Array) -> jax.Array:
    """Entropy of the next symbol given its context, averaged over the stationary distribution [nats/token]."""
    by_context = -jnp.sum(probabilities * jnp.log(probabilities), axis=-1)
    return jnp.sum(stationary_distribution(probabilities) * by_context)


def _solve_scale(logits: jax.Array, bias: jax.Array, entropy: float) -> float:
    """The output scale at which the source has the conditional entropy asked for."""

    @cache
    def excess(scale: float) -> float:
        return float(conditional_entropy(_probabilities(logits, bias, scale))) - entropy

    # The upper end is reached by doubling: at large scales the chain is nearly deterministic and mixes slowly.
    upper = 1.0
    while excess(upper) > 0.0 and upper < LARGEST_SCALE:
        upper *= 2.0
    if not excess(upper) < 0.0 < excess(0.0):
        raise BayescaleError(
            f"Source.draw: no output scale gives an entropy of {entropy} nats/token; this network reaches "
            f"{excess(upper) + entropy:.4f} to {excess(0.0) + entropy:.4f}. Ask for an entropy in that range."
        )
    return float(brentq(excess, 0.0, upper, xtol=1e-12))


@partial(jax.jit, static_argnames="documents")
def _sample(key: jax.Array, probabilities: jax.Array, stationary: jax.Array, documents: int) -> jax.Array:
    """Windows of independent stationary documents, int32, shape (documents, 5000)."""
    first_key, key = jax.random.split(key)
    starts = jnp.searchsorted(jnp.cumsum(stationary), jax.random.uniform(first_key, (documents,), jnp.float64))
    # Rounding can leave the cumulative sum a hair below 1, and a uniform number above it.
    starts = jnp.minimum(starts, CONTEXTS - 1).astype(jnp.int32)
    cumulative = jnp.cumsum(probabilities, axis=-1)[:, :-1]

    def next_token(contexts: jax.Array, step_key: jax.Array) -> tuple[jax.Array, jax.Array]:
        uniform = jax.random.uniform(step_key, (documents, 1), jnp.float64)
        tokens = jnp.sum(uniform > cumulative[contexts], axis=-1, dtype=jnp.int32)
        windows = contexts * SYMBOLS + tokens
        return windows % CONTEXTS, windows

    _, windows = jax.lax.scan(next_token, starts, jax.random.split(key, DOCUMENT))
    return windows.T
