"""`Positive` is a number with its logarithm: every operation gives what the numbers give."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bayescale._float64 import jax, jnp
from bayescale.laws._positive import Positive

NUMBERS = np.array([3e-3, 0.7, 1.0, 42.0, 1.4e12])
OTHERS = {
    "float": 2.5,
    "negative": -2.5,
    "int": 3,
    "numpy scalar": np.float64(0.4),
    "numpy array": np.array([1.0, -2.0, 0.0, 4.0, 5.0]),
    "jax scalar": jnp.asarray(-0.7),
    "jax array": jnp.array([1.0, -2.0, 0.5, 4.0, 5.0]),
}
OPERATIONS = [operator.add, operator.sub, operator.mul, operator.truediv]


def numbers(result: Any) -> np.ndarray:
    return np.asarray(result.value if isinstance(result, Positive) else result)


@pytest.fixture(params=["with numbers", "from logarithms"])
def held(request: pytest.FixtureRequest) -> Positive:
    return Positive.of(NUMBERS) if request.param == "with numbers" else Positive(jnp.log(NUMBERS))


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_arithmetic_is_that_of_the_numbers(held: Positive, other: Any, operation: Callable[..., Any]) -> None:
    plain = np.asarray(other, dtype=float)
    # log 1.4e12 = 28: exp(log x) is x to 28 ulp.
    np.testing.assert_allclose(numbers(operation(other, held)), operation(plain, NUMBERS), rtol=1e-14)
    if not (operation is operator.truediv and np.any(plain == 0)):
        np.testing.assert_allclose(numbers(operation(held, other)), operation(NUMBERS, plain), rtol=1e-14)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_arithmetic_between_two(held: Positive, operation: Callable[..., Any]) -> None:
    other = Positive.of(NUMBERS[::-1].copy())
    expected = operation(NUMBERS, NUMBERS[::-1])
    np.testing.assert_allclose(numbers(operation(held, other)), expected, rtol=1e-13)


@pytest.mark.parametrize("exponent", [-0.35, 0.0, 1.0, 2, np.float64(0.5), np.linspace(-1, 1, 5)])
def test_powers(held: Positive, exponent: Any) -> None:
    np.testing.assert_allclose(held**exponent, NUMBERS**exponent, rtol=1e-13)


def test_negation_index_and_shape(held: Positive) -> None:
    np.testing.assert_allclose(-held, -NUMBERS, rtol=1e-14)
    np.testing.assert_allclose(held[1:3].value, NUMBERS[1:3], rtol=1e-14)
    np.testing.assert_allclose(held[3].value, 42.0, rtol=1e-14)
    assert held.shape == (5,)
    assert held.ndim == 1


@pytest.mark.parametrize(
    "function", [jnp.log, jnp.sqrt, jnp.exp, jnp.log1p, lambda x: jnp.minimum(x, 2.0), jnp.asarray]
)
def test_functions_of_jax_take_it(function: Callable[[Any], Any]) -> None:
    # exp(1.4e12) is inf on either side.
    np.testing.assert_array_equal(function(Positive.of(NUMBERS)), function(jnp.asarray(NUMBERS)))


def test_quotients_and_powers_stay_logarithms_through_the_formula_of_a_law() -> None:
    """The point of the class: a gradient that takes no `pow` and no `log` of a column."""
    held = Positive.of(NUMBERS)

    def term(alpha: float, N: Any) -> Any:
        return ((N / 1e9) ** -alpha).sum()

    jaxpr = str(jax.make_jaxpr(jax.value_and_grad(term))(0.35, held))
    assert "pow" not in jaxpr
    assert "log" not in jaxpr
    assert "pow" in str(jax.make_jaxpr(jax.value_and_grad(term))(0.35, NUMBERS))


def test_it_passes_through_jit_and_vmap() -> None:
    held = Positive.of(NUMBERS)
    doubled = jax.jit(lambda x: x / 0.5)(held)
    assert isinstance(doubled, Positive)
    np.testing.assert_allclose(doubled.value, 2 * NUMBERS, rtol=1e-14)
    powers = jax.vmap(lambda alpha: held**alpha)(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(powers, [NUMBERS, NUMBERS**2], rtol=1e-13)
    each = jax.vmap(lambda x: x**0.5)(held)
    np.testing.assert_allclose(each, NUMBERS**0.5, rtol=1e-13)


def test_gradient_is_finite_where_a_numerator_is_zero() -> None:
    """(D - U) / U at D = U: a logarithm of the numerator would give nan."""
    unique = Positive.of(NUMBERS)
    gradient = jax.grad(lambda shift: ((shift * jnp.asarray(NUMBERS) - unique) / unique).sum())(1.0)
    np.testing.assert_allclose(gradient, 5.0, rtol=1e-13)
