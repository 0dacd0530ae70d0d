"""Laws of a share of the mixture, and the mixture that is best under them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from bayescale.errors import LawError, RunsError
from bayescale.laws.bimix import BiMix
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.msl import MSL
from bayescale.laws.shares import optimal_shares
from bayescale.procedures import fit
from bayescale.runs import Runs

THETA = {"E": 1.5, "a": 0.3, "b": 0.35, "alpha": 0.33, "beta": 0.37, "gamma": 0.12}
ALONE = {name: value for name, value in THETA.items() if name != "gamma"}


def test_a_family_alone_is_chinchilla_and_half_of_the_mixture_costs_a_factor() -> None:
    law = MSL()
    np.testing.assert_allclose(law.loss(1e9, 3e11, **THETA), Chinchilla().loss(1e9, 3e11, **ALONE), rtol=1e-14)
    np.testing.assert_allclose(law.loss(1e9, 3e11, 0.5, **THETA), law.loss(1e9, 3e11, **THETA) * 2**0.12, rtol=1e-14)
    # the share multiplies the loss, so it does not move the optimum
    np.testing.assert_allclose(law.optimum(1e22, p=0.2, **THETA), Chinchilla().optimum(1e22, **ALONE), rtol=1e-14)


def test_bimix_is_msl_at_one_size() -> None:
    D = np.geomspace(1e9, 1e12, 7)
    floor = 1.5 + 0.3 * (3e9 / 1e9) ** -0.33
    found = BiMix().loss(D, 0.3, E=floor, b=0.35, beta=0.37, alpha=0.12)
    np.testing.assert_allclose(found, MSL().loss(3e9, D, 0.3, **THETA), rtol=1e-13)


def test_shares_above_one_are_refused() -> None:
    runs = Runs.from_arrays(N=[1e8, 1e9], D=[1e10, 1e11], p=[25.0, 50.0], loss=[3.0, 2.5])
    with pytest.raises(RunsError, match=r"run 1: p is 25; msl reads a share .* Divide percentages by 100"):
        fit(runs, "msl", "least-squares")


@pytest.mark.parametrize("gamma", [0.1, np.array([0.02, 0.1, 0.4])])
def test_optimal_shares_are_those_that_a_search_finds(gamma) -> None:
    loss, weight = np.array([2.0, 2.6, 3.1]), np.array([1.0, 0.5, 2.0])
    found = optimal_shares(loss, gamma, weight)
    assert found.sum() == pytest.approx(1.0, abs=1e-14)

    def total(z: np.ndarray) -> float:
        p = np.exp(z - np.logaddexp.reduce(z))
        return float((weight * loss * p**-gamma).sum())

    search = minimize(total, np.zeros(3), method="BFGS", options={"gtol": 1e-10}).x
    # the search stops where the sum is flat to rounding
    np.testing.assert_allclose(found, np.exp(search - np.logaddexp.reduce(search)), atol=1e-5)


def test_optimal_shares_of_draws_and_with_one_exponent_in_closed_form() -> None:
    loss = np.random.default_rng(0).uniform(1.0, 3.0, (50, 4))
    raw = loss ** (1 / 1.2)
    np.testing.assert_allclose(optimal_shares(loss, 0.2), raw / raw.sum(1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.0, -0.1, np.nan])
def test_an_exponent_of_nought_has_no_optimum(gamma: float) -> None:
    with pytest.raises(LawError, match="needs a gamma above 0"):
        optimal_shares([2.0, 3.0], gamma)
