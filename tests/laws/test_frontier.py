"""The law of the compute-optimal frontier: what it says of a budget, and what it refuses to say."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale.errors import FitError, TargetError
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.frontier import Frontier
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.procedures.isoflop import IsoFLOP
from bayescale.procedures.nuts import NUTS

THETA = {"E": 1.7, "c": 0.6, "gamma": 0.15, "N_star": 1e9, "N_exponent": 0.55}


def chinchillas_frontier(law: Frontier, theta: dict[str, float]) -> dict[str, float]:
    """The frontier of a Chinchilla law, which is exactly of this form."""
    chinchilla = Chinchilla()
    total = theta["alpha"] + theta["beta"]
    return {
        "E": theta["E"],
        "c": float(chinchilla.frontier(law.C0, **theta)) - theta["E"],
        "gamma": theta["alpha"] * theta["beta"] / total,
        "N_star": float(chinchilla.optimum(law.C0, **theta)[0]),
        "N_exponent": theta["beta"] / total,
    }


@pytest.mark.parametrize("budget", [1e18, 5.76e23])
def test_it_is_the_frontier_of_chinchilla(truth: dict[str, float], budget: float) -> None:
    law = Frontier()
    theta = chinchillas_frontier(law, truth)
    # powers of up to 1e4 of numbers near 1: tens of ulp
    np.testing.assert_allclose(law.optimum(budget, **theta), Chinchilla().optimum(budget, **truth), rtol=1e-12)
    np.testing.assert_allclose(law.exponents(budget, **theta), Chinchilla().exponents(budget, **truth), rtol=1e-14)
    np.testing.assert_allclose(law.frontier(budget, **theta), Chinchilla().frontier(budget, **truth), rtol=1e-13)


def test_a_budget_is_spent_whole() -> None:
    N, D = Frontier().optimum(3e22, **THETA)
    assert 6.0 * N * D == pytest.approx(3e22, rel=1e-14)
    assert Frontier().splits_compute


def test_printed_constants_give_the_same_sizes_wherever_the_reference_run_is() -> None:
    law, elsewhere = Frontier(), Frontier(C0=1e18)
    ratio = elsewhere.C0 / law.C0
    moved = THETA | {
        "c": THETA["c"] * ratio ** -THETA["gamma"],
        "N_star": THETA["N_star"] * ratio ** THETA["N_exponent"],
    }
    here, there = law.derived(**THETA), elsewhere.derived(**moved)
    for name, value in here.items():
        assert there[name] == pytest.approx(value, rel=1e-12), name
    N, D = law.optimum(3e24, **THETA)
    assert here["N_coefficient"] * 3e24 ** THETA["N_exponent"] == pytest.approx(float(N), rel=1e-12)
    assert here["D_coefficient"] * 3e24 ** here["D_exponent"] == pytest.approx(float(D), rel=1e-12)
    assert law.loss(3e24, **THETA) == pytest.approx(1.7 + here["A"] * 3e24**-0.15, rel=1e-12)


def test_runs_off_the_frontier_are_refused() -> None:
    law = Frontier()
    law.check_targets(["C"], THETA)
    with pytest.raises(TargetError, match=r"not of a run with N and D of its own: give C alone .*such as chinchilla"):
        law.check_targets(["N", "D"], THETA)
    with pytest.raises(TargetError, match=r"gives no loss along the frontier .*ask it for the allocation"):
        law.check_targets(["C"], THETA | {"E": np.nan})


def test_only_the_procedures_that_find_it_give_it() -> None:
    with pytest.raises(FitError, match="nuts cannot fit frontier, which only isoflop, envelope give"):
        NUTS(Model(Frontier()))
    with pytest.raises(FitError, match=r"isoflop .*cannot fit chinchilla: leave the law out \(it gives frontier\)"):
        IsoFLOP(Model(Chinchilla(), Noise("normal")))
    with pytest.raises(FitError, match="cannot fit student-t noise: leave the noise out"):
        IsoFLOP(Model(Frontier(), Noise("student-t")))
    with pytest.raises(FitError, match="uses no priors, and one was given for E"):
        IsoFLOP(Model(Frontier(), Noise("normal")).with_priors(E=1.8))
