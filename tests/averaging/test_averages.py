"""Averages of laws that are fitted: the law that is true gets its weight, and the mixture is what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from bayescale.averaging import Average, Averaging, Member, average
from bayescale.errors import FitError
from bayescale.evaluation import AverageOfLaws, Design, Request, backtest, forecasters
from bayescale.fits import Fit
from bayescale.inference.sampler import Sampler
from bayescale.prior_sets import PriorSet
from bayescale.runs import Runs

# the first kernel alone: the others, where it has not quite converged, would be a minute of compiling
SAMPLER = Sampler(draws=250, fallback=False)
ONCE = Averaging(prior=(1.0, 1.0), weights="predictive", cuts=1)
TARGET = {"N": [1e10], "D": [2e11]}


@pytest.fixture(scope="module")
def coupled(prior_set: PriorSet, ladder: Callable[..., Runs]) -> Average:
    """Runs of the law with kappa = .5."""
    return average(ladder(0.5), prior_set, ONCE, sampler=SAMPLER, seed=1)


@pytest.fixture(scope="module")
def additive(prior_set: PriorSet, ladder: Callable[..., Runs]) -> Average:
    """Runs of Chinchilla's law, with the prior weights of the prior set: 4 to 1 against it."""
    return average(ladder(1.0), prior_set, Averaging(cuts=1), sampler=SAMPLER, seed=1)


def test_the_coupled_law_where_it_is_true(coupled: Average) -> None:
    assert coupled.by == "predictive"
    assert coupled.weights["kappa"] > 0.9
    assert sum(coupled.weights.values()) == pytest.approx(1.0)
    assert coupled.table.loc["kappa", "joint"] > coupled.table.loc["chinchilla", "joint"]
    (cut,) = coupled.cuts
    assert (cut.n_below, cut.n_above) == (42, 7)


def test_chinchilla_where_it_is_true(additive: Average) -> None:
    """It says less with one parameter less: runs from it speak for it."""
    prior = {one.law: one.prior for one in additive.members}
    assert prior == {"kappa": 0.8, "chinchilla": pytest.approx(0.2)}
    assert additive.weights["chinchilla"] >= prior["chinchilla"]


def test_the_mixture_is_made_of_its_laws(additive: Average) -> None:
    counts = additive.counts
    assert sum(counts.values()) == additive.draws == 1000
    for law, count in counts.items():
        assert count == pytest.approx(1000 * additive.weights[law], abs=1)
    made = additive.forecast(TARGET, seed=4)
    assert made.sizes == {"sample": 1000, "run": 1}
    for law, count in counts.items():
        own = additive.fits[law].forecast(TARGET, seed=4)["new_run_loss"].values
        mixed = made["new_run_loss"].values[made["law"].values == law]
        assert len(mixed) == count
        assert np.isin(mixed, own).all()
    assert made.attrs["weights"] == additive.weights
    path = additive.allocation([1e22])
    assert path.sizes["sample"] == 1000
    assert np.isfinite(path["loss"]).all()


def test_text_and_document(coupled: Average) -> None:
    text = repr(coupled)
    assert "kappa 0.5: laws weighed by the joint density of the runs they forecast" in text
    assert "7 runs up to 1e+21 FLOPs from 42 below" in text
    assert max(map(len, text.splitlines())) <= 120
    document = coupled.document()
    assert document["weights"] == coupled.weights
    assert [one["law"] for one in document["laws"]] == ["kappa", "chinchilla"]
    assert document["cuts"] == [{"n_below": 42, "n_above": 7, "top": pytest.approx(1e21)}]


def test_a_ladder_too_short_keeps_its_prior_weights(
    prior_set: PriorSet, ladder: Callable[..., Runs], monkeypatch: pytest.MonkeyPatch, coupled: Average
) -> None:
    """The fits themselves are those at hand."""
    monkeypatch.setattr("bayescale.averaging._average._Task.fit", lambda self, one, runs: coupled.fits["kappa"])
    runs = ladder(0.5)
    short = average(runs.subset(np.asarray(runs["C"]) > 5e20), prior_set, sampler=SAMPLER)
    assert short.by == "prior"
    assert short.weights == {"kappa": 0.8, "chinchilla": pytest.approx(0.2)}
    assert "too short to rehearse a forecast on it" in short.notes[0]
    alone = average(runs, prior_set, Averaging(laws=("kappa",)), sampler=SAMPLER)
    assert alone.weights == {"kappa": 1.0}
    assert "one law is left" in alone.notes[0]


