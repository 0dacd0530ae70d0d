"""Ladders whose law is known, and a prior set that was learnt from nothing but a few numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bayescale.discrepancy import Discrepancy
from bayescale.laws.kappa import Kappa
from bayescale.prior import Prior
from bayescale.prior_sets import Family, PriorSet
from bayescale.runs import Runs

TRUTH = {"E": 1.85, "R": 0.55, "M": 20.0, "N_exponent": 0.48, "gamma": 0.16}


@pytest.fixture(scope="session")
def prior_set() -> PriorSet:
    """Three groups that lie on both sides of the truth, with kappa around .7."""
    told = {"E": 0.6, "M": 3.0, "N_exponent": 0.0, "gamma": -1.85, "kappa": -0.35}
    families = tuple(
        Family(f"table {place}", f"group {place}", {name: (mean + shift, 0.1) for name, mean in told.items()})
        for place, shift in enumerate((-0.2, 0.0, 0.2))
    )
    forms = {"E": "LogStudentT", "M": "LogStudentT", "N_exponent": "LogitStudentT", "gamma": "LogStudentT"}
    return PriorSet(
        name="three",
        law="kappa",
        noise="student-t",
        learnt=forms | {"kappa": "LogStudentT"},
        given={"R": Prior.parse("LogNormal(log(0.6), 1.0)"), "sigma": Prior.parse("LogNormal(log(0.01), 1.2)")},
        # a law that may bend describes the runs of the other as well: here they are to be told apart
        discrepancy=Discrepancy(bend=0.0, wings=0.0),
        families=families,
    )


@pytest.fixture(scope="session")
def ladder() -> Callable[..., Runs]:
    """``ladder(kappa)``: seven budgets of seven sizes over three decades, with .2 % of noise."""

    def make(kappa: float, seed: int = 3) -> Runs:
        generator = np.random.default_rng(seed)
        C = np.repeat(np.geomspace(1e18, 1e21, 7), 7)
        N = np.sqrt(C / 120.0) * np.tile(np.geomspace(0.2, 5.0, 7), 7)
        law = Kappa().at(N=(1e21 / 120.0) ** 0.5, D=20.0 * (1e21 / 120.0) ** 0.5)
        D = C / (6.0 * N)
        loss = np.asarray(law.loss(N, D, kappa=kappa, **TRUTH)) * np.exp(0.002 * generator.standard_normal(C.size))
        return Runs.from_arrays(N=N, D=D, loss=loss, source=f"kappa {kappa:g}")

    return make
