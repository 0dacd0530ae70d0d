"""Least squares: against scipy, with standard deviations, and with what is mistaken for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import curve_fit

import bayescale
from bayescale.errors import BayescaleError, FitError
from bayescale.laws.chinchilla import Chinchilla
from bayescale.runs import Runs

NAMES = ("E", "a", "b", "alpha", "beta")
START = (1.7, 0.3, 0.3, 0.3, 0.3)


def with_sds(runs: Runs, **others: np.ndarray) -> Runs:
    return Runs.from_arrays(N=runs["N"], D=runs["D"], loss=runs["loss"], **others)


@pytest.fixture(scope="module")
def sds(simulate: Callable[..., Runs]) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.005, 0.05, len(simulate()))


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_curve_fit_at_its_optimum(simulate: Callable[..., Runs], sds: np.ndarray, weighted: bool) -> None:
    runs = simulate()

    def law(columns: np.ndarray, *theta: float) -> np.ndarray:
        return Chinchilla().loss(*columns, **dict(zip(NAMES, theta, strict=True)))

    sigma = sds if weighted else None
    best, _ = curve_fit(law, np.stack([runs["N"], runs["D"]]), runs["loss"], START, sigma, xtol=1e-14, ftol=1e-14)
    settings = {"sd_column": "loss_sd"} if weighted else {}
    fit = bayescale.fit(with_sds(runs, loss_sd=sds), procedure="least-squares", replicates=0, starts=64, **settings)
    assert fit.estimate is not None
    # curve_fit differentiates by differences, and stops where they end
    np.testing.assert_allclose([fit.estimate[name] for name in NAMES], best, rtol=1e-5)
    assert fit.diagnostics.measures["gradient_norm"] < 1e-9


@pytest.mark.parametrize("name", ["weight", "loss_var", "variance", "inv_sd", "precision", "std2"])
def test_a_column_named_like_a_weight_is_refused(simulate: Callable[..., Runs], sds: np.ndarray, name: str) -> None:
    with pytest.raises(FitError, match="named like a weight or a variance; expected standard deviations"):
        bayescale.fit(with_sds(simulate(), **{name: sds}), procedure="least-squares", sd_column=name)


def test_weights_in_the_place_of_standard_deviations_are_noticed(simulate: Callable[..., Runs]) -> None:
    runs = simulate()
    wrong = np.full(len(runs), 1.0 / 0.01**2)
    fit = bayescale.fit(
        with_sds(runs, loss_sd=wrong), procedure="least-squares", sd_column="loss_sd", replicates=0, starts=64
    )
    assert any("hardly standard deviations of the loss" in warning for warning in fit.diagnostics.warnings)


def test_a_standard_deviation_of_zero(simulate: Callable[..., Runs], sds: np.ndarray) -> None:
    wrong = np.where(np.arange(len(sds)) == 6, 0.0, sds)
    with pytest.raises(BayescaleError, match=r"run 7 of .*run_sd is 0; expected a standard deviation"):
        bayescale.fit(with_sds(simulate(), run_sd=wrong), procedure="least-squares", sd_column="run_sd")


def test_an_unknown_scale(simulate: Callable[..., Runs]) -> None:
    with pytest.raises(FitError, match="scale is one of loss, log-loss; got 'log'"):
        bayescale.fit(simulate(), procedure="least-squares", scale="log")
