"""Curves that bend (M3, M4, broken power laws), and joint laws with a bound, a shift, a product or stretched terms."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale._float64 import jax
from bayescale.errors import LawError
from bayescale.laws import get
from bayescale.laws.bnsl_1 import BNSL1
from bayescale.laws.bnsl_2 import BNSL2
from bayescale.laws.bounded import Bounded
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.farseer import Farseer
from bayescale.laws.m3 import M3
from bayescale.laws.m4 import M4
from bayescale.laws.multiplicative import Multiplicative
from bayescale.laws.shifted import Shifted

X = np.geomspace(1e2, 1e9, 15)
CHINCHILLA = {"a": 0.36, "b": 0.34, "alpha": 0.35, "beta": 0.37}


def draws(name: str, size: int = 100) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(5)
    law = get(name)
    return {parameter: law.priors[parameter].sample(generator, size)[:, None] for parameter in law.parameters}


def test_m3_is_the_published_form() -> None:
    """beta (1/x + gamma)^c, arXiv 2209.06640."""
    law, theta = M3().at(D=1e6), {"r": 0.4, "s": 0.2, "c": 0.3}
    derived = law.derived(**theta)
    np.testing.assert_allclose(law.loss(X, **theta), derived["beta"] * (1 / X + derived["gamma"]) ** 0.3, rtol=1e-12)
    assert derived["E"] == pytest.approx(derived["beta"] * derived["gamma"] ** 0.3)


def test_m4_solves_its_equation() -> None:
    """(e - e_inf) / (e_0 - e)^alpha = beta x^-c, arXiv 2209.06640, for draws from the priors."""
    law, theta = M4().at(D=1e6), draws("m4")
    e, derived = np.asarray(law.loss(X[None], **theta)), law.derived(**theta)
    assert (e >= theta["E"]).all()
    assert (e <= derived["e_0"]).all()
    above, below = e - theta["E"], derived["e_0"] - e
    # where neither difference has lost its digits
    sound = (above > 1e-3 * theta["H"]) & (below > 1e-3 * theta["H"])
    left = np.log(above) - theta["alpha"] * np.log(below)
    right = np.log(derived["beta"]) - theta["c"] * np.log(X[None])
    assert sound.mean() > 0.1
    np.testing.assert_allclose(left[sound], right[sound], atol=1e-9)


def test_m4_derivatives_are_those_of_the_curve() -> None:
    law = M4().at(D=1e6)
    theta = {"E": 0.1, "H": 0.8, "r": 0.3, "c": 0.5, "alpha": 2.5}
    slopes = jax.grad(lambda t: law.loss(3e5, **t))(theta)
    for name, value in theta.items():
        high, low = (float(law.loss(3e5, **theta | {name: value * (1 + step)})) for step in (1e-5, -1e-5))
        # a central difference: 1e-10 of truncation, 1e-11 of rounding
        assert float(slopes[name]) == pytest.approx((high - low) / (2e-5 * value), rel=1e-7), name


@pytest.mark.parametrize("alpha", [0.2, 1.0, 5.0])
def test_m4_tends_to_its_bounds_and_to_the_power_law(alpha: float) -> None:
    theta = {"E": 0.1, "H": 0.8, "r": 0.3, "c": 0.5, "alpha": alpha}
    law = M4().at(D=1e6)
    assert float(law.loss(1e-60, **theta)) == pytest.approx(0.9, rel=1e-6)
    assert float(law.loss(1e16, **theta)) - 0.1 == pytest.approx(0.3e-5, rel=1e-4)


def test_bnsl_1_is_the_published_form() -> None:
    """a + b x^-c0 (1 + (x/d1)^(1/f1))^(-c1 f1), arXiv 2210.14891."""
    law = BNSL1().at(D=1e5)
    theta = {"E": 0.1, "r": 0.5, "s_0": 0.1, "s_1": 0.9, "k_1": 3.0, "f_1": 0.2}
    c = {name: float(value) for name, value in law.derived(**theta).items()}
    published = 0.1 + c["b"] * X ** -c["c_0"] * (1 + (X / c["d_1"]) ** 5.0) ** (-c["c_1"] * 0.2)
    np.testing.assert_allclose(law.loss(X, **theta), published, rtol=1e-12)


def test_bnsl_2_is_the_published_form() -> None:
    law = BNSL2().at(D=1e5)
    theta = {"E": 0.1, "r": 0.5, "s_0": 0.1, "s_1": 0.9, "s_2": 0.3, "k_1": 0.3, "g": 4.0, "f_1": 0.2, "f_2": 0.25}
    c = {name: float(value) for name, value in law.derived(**theta).items()}
    breaks = (1 + (X / c["d_1"]) ** 5.0) ** (-c["c_1"] * 0.2) * (1 + (X / c["d_2"]) ** 4.0) ** (-c["c_2"] * 0.25)
    np.testing.assert_allclose(law.loss(X, **theta), 0.1 + c["b"] * X ** -c["c_0"] * breaks, rtol=1e-12)


def test_a_second_break_without_a_change_of_slope_is_one_break() -> None:
    one = {"E": 0.1, "r": 0.5, "s_0": 0.1, "s_1": 0.9, "k_1": 0.3, "f_1": 0.2}
    two = BNSL2().at(D=1e5).loss(X, **one, s_2=0.9, g=3.0, f_2=0.2)
    np.testing.assert_allclose(two, BNSL1().at(D=1e5).loss(X, **one), rtol=1e-13)


@pytest.mark.parametrize("name", ["m3", "m4", "bnsl-1", "bnsl-2"])
def test_curves_never_rise(name: str) -> None:
    law = get(name)().at(D=1e6)
    curve = np.asarray(law.loss(np.geomspace(1, 1e12, 400)[None], **draws(name)))
    assert np.isfinite(curve).all()
    assert (np.diff(curve) <= 1e-12 * curve[:, 1:]).all()


def test_bounded_lies_between_its_bounds_and_is_chinchilla_without_the_upper() -> None:
    theta = {"E": 0.2, **CHINCHILLA}
    assert float(Bounded().loss(1e-9, 1e-9, H=0.5, **theta)) == pytest.approx(0.7, rel=1e-3)
    np.testing.assert_allclose(
        Bounded().loss(X, 20 * X, H=1e12, **theta), Chinchilla().loss(X, 20 * X, **theta), rtol=1e-9
    )
    assert Bounded().derived(H=0.5, **theta)["I"] == 0.7


def test_shifted_without_a_shift_is_chinchilla_and_finite_at_nought() -> None:
    theta = {"E": 1.8, **CHINCHILLA}
    np.testing.assert_allclose(
        Shifted().loss(X, 20 * X, t_N=-30.0, t_D=-30.0, **theta), Chinchilla().loss(X, 20 * X, **theta), rtol=1e-13
    )
    nought = Shifted().loss(0.0, 0.0, t_N=-2.0, t_D=-2.0, **theta)
    assert float(nought) == pytest.approx(1.8 + 0.36 * (0.01 / 1.01) ** -0.35 + 0.34 * (0.01 / 1.01) ** -0.37)
    derived = Shifted().derived(t_N=-2.0, t_D=-2.0, **theta)
    published = 1.8 + derived["A"] * (3e9 + 1e7) ** -0.35 + derived["B"] * (6e10 + 2e8) ** -0.37
    assert float(Shifted().loss(3e9, 6e10, t_N=-2.0, t_D=-2.0, **theta)) == pytest.approx(published, rel=1e-12)


def test_a_product_has_no_split_and_says_why() -> None:
    law = Multiplicative()
    assert not law.splits_compute
    with pytest.raises(LawError, match="multiplicative has no compute-optimal size: in a product of powers all of a"):
        law.optimum(1e21, E=1.8, c=0.6, alpha=0.1, beta=0.2)
    with pytest.raises(LawError, match="multiplicative has no loss at a budget"):
        law.frontier(1e21, E=1.8, c=0.6, alpha=0.1, beta=0.2)


def test_farseer_is_the_published_form_at_any_reference_run() -> None:
    """exp(a3 N^gamma + b3) + exp(a2 N^beta + b2) D^-exp(a1 N^alpha + b1), arXiv 2506.10972."""
    theta = {"E": 1.9, "e": 0.06, "q_E": 0.15, "b": 0.3, "d": -0.2, "q_b": -0.1, "A_0": 0.35, "v": 0.15, "q_A": 0.12}
    N, D = np.geomspace(1e8, 1e10, 5), 7e10
    for law in (Farseer(), Farseer().at(N=2e8, D=3e9)):
        c = {name: float(value) for name, value in law.derived(**theta).items()}
        exponent = np.exp(c["a_1"] * N**0.12 + c["b_1"])
        published = np.exp(c["a_3"] * N**0.15 + c["b_3"]) + np.exp(c["a_2"] * N**-0.1 + c["b_2"]) * D**-exponent
        # e to sums of up to 100 that cancel to a few
        np.testing.assert_allclose(law.loss(N, D, **theta), published, rtol=1e-11)
        at_reference = float(law.loss(law.N0, law.D0, **theta))
        assert at_reference == pytest.approx(1.9 + 0.3, rel=1e-14)


def test_farseer_without_bends_is_a_power_law_in_each() -> None:
    theta = {"E": 1.9, "e": 0.06, "b": 0.3, "d": 0.1, "A_0": 0.35, "v": 0.0, "q_E": 0.0, "q_b": 0.0, "q_A": 0.0}
    expected = 1.9 * (X / 1e9) ** -0.06 + 0.3 * (X / 1e9) ** -0.1 * (20 * X / 2e10) ** -0.35
    # the bends stop at 1e-9 instead of 0
    np.testing.assert_allclose(Farseer().loss(X, 20 * X, **theta), expected, rtol=1e-6)
