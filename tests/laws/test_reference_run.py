"""The reference run is a choice of units: it changes no loss, no optimum and no printed constant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bayescale.laws import Law, get

# scale parameter -> (the input it belongs to, its exponent, the constant that papers print)
SCALES = {
    "chinchilla": {"a": ("N", "alpha", "A"), "b": ("D", "beta", "B")},
    "chinchilla-tied": {"a": ("N", "alpha", "A"), "b": ("D", "alpha", "B")},
    "power-N": {"a": ("N", "alpha", "A")},
    "power-D": {"b": ("D", "beta", "B")},
    "power-C": {"c": ("C", "gamma", "A")},
    "power-C-no-floor": {"c": ("C", "gamma", "A")},
}
Theta = dict[str, np.ndarray]


def drawn(law: Law, size: int = 100) -> Theta:
    generator = np.random.default_rng(5)
    return {name: law.priors[name].sample(generator, size) for name in law.parameters}


def moved(law: Law, to: Law, theta: Theta) -> Theta:
    """The same curves, with the scale parameters read off at the reference run of `to`."""
    ratio = {symbol: to.reference_run[symbol] / law.reference_run[symbol] for symbol in "NDC"}
    scales = SCALES[law.name].items()
    return theta | {name: theta[name] * ratio[symbol] ** -theta[power] for name, (symbol, power, _) in scales}


def runs(law: Law, size: int = 100) -> list[np.ndarray]:
    generator = np.random.default_rng(6)
    ends = {"N": (1e7, 1e12), "D": (1e8, 1e14), "C": (1e17, 1e26)}
    return [np.exp(generator.uniform(*np.log(ends[symbol]), size)) for symbol in law.inputs]


@pytest.fixture(params=SCALES)
def law(request: pytest.FixtureRequest) -> Law:
    return get(request.param)()


def test_scale_parameter_is_the_loss_above_the_rest_at_the_reference_run(law: Law) -> None:
    theta = {name: values[0] for name, values in drawn(law).items()}
    at_reference = law.loss(*(law.reference_run[symbol] for symbol in law.inputs), **theta)
    expected = theta.get("E", 0.0) + sum(theta[name] for name in SCALES[law.name])
    np.testing.assert_allclose(at_reference, expected, rtol=1e-15 * 4)


def test_moving_the_reference_run_changes_no_loss(law: Law) -> None:
    elsewhere = law.at(N=3.7e6, D=4.1e8)
    theta = drawn(law)
    # Powers of up to 1e5 ** 2 on either side: tens of ulp.
    expected = law.loss(*runs(law), **theta)
    np.testing.assert_allclose(elsewhere.loss(*runs(law), **moved(law, elsewhere, theta)), expected, rtol=1e-12)
    assert not np.allclose(elsewhere.loss(*runs(law), **theta), expected, rtol=1e-3), "the reference run has no effect"


def test_printed_constants_do_not_depend_on_the_reference_run(law: Law) -> None:
    elsewhere = law.at(N=3.7e6, D=4.1e8)
    theta = drawn(law)
    here, there = law.derived(**theta), elsewhere.derived(**moved(law, elsewhere, theta))
    assert here.keys() == there.keys()
    for name in here:
        # C_c and G are powers 1/gamma and 1/(alpha + beta) of the rest, which multiplies the rounding.
        np.testing.assert_allclose(there[name], here[name], rtol=1e-10, err_msg=name)


def test_printed_constants_give_the_same_loss(law: Law) -> None:
    theta = drawn(law)
    derived = law.derived(**theta)
    terms = zip(runs(law), SCALES[law.name].values(), strict=True)
    spelt_out = theta.get("E", 0.0) + sum(derived[constant] * x ** -theta[power] for x, (_, power, constant) in terms)
    np.testing.assert_allclose(law.loss(*runs(law), **theta), spelt_out, rtol=1e-12)


@pytest.mark.parametrize("name", ["chinchilla", "chinchilla-tied"])
@pytest.mark.parametrize("question", ["optimum", "frontier"])
def test_moving_the_reference_run_moves_no_optimum(name: str, question: str) -> None:
    law = get(name)()
    elsewhere, theta = law.at(N=3.7e6, D=4.1e8), drawn(law)
    ask: Callable[..., object] = getattr(elsewhere, question)
    expected = getattr(law, question)(5.76e23, **theta)
    np.testing.assert_allclose(ask(5.76e23, **moved(law, elsewhere, theta)), expected, rtol=1e-10)
