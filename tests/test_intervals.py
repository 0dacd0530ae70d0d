"""One summary of draws, under the same names everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bayescale.intervals import KEYS, interval, quantiles


def test_the_keys_are_those_of_the_command_line() -> None:
    assert list(KEYS) == ["q05", "q25", "median", "q75", "q95"]
    assert list(quantiles(np.arange(9.0))) == list(KEYS)
    assert list(interval(np.arange(9.0))) == ["mean", "sd", *KEYS]


def test_quantiles_of_a_normal() -> None:
    draws = stats.norm(3.0, 2.0).ppf((np.arange(1000) + 0.5) / 1000)
    found = interval(draws)
    for key, probability in KEYS.items():
        # one of a thousand equally likely values is off by at most half a step of probability
        assert found[key] == pytest.approx(stats.norm(3.0, 2.0).ppf(probability), abs=0.01)
    assert found["mean"] == pytest.approx(3.0, abs=1e-12)
    assert found["sd"] == draws.std(ddof=1)


def test_shape_and_order_do_not_matter() -> None:
    draws = np.random.default_rng(0).normal(size=(4, 25))
    shuffled = np.random.default_rng(1).permutation(draws.ravel())
    assert quantiles(draws) == quantiles(shuffled)
    assert all(type(value) is float for value in interval(draws).values())


def test_integers_are_draws_too() -> None:
    assert quantiles([1, 2, 3])["median"] == 2.0


@pytest.mark.parametrize("point", [2.5, [2.5], np.array([[2.5]])])
def test_a_point_has_a_median_and_nothing_else(point: object) -> None:
    found = interval(point)
    assert found.pop("median") == 2.5
    assert list(found) == ["mean", "sd", "q05", "q25", "q75", "q95"]
    assert set(found.values()) == {None}


def test_a_draw_beyond_all_numbers_leaves_the_quantiles() -> None:
    found = interval([*np.arange(1.0, 100.0), np.inf])
    assert found["mean"] == found["sd"] == np.inf
    assert found["median"] == 50.5
    assert found["q95"] == pytest.approx(95.05)
