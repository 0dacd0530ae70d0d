"""R-hat and effective sample sizes, against formulas written out here."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bayescale.inference.convergence import MAX_RHAT, convergence, pareto_smoothed


def split_rhat(draws: np.ndarray) -> float:
    """Split R-hat of Gelman et al. (Bayesian Data Analysis, 11.4), on draws as they are."""
    half = draws.shape[1] // 2
    parts = np.concatenate([draws[:, :half], draws[:, half : 2 * half]])
    within = parts.var(axis=1, ddof=1).mean()
    between = half * parts.mean(axis=1).var(ddof=1)
    return float(np.sqrt((half - 1) / half + between / within / half))


def rank_normal(draws: np.ndarray) -> np.ndarray:
    """Rank-normalised draws (Vehtari et al. 2021, Eq. 14)."""
    ranks = stats.rankdata(draws).reshape(draws.shape)
    return stats.norm.ppf((ranks - 0.375) / (draws.size + 0.25))


@pytest.mark.parametrize("shift", [0.0, 0.1, 1.0])
def test_rhat_is_the_larger_of_bulk_and_folded(shift: float) -> None:
    draws = np.random.default_rng(1).standard_normal((4, 500))
    draws[0] += shift
    folded = np.abs(draws - np.median(draws))
    by_hand = max(split_rhat(rank_normal(draws)), split_rhat(rank_normal(folded)))
    assert convergence({"x": draws}).rhat["x"] == pytest.approx(by_hand, rel=1e-10)


def test_independent_draws_count_in_full() -> None:
    found = convergence({"x": np.random.default_rng(2).standard_normal((4, 1000))})
    assert found.good
    assert 3000 < found.ess_bulk["x"] < 5500
    assert found.max_rhat < MAX_RHAT


def test_correlated_draws_count_for_less() -> None:
    generator = np.random.default_rng(3)
    draws = np.zeros((4, 4000))
    for step in range(1, 4000):
        draws[:, step] = 0.8 * draws[:, step - 1] + generator.standard_normal(4)
    # (1 - .8) / (1 + .8) of 16,000; a few per cent of Monte Carlo error
    assert convergence({"x": draws}).ess_bulk["x"] == pytest.approx(16_000 / 9, rel=0.2)


def test_a_spread_that_differs_between_chains_is_seen() -> None:
    draws = np.random.default_rng(4).standard_normal((4, 500))
    draws[0] *= 3
    assert convergence({"x": draws}).rhat["x"] > 1.05


@pytest.mark.parametrize("spoilt", ["constant", "nan", "inf"])
def test_what_cannot_be_judged_is_bad(spoilt: str) -> None:
    draws = np.random.default_rng(5).standard_normal((4, 100))
    if spoilt == "constant":
        draws[:] = 2.0
    else:
        draws[0, 0] = float(spoilt)
    found = convergence({"x": draws, "y": np.random.default_rng(6).standard_normal((4, 2000))})
    assert found.rhat["x"] == float("inf")
    assert found.ess_bulk["x"] == found.ess_tail["x"] == found.min_ess == 0.0
    assert found.max_rhat == float("inf")
    assert not found.good


def test_the_worst_of_several() -> None:
    good = np.random.default_rng(7).standard_normal((4, 1000))
    bad = good.copy()
    bad[1] += 2.0
    found = convergence({"good": good, "bad": bad})
    assert found.max_rhat == found.rhat["bad"] > found.rhat["good"]
    assert found.min_ess == min(found.ess_bulk["bad"], found.ess_tail["bad"])
    assert not found.good


def test_the_least_number_of_draws_grows_with_chains() -> None:
    draws = np.random.default_rng(8).standard_normal((8, 150))
    # 1,200 draws: enough for eight chains of a hundred; the first two chains have 300, enough for two
    assert convergence({"x": draws}).good
    assert not convergence({"x": draws[:, :60]}).good


def test_one_chain_can_be_judged() -> None:
    assert convergence({"x": np.random.default_rng(9).standard_normal((1, 1000))}).good


def test_nothing_to_judge() -> None:
    assert np.isnan(convergence({}).max_rhat)


def test_the_tail_is_that_of_the_outer_twentieths() -> None:
    generator = np.random.default_rng(10)
    # a spread that changes slowly: the middle is independent, the tails come in clusters
    spread = np.zeros((4, 2000))
    for step in range(1, 2000):
        spread[:, step] = 0.98 * spread[:, step - 1] + 0.2 * generator.standard_normal(4)
    found = convergence({"x": generator.standard_normal((4, 2000)) * np.exp(spread)})
    assert found.ess_tail["x"] < 0.4 * found.ess_bulk["x"]
    assert found.min_ess == found.ess_tail["x"]


def test_weights_of_any_size_have_a_tail_or_none() -> None:
    generator = np.random.default_rng(0)
    assert pareto_smoothed(generator.normal(size=1000))[1] < 0.7
    for spread in (1e2, 1e4, 1e300):
        assert not pareto_smoothed(spread * generator.normal(size=1000))[1] < 0.7
