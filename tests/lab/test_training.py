"""The training runs: size, randomness apart from the source's, and losses between the floor and a uniform guess."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bayescale._float64 import jax, jnp
from bayescale.errors import BayescaleError
from bayescale.lab import Cell, Source, initial_parameters, n_params, train, training_keys
from bayescale.lab._mlp import losses
from bayescale.lab._training import _train_all


@pytest.mark.parametrize("width", [2, 16, 256])
def test_n_params_counts_all_weights_but_the_embedding(width: int) -> None:
    parameters = initial_parameters(jax.random.key(0), width)
    counted = sum(array.size for name, array in parameters.items() if name != "embedding")
    assert n_params(width) == counted == 49 * width + 16
    assert {array.dtype for array in parameters.values()} == {jnp.dtype("float32")}


def test_losses_are_the_cross_entropy_written_out(source: Source) -> None:
    parameters = {name: np.asarray(a, np.float64) for name, a in initial_parameters(jax.random.key(3), 8).items()}
    windows = source.held_out[:50]
    expected = []
    for window in windows:
        symbols = [(int(window) >> bits) & 15 for bits in (16, 12, 8, 4, 0)]
        embedded = np.concatenate([parameters["embedding"][symbol] for symbol in symbols[:4]])
        hidden = np.maximum(embedded @ parameters["hidden_weights"] + parameters["hidden_bias"], 0.0)
        logits = hidden @ parameters["output_weights"] + parameters["output_bias"]
        expected.append(math.log(np.exp(logits).sum()) - logits[symbols[4]])
    # float32 against float64: a few units in the last place of numbers near 3.
    computed = losses(initial_parameters(jax.random.key(3), 8), jnp.asarray(windows))
    np.testing.assert_allclose(np.asarray(computed), expected, atol=5e-6)


def test_initial_embedding_shares_nothing_with_the_source(source: Source) -> None:
    keys, _ = training_keys(source, Cell("isoflop", 64, 63_451), range(100))
    initial = jax.jit(jax.vmap(lambda key: initial_parameters(key, 64)["embedding"]))(keys)
    correlations = np.array([np.corrcoef(e.ravel(), source.embedding.ravel())[0, 1] for e in np.asarray(initial)])
    # 128 numbers: the standard error of one correlation is 1/sqrt(128) = 0.088; a leaked embedding would give 1.
    assert np.abs(correlations).max() < 4.5 / math.sqrt(128)
    assert abs(correlations.mean()) < 4.0 / math.sqrt(128 * 100)


def test_cells_and_seeds_have_random_numbers_of_their_own(source: Source) -> None:
    cells = [Cell("D", 256, 31_250), Cell("N", 256, 31_250), Cell("isoflop", 256, 31_250), Cell("D", 128, 31_250)]
    keys = [np.asarray(jax.random.key_data(training_keys(source, cell, range(5))[0])) for cell in cells]
    words = np.concatenate(keys)
    assert len(np.unique(words, axis=0)) == len(words)
    orders = [order.integers(1 << 60) for cell in cells for order in training_keys(source, cell, range(5))[1]]
    assert len(set(orders)) == len(orders)


def test_a_run_is_between_the_floor_and_a_uniform_guess(source: Source) -> None:
    trained = train(source, Cell("D", 8, 100_000), range(3))
    assert trained.dtype == np.float64
    assert np.all(trained < math.log(16) - 0.3)
    assert np.all(trained > source.attainable_floor + 0.01)


def test_more_tokens_give_a_lower_loss_and_no_new_compile(source: Source) -> None:
    short = train(source, Cell("D", 8, 5_000), range(3))
    with pytest.MonkeyPatch.context() as patch:
        # The models' loss is a Python function: it is called when a function is traced, and not after.
        patch.setattr("bayescale.lab._training.losses", lambda *_: pytest.fail("traced again"))
        long = train(source, Cell("D", 8, 50_000), range(3))
    assert np.all(long < short)


def test_same_seed_same_loss_and_seeds_differ(source: Source) -> None:
    first = train(source, Cell("D", 8, 10_000), range(3))
    assert np.array_equal(first, train(source, Cell("D", 8, 10_000), range(3)))
    assert first[0] != first[1]


def test_only_the_tokens_asked_for_are_learnt_from(source: Source) -> None:
    keys, _ = training_keys(source, Cell("D", 8, 1_000), range(3))
    # Shaped as train() shapes them, so that its compiled function is used.
    data = np.resize(source.pool, (3, 391, 512))
    other_tail = data.copy()
    other_tail.reshape(3, -1)[:, 1_000:] = data.reshape(3, -1)[:, 1_000:][:, ::-1]
    held_out = source.held_out.reshape(-1, 5_000)
    short, short_other, long, long_other = (
        np.asarray(_train_all(keys, batches, tokens, held_out, 8))
        for tokens in (1_000, 1_536)
        for batches in (data, other_tail)
    )
    # 1,000 tokens are a batch of 512 and one of 488; what lies behind them must not matter, and behind 1,536 it must.
    assert np.array_equal(short, short_other)
    assert np.all(long != long_other)


def test_more_tokens_than_the_pool_are_refused(source: Source) -> None:
    with pytest.raises(BayescaleError, match=r"300,000 tokens asked for, and the pool has 200,000"):
        train(source, Cell("D", 8, 300_000), range(3))
