"""Held-out runs: which they are, and how forecasts of them are scored."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayescale
from bayescale.comparison._heldout import crps, score, split
from bayescale.errors import RunsError
from bayescale.fits import Fit
from bayescale.laws.chinchilla import Chinchilla
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.runs import Runs

TRUTH = {"E": 1.8, "a": 0.36, "b": 0.34, "alpha": 0.35, "beta": 0.37, "sigma": 0.005}


def known(
    assemble: Callable[..., Fit], runs: Runs, scatter: float = 0.0, kind: str = "posterior", **theta: float
) -> Fit:
    """A fit whose draws are the truth, or what is given in its place."""
    size = 1 if kind == "point" else 2000
    generator = np.random.default_rng(0)
    drawn = {name: value * np.exp(scatter * generator.standard_normal(size)) for name, value in (TRUTH | theta).items()}
    return assemble(runs, Chinchilla(), drawn, kind=kind, model=Model(Chinchilla(), Noise("normal")))


def test_the_split_is_that_of_the_protocol(shared_data: Path) -> None:
    scorer = shared_data.parent / "tools" / "score_ladder.py"
    spec = importlib.util.spec_from_file_location("score_ladder", scorer)
    assert spec is not None
    assert spec.loader is not None
    protocol = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(protocol)
    table = pd.read_csv(shared_data / "ladder_runs.csv")
    seen = 0
    for name, factor, train, test in protocol.folds(table):
        family = table[table["dataset"] == name]
        runs = Runs.from_arrays(**{key: family[key].to_numpy() for key in ("N", "D", "C", "loss")})
        ours = split(runs, factor)
        assert [len(part) for part in ours] == [len(train), len(test)], (name, factor)
        assert ours[0]["C"].tolist() == train["C"].tolist()
        seen += 1
    assert seen > 20


def test_scores_of_a_forecast_that_is_true(assemble: Callable[..., Fit]) -> None:
    generator = np.random.default_rng(1)
    N, D = np.full(4000, 1e10), np.full(4000, 2e11)
    loss = np.asarray(Chinchilla().loss(N, D, **{k: TRUTH[k] for k in Chinchilla.parameters}))
    test = Runs.from_arrays(N=N, D=D, loss=loss * np.exp(0.005 * generator.standard_normal(4000)))
    made = score(known(assemble, test), test)
    # 4,000 runs: the standard error of a coverage of .9 is .005, of the mean error .005 / 63
    assert made["cov90"] == pytest.approx(0.9, abs=0.02)
    assert made["cov50"] == pytest.approx(0.5, abs=0.035)
    assert made["bias"] == pytest.approx(0.0, abs=0.03)
    # of a normal forecast: E|X - y| = 2 sd / sqrt(pi), and half of it is the score
    assert made["crps"] == pytest.approx(0.005 / np.sqrt(np.pi), rel=0.03)
    assert made["are"] == pytest.approx(100 * 0.005 * np.sqrt(2 / np.pi), rel=0.04)
    assert made["n_test"] == 4000


def test_a_forecast_that_is_too_high(assemble: Callable[..., Fit]) -> None:
    N, D = np.full(5, 1e10), np.full(5, 2e11)
    exact = np.asarray(Chinchilla().loss(N, D, **{k: TRUTH[k] for k in Chinchilla.parameters}))
    test = Runs.from_arrays(N=N, D=D, loss=exact / 1.02)
    made = score(known(assemble, test), test)
    assert made["bias"] == pytest.approx(2.0, rel=1e-6)
    assert made["are"] == pytest.approx(2.0, rel=1e-6)
    assert made["cov90"] == 0.0


def test_a_point_has_no_band(assemble: Callable[..., Fit], simulate: Callable[..., Runs]) -> None:
    test = simulate(size=20)
    made = score(known(assemble, test, kind="point"), test)
    assert made["are"] < 1.0
    assert made["cov90"] is None
    assert made["crps"] is None


def test_crps_is_that_of_its_definition() -> None:
    generator = np.random.default_rng(2)
    draws, observed = generator.normal(size=(50, 3)), np.array([0.0, 1.0, -3.0])
    apart = np.abs(draws[:, None] - draws[None]).mean(axis=(0, 1))
    np.testing.assert_allclose(crps(draws, observed), np.abs(draws - observed).mean(axis=0) - apart / 2, rtol=1e-12)


def test_rows_stay_those_of_the_whole_table(fake: Callable[..., str], simulate: Callable[..., Runs]) -> None:
    runs, name = simulate(), fake("boots")
    whole = bayescale.compare(runs, procedures=[name])
    held = bayescale.compare(runs, procedures=[name], holdout=10)
    row: dict[str, Any] = held.document()["rows"][0]
    assert row["N_exponent"] == whole.document()["rows"][0]["N_exponent"]
    assert row["heldout"]["n_train"] == int((runs["C"] <= runs["C"].max() / 10).sum())
    assert row["heldout"]["n_test"] == int((runs["C"] >= runs["C"].max() / 2).sum())
    assert 0 <= row["heldout"]["cov90"] <= 1
    assert "held-out error" in repr(held)


def test_a_procedure_that_refuses_the_smaller_runs_keeps_its_row(
    fake: Callable[..., str], simulate: Callable[..., Runs]
) -> None:
    runs = simulate()
    made = bayescale.compare(runs, procedures=[fake("boots"), fake("picky", least=190)], holdout=10)
    rows = made.document()["rows"]
    assert rows[1]["N_exponent"] is not None
    assert rows[1]["heldout"] is None
    assert any("no held-out error, the smaller runs alone: picky needs 190" in note for note in rows[1]["notes"])
    assert made.ok


def test_a_table_without_flops_cannot_hold_out() -> None:
    runs = Runs.from_arrays(N=np.geomspace(1e7, 1e9, 20), loss=np.linspace(4, 3, 20))
    with pytest.raises(RunsError, match="held out by their FLOPs"):
        split(runs, 10)
