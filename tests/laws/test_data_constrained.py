"""Repeated data: limits of the three laws, what they are without a limit, and their optimum on limited data."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale._float64 import jax
from bayescale.laws._repetition import effective
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.data_constrained import DataConstrained
from bayescale.laws.data_constrained_d import DataConstrainedD
from bayescale.laws.data_constrained_geometric import DataConstrainedGeometric

LAW, D_ONLY, GEOMETRIC = DataConstrained(), DataConstrainedD(), DataConstrainedGeometric()
FRESH = {"E": 1.87, "a": 0.35, "b": 0.35, "alpha": 0.34, "beta": 0.37}
THETA = FRESH | {"lambda_D": 0.065, "lambda_N": 0.188}


@pytest.mark.parametrize("U", [np.inf, 3e11])
def test_fresh_data_and_a_model_they_can_fill_are_chinchilla(U: float) -> None:
    expected = Chinchilla().loss(1e9, 3e11, **FRESH)
    assert float(LAW.loss(1e9, 3e11, U, **THETA)) == pytest.approx(expected, rel=1e-13)
    assert float(D_ONLY.loss(1e9, 3e11, U, **FRESH, lambda_D=0.33)) == pytest.approx(expected, rel=1e-13)
    assert float(GEOMETRIC.loss(1e9, 3e11, U, **FRESH, delta_D=0.1, delta_N=0.2)) == pytest.approx(expected, rel=1e-13)


def test_unlimited_data_give_the_optimum_of_chinchilla() -> None:
    found = [float(x) for x in LAW.optimum(1e22, **THETA)]
    # a numeric optimum at a bend of the law, where parameters begin to be in excess
    np.testing.assert_allclose(found, Chinchilla().optimum(1e22, **FRESH), rtol=1e-9)
    np.testing.assert_allclose(LAW.frontier(1e22, **THETA), Chinchilla().frontier(1e22, **FRESH), rtol=1e-13)


def test_limited_data_cost_loss_and_make_the_best_model_smaller() -> None:
    N, D = (float(x) for x in LAW.optimum(1e22, **THETA))
    N_limited, D_limited = (float(x) for x in LAW.optimum(1e22, U=2e10, **THETA))
    assert N_limited < N
    assert D_limited > D
    assert float(LAW.loss(N_limited, D_limited, 2e10, **THETA)) > float(LAW.frontier(1e22, **THETA))
    for off in (0.9, 0.99, 1.01, 1.1):
        worse = float(LAW.loss(N_limited * off, D_limited / off, 2e10, **THETA))
        assert worse > float(LAW.loss(N_limited, D_limited, 2e10, **THETA))


def test_more_never_hurts() -> None:
    N, D, U = np.meshgrid(np.geomspace(1e7, 1e11, 7), np.geomspace(1e8, 1e13, 7), np.geomspace(1e8, 1e12, 7))
    for law, theta in ((LAW, THETA), (D_ONLY, FRESH | {"lambda_D": 0.33})):
        here = np.asarray(law.loss(N, D, U, **theta))
        for more in ((2 * N, D, U), (N, 2 * D, U), (N, D, 2 * U)):
            # equal where repetitions are worth nothing more: rounding only
            assert (np.asarray(law.loss(*more, **theta)) <= here * (1 + 1e-14)).all()


def test_effective_tokens_by_hand() -> None:
    """At lambda = .065, 4 epochs are worth 3.73, 10 are 7.81, 16 are 10.6, 40 are 15.2, and none more than 16.4."""
    epochs = np.array([1, 4, 10, 16, 40, 1e9])
    found = effective(epochs, np.ones(6), 1 / 0.065)
    np.testing.assert_allclose(found, [1, 3.73, 7.81, 10.6, 15.2, 16.38], atol=0.05)


def test_geometric_decay_is_the_sum_of_its_terms() -> None:
    delta, repeats = 0.2, 7
    by_hand = 1.0 + sum((1 - delta) ** k for k in range(1, repeats + 1))
    found = effective(1.0 + repeats, 1.0, 1 / delta - 1, -np.log1p(-delta))
    assert float(found) == pytest.approx(by_hand, rel=1e-13)


def test_small_decay_keeps_its_digits() -> None:
    """1 - exp(-x) in float64 has none left at R* = 1e17, which made a false optimum there."""
    found = effective(np.array([2.0, 5.0]), np.ones(2), 1e17)
    np.testing.assert_allclose(found, [2.0, 5.0], rtol=1e-15)


def test_derivatives_are_finite_where_epochs_and_excess_begin() -> None:
    def loss(lambda_D: float, lambda_N: float, D: float) -> float:
        return LAW.loss(1e9, D, 2e10, **FRESH, lambda_D=lambda_D, lambda_N=lambda_N)

    for D in (1e10, 2e10, 1e15):
        slopes = jax.grad(loss, argnums=(0, 1, 2))(0.07, 0.2, D)
        assert np.isfinite(slopes).all()


def test_names_of_the_literature() -> None:
    assert D_ONLY.derived(**FRESH, lambda_D=0.343)["R_D"] == pytest.approx(2.9157, abs=5e-3)
    derived = GEOMETRIC.derived(E=1.8, a=0.3, b=0.3, alpha=0.3, beta=0.3, delta_D=0.06, delta_N=0.16)
    assert derived["R_D"] == pytest.approx(0.94 / 0.06)
    assert derived["R_N"] == pytest.approx(0.84 / 0.16)
