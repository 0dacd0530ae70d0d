"""The four-point example: what least squares says with and without a floor, and what the posterior adds to it."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import least_squares

from bayescale.fits import Fit
from bayescale.laws.power_c import PowerC
from bayescale.laws.power_c_no_floor import PowerCNoFloor

C = np.array([1e17, 3e17, 1e18, 3e18])
LOSS = np.array([3.90, 3.62, 3.37, 3.16])
BEYOND = np.array([1e20, 1e22, 1e30])
TARGET = 1e22


@pytest.fixture(scope="module")
def forecasts(four_point_fit: Fit) -> xr.Dataset:
    """At the target, at the four runs, and at a budget between them: one call, so that it is compiled once."""
    return four_point_fit.forecast({"C": [TARGET, *C, 2e17]})


def test_least_squares_without_a_floor() -> None:
    slope, height = np.polyfit(np.log(C), np.log(LOSS), 1)
    law = PowerCNoFloor(C0=1.0)
    predicted = law.loss(BEYOND, c=np.exp(height), gamma=-slope)
    # printed to two decimals
    np.testing.assert_allclose(predicted, [2.54, 1.91, 0.62], atol=0.005)


def test_least_squares_with_a_floor() -> None:
    law = PowerC(C0=1e18)
    names = ("E", "c", "gamma")

    def residuals(theta: np.ndarray) -> np.ndarray:
        return law.loss(C, **dict(zip(names, theta, strict=True))) - LOSS

    found = least_squares(residuals, (1.5, 1.5, 0.1), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    E, _, exponent = found.x
    assert pytest.approx(1.836, abs=0.0005) == E
    assert exponent == pytest.approx(0.1299, abs=0.00005)
    predicted = law.loss(BEYOND, **dict(zip(names, found.x, strict=True)))
    np.testing.assert_allclose(predicted, [2.68, 2.30, 1.88], atol=0.005)


def test_the_posterior_does_not_know_the_floor(four_point_fit: Fit) -> None:
    floor = four_point_fit.draws["E"].values
    assert floor.std() > 0.2
    low, high = np.quantile(floor, [0.05, 0.95])
    assert low < 1.836 < high
    assert (floor > 0).all()


@pytest.mark.parametrize("of_what", ["mean_loss", "new_run_loss"])
def test_the_band_says_what_the_example_does_not(forecasts: xr.Dataset, of_what: str) -> None:
    low, high = np.quantile(forecasts[of_what].values[:, 0], [0.05, 0.95])
    assert high - low > 0.4
    assert low < 2.30 < high
    assert not low < 1.91 < high


def test_the_target_is_outside_the_table_and_says_so(forecasts: xr.Dataset) -> None:
    np.testing.assert_allclose(forecasts["flops_ratio"], np.array([TARGET, *C, 2e17]) / 3e18)
    assert forecasts["inside"].values.tolist() == [False, True, True, True, True, True]


def test_the_law_still_goes_through_the_runs(forecasts: xr.Dataset) -> None:
    # losses are given to two decimals, and the best curve with a floor misses them by .01
    np.testing.assert_allclose(forecasts["mean_loss"].median("sample")[1:5], LOSS, atol=0.03)