def test_a_law_that_the_table_does_not_allow_is_left_out(
    prior_set: PriorSet, ladder: Callable[..., Runs], monkeypatch: pytest.MonkeyPatch, coupled: Average
) -> None:
    monkeypatch.setattr("bayescale.averaging._average._Task.fit", lambda self, one, runs: coupled.fits["kappa"])
    made = average(ladder(0.5), prior_set, Averaging(laws=("kappa", "data-constrained")), sampler=SAMPLER)
    assert made.weights == {"kappa": 1.0, "data-constrained": 0.0}
    assert "U" in made.table.loc["data-constrained", "why"]
    with pytest.raises(FitError, match="no law can be fitted"):
        average(ladder(0.5), prior_set, Averaging(laws=("data-constrained",)))


def test_doubts_about_a_law_without_weight_are_not_those_of_the_mixture(
    assemble: Callable[..., Fit], ladder: Callable[..., Runs], coupled: Average
) -> None:
    sound = coupled.fits["kappa"]
    theta = {name: sound.draws[name].values for name in sound.theta}
    doubtful = assemble(ladder(0.5), sound.law, theta, model=sound.model, warnings=("R-hat is 2",))
    members = tuple(Member(law, 0.5, weight, fit=doubtful) for law, weight in (("kappa", 0.97), ("chinchilla", 0.03)))
    made = replace(coupled, members=members)
    assert made.warnings == ("kappa (weight 0.97): R-hat is 2",)


def test_a_backtest_says_the_weights(
    prior_set: PriorSet, ladder: Callable[..., Runs], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {}
    weights = {"kappa": 0.75, "chinchilla": 0.25}

    def answer(runs: Runs, *arguments: object, **settings: object) -> SimpleNamespace:
        asked.update(settings, runs=runs)
        drawn = np.exp(np.random.default_rng(0).normal(0.9, 0.1, (200, 7)))
        made = xr.Dataset({"new_run_loss": (("sample", "run"), drawn)})
        return SimpleNamespace(forecast=lambda targets, seed: made, weights=weights, warnings=())

    monkeypatch.setattr("bayescale.evaluation._average.average", answer)
    runs = ladder(0.5)
    made = backtest(runs, [AverageOfLaws(prior_set, ONCE, SAMPLER)], Design(holdout=(10,)), baseline=None)
    (row,) = made.document()["folds"]
    assert row["forecaster"] == "auto"
    assert row["weights"] == weights
    assert "auto: mean weight of kappa 0.75 (0.75 to 0.75), chinchilla 0.25" in repr(made)
    assert asked["without"] == frozenset({runs.source})
    assert np.max(asked["runs"]["C"]) <= 1e20 * (1 + 1e-9)


def test_auto_is_found_by_its_name() -> None:
    settings = {"auto": {"weights": "predictive", "cuts": "1"}, "nuts": {"chains": "2"}}
    (one,) = forecasters(Request(law="auto", draws=100, settings=settings))
    assert isinstance(one, AverageOfLaws)
    assert one.averaging == Averaging(weights="predictive", cuts=1)
    assert one.sampler == Sampler(chains=2, draws=100)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (Request(law="auto", noise="normal"), "takes the noise of its prior set, and normal was given"),
        (Request(law="auto", procedures=("huber",)), "it takes the procedure nuts"),
        (Request(law="auto", settings={"huber": {"delta": 1}}), "settings of nuts and of auto"),
        (Request(law="auto", settings={"auto": {"laws": "kapa"}}), "did you mean kappa"),
    ],
)
def test_what_auto_cannot_be_asked(request_: Request, said: str) -> None:
    with pytest.raises(Exception, match=said):
        forecasters(request_)
