"""Kaplan's laws: how they hang together, and the efficient frontier against a numeric search."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from bayescale.laws import Law
from bayescale.laws.kaplan import Kaplan
from bayescale.laws.kaplan_compute import (
    EfficientFrontier,
    critical_batch,
    crossing,
    data_against_overfitting,
    minimum_compute,
    minimum_steps,
    overfitting,
    steps_to_stop,
)
from bayescale.laws.kaplan_floor import KaplanFloor
from bayescale.laws.kaplan_steps import KaplanSteps

JOINT = {"N_c": 6.4e13, "D_c": 1.8e13, "alpha_N": 0.076, "alpha_D": 0.103}
STEPS = {"N_c": 6.5e13, "S_c": 2.1e3, "alpha_N": 0.077, "alpha_S": 0.76}


def at_reference_run(law: Law, **printed: float) -> dict[str, float]:
    """The paper's scales as losses at the reference run."""
    exponents = {name: value for name, value in printed.items() if name.startswith("alpha")}
    places = {"N": law.N0, "D": law.D0, "C": law.C0, "S": getattr(law, "S0", 0.0)}
    losses = {
        f"l_{name[0]}": (value / places[name[0]]) ** exponents[f"alpha_{name[0]}"]
        for name, value in printed.items()
        if name.endswith("_c")
    }
    return losses | exponents


def test_joint_law_is_the_published_form() -> None:
    law = Kaplan()
    N, D = np.geomspace(1e6, 1e10, 9), np.geomspace(1e8, 1e12, 9)[:, None]
    found = law.loss(*np.broadcast_arrays(N, D), **at_reference_run(law, **JOINT))
    expected = ((6.4e13 / N) ** (0.076 / 0.103) + 1.8e13 / D) ** 0.103
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_joint_law_tends_to_its_two_edges() -> None:
    law = Kaplan()
    theta = at_reference_run(law, **JOINT)
    np.testing.assert_allclose(law.loss(1e9, 1e40, **theta), (6.4e13 / 1e9) ** 0.076, rtol=1e-12)
    np.testing.assert_allclose(law.loss(1e40, 2e10, **theta), (1.8e13 / 2e10) ** 0.103, rtol=1e-12)


def test_floor_is_added_and_moves_no_optimum() -> None:
    law, floor = Kaplan(), KaplanFloor()
    theta = {"l_N": 0.4, "l_D": 0.5, "alpha_N": 0.3, "alpha_D": 0.25}
    assert float(floor.loss(1e9, 2e10, E=1.7, **theta)) == pytest.approx(1.7 + float(law.loss(1e9, 2e10, **theta)))
    assert floor.optimum(1e22, E=1.7, **theta) == law.optimum(1e22, **theta)


def test_steps_law_is_the_published_form_at_any_reference_run() -> None:
    for law in (KaplanSteps(), KaplanSteps().at(N=1e6, D=1e8)):
        theta = at_reference_run(law, **STEPS)
        found = law.loss(1e8, 1e5, **theta)
        np.testing.assert_allclose(found, (6.5e13 / 1e8) ** 0.077 + (2.1e3 / 1e5) ** 0.76, rtol=1e-13)
        np.testing.assert_allclose(law.derived(**theta)["S_c"], 2.1e3, rtol=1e-12)


def test_steps_and_compute_make_the_hyperbola_of_the_gradient_noise_scale() -> None:
    """(S/S_min - 1)(E/E_min - 1) = 1 with E = B S, and B_crit = E_min / S_min."""
    B, S = np.geomspace(1e4, 1e8, 9), 1e4
    B_crit = critical_batch(2.7)
    S_min, E_min = minimum_steps(S, B, B_crit), minimum_compute(B * S, B, B_crit)
    np.testing.assert_allclose((S / S_min - 1) * (B * S / E_min - 1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(E_min / S_min, B_crit, rtol=1e-12)


def test_efficient_frontier_is_where_a_numeric_search_ends() -> None:
    """C_min = 6 N B_crit(L) S_min, L = L(N, S_min): least loss of a budget over N."""
    law, frontier = KaplanSteps(), EfficientFrontier(**STEPS)
    theta, budget = at_reference_run(law, **STEPS), 1e21

    def loss_of(log_N: float) -> float:
        N = np.exp(log_N)
        level = (STEPS["N_c"] / N) ** STEPS["alpha_N"]  # the loss enters the batch: iterate from the converged loss
        for _ in range(200):
            S = budget / (6 * N * critical_batch(level))
            level = float(law.loss(N, S, **theta))
        return level

    best = minimize_scalar(loss_of, bounds=(np.log(1e7), np.log(1e12)), method="bounded", options={"xatol": 1e-9})
    # a minimum is flat: its place is good to the root of the loss's rounding
    assert np.exp(best.x) == pytest.approx(frontier.N(budget), rel=1e-5)
    assert best.fun == pytest.approx(frontier.loss(budget), rel=1e-10)
    converged = (STEPS["N_c"] / frontier.N(budget)) ** STEPS["alpha_N"]
    assert best.fun / converged == pytest.approx(frontier.stop_ratio, rel=1e-6)


def test_exponents_of_the_efficient_frontier_add_up() -> None:
    frontier = EfficientFrontier(**STEPS)
    assert frontier.N_exponent + frontier.B_exponent + frontier.S_exponent == pytest.approx(1.0, rel=1e-14)
    assert frontier.compute_off_size(1.0) == 1.0
    assert frontier.compute_off_size(0.9) > 1.0 < frontier.compute_off_size(1.1)


def test_overfitting_is_the_joint_law_over_its_edge_and_is_undone_by_the_data_it_asks_for() -> None:
    law = Kaplan()
    theta = at_reference_run(law, **JOINT)
    ratio = float(law.loss(1e9, 2e10, **theta)) / float(law.loss(1e9, 1e40, **theta))
    assert overfitting(1e9, 2e10, **JOINT) == pytest.approx(ratio - 1, rel=1e-9)
    D, _ = data_against_overfitting(1e9, **JOINT)
    assert overfitting(1e9, D, **JOINT) == pytest.approx(0.02, rel=1e-9)


def test_steps_to_stop_reach_the_loss_that_the_data_allow() -> None:
    S = steps_to_stop(2.5, 2.4, S_c=2.1e3, alpha_S=0.76)
    assert (2.1e3 / S) ** 0.76 == pytest.approx(0.1, rel=1e-12)


def test_crossing_is_on_both_laws_for_every_draw() -> None:
    generator = np.random.default_rng(0)
    alpha_C, alpha_D = 0.05 + 0.002 * generator.standard_normal(100), 0.095 + 0.003 * generator.standard_normal(100)
    C, D, loss = crossing(C_c=3.1e8, alpha_C=alpha_C, D_c=5.4e13, alpha_D=alpha_D, D_scale=2e10, D_exponent=0.27)
    assert C.shape == (100,)
    np.testing.assert_allclose(loss, (3.1e8 / C) ** alpha_C, rtol=1e-12)
    np.testing.assert_allclose(loss, (5.4e13 / D) ** alpha_D, rtol=1e-10)
