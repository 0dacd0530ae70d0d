"""Variable projection: surfaces without noise to nine digits, linear parameters at 0, and laws it cannot fit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import bayescale
from bayescale.errors import FitError
from bayescale.laws import get, names
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.procedures.vpnls import VPNLS
from bayescale.runs import Runs

pytestmark = pytest.mark.usefixtures("lightly_compiled")

SURFACES = {
    "chinchilla": {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.34, "beta": 0.28},
    "asymmetric": {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.465, "beta": 0.155},
    "symmetric": {"E": 1.69, "A": 400.0, "B": 400.0, "alpha": 0.31, "beta": 0.31},
}


def isoflop_grid(surface: dict[str, float], half_width: float, centre: str) -> Runs:
    """Five budgets of fifteen runs around the optimum, three times off it, or drifting from one to the other."""
    A, B, alpha, beta = (surface[name] for name in ("A", "B", "alpha", "beta"))
    columns: dict[str, list[np.ndarray]] = {"N": [], "D": [], "loss": []}
    budgets = np.logspace(17, 21, 5)
    off = {"centred": np.ones(5), "off": np.full(5, 3.0), "drifting": np.geomspace(1.0, 3.0, 5)}[centre]
    for budget, factor in zip(budgets, off, strict=True):
        best = (alpha * A / (beta * B)) ** (1 / (alpha + beta)) * (budget / 6) ** (beta / (alpha + beta))
        tokens = factor * budget / 6 / best * np.geomspace(1 / half_width, half_width, 15)
        sizes = budget / 6 / tokens
        columns["N"].append(sizes)
        columns["D"].append(tokens)
        columns["loss"].append(surface["E"] + A * sizes**-alpha + B * tokens**-beta)
    return Runs.from_arrays(**{name: np.concatenate(parts) for name, parts in columns.items()})


@pytest.mark.parametrize("centre", ["centred", "off", "drifting"])
@pytest.mark.parametrize("half_width", [2.0, 16.0])
@pytest.mark.parametrize("surface", SURFACES)
def test_surfaces_without_noise(surface: str, half_width: float, centre: str) -> None:
    truth = SURFACES[surface]
    # one reference run for all, so that one compiled search serves them
    law = get("chinchilla")()
    fit = bayescale.fit(isoflop_grid(truth, half_width, centre), law, procedure="vpnls", replicates=0)
    assert fit.estimate is not None
    for name, value in truth.items():
        assert fit.estimate[name] == pytest.approx(value, rel=1e-9), name
    assert fit.diagnostics.ok


def test_a_term_that_is_not_there_is_driven_to_zero_and_said(simulate: Callable[..., Runs]) -> None:
    runs = simulate()
    rising = 1.5 + 0.2 * (runs["N"] / 1e9) ** -0.3 + 0.01 * np.log(runs["D"])
    fit = bayescale.fit(Runs.from_arrays(N=runs["N"], D=runs["D"], loss=rising), procedure="vpnls", replicates=0)
    assert fit.estimate is not None
    assert fit.estimate["b"] < 1e-12 or fit.estimate["beta"] <= 0.0
    assert not fit.diagnostics.ok
    assert np.isfinite(list(fit.estimate.values())).sum() >= 6


def test_a_law_without_linear_parameters_is_refused() -> None:
    nonlinear = next(name for name in names() if not get(name).linear and set(get(name).inputs) <= {"N", "D", "C"})
    with pytest.raises(FitError, match=f"vpnls needs a law that is linear in some parameters, and {nonlinear} is"):
        VPNLS(Model(get(nonlinear)(), Noise("normal")))


def test_the_same_answer_as_least_squares_with_the_same_seeds(simulate: Callable[..., Runs]) -> None:
    ours = bayescale.fit(simulate(), procedure="vpnls", replicates=50, seed=4)
    theirs = bayescale.fit(simulate(), procedure="least-squares", replicates=50, seed=4, starts=64)
    for name in ("E", "a", "b", "alpha", "beta"):
        # two routes to one optimum: equal to what rounding leaves
        np.testing.assert_allclose(ours.theta[name], theirs.theta[name], rtol=1e-7)
