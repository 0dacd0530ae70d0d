"""The compute-optimal run of every law that splits compute; closed forms against the numeric defaults of `Law`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayescale._float64 import jax, jnp
from bayescale.laws import Law, get, names

SPLITTING = [name for name in names() if {"N", "D"} <= set(get(name).inputs) and get(name)().splits_compute]
pytestmark = pytest.mark.parametrize("law", [*SPLITTING, "toy-outer-exponent"], indirect=True, scope="module")

BUDGETS = 10.0 ** np.arange(18, 27)
Theta = dict[str, np.ndarray]


def numeric_twin(law: Law) -> Law:
    """The same law with every closed form taken away, so that the defaults of the base class answer."""
    defaults = {name: getattr(Law, name) for name in ("optimum", "exponents", "frontier")}
    return type("Numeric", (type(law),), defaults)(**{f"{k}0": v for k, v in law.reference_run.items()})


def answers(law: Law, theta: Theta) -> dict[str, np.ndarray]:
    """Optimum, exponents and frontier under each draw at each budget; all (draw, budget)."""

    def at(draw: dict[str, Any], budget: Any) -> dict[str, Any]:
        N, D = law.optimum(budget, **draw)
        N_exponent, D_exponent = law.exponents(budget, **draw)
        values = {"N": N, "D": D, "N_exponent": N_exponent, "D_exponent": D_exponent}
        return jax.tree.map(jnp.asarray, values | {"loss": law.frontier(budget, **draw)})

    found = jax.jit(jax.vmap(lambda draw: jax.vmap(lambda budget: at(draw, budget))(BUDGETS)))(theta)
    return {name: np.asarray(values) for name, values in found.items()}


@pytest.fixture(scope="module")
def both(law: Law, theta: Theta) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """What the law says, and what the defaults say; the same where a law states no closed form."""
    stated = answers(law, theta)
    return stated, stated if type(law).optimum is Law.optimum else answers(numeric_twin(law), theta)


def interior(found: dict[str, np.ndarray]) -> np.ndarray:
    """At least three model parameters and three tokens: inside by more than the numeric search's grid step."""
    return (found["N"] > 3) & (found["D"] > 3)


def test_most_prior_draws_have_an_interior_optimum(both: tuple[dict[str, np.ndarray], ...], law: Law) -> None:
    # Guards the comparison below against comparing nothing. A law without a closed form is not compared, and may have
    # no optimum far from its reference run: shifted terms are finite at size nought, farseer's exponents change sides.
    closed_form = type(law).optimum is not Law.optimum
    assert interior(both[0]).mean() > (0.95 if closed_form else 0.25)


def test_all_of_the_budget_is_spent(both: tuple[dict[str, np.ndarray], ...]) -> None:
    for found in both:
        spent, inside = 6.0 * found["N"] * found["D"], interior(both[0])
        # Rounding of a power of 1e25: about log(1e25) = 58 ulp.
        np.testing.assert_allclose(spent[inside], np.broadcast_to(BUDGETS, spent.shape)[inside], rtol=2e-14 * 2)


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        # A root of the slope, good to an ulp of log N over the sum of the exponents; 3e-14 was seen in 5,000 draws.
        ("N", 1e-12),
        ("D", 1e-12),
        ("loss", 1e-13),
        # A central difference of log N* over 2e-3, exact for a power law but for that rounding; 5e-11 was seen.
        ("N_exponent", 1e-9),
        ("D_exponent", 1e-9),
    ],
)
def test_closed_form_is_the_numeric_answer(
    both: tuple[dict[str, np.ndarray], ...], name: str, tolerance: float
) -> None:
    closed, numeric = both
    inside = interior(closed)
    np.testing.assert_allclose(numeric[name][inside], closed[name][inside], rtol=tolerance)


def test_exponents_add_up_to_one(both: tuple[dict[str, np.ndarray], ...]) -> None:
    for found in both:
        total = (found["N_exponent"] + found["D_exponent"])[interior(both[0])]
        # NaN where the optimum of a budget is inside and that of one a thousandth off is not
        assert np.isfinite(total).mean() > 0.99
        total = total[np.isfinite(total)]
        np.testing.assert_allclose(total, 1.0, rtol=1e-15 * 4)


def test_no_run_of_the_budget_beats_the_frontier(
    both: tuple[dict[str, np.ndarray], ...], law: Law, theta: Theta
) -> None:
    closed = both[0]
    off = np.exp(np.array([-0.3, -0.01, 0.01, 0.3]))
    compiled = jax.jit(jax.vmap(lambda draw, N, D: law.loss(N, D, **draw)))
    for factor in off:
        worse = np.asarray(compiled(theta, closed["N"] * factor, closed["D"] / factor))
        # An ulp of a loss of a few nats.
        assert (worse >= closed["loss"] * (1 - 4e-16 * 4))[interior(closed)].all()
