"""The language model that is trained: four embedded symbols, one ReLU layer, logits of the next symbol."""

from __future__ import annotations

import math

import numpy as np

from bayescale._float64 import jax, jnp
from bayescale.lab._source import ORDER, SYMBOLS

__all__ = ["Parameters", "initial_parameters", "losses", "n_params"]

EMBEDDING = 8
FAN_IN = ORDER * EMBEDDING
CONTEXT_BITS = np.arange(4 * ORDER, 0, -4, dtype=np.int32)

Parameters = dict[str, jax.Array]


def n_params(width: int) -> int:
    """Non-embedding parameters of a model of this width.

    Parameters
    ----------
    width : int
        Units of the hidden layer.

    Returns
    -------
    int
        Weights and biases of the two linear layers, 49 width + 16; the embedding (128) is not counted.

    Examples
    --------
    >>> from bayescale.lab import n_params
    >>> n_params(256)
    12560
    """
    return (FAN_IN + 1) * width + (width + 1) * SYMBOLS


def initial_parameters(key: jax.Array, width: int) -> Parameters:
    """Random initial weights in float32.

    Parameters
    ----------
    key : jax.Array
        PRNG key.
    width : int
        Units of the hidden layer.

    Returns
    -------
    dict of str to jax.Array
        ``embedding`` (16, 8) standard normal; weights and biases uniform within 1/sqrt(fan in).
    """
    keys = jax.random.split(key, 5)

    def uniform(key: jax.Array, shape: tuple[int, ...], fan_in: int) -> jax.Array:
        bound = 1.0 / math.sqrt(fan_in)
        return jax.random.uniform(key, shape, jnp.float32, -bound, bound)

    return {
        "embedding": jax.random.normal(keys[0], (SYMBOLS, EMBEDDING), jnp.float32),
        "hidden_weights": uniform(keys[1], (FAN_IN, width), FAN_IN),
        "hidden_bias": uniform(keys[2], (width,), FAN_IN),
        "output_weights": uniform(keys[3], (width, SYMBOLS), width),
        "output_bias": uniform(keys[4], (SYMBOLS,), width),
    }


def losses(parameters: Parameters, windows: jax.Array) -> jax.Array:
    """Cross-entropy of the last symbol of each window.

    Parameters
    ----------
    parameters : dict of str to jax.Array
        As :func:`initial_parameters` returns them.
    windows : array of int32, shape (n,)
        Windows as :class:`bayescale.lab.Source` packs them.

    Returns
    -------
    array of float32, shape (n,)
        Loss [nats/token].
    """
    contexts = (windows[:, None] >> CONTEXT_BITS[None, :]) % SYMBOLS
    # Products with one-hot vectors: the gradient of a gather is a scatter, which is several times slower on a CPU.
    embedded = jax.nn.one_hot(contexts, SYMBOLS, dtype=jnp.float32) @ parameters["embedding"]
    hidden = embedded.reshape(-1, FAN_IN) @ parameters["hidden_weights"] + parameters["hidden_bias"][None, :]
    logits = jax.nn.relu(hidden) @ parameters["output_weights"] + parameters["output_bias"][None, :]
    correct = jax.nn.one_hot(windows % SYMBOLS, SYMBOLS, dtype=jnp.float32)
    return jax.nn.logsumexp(logits, axis=-1) - jnp.sum(logits * correct, axis=-1)
