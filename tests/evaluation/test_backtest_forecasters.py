"""The forecasters that come with the library, and how they are found by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bayescale.evaluation._fitted
from bayescale.errors import BayescaleError, FitError
from bayescale.evaluation import Fitted, HuberBootstrap, Request, forecasters, needs
from bayescale.fits import Fit
from bayescale.laws.chinchilla import Chinchilla
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.runs import Runs

TRUTH = {"E": 1.8, "a": 0.36, "b": 0.34, "alpha": 0.35, "beta": 0.37, "sigma": 0.005}
TARGETS = {"N": np.array([1e11, 2e11]), "D": np.array([2e12, 4e12])}


@pytest.fixture
def replicates(
    monkeypatch: pytest.MonkeyPatch, assemble: Callable[..., Fit], simulate: Callable[..., Runs]
) -> dict[str, Any]:
    """The fit that stands in for Huber's: 200 replicates at the truth, of which ``flat`` have no fall with N."""
    seen: dict[str, Any] = {"flat": 0, "train": simulate(size=30)}

    def answer(runs: Runs, law: str, procedure: str, **settings: Any) -> Fit:
        seen["asked"] = {"law": law, "procedure": procedure} | settings
        theta = {name: np.full(200, value) for name, value in TRUTH.items()}
        theta["alpha"][200 - seen["flat"] :] = -20.0
        return assemble(runs, Chinchilla(), theta, kind="bootstrap", model=Model(Chinchilla(), Noise("normal")))

    monkeypatch.setattr(bayescale.evaluation._fitted, "fit", answer)
    return seen


def test_the_baseline_scatters_by_its_residuals(replicates: dict[str, Any]) -> None:
    train = replicates["train"]
    made = HuberBootstrap(replicates=200).forecast(train, TARGETS, seed=3, without=frozenset())
    law = {name: TRUTH[name] for name in Chinchilla.parameters}
    residual = np.log(train["loss"]) - np.log(np.asarray(Chinchilla().loss(train["N"], train["D"], **law)))
    drawn = np.log(made.loss) - np.log(np.asarray(Chinchilla().loss(TARGETS["N"], TARGETS["D"], **law)))
    assert made.loss.shape == (800, 2)
    # every draw is the law and one of the thirty residuals, and each of them comes up
    nearest = np.abs(drawn[..., None] - residual).argmin(axis=-1)
    np.testing.assert_allclose(drawn, residual[nearest], atol=1e-12)
    assert set(nearest.ravel().tolist()) == set(range(30))
    asked = replicates["asked"]
    assert (asked["law"], asked["procedure"], asked["replicates"]) == ("chinchilla", "huber", 200)


def test_the_baseline_leaves_out_replicates_that_are_no_scaling_law(replicates: dict[str, Any]) -> None:
    replicates["flat"] = 30
    made = HuberBootstrap().forecast(replicates["train"], TARGETS, seed=0, without=frozenset())
    assert made.loss.shape == (4 * 170, 2)
    assert made.loss.max() < 3.0
    replicates["flat"] = 110
    with pytest.raises(FitError, match="in 55% of the replicates the loss does not fall"):
        HuberBootstrap().forecast(replicates["train"], TARGETS, seed=0, without=frozenset())


def test_a_request_is_answered_in_the_order_of_its_names() -> None:
    made = forecasters(Request(law="kappa", procedures=("huber", " nuts", "huber-bootstrap", "huber")))
    assert [one.name for one in made] == ["huber", "nuts", "huber-bootstrap"]
    assert isinstance(made[0], Fitted)
    assert made[0].plan.law == "kappa"
    assert isinstance(made[2], HuberBootstrap)


def test_columns_that_a_request_needs() -> None:
    assert set(needs(Request(law="power-C"))) == {"C", "loss"}
    assert set(needs(Request(noise="student-t(D)"))) == {"N", "D", "loss"}
    assert set(needs(Request(law="chinchilla", procedures=("huber-bootstrap",)))) == {"N", "D", "loss"}


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (Request(procedures=("mcmc",)), "no procedure called 'mcmc'; the procedures are .*nuts.*baselines huber-boot"),
        (Request(procedures=("envelope",)), "envelope gives the loss of compute-optimal runs only"),
        (Request(procedures=()), "no procedure is named"),
        (Request(law="chinchila"), "did you mean chinchilla"),
        (Request(prior_set="nobody"), "no prior set called 'nobody'"),
        (Request(law="chinchilla", settings={"huber": {"delta": 1}}), "settings are given for huber, which is not"),
    ],
)
def test_what_cannot_be_asked(request_: Request, said: str) -> None:
    with pytest.raises(BayescaleError, match=said):
        forecasters(request_)


def test_a_procedure_forecasts_a_new_run_and_not_the_law_alone(
    monkeypatch: pytest.MonkeyPatch, simulated_fit: Fit, simulate: Callable[..., Runs]
) -> None:
    import bayescale.comparison._plan

    asked: dict[str, Any] = {}

    def answer(runs: Runs, law: Any, procedure: str, **settings: Any) -> Fit:
        asked.update(settings, procedure=procedure)
        return simulated_fit

    monkeypatch.setattr(bayescale.comparison._plan, "fit", answer)
    (nuts,) = forecasters(Request(law="chinchilla"))
    made = nuts.forecast(simulate(), TARGETS, seed=5, without=frozenset())
    expected = simulated_fit.forecast(TARGETS, seed=5)["new_run_loss"].values
    np.testing.assert_array_equal(made.loss, expected)
    assert asked["procedure"] == "nuts"
    assert asked["seed"] == 5
    assert made.warnings == simulated_fit.diagnostics.warnings
