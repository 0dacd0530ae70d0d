"""The numeric optimum where it is known by other means, and the laws that have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bayescale.errors import LawError
from bayescale.laws import Law, get
from bayescale.laws.chinchilla import Chinchilla
from bayescale.prior import Prior


def test_outer_exponent_does_not_move_the_optimum(toy: Callable[[], type[Law]]) -> None:
    """A law that only states its loss gets its optimum from the base class: here one that is known in closed form."""
    theta = {"E": 1.8, "a": 0.36, "b": 0.34, "alpha": 0.35, "beta": 0.37}
    N, D = toy()().optimum(1e23, kappa=0.6, **theta)
    expected = Chinchilla().optimum(1e23, **theta)
    np.testing.assert_allclose((N, D), expected, rtol=1e-10)


@pytest.mark.parametrize("useless", ["N", "D"])
def test_a_law_without_an_interior_optimum_says_nan(toy: Callable[[], type[Law]], useless: str) -> None:
    toy()  # only for its fixture, which forgets the law below

    class OneSided(Law):
        name = f"toy-without-{useless}"
        formula = "L = E + (x/1e9)^-gamma"
        citation = "a test"
        priors = {"E": Prior("LogNormal", 0.5, 0.4), "gamma": Prior("LogNormal", -1.0, 0.4)}  # noqa: RUF012

        def loss(self, N: Any, D: Any, *, E: Any, gamma: Any) -> Any:
            return E + ((D if useless == "N" else N) / 1e9) ** -gamma

    law = OneSided()
    assert law.splits_compute
    assert np.isnan(law.optimum(1e21, E=1.7, gamma=0.3)).all()
    assert np.isnan(law.exponents(1e21, E=1.7, gamma=0.3)).all()
    assert np.isnan(law.frontier(1e21, E=1.7, gamma=0.3))


def test_order_of_the_inputs_does_not_matter(toy: Callable[[], type[Law]]) -> None:
    class Swapped(toy()):
        name = "toy-swapped"

        def loss(self, D: Any, N: Any, *, E: Any, a: Any, b: Any, alpha: Any, beta: Any, kappa: Any) -> Any:
            return E + (a * (N / self.N0) ** -alpha + b * (D / self.D0) ** -beta) ** kappa

    theta = {"E": 1.8, "a": 0.36, "b": 0.34, "alpha": 0.35, "beta": 0.45, "kappa": 0.8}
    assert Swapped.inputs == ("D", "N")
    np.testing.assert_array_equal(Swapped().optimum(1e23, **theta), toy()().optimum(1e23, **theta))
    assert Swapped().frontier(1e23, **theta) == toy()().frontier(1e23, **theta)


@pytest.mark.parametrize(("name", "symbol"), [("power-N", "N"), ("power-D", "D")])
def test_a_law_of_one_of_them_has_no_optimum_and_no_frontier(name: str, symbol: str) -> None:
    law = get(name)()
    theta = dict.fromkeys(law.parameters, 0.4)
    for question in (law.optimum, law.frontier, law.exponents):
        with pytest.raises(LawError, match=rf"{name} has no .*: it is a law of {symbol} alone, not of N and D"):
            question(1e21, **theta)


@pytest.mark.parametrize("name", ["power-C", "power-C-no-floor"])
def test_frontier_of_a_law_of_compute_is_the_law(name: str) -> None:
    law = get(name)()
    theta = dict.fromkeys(law.parameters, 0.4)
    assert law.frontier(1e21, **theta) == law.loss(1e21, **theta)
    with pytest.raises(LawError, match=f"{name} has no compute-optimal size"):
        law.optimum(1e21, **theta)
