"""The coupled law: identities of its form, and what the sampler makes of it."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale.fits import Fit
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.kappa import Kappa
from bayescale.procedures import fit
from bayescale.runs import Runs

LAW = Kappa()
DRAWS = {name: prior.sample(np.random.default_rng(1), 300) for name, prior in Kappa.priors.items()}
TRUTH = {"E": 1.75, "R": 0.75, "M": 22.0, "N_exponent": 0.52, "gamma": 0.16, "kappa": 0.65}


def test_it_is_the_published_form_with_the_derived_constants() -> None:
    """L = E + (A N^-alpha + B D^-beta)^kappa, arXiv 2608.07222."""
    derived = LAW.derived(**DRAWS)
    spelt_out = derived["A"] * 3e8 ** -derived["alpha"] + derived["B"] * 7e10 ** -derived["beta"]
    expected = DRAWS["E"] + spelt_out ** DRAWS["kappa"]
    # constants of up to 1e60 taken to powers of 1/kappa: tens of ulp
    np.testing.assert_allclose(LAW.loss(3e8, 7e10, **DRAWS), expected, rtol=1e-11)


def test_at_kappa_one_it_is_chinchilla() -> None:
    draws = DRAWS | {"kappa": np.ones(300)}
    derived = LAW.derived(**draws)
    chinchilla = Chinchilla(N0=1.0, D0=1.0)
    theta = {"a": derived["A"], "b": derived["B"], "alpha": derived["alpha"], "beta": derived["beta"]}
    np.testing.assert_allclose(
        LAW.loss(3e8, 7e10, **draws), chinchilla.loss(3e8, 7e10, E=draws["E"], **theta), rtol=1e-12
    )
    np.testing.assert_allclose(LAW.optimum(5.76e23, **draws), chinchilla.optimum(5.76e23, **theta), rtol=1e-11)
    np.testing.assert_allclose(LAW.frontier(5.76e23, **draws), chinchilla.frontier(5.76e23, E=draws["E"], **theta))


def test_the_reference_budget_is_what_the_parameters_say() -> None:
    N, D = LAW.optimum(LAW.C0, **DRAWS)
    np.testing.assert_allclose(D / N, DRAWS["M"], rtol=1e-13)
    np.testing.assert_allclose(LAW.loss(N, D, **DRAWS), DRAWS["E"] + DRAWS["R"], rtol=1e-13)
    np.testing.assert_allclose(6 * N * D, LAW.C0, rtol=1e-13)


def test_moving_the_reference_budget_along_the_frontier_changes_no_loss() -> None:
    there = LAW.at(N=3e7, D=4e9)
    growth = there.C0 / LAW.C0
    N, D = LAW.optimum(there.C0, **DRAWS)
    moved = DRAWS | {"R": DRAWS["R"] * growth ** -DRAWS["gamma"], "M": D / N}
    np.testing.assert_allclose(there.loss(3e8, 7e10, **moved), LAW.loss(3e8, 7e10, **DRAWS), rtol=1e-11)


def test_a_smaller_kappa_makes_sharper_isoflop_curves_with_the_same_frontier() -> None:
    N, D = LAW.optimum(1e21, **TRUTH)
    off = [float(LAW.loss(4 * N, D / 4, **TRUTH | {"kappa": kappa})) for kappa in (0.4, 0.6, 1.0)]
    assert off[0] > off[1] > off[2] > float(LAW.frontier(1e21, **TRUTH))


@pytest.fixture(scope="module")
def recovered() -> Fit:
    """IsoFLOP runs of known parameters, five budgets of nine sizes, .5 % noise."""
    generator = np.random.default_rng(11)
    budgets = np.repeat(10.0 ** np.array([18.0, 18.75, 19.5, 20.25, 21.0]), 9)
    N = np.asarray(LAW.optimum(budgets, **TRUTH)[0]) * np.tile(np.geomspace(1 / 12, 12, 9), 5)
    D = budgets / (6 * N)
    loss = np.asarray(LAW.loss(N, D, **TRUTH)) * np.exp(0.005 * generator.standard_normal(45))
    return fit(Runs.from_arrays(N=N, D=D, loss=loss), "kappa", noise="normal", draws=250, fallback=False)


@pytest.mark.parametrize("name", TRUTH)
def test_known_parameters_are_recovered(recovered: Fit, name: str) -> None:
    draws = recovered.draws[name].values
    # three posterior sds: one table, one noise
    assert abs(draws.mean() - TRUTH[name]) < 3 * draws.std()
    assert recovered.diagnostics.contraction[name] > 0.5


def test_the_sampler_has_no_trouble(recovered: Fit) -> None:
    assert recovered.diagnostics.max_rhat < 1.02  # 4 x 250 draws: the noise of R-hat is .005
    assert recovered.diagnostics.divergences <= 3


def test_runs_on_the_frontier_leave_kappa_to_its_prior() -> None:
    # as many runs as above: the two tables share a compiled sampler
    generator = np.random.default_rng(12)
    budgets = 10.0 ** np.linspace(18, 21.5, 45)
    N, D = (np.asarray(x) for x in LAW.optimum(budgets, **TRUTH))
    loss = np.asarray(LAW.frontier(budgets, **TRUTH)) * np.exp(0.003 * generator.standard_normal(45))
    on_path = fit(Runs.from_arrays(N=N, D=D, loss=loss), "kappa", noise="normal", draws=250, fallback=False)
    assert not on_path.diagnostics.ok
    assert any("kappa" in warning and "prior" in warning for warning in on_path.diagnostics.warnings)


def test_the_published_constants_of_a_small_kappa_are_numbers() -> None:
    # R^(1/kappa) is below all numbers here, and what it is multiplied with above them
    small = Kappa().derived(R=0.4, M=20.0, N_exponent=0.5, gamma=0.17, kappa=0.0011)
    assert not any(np.isnan(value) for value in small.values())
