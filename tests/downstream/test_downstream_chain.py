"""Compute to likelihood to accuracy: what is recovered, what the draws carry, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayescale.cli import main
from bayescale.downstream import Chain, fit_chain
from bayescale.errors import BayescaleError
from bayescale.laws.log_linear import LogLinear
from bayescale.laws.sigmoid import Sigmoid

LINE = LogLinear(C0=1e20)
TRUTH = {"l": 0.9, "k": 0.05, "g": 0.25, "u": 0.0, "m": 0.75, "w": 0.09}
COMPUTE = np.geomspace(1e18, 3e21, 24)


def accuracy(nll: np.ndarray, truth: dict[str, float]) -> np.ndarray:
    return 1.0 - np.asarray(Sigmoid().loss(nll, **{name: truth[name] for name in "gumw"}))


def simulated(truth: dict[str, float], generator: np.random.Generator, sigma: float = 0.01) -> pd.DataFrame:
    scatter = sigma * generator.standard_normal((2, COMPUTE.size))
    nll = np.asarray(LINE.loss(COMPUTE, l=truth["l"], k=truth["k"])) * np.exp(scatter[0])
    return pd.DataFrame({"C": COMPUTE, "nll": nll, "acc": 1.0 - (1.0 - accuracy(nll, truth)) * np.exp(scatter[1])})


@pytest.fixture(scope="module")
def chain() -> Chain:
    frame = simulated(TRUTH, np.random.default_rng(1))
    return fit_chain(frame, "nll", "acc", law=LINE, chance=0.25, ceiling=1.0, noise="normal", draws=250)


def test_the_chain_recovers_what_made_the_runs(chain: Chain) -> None:
    assert chain.ok
    for stage in (chain.nll, chain.accuracy):
        for name in stage.law.parameters:
            drawn = stage.theta[name]
            assert abs(drawn.mean() - TRUTH[name]) <= 4 * drawn.std()


def test_the_band_holds_both_stages(chain: Chain) -> None:
    made = chain.forecast({"C": [1e22, 1e23]})
    middle = {name: np.full(1, np.median(values)) for name, values in chain.accuracy.theta.items()}
    only_first = 1.0 - np.asarray(Sigmoid().loss(made["nll"].values, **{name: middle[name][0] for name in "gumw"}))
    at_middle = np.median(made["nll"].values, axis=0)
    theta = {name: chain.accuracy.theta[name][:, None] for name in "gumw"}
    only_second = 1.0 - np.asarray(Sigmoid().loss(at_middle[None], **theta))
    both, first, second = (np.var(values, axis=0) for values in (made["accuracy"].values, only_first, only_second))
    # independent stages: variances add up but for the curvature of the sigmoid; 1,000 draws know one to 5 %
    np.testing.assert_allclose(both, first + second, rtol=0.25)
    assert (np.var(made["new_run_accuracy"].values, axis=0) > both).all()
    # an order of magnitude beyond the runs, the sigmoid is asked where none was
    assert (made["nll_beyond"].values > 0).all()


def test_a_chain_comes_back_from_its_files(chain: Chain, tmp_path: Path) -> None:
    chain.save(tmp_path / "chain")
    again = Chain.load(tmp_path / "chain")
    assert again == chain
    np.testing.assert_array_equal(*(one.forecast({"C": [1e22]})["accuracy"].values for one in (chain, again)))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"chance": 25.0}, "a fraction from 0 to 1"),
        ({"ceiling": 0.9}, "goes with a chance level"),
        ({"nll": "task"}, "stage nll: .*no column 'task'"),
        ({"accuracy": "task"}, "stage accuracy: .*no column 'task"),
        ({"law": "no-law"}, "no-law"),
    ],
)
def test_what_cannot_be_chained_is_refused(given: dict[str, object], said: str) -> None:
    frame = simulated(TRUTH, np.random.default_rng(1))
    named = {"nll": "nll", "accuracy": "acc"} | given
    with pytest.raises(BayescaleError, match=said):
        fit_chain(frame, **named)  # type: ignore[arg-type]


def test_the_command_gives_the_forecast(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.csv"
    simulated(TRUTH, np.random.default_rng(1)).to_csv(path, index=False)
    told = ["downstream", str(path), "--nll", "nll", "--accuracy", "acc", "--chance", "0.25", "--ceiling", "1"]
    status = main([*told, "--noise", "normal", "--draws", "250", "--at", "C=1e22", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert status == (0 if document["diagnostics"]["ok"] else 1)
    band = document["forecasts"][0]["accuracy"]
    assert band["q05"] < band["median"] < band["q95"]
    assert main([*told, "--at", "C=much"]) == 2


@pytest.mark.slow
def test_forecasts_of_accuracy_are_covered() -> None:
    """Truths drawn from the priors of the fits; runs ten times beyond the table."""
    count, generator = 60, np.random.default_rng(12)
    priors = {"l": (np.log(0.9), 0.1), "k": (np.log(0.05), 0.2), "m": (np.log(0.75), 0.1), "w": (np.log(0.09), 0.2)}
    told = {name: f"LogNormal({mean}, {sd})" for name, (mean, sd) in priors.items()}
    inside = []
    for seed in range(count):
        drawn = {name: float(np.exp(mean + sd * generator.standard_normal())) for name, (mean, sd) in priors.items()}
        truth = {"g": 0.25, "u": 0.0} | drawn
        chain = _fitted(simulated(truth, generator), told, seed)
        made = chain.forecast({"C": [3e22]}, seed=seed)
        nll = np.asarray(LINE.loss(3e22, l=truth["l"], k=truth["k"]))
        new = nll * np.exp(0.01 * generator.standard_normal())
        right = 1.0 - (1.0 - accuracy(new, truth)) * np.exp(0.01 * generator.standard_normal())
        for name, true in (("accuracy", accuracy(nll, truth)), ("new_run_accuracy", right)):
            low, high = np.quantile(made[name].values, [0.05, 0.95])
            inside.append((name, bool(low <= true <= high)))
    for name in ("accuracy", "new_run_accuracy"):
        share = np.mean([held for which, held in inside if which == name])
        # 3.9 % is the sd of a share of 90 % of 60: 2.5 of them
        assert 0.80 <= share, (name, share)


def _fitted(frame: pd.DataFrame, told: dict[str, str], seed: int) -> Chain:
    """The chain with priors of its own for each stage."""
    from bayescale import Runs, fit

    settings = {"noise": "normal", "draws": 200, "seed": seed}
    first = Runs.from_arrays(C=frame["C"], loss=frame["nll"])
    second = Runs.from_arrays(nll=frame["nll"], loss=1.0 - frame["acc"])
    pinned = {"g": 0.25, "u": 0.0}
    return Chain(
        fit(first, LINE, priors={name: told[name] for name in "lk"}, **settings),
        fit(second, Sigmoid(), priors=pinned | {name: told[name] for name in "mw"}, **settings),
    )
