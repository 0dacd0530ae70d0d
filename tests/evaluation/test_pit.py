"""The test of evenness: calibrated forecasts pass whatever their points share, and others do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayescale.evaluation._pit import uniformity

FOLDS, POINTS = 40, 8


def points(seed: int, shared: float, spread: float = 1.0, bias: float = 0.0) -> pd.DataFrame:
    """Folds whose errors have a correlation of `shared`, in sds of the forecast."""
    generator = np.random.default_rng(seed)
    own, common = generator.standard_normal((FOLDS, POINTS)), generator.standard_normal((FOLDS, 1))
    error = bias + spread * (np.sqrt(1 - shared) * own + np.sqrt(shared) * common)
    names = np.repeat([f"family {fold}" for fold in range(FOLDS)], POINTS)
    return pd.DataFrame({"dataset": names, "at": 10.0, "part": 0, "pit": stats.norm.cdf(error).ravel()})


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_calibrated_forecasts_pass_though_single_draws_of_points_may_not(shared):
    found = [uniformity(points(seed, shared), seed) for seed in range(10)]
    assert all(one["passes"] for one in found)
    assert all(one["p_min"] <= one["p_median"] <= one["p"] <= 1.0 for one in found)
    if shared == 0.0:
        assert any(one["p_min"] < 0.01 for one in found)


@pytest.mark.parametrize(("spread", "bias"), [(2.5, 0.0), (0.25, 0.0), (1.0, 1.2)], ids=["narrow", "wide", "biased"])
def test_forecasts_that_are_not_calibrated_do_not_pass(spread, bias):
    found = [uniformity(points(seed, 0.5, spread, bias), seed) for seed in range(5)]
    assert not any(one["passes"] for one in found)


def test_few_folds_have_no_test():
    few = points(0, 0.5)
    assert uniformity(few[few["dataset"].isin(["family 0", "family 1", "family 2", "family 3"])]) is None
