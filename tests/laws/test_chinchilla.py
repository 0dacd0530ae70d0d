"""The two Chinchilla laws: identities of the closed form that hold at any parameters."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.chinchilla_tied import ChinchillaTied

LAW, TIED = Chinchilla(), ChinchillaTied()
DRAWS = {name: prior.sample(np.random.default_rng(1), 300) for name, prior in Chinchilla.priors.items()}
BUDGET = 5.76e23


@pytest.fixture
def derived() -> dict[str, np.ndarray]:
    return LAW.derived(**DRAWS)


def test_optimum_is_a_power_law_with_the_derived_constants(derived: dict[str, np.ndarray]) -> None:
    N, D = LAW.optimum(BUDGET, **DRAWS)
    np.testing.assert_allclose(N, derived["G"] * (BUDGET / 6) ** derived["N_exponent"], rtol=1e-12)
    np.testing.assert_allclose(D, (BUDGET / 6) ** derived["D_exponent"] / derived["G"], rtol=1e-12)


def test_at_the_optimum_a_percent_of_size_is_worth_a_percent_of_data() -> None:
    """alpha A N^-alpha = beta B D^-beta, the condition that the closed form solves."""
    N, D = LAW.optimum(BUDGET, **DRAWS)
    size = DRAWS["alpha"] * DRAWS["a"] * (N / LAW.N0) ** -DRAWS["alpha"]
    data = DRAWS["beta"] * DRAWS["b"] * (D / LAW.D0) ** -DRAWS["beta"]
    np.testing.assert_allclose(size, data, rtol=1e-11)


def test_exponents_add_up_and_agree_with_the_derived_ones(derived: dict[str, np.ndarray]) -> None:
    N_exponent, D_exponent = LAW.exponents(BUDGET, **DRAWS)
    np.testing.assert_array_equal(N_exponent, derived["N_exponent"])
    np.testing.assert_array_equal(D_exponent, derived["D_exponent"])
    np.testing.assert_allclose(N_exponent + D_exponent, 1.0, rtol=1e-15)


def test_tied_law_is_the_free_law_with_equal_exponents() -> None:
    tied = {name: DRAWS[name] for name in ("E", "a", "b", "alpha")}
    free = tied | {"beta": DRAWS["alpha"]}
    np.testing.assert_array_equal(TIED.loss(7e9, 3e11, **tied), LAW.loss(7e9, 3e11, **free))
    np.testing.assert_array_equal(TIED.optimum(BUDGET, **tied), LAW.optimum(BUDGET, **free))
    np.testing.assert_array_equal(TIED.frontier(BUDGET, **tied), LAW.frontier(BUDGET, **free))
    assert TIED.derived(**tied).keys() == LAW.derived(**free).keys()
    for name, values in TIED.derived(**tied).items():
        np.testing.assert_array_equal(values, LAW.derived(**free)[name])


def test_tied_law_grows_size_and_data_alike() -> None:
    theta = {"E": 1.8, "a": 0.4, "b": 0.3, "alpha": 0.35}
    assert TIED.exponents(BUDGET, **theta) == (0.5, 0.5)
    (N, D), (N_later, D_later) = (TIED.optimum(budget, **theta) for budget in (BUDGET, 100 * BUDGET))
    np.testing.assert_allclose((N_later / N, D_later / D), 10.0, rtol=1e-13)


def test_tied_law_keeps_its_reference_run_in_the_closed_form() -> None:
    theta = {"E": 1.8, "a": 0.4, "b": 0.3, "alpha": 0.35}
    assert TIED.at(N=1e6).optimum(BUDGET, **theta) == LAW.at(N=1e6).optimum(BUDGET, beta=0.35, **theta)
    assert TIED.at(N=1e6).optimum(BUDGET, **theta) != TIED.optimum(BUDGET, **theta)


def test_the_fit_is_better_conditioned_at_the_reference_run() -> None:
    """The reason for a and b, over a ladder like the paper's; the measured ratio there is 45."""
    generator = np.random.default_rng(0)
    N, D = np.exp(generator.uniform(np.log(7e7), np.log(1.6e10), 240)), np.exp(generator.uniform(20, 26, 240))
    size, data = 0.36 * (N / LAW.N0) ** -0.3478, 0.34 * (D / LAW.D0) ** -0.3658

    def condition(N0: float, D0: float) -> float:
        """Of the Jacobian of log loss in E, log a, log b, alpha, beta when a and b are read at (N0, D0)."""
        slopes = np.stack([np.ones(240), size, data, -size * np.log(N / N0), -data * np.log(D / D0)], axis=1)
        return float(np.linalg.cond(slopes / (1.8172 + size + data)[:, None]))

    assert condition(1.0, 1.0) > 20 * condition(LAW.N0, LAW.D0)
