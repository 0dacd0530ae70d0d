"""Whole backtests with forecasters that need no fit: what is asked, what is answered, and the summary."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayescale.errors import FitError
from bayescale.evaluation import Design, backtest
from bayescale.evaluation._scores import LEVELS, SCORES
from bayescale.runs import Runs

DESIGN = Design(by="family", group="design", holdout=(10, 30))


def test_a_forecaster_is_asked_each_fold_once_and_told_what_to_leave_out(
    families: Callable[..., Runs], known: Any
) -> None:
    first, second = known(), known("second")
    made = backtest(families(), [first, second], DESIGN, baseline=None)
    assert len(first.asked) == 12
    assert all(set(one["targets"]) == {"N", "D", "C"} for one in first.asked)
    assert {one["without"] for one in first.asked} == {frozenset({f"design {n}"}) for n in range(3)}
    # one seed a fold, the same for all forecasters
    assert len({one["seed"] for one in first.asked}) == 12
    assert [one["seed"] for one in first.asked] == [one["seed"] for one in second.asked]
    assert made.folds["forecaster"].value_counts().to_dict() == {"known": 12, "second": 12}
    assert made.ok


def test_seeds_of_a_fold_do_not_depend_on_the_others(families: Callable[..., Runs], known: Any) -> None:
    all_of_them, one_of_them = known(), known()
    runs = families()
    backtest(runs, [all_of_them], DESIGN, baseline=None)
    backtest(runs.subset(runs["family"] == "family 2"), [one_of_them], DESIGN, baseline=None)
    assert {one["seed"] for one in one_of_them.asked} < {one["seed"] for one in all_of_them.asked}


def test_seeds_do_not_depend_on_where_the_table_lies(families: Callable[..., Runs], known: Any) -> None:
    here, there = known(), known()
    runs = families(count=1, size=200)
    moved = Runs.from_arrays(N=runs["N"], D=runs["D"], loss=runs["loss"], source="elsewhere/families.csv")
    for forecaster, table in ((here, runs), (there, moved)):
        backtest(table, [forecaster], Design(holdout=(10, 30)), baseline=None)
    assert len(here.asked) == 2
    assert [one["seed"] for one in here.asked] == [one["seed"] for one in there.asked]


def test_an_interrupt_keeps_the_folds_that_were_answered(families: Callable[..., Runs], known: Any) -> None:
    class Tired(type(known())):  # type: ignore[misc]
        def forecast(self, *asked: Any, **settings: Any) -> Any:
            if len(self.asked) == 5:
                raise KeyboardInterrupt
            return super().forecast(*asked, **settings)

    made = backtest(families(), [Tired()], DESIGN, baseline=None)
    assert len(made.folds) == 5
    assert len(made.skipped) == 7
    assert not made.ok
    assert "INTERRUPTED before" in repr(made)


def test_a_forecast_that_is_true_is_found_to_be(families: Callable[..., Runs], known: Any) -> None:
    runs = families(count=24, size=400, groups=12)
    made = backtest(runs, [known(), known("low", bias=-0.01), known("timid", scale=3.0)], DESIGN, baseline=None)
    true, low, timid = (made.summary[name]["10"] for name in ("known", "low", "timid"))
    points = true["n_points"]
    assert points > 150
    for level in (50, 90):
        # standard errors of a share among that many points
        sd = np.sqrt(level / 100 * (1 - level / 100) / points)
        assert true[f"cov{level}"] == pytest.approx(level / 100, abs=5 * sd)
        ends = true["interval"][f"cov{level}"]
        assert ends["q05"] < true[f"cov{level}"] < ends["q95"]
    assert low["cov90"] < 0.82
    assert low["bias"] == pytest.approx(true["bias"] - 1.0, abs=0.01)
    assert timid["cov90"] > 0.99
    # every proper score prefers the truth
    for name, better in (("crps", min), ("crps_log", min), ("is90", min), ("log_score", max)):
        assert better(true[name], low[name], timid[name]) == true[name]
    assert made.pit["known"] is not None
    assert made.pit["known"]["n_folds"] == 48
    assert made.pit["known"]["p_median"] > 0.05
    assert made.pit["known"]["passes"]
    assert made.pit["low"]["p_min"] < 0.01
    assert not made.pit["timid"]["passes"]


def test_pooling_counts_families_alike_and_then_groups(families: Callable[..., Runs], known: Any) -> None:
    made = backtest(families(count=5, groups=2), [known()], DESIGN, baseline=None)
    folds = made.folds[made.folds["at"] == "10"]
    found = made.summary["known"]["10"]
    assert found["crps"] == pytest.approx(folds["crps"].mean(), rel=1e-12)
    of_groups = [folds[folds["group"] == f"design {n}"]["crps"].mean() for n in (0, 1)]
    assert found["by_group"]["crps"] == pytest.approx(np.mean(of_groups), rel=1e-12)
    assert of_groups[0] != of_groups[1]
    # two groups have no interval
    assert found["n_groups"] == 2
    assert found["interval"]["crps"] == {"q05": None, "q95": None}


def test_the_paired_difference(families: Callable[..., Runs], known: Any) -> None:
    runs = families(count=9, groups=9)
    made = backtest(runs, [known()], DESIGN, baseline=known("worse", bias=0.02))
    found = made.summary["known"]["10"]
    ours, theirs = made.of("known"), made.of("worse")
    ours, theirs = ours[ours["at"] == "10"], theirs[theirs["at"] == "10"]
    less = ours["crps"].to_numpy() - theirs["crps"].to_numpy()
    assert found["difference"]["crps"]["mean"] == pytest.approx(less.mean(), rel=1e-12)
    # nine groups of one family: the interval is that of a bootstrap of nine values, sds over sqrt(9)
    half = (found["difference"]["crps"]["q95"] - found["difference"]["crps"]["q05"]) / 2
    assert half == pytest.approx(1.645 * less.std() / 3, rel=0.15)
    assert found["difference"]["crps"]["q95"] < 0
    assert found["ratio"]["crps"]["value"] == pytest.approx(ours["crps"].mean() / theirs["crps"].mean(), rel=1e-12)
    assert found["ratio"]["crps"]["q05"] < found["ratio"]["crps"]["value"] < found["ratio"]["crps"]["q95"] < 1
    assert made.compared == ("known", "worse")
    document = made.document()
    assert {row["forecaster"] for row in document["folds"]} == {"known"}
    row = document["folds"][0]
    assert row["difference"]["crps"] == pytest.approx(row["crps"] - row["baseline"]["crps"], rel=1e-12)


def test_families_of_one_group_move_together(families: Callable[..., Runs], known: Any) -> None:
    """Twelve copies of three families know no more than three: the interval must not shrink."""
    runs = families(count=3, groups=3)
    table = runs.table.to_dataframe().reset_index(drop=True)
    copies = pd.concat([table.assign(family=table["family"] + f" copy {n}") for n in range(4)])
    many = Runs.from_arrays(**{str(name): copies[name].to_numpy() for name in copies}, source="copies.csv")
    once, four_times = (backtest(one, [known()], DESIGN, baseline=None).summary["known"]["10"] for one in (runs, many))
    width = {}
    for name, found in (("once", once), ("four times", four_times)):
        width[name] = found["interval"]["crps"]["q95"] - found["interval"]["crps"]["q05"]
    # the copies have other seeds, so a tenth may be noise of the draws; independent families would give a half
    assert width["four times"] == pytest.approx(width["once"], rel=0.15)


def test_a_refusal_keeps_its_row(families: Callable[..., Runs], known: Any) -> None:
    made = backtest(families(), [known(refuse=("design 1",))], DESIGN, baseline=known("base"))
    assert not made.ok
    refused = made.folds[made.folds["refused"] != ""]
    assert set(refused["group"]) == {"design 1"}
    assert len(made.untrusted) == 4
    found = made.summary["known"]["10"]
    assert found["n_folds"] == 4
    # the baseline is compared where both answered
    assert found["baseline"]["n_folds"] == 4
    row = next(row for row in made.document()["folds"] if row["group"] == "design 1")
    assert row["refused"] == "too wild for me"
    assert row["difference"] is None
    json.dumps(made.document()["forecasters"])
    assert "too wild for me" in repr(made)


def test_warnings_are_distrust_and_those_of_the_baseline_are_not(families: Callable[..., Runs], known: Any) -> None:
    runs = families()
    assert not backtest(runs, [known(warnings=("R-hat",))], DESIGN, baseline=None).ok
    assert backtest(runs, [known()], DESIGN, baseline=known("base", warnings=("R-hat",))).ok


def test_what_is_no_backtest(families: Callable[..., Runs], known: Any) -> None:
    runs = families()
    with pytest.raises(FitError, match="different names"):
        backtest(runs, [known(), known()], DESIGN)
    with pytest.raises(FitError, match="given none"):
        backtest(runs, [], DESIGN)
    with pytest.raises(FitError, match="known answers none of the 12 folds; the first: too wild for me"):
        backtest(runs, [known(refuse=("design 0", "design 1", "design 2"))], DESIGN, baseline=None)


def test_rolling_origins_of_one_family_count_as_one(families: Callable[..., Runs], known: Any) -> None:
    design = Design(by="family", holdout=(10,), protocol="rolling-origin")
    made = backtest(families(count=4, size=300), [known()], design, baseline=None)
    folds = made.of("known")
    assert len(folds) > 4
    by_family = folds.groupby("dataset")["crps"].mean()
    assert made.summary["known"]["10"]["crps"] == pytest.approx(by_family.mean(), rel=1e-12)
    assert "part" in made.forecasts("known")


def test_leave_group_out_is_summarised_as_such(families: Callable[..., Runs], known: Any) -> None:
    design = Design(group="family", protocol="leave-group-out")
    made = backtest(families(count=4, size=40), [known()], design, baseline=None)
    assert list(made.summary["known"]) == ["group"]
    assert made.document()["folds"][0]["k"] is None
    assert made.summary["known"]["group"]["n_folds"] == 4


def test_whether_the_band_widens(families: Callable[..., Runs], known: Any) -> None:
    made = backtest(families(), [known()], DESIGN, baseline=None)
    # the same sd at every distance: width differs by the noise of the draws alone, and not in one direction
    assert set(made.widening("known")) == {f"family {n}" for n in range(6)}
    assert not all(made.widening("known").values())


def test_scores_are_those_of_the_scorer_that_is_not_ours(
    ladder: Runs, shared_data: Path, trend: Any, tmp_path: Path
) -> None:
    made = backtest(ladder, [trend], Design(by="dataset", group="group"), baseline=None)
    path = tmp_path / "forecasts.csv"
    made.forecasts("trend").to_csv(path, index=False, float_format="%.17g")
    script = shared_data.parent / "tools" / "score_ladder.py"
    done = subprocess.run(
        [sys.executable, str(script), str(path), "--json"], capture_output=True, text=True, check=True, timeout=120
    )
    theirs = {f"{row['holdout_x']:g}": row for row in json.loads(done.stdout)["ours"]}
    assert list(theirs) == made.holdouts
    for at, row in theirs.items():
        ours = made.summary["trend"][at]
        assert (ours["n_folds"], ours["n_points"]) == (row["folds"], row["points"])
        for name in ("are", "crps", "width90", "is90", "cov50", "cov80", "cov90", "cov95", "cov99"):
            assert ours[name] == pytest.approx(row[name], rel=1e-9), (at, name)
    # and fold by fold
    spec = importlib.util.spec_from_file_location("score_ladder", script)
    assert spec is not None
    assert spec.loader is not None
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    _, folds = scorer.table(scorer.match(pd.read_csv(path), pd.read_csv(shared_data / "ladder_runs.csv")))
    assert len(folds) == len(made.folds) == 45
    for (k, dataset), row in folds.iterrows():
        (ours,) = [one for one in made.document()["folds"] if one["k"] == k and one["dataset"] == dataset]
        for name in ("are", "crps", "is90", "cov50", "cov90"):
            assert ours[name] == pytest.approx(row[name], rel=1e-9, abs=1e-12), (k, dataset, name)


def test_a_forecast_file_has_the_columns_of_the_protocol(families: Callable[..., Runs], known: Any) -> None:
    made = backtest(families(), [known()], DESIGN, baseline=None)
    table = made.forecasts("known")
    assert list(table) == ["dataset", "holdout_x", "N", "D", *LEVELS]
    assert (np.diff(table[list(LEVELS)].to_numpy(), axis=1) >= 0).all()
    assert set(table["holdout_x"]) == {"10", "30"}


def test_every_score_is_in_the_document(families: Callable[..., Runs], known: Any) -> None:
    document = backtest(families(), [known()], DESIGN, baseline=known("base")).document()
    for row in document["folds"]:
        assert set(row) >= {"dataset", "k", "n_train", "n_test", "pit", *SCORES}
        assert len(row["pit"]) == row["n_test"]
        assert 0 < min(row["pit"]) <= max(row["pit"]) < 1
    assert set(document["summary"]) == {"10", "30"}
    assert set(document["summary"]["10"]) >= {*SCORES, "by_group", "interval", "baseline", "difference", "ratio"}
    assert set(document["forecasters"]) == {"known", "base"}
