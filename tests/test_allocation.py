"""Compute-optimal allocation: closed forms, a law without one, and laws that cannot answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayescale.allocation import allocate
from bayescale.errors import TargetError
from bayescale.fits import Fit
from bayescale.laws import Law
from bayescale.laws._law import REGISTRY
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.chinchilla_tied import ChinchillaTied
from bayescale.laws.power_c import PowerC
from bayescale.laws.power_d import PowerD
from bayescale.prior import Prior
from bayescale.runs import Runs

BUDGETS = [1e19, 5.76e23]


@pytest.fixture(scope="module")
def theta(truth: dict[str, float]) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(8)
    return {name: value * np.exp(0.05 * generator.standard_normal(300)) for name, value in truth.items()}


@pytest.fixture
def outer() -> Iterator[type[Law]]:
    """A law whose optimum has no closed form in its class; forgotten after the test."""
    before = dict(REGISTRY)

    class Outer(Law):
        name = "outer-exponent-test"
        formula = "L(N, D) = E + (a (N/N0)^-alpha + b (D/D0)^-beta)^kappa"
        citation = "a test"
        priors = dict(Chinchilla.priors) | {"kappa": Prior("LogNormal", 0.0, 0.2)}

        def loss(self, N: Any, D: Any, *, E: Any, a: Any, b: Any, alpha: Any, beta: Any, kappa: Any) -> Any:
            return E + (a * (N / self.N0) ** -alpha + b * (D / self.D0) ** -beta) ** kappa

    yield Outer
    REGISTRY.clear()
    REGISTRY.update(before)


def test_every_draw_spends_the_budget(theta: dict[str, np.ndarray]) -> None:
    made = allocate(Chinchilla(), theta, BUDGETS)
    assert set(made.data_vars) == {"N", "D", "D_per_N", "loss", "N_exponent", "D_exponent"}
    assert made["N"].dims == ("sample", "budget")
    assert made["budget"].values.tolist() == BUDGETS
    np.testing.assert_allclose(6 * made["N"] * made["D"], np.broadcast_to(BUDGETS, (300, 2)), rtol=1e-12)
    np.testing.assert_allclose(made["D_per_N"], made["D"] / made["N"], rtol=1e-14)
    assert np.isfinite(made.to_array()).all()


def test_exponents_are_those_of_the_paper(theta: dict[str, np.ndarray]) -> None:
    made = allocate(Chinchilla(), theta, BUDGETS)
    share = theta["beta"] / (theta["alpha"] + theta["beta"])
    np.testing.assert_allclose(made["N_exponent"], np.stack([share, share], axis=1), rtol=1e-14)
    np.testing.assert_allclose(made["N_exponent"] + made["D_exponent"], np.ones((300, 2)), rtol=1e-14)
    # and N* itself grows by them
    growth = np.log(made["N"][:, 1] / made["N"][:, 0]) / np.log(BUDGETS[1] / BUDGETS[0])
    np.testing.assert_allclose(growth, share, rtol=1e-11)


def test_no_other_split_is_better(theta: dict[str, np.ndarray]) -> None:
    made = allocate(Chinchilla(), theta, BUDGETS)
    draws = {name: values[:, None] for name, values in theta.items()}
    np.testing.assert_allclose(made["loss"], Chinchilla().loss(made["N"].values, made["D"].values, **draws), rtol=1e-12)
    for factor in (0.9, 1.1):
        shifted = Chinchilla().loss(made["N"].values * factor, made["D"].values / factor, **draws)
        assert (shifted > made["loss"].values).all()


def test_a_tied_law_spends_equally(theta: dict[str, np.ndarray]) -> None:
    tied = {name: theta["beta" if name == "alpha" else name] for name in ChinchillaTied.parameters}
    made = allocate(ChinchillaTied(), tied, BUDGETS)
    np.testing.assert_allclose(made["N_exponent"], np.full((300, 2), 0.5), rtol=1e-12)
    np.testing.assert_allclose(made["D_per_N"][:, 0], made["D_per_N"][:, 1], rtol=1e-9)


def test_hoffmanns_own_numbers() -> None:
    # arXiv 2203.15556: E 1.69, A 406.4, B 410.7, alpha .34, beta .28; the rounded constants give 40.2B at 5.76e23
    theta = {"E": 1.69, "a": 406.4 / 1e9**0.34, "b": 410.7 / 2e10**0.28, "alpha": 0.34, "beta": 0.28}
    made = allocate(Chinchilla(), {name: np.array([value]) for name, value in theta.items()}, [5.76e23])
    share = 0.28 / 0.62
    G = (0.34 * 406.4 / (0.28 * 410.7)) ** (1 / 0.62)
    assert float(made["N"][0, 0]) == pytest.approx(G * (5.76e23 / 6) ** share, rel=1e-12)
    assert float(made["N_exponent"][0, 0]) == pytest.approx(share)


@pytest.mark.parametrize(("law", "inputs"), [(PowerC(), "C"), (PowerD(), "D")])
def test_a_law_of_one_input_cannot_split_a_budget(law: Law, inputs: str) -> None:
    said = rf"{law.name} gives loss as a function of {inputs} alone, so it cannot split a budget .* such as chinchilla"
    with pytest.raises(TargetError, match=said):
        allocate(law, {name: np.ones(3) for name in law.parameters}, [1e24])


@pytest.mark.parametrize("budget", [0.0, -1.0, np.nan])
def test_a_budget_that_is_none(theta: dict[str, np.ndarray], budget: float) -> None:
    with pytest.raises(TargetError, match="budgets must be finite FLOPs above 0"):
        allocate(Chinchilla(), theta, [1e24, budget])


def test_a_law_without_a_closed_form_all_the_way(
    theta: dict[str, np.ndarray],
    outer: type[Law],
    assemble: Callable[..., Fit],
    simulate: Callable[..., Runs],
    tmp_path: Path,
) -> None:
    draws = theta | {"kappa": np.exp(0.1 * np.random.default_rng(0).standard_normal(300))}
    fit = assemble(simulate(size=20), outer(), draws)
    made = Fit.load(fit.save(tmp_path / "outer.nc")).allocation(BUDGETS)
    # a power of the reducible loss does not move its lowest point
    closed = allocate(Chinchilla(), theta, BUDGETS)
    for name in ("N", "D", "D_per_N"):
        np.testing.assert_allclose(made[name], closed[name], rtol=1e-6)
    np.testing.assert_allclose(made["N_exponent"], closed["N_exponent"], atol=1e-5)
    path = fit.forecast({"C": BUDGETS})["mean_loss"]
    np.testing.assert_allclose(path, made["loss"], rtol=1e-12)
    reducible = closed["loss"] - theta["E"][:, None]
    np.testing.assert_allclose(path.values - theta["E"][:, None], reducible ** draws["kappa"][:, None], rtol=1e-9)


@pytest.mark.usefixtures("outer")
def test_draws_without_an_optimum(outer: type[Law], theta: dict[str, np.ndarray]) -> None:
    draws = theta | {"kappa": np.ones(300)}
    hopeless = draws | {"b": np.full(300, 1e-30)}
    with pytest.raises(TargetError, match=r"has no optimum inside .* at 5\.76e\+23 FLOPs for 100% of the draws"):
        allocate(outer(), hopeless, [5.76e23])
    some = draws | {"b": np.where(np.arange(300) < 30, 1e-30, draws["b"])}
    made = allocate(outer(), some, [5.76e23])
    assert int(np.isnan(made["N"]).sum()) == 30
    assert np.isnan(made["N"].values[:30]).all()
