"""Scores against their definitions, against closed forms, and against the scorer that is not ours."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from bayescale.errors import FitError
from bayescale.evaluation import Draws
from bayescale.evaluation._scores import BANDS, LEVELS, log_density, score_points

SD = 0.05


@pytest.fixture(scope="module")
def normal() -> tuple[np.ndarray, np.ndarray]:
    """20,000 draws of N(3, .05) for each of 9 runs that lie from -2 to 2 sds off."""
    generator = np.random.default_rng(4)
    return 3.0 + SD * generator.standard_normal((20_000, 9)), 3.0 + SD * np.linspace(-2, 2, 9)


def test_closed_forms_of_a_normal_forecast(normal: tuple[np.ndarray, np.ndarray]) -> None:
    draws, observed = normal
    made = score_points(draws, observed)
    z = (observed - 3.0) / SD
    crps = SD * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    # quantiles of 20,000 draws: standard error of a tail quantile .005 of its distance
    # log loss is normal too, up to the square of .05 / 3
    np.testing.assert_allclose(made["crps_log"], crps / 3.0, rtol=0.04)
    half = norm.ppf(0.95) * SD
    outside = np.maximum(np.abs(observed - 3.0) - half, 0)
    # 20 times what a standard error of .0006 of the ends allows
    np.testing.assert_allclose(made["is90"], (2 * half + 20 * outside) / observed, atol=0.012)
    np.testing.assert_allclose(made["pit"], norm.cdf(z), atol=0.015)
    np.testing.assert_allclose(made["width90"], 100 * 2 * half / 3.0, rtol=0.03)
    # a kernel sees some 100 of 20,000 draws at two sds: a standard error of .06, and .01 in the middle
    exact = norm.logpdf(observed, 3.0, SD) + np.log(observed)
    np.testing.assert_allclose(made["log_score"], exact, atol=0.12)
    assert (made["log_score"] - exact).mean() == pytest.approx(0.0, abs=0.04)
    for level in BANDS:
        inside = np.abs(z) < norm.ppf(0.5 + level / 200)
        sure = np.abs(np.abs(z) - norm.ppf(0.5 + level / 200)) > 0.05
        assert (made[f"cov{level}"][sure] == inside[sure]).all()


def test_eleven_quantiles_give_nearly_the_crps_of_the_draws(normal: tuple[np.ndarray, np.ndarray]) -> None:
    made = score_points(*normal)
    # eleven steps for the integral over the levels: too small by an eighth in the middle, by less elsewhere
    np.testing.assert_allclose(made["crps"], made["crps_log"], rtol=0.15)
    assert made["crps"].mean() < made["crps_log"].mean()


def test_signs_and_units() -> None:
    made = score_points(np.full((200, 1), 3.06), np.array([3.0]))
    assert made["bias"][0] == pytest.approx(2.0)
    assert made["are"][0] == pytest.approx(2.0)
    assert made["crps"][0] == pytest.approx(0.02, rel=1e-6)
    assert made["cov99"][0] == 0
    assert made["pit"][0] == pytest.approx(0.5 / 201)


def test_a_run_that_no_draw_came_near_has_a_finite_log_score() -> None:
    draws = np.random.default_rng(0).normal(size=(4000, 1))
    far = np.array([log_density(draws, np.array([y]))[0] for y in (5.0, 50.0, 500.0)])
    assert np.isfinite(far).all()
    assert (np.diff(far) < -5).all()


def test_the_density_of_draws_integrates_to_one() -> None:
    draws = np.random.default_rng(1).standard_t(4, size=(2000, 1))
    grid = np.linspace(-400, 400, 400_001)
    density = np.exp([log_density(draws, np.array([y]))[0] for y in grid[::400]])
    wide = np.trapezoid(density, grid[::400])
    # the tail of a t with four degrees of freedom beyond 400 is 1e-9; the rest is the grid's
    assert wide == pytest.approx(1.0, abs=0.2)
    fine = np.linspace(-12, 12, 1201)
    inner = np.trapezoid(np.exp([log_density(draws, np.array([y]))[0] for y in fine]), fine)
    assert inner == pytest.approx((np.abs(draws) < 12).mean(), abs=0.01)


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (np.ones((50, 3)), r"at least 100 samples, and this one has the shape \(50, 3\)"),
        (np.ones(200), "array"),
        (np.where(np.arange(200)[:, None] == 7, np.nan, np.ones((200, 2))), "1 of 200 draws of test run 1"),
        (np.where(np.arange(2) == 1, -1.0, np.ones((200, 2))), r"200 of 200 draws of test run 2 .*\(one is -1\)"),
        (np.where(np.arange(200)[:, None] < 2, np.inf, np.ones((200, 2))), r"2 of 200 draws .*\(one is inf\)"),
    ],
)
def test_draws_that_are_no_forecast(loss: np.ndarray, said: str) -> None:
    with pytest.raises(FitError, match=said):
        Draws(loss)


def test_a_tail_beyond_float64_is_held_at_its_end() -> None:
    loss = np.random.default_rng(3).normal(2.5, 0.01, size=(4000, 1))
    usual = score_points(Draws(loss).loss, np.array([2.5]))
    loss[:2, 0] = 0.0, np.inf
    made = score_points(Draws(loss).loss, np.array([2.5]))
    assert np.isfinite(made.to_numpy()).all()
    # two draws of four thousand change no score that is looked at
    for name in ("crps", "crps_log", "is90", "log_score"):
        assert made[name][0] == pytest.approx(usual[name][0], rel=0.05, abs=1e-4)


def test_the_names_of_the_quantiles_are_their_levels() -> None:
    assert all(float("0." + name[1:]) == level for name, level in LEVELS.items())
