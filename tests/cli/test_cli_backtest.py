"""`bayescale backtest`: its document, its files, its exit status, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayescale.evaluation
from bayescale.evaluation import Draws, Request
from bayescale.evaluation._registry import AVERAGES
from bayescale.laws.chinchilla import Chinchilla
from bayescale.runs import Runs

TRUTH = {"E": 1.8, "a": 0.36, "b": 0.34, "alpha": 0.35, "beta": 0.37}
FOLD = {"dataset", "k", "n_train", "n_test", "cov50", "cov90", "crps", "is90", "are"}


@dataclass(frozen=True)
class Fake:
    """Knows the truth, and warns on the data sets that it is told to."""

    name: str = "nuts"
    doubts: frozenset[str] = frozenset()

    def forecast(self, train: Runs, targets: Mapping[str, np.ndarray], *, seed: int, without: frozenset[str]) -> Draws:
        mean = np.asarray(Chinchilla().loss(targets["N"], targets["D"], **TRUTH))
        drawn = mean * np.exp(0.01 * np.random.default_rng(seed).standard_normal((500, len(mean))))
        return Draws(drawn, ("R-hat is 2: sample longer",) if without & self.doubts else ())


@pytest.fixture(scope="session")
def ladder_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four data sets of 60 runs in three designs."""
    generator = np.random.default_rng(8)
    N = np.exp(generator.uniform(np.log(2e7), np.log(2e9), 240))
    D = np.exp(generator.uniform(np.log(4e8), np.log(4e10), 240))
    loss = np.asarray(Chinchilla().loss(N, D, **TRUTH)) * np.exp(0.01 * generator.standard_normal(240))
    frame = pd.DataFrame({"params": N, "tokens": D, "val_loss": loss})
    frame["corpus"] = np.repeat(["c4", "rpj", "rw", "pile"], 60)
    frame["lab"] = np.repeat(["one", "one", "two", "three"], 60)
    path = tmp_path_factory.mktemp("ladder") / "runs.csv"
    frame.to_csv(path, index=False, float_format="%.17g")
    return path


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Forecasters in place of fits: ``doubts`` names the labs whose forecasts warn."""
    seen: dict[str, Any] = {"doubts": frozenset()}

    def answer(request: Request) -> list[Fake]:
        seen["request"] = request
        return [Fake(name, seen["doubts"]) for name in request.procedures]

    monkeypatch.setattr(bayescale.evaluation, "forecasters", answer)
    monkeypatch.setattr(bayescale.evaluation, "HuberBootstrap", lambda: Fake("huber-bootstrap"))
    return seen


def test_json(run: Any, faked: dict[str, Any], ladder_table: Path) -> None:
    said = run("backtest", ladder_table, "--by", "corpus", "--group", "lab", "--holdout", "10,30", "--json")
    assert said.status == 0, said.err
    made = said.document
    assert [(row["dataset"], row["k"]) for row in made["folds"]] == [
        (corpus, k) for corpus in ("c4", "pile", "rpj", "rw") for k in (10, 30)
    ]
    assert all(set(row) >= FOLD | {"pit", "log_score", "baseline", "difference", "warnings"} for row in made["folds"])
    assert set(made["summary"]) == {"10", "30"}
    assert set(made["summary"]["10"]) >= {"n_folds", "cov50", "cov90", "crps", "is90", "are", "difference", "by_group"}
    assert made["summary"]["10"]["n_groups"] == 3
    assert (made["law"], made["prior_set"]) == ("kappa", "public")
    assert made["baseline"] == "huber-bootstrap"
    assert said.err == ""


def test_the_seed_decides(run: Any, faked: dict[str, Any], ladder_table: Path) -> None:
    flags = ("backtest", ladder_table, "--by", "corpus", "--holdout", "10", "--json")
    first, again, other = run(*flags), run(*flags), run(*flags, "--seed", "1")
    assert first.out == again.out
    assert first.document["summary"]["10"]["crps"] != other.document["summary"]["10"]["crps"]


def test_forecast_files(run: Any, faked: dict[str, Any], ladder_table: Path, tmp_path: Path) -> None:
    out = tmp_path / "forecasts.csv"
    flags = ("--by", "corpus", "--holdout", "10,30", "--procedures", "nuts,huber", "--out", out, "--json")
    said = run("backtest", ladder_table, *flags)
    assert said.status == 0, said.err
    names = ["nuts", "huber", "huber-bootstrap"]
    assert list(said.document["out"]) == names
    paths = [out, tmp_path / "forecasts.huber.csv", tmp_path / "forecasts.huber-bootstrap.csv"]
    assert [Path(path) for path in said.document["out"].values()] == paths
    for path in paths:
        table = pd.read_csv(path)
        assert len(table) == sum(row["n_test"] for row in said.document["folds"] if row["forecaster"] == "nuts")
        assert list(table)[:4] == ["dataset", "holdout_x", "N", "D"]
        assert set(table["holdout_x"]) == {10, 30}
    assert {row["forecaster"] for row in said.document["folds"]} == {"nuts", "huber"}


def test_forecasts_that_may_not_be_trusted(run: Any, faked: dict[str, Any], ladder_table: Path) -> None:
    faked["doubts"] = frozenset({"two"})
    flags = ("backtest", ladder_table, "--by", "corpus", "--group", "lab", "--holdout", "10,30")
    said = run(*flags, "--json")
    assert said.status == 1
    bad = [row for row in said.document["folds"] if row["warnings"]]
    assert [row["dataset"] for row in bad] == ["rw", "rw"]
    assert "DO NOT TRUST 2 of 8 forecasts" in said.err
    assert "nuts, rw at 10x" in said.err
    assert "nuts, rw at 10x ! R-hat is 2: sample longer" in run(*flags).out


def test_text_for_a_person(run: Any, faked: dict[str, Any], ladder_table: Path) -> None:
    said = run("backtest", ladder_table, "--by", "corpus", "--group", "lab", "--holdout", "10,30,1e6")
    assert said.status == 0
    assert "in 90 % band" in said.out
    assert "against huber-bootstrap" in said.out
    assert "skipped, too few runs to learn from: c4 at 1e+06x" in said.out
    assert sum(line.startswith("nuts ") for line in said.out.splitlines()) == 4
    assert max(len(line) for line in said.out.splitlines()[2:]) < 200


def test_pictures(run: Any, faked: dict[str, Any], ladder_table: Path, tmp_path: Path) -> None:
    said = run("backtest", ladder_table, "--by", "corpus", "--holdout", "10", "--plots", tmp_path / "out", "--json")
    assert said.status == 0
    assert [Path(path).name for path in said.document["plots"]] == ["backtest.png", "backtest.pdf"]
    assert all(Path(path).stat().st_size > 1000 for path in said.document["plots"])


def test_what_reaches_the_library(run: Any, faked: dict[str, Any], ladder_table: Path) -> None:
    said = run(
        "backtest", ladder_table, "--holdout", "10", "--law", "kappa", "--procedures", "nuts,huber", "--noise",
        "normal", "--draws", "200", "--replicates", "150", "--set", "huber.delta=1e-2", "--no-baseline", "--json",
    )  # fmt: skip
    assert said.status == 0, said.err
    request = faked["request"]
    assert (request.law, request.procedures, request.noise) == ("kappa", ("nuts", "huber"), "normal")
    assert (request.draws, request.replicates) == (200, 150)
    assert request.settings == {"huber": {"delta": "1e-2"}}
    assert said.document["baseline"] is None
    assert said.document["folds"][0]["difference"] is None


@pytest.mark.parametrize("protocol", ["rolling-origin", "leave-group-out"])
def test_other_protocols(run: Any, faked: dict[str, Any], ladder_table: Path, protocol: str) -> None:
    said = run("backtest", ladder_table, "--group", "lab", "--protocol", protocol, "--holdout", "10", "--json")
    if protocol == "rolling-origin":
        # the table without --by is one data set, and it lies in three groups
        assert said.status == 2
        assert "lie in 3 groups of lab" in said.err
        said = run("backtest", ladder_table, "--protocol", protocol, "--holdout", "10", "--json")
        assert all(row["part"].startswith("C <= ") for row in said.document["folds"])
    else:
        assert [row["part"] for row in said.document["folds"]] == ["one", "three", "two"]
        assert list(said.document["summary"]) == ["group"]
    assert said.status == 0, said.err
    assert said.document["protocol"] == protocol


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--by", "dataset"], "has no column 'dataset' to tell data sets or groups apart; it has"),
        (["--holdout", "1"], "a hold-out of 1 would learn from runs that it scores: give factors above 2"),
        (["--holdout", "ten"], "write factors as 10,30,100,300"),
        (["--holdout", "-3"], "write factors as 10,30,100,300"),
        (["--holdout", ","], "name at least one"),
        (["--holdout", "1e9"], "no fold of"),
        (["--protocol", "loo"], "the protocols are holdout, rolling-origin, leave-group-out"),
        (["--by", "corpus", "--where", "corpus == 'c4' and tokens > 3e10"], "no fold of"),
        (["--procedures", "mcmc"], "there is no procedure called 'mcmc'; the procedures are"),
        (["--procedures", ","], "no procedure is named"),
        (["--procedures", "isoflop"], "isoflop gives the loss of compute-optimal runs only"),
        (["--law", "chinchila"], "did you mean chinchilla"),
        (["--prior-set", "nobody"], "there is no prior set called 'nobody'"),
        (["--noise", "cauchy"], "unknown noise 'cauchy'"),
        (["--set", "delta=1"], "say whose setting it is, as in huber.delta=1e-4"),
        (["--set", "nuts.delta=1"], "nuts has no setting 'delta'"),
        (["--draws", "3"], "3 is below 25"),
        (["--out", "no/such/folder/f.csv"], "--out no/such/folder/f.csv: the folder no/such/folder does not exist"),
    ],
)
def test_bad_input_is_one_message(run: Any, ladder_table: Path, flags: list[str], said: str) -> None:
    found = run("backtest", ladder_table, *flags, "--json")
    assert found.status == 2
    assert found.out == ""
    assert said in found.err


def test_a_refused_backtest_leaves_no_file(run: Any, ladder_table: Path, tmp_path: Path) -> None:
    out = tmp_path / "forecasts.csv"
    assert run("backtest", ladder_table, "--by", "nothing", "--out", out).status == 2
    assert not out.exists()


def test_auto_is_a_name_like_any_other(run: Any, ladder_table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `--law auto` names is one entry; where there is none, that is said."""
    monkeypatch.delitem(AVERAGES, "auto", raising=False)
    found = run("backtest", ladder_table, "--law", "auto")
    assert found.status == 2
    assert "--law auto: no average of laws is available here; name one law of" in found.err
    monkeypatch.setitem(AVERAGES, "auto", lambda request: Fake("average"))
    said = run(
        "backtest", ladder_table, "--by", "corpus", "--holdout", "10", "--no-baseline", "--law", "auto", "--json"
    )
    assert said.status == 0, said.err
    assert {row["forecaster"] for row in said.document["folds"]} == {"average"}


def test_real_fits(run: Any, tmp_path: Path, simulate: Callable[..., Runs]) -> None:
    """nuts and today's practice on runs of the law itself: both cover, and agree with each other."""
    runs = simulate(size=400)
    path = tmp_path / "runs.csv"
    pd.DataFrame({"N": runs["N"], "D": runs["D"], "loss": runs["loss"]}).to_csv(path, index=False)
    said = run("backtest", path, "--law", "chinchilla", "--holdout", "10", "--draws", "500", "--json")
    assert said.status == 0, said.err
    (row,) = said.document["folds"]
    assert row["n_train"] > 128
    assert row["n_test"] > 5
    # .5 % of noise, a law that is true, ten times out: half of a median error of that noise each way
    for scores in (row, row["baseline"]):
        assert scores["are"] < 1.5
        assert scores["cov99"] > 0.8
        assert 1.0 < scores["width90"] < 6.0
