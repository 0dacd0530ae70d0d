"""The source: its entropy, its stationary distribution, its tokens and the floor on the held-out slice."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bayescale.errors import BayescaleError
from bayescale.lab import Source


def test_entropy_is_the_one_asked_for(source: Source) -> None:
    by_context = -np.sum(source.probabilities * np.log(source.probabilities), axis=1)
    assert source.stationary @ by_context == pytest.approx(2.0, abs=1e-10)
    assert source.entropy == pytest.approx(2.0, abs=1e-10)


def test_stationary_distribution_is_invariant(source: Source) -> None:
    joint = source.stationary.reshape(16, 16, 16, 16, 1) * source.probabilities.reshape(16, 16, 16, 16, 16)
    assert source.stationary.sum() == pytest.approx(1.0, abs=1e-12)
    # Power iteration stops at an L1 change of 1e-14.
    assert np.abs(joint.sum(axis=0).reshape(-1) - source.stationary).sum() < 1e-13
    # The uniform distribution is not invariant, so the assertion above says something.
    assert np.abs(source.stationary - 1 / 65_536).sum() > 0.1


def test_entropy_agrees_with_monte_carlo(source: Source) -> None:
    log_loss = -np.log(source.probabilities.reshape(-1)[source.pool]).reshape(-1, 5_000).mean(axis=1)
    # Documents are independent, tokens within one are not: the standard error is over documents.
    standard_error = log_loss.std(ddof=1) / math.sqrt(log_loss.size)
    assert standard_error < 0.004
    assert abs(log_loss.mean() - source.entropy) < 4 * standard_error


def test_sampled_contexts_follow_the_stationary_distribution(source: Source) -> None:
    # Oldest symbol of the first window of each document: 40 independent draws are few, so all windows are used and
    # the tolerance is for their correlation (a factor of 3 on the independent standard error, at 5 of those).
    oldest = np.bincount(source.pool >> 16, minlength=16) / source.pool.size
    expected = source.stationary.reshape(16, -1).sum(axis=1)
    assert np.all(np.abs(oldest - expected) < 5 * 3 * np.sqrt(expected / source.pool.size))


def test_windows_overlap_as_a_stream_does(source: Source) -> None:
    documents = source.pool.reshape(-1, 5_000)
    assert np.array_equal(documents[:, 1:] >> 4, documents[:, :-1] & 0xFFFF)


def test_floor_is_the_entropy_within_sampling_error(source: Source) -> None:
    log_loss = -np.log(source.probabilities.reshape(-1)[source.held_out])
    assert source.attainable_floor == pytest.approx(log_loss.mean(), abs=1e-12)
    by_document = log_loss.reshape(-1, 5_000).mean(axis=1)
    standard_error = by_document.std(ddof=1) / math.sqrt(by_document.size)
    assert abs(source.attainable_floor - source.entropy) < 4 * standard_error
    assert source.attainable_floor != source.entropy


def test_same_seed_same_source_and_another_seed_another(source: Source) -> None:
    again = Source.draw(seed=0, pool=200_000, held_out=100_000)
    assert np.array_equal(again.pool, source.pool)
    assert again.attainable_floor == source.attainable_floor
    other = Source.draw(seed=1, pool=200_000, held_out=100_000)
    assert other.entropy == pytest.approx(2.0, abs=1e-10)
    assert not np.array_equal(other.embedding, source.embedding)


def test_arrays_are_read_only(source: Source) -> None:
    with pytest.raises(ValueError, match="read-only"):
        source.pool[0] = 0


def test_token_counts_that_are_no_whole_documents_are_refused() -> None:
    with pytest.raises(BayescaleError, match=r"held_out is 7,000 tokens.*multiple of 5,000.*Try 5,000"):
        Source.draw(held_out=7_000)


def test_entropies_out_of_reach_are_refused() -> None:
    with pytest.raises(BayescaleError, match=r"entropy of 2\.9 nats/token; this network reaches"):
        Source.draw(entropy=2.9)
