"""How a table is divided: what is learnt from, what is forecast, and what a forecaster is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayescale.errors import RunsError
from bayescale.evaluation import Design
from bayescale.evaluation._folds import Fold, folds
from bayescale.runs import Runs


def test_holdout_by_compute(families: Callable[..., Runs]) -> None:
    runs = families()
    possible, skipped = folds(runs, Design(by="family", group="design", holdout=(10, 30)))
    assert {(fold.dataset, fold.k) for fold in possible} == {(f"family {n}", k) for n in range(6) for k in (10, 30)}
    assert not skipped
    for fold in possible:
        top = max(fold.train["C"].max(), fold.test["C"].max())
        assert fold.k is not None
        assert fold.train["C"].max() <= top / fold.k
        assert fold.test["C"].min() >= top / 2
        # the very same runs, each once
        family = runs.subset(runs["family"] == fold.dataset)
        assert len(fold.train) == (family["C"] <= top / fold.k).sum()
        assert len(fold.test) == (family["C"] >= top / 2).sum()
        assert fold.group == runs["design"][runs["family"] == fold.dataset][0]


def test_a_fold_with_seven_runs_to_learn_from_is_skipped() -> None:
    C = np.concatenate([np.geomspace(1e18, 2e18, 7), [5e19, 1e20]])
    runs = Runs.from_arrays(N=np.sqrt(C), D=np.sqrt(C) / 6, loss=np.linspace(3, 2, 9), C=C)
    with pytest.raises(RunsError, match=r"no fold of arrays can be made:\n.*leaves 7 of 9 runs"):
        folds(runs, Design(holdout=(10,)))
    enough = Runs.from_arrays(
        N=np.sqrt([1e18, *C]), D=np.sqrt([1e18, *C]) / 6, loss=np.linspace(3, 2, 10), C=np.array([1e18, *C])
    )
    assert len(folds(enough, Design(holdout=(10,)))[0]) == 1


def test_rolling_origin_learns_from_all_below_a_cut_and_forecasts_up_to_the_next(families: Callable[..., Runs]) -> None:
    runs = families(count=1, size=300)
    possible, _ = folds(runs, Design(holdout=(10,), protocol="rolling-origin"))
    assert len(possible) >= 2
    tests: list[float] = []
    for fold in possible:
        assert fold.test["C"].min() > fold.train["C"].max()
        assert fold.test["C"].max() <= 10 * float(fold.part.removeprefix("C <= ")) * 1.01  # the label is rounded
        tests += fold.test["C"].tolist()
        assert len(fold.train) == (runs["C"] < fold.test["C"].min()).sum()
    # each run is forecast once at most, and the largest is among them
    assert len(set(tests)) == len(tests)
    assert runs["C"].max() in tests


def test_leave_group_out(families: Callable[..., Runs]) -> None:
    runs = families(count=3, size=30)
    possible, _ = folds(runs, Design(group="family", protocol="leave-group-out"))
    assert [fold.group for fold in possible] == ["family 0", "family 1", "family 2"]
    for fold in possible:
        assert set(fold.test["family"].tolist()) == {fold.group}
        assert fold.group not in fold.train["family"].tolist()
        assert len(fold.train) + len(fold.test) == len(runs)
        assert fold.k is None


@pytest.mark.parametrize(("unit", "convert"), [("", np.asarray), (" (perplexity)", np.exp)])
def test_targets_hold_no_loss(unit: str, convert: Callable[..., np.ndarray]) -> None:
    frame = pd.DataFrame({"params": np.geomspace(1e7, 1e9, 30), "tokens": np.geomspace(1e9, 1e11, 30)})
    frame["eval loss"] = convert(np.linspace(4, 2.5, 30))
    frame["width"] = np.arange(30.0) + 1
    runs = Runs.read(frame, columns={"loss": f"eval loss{unit}"})
    assert runs["loss"][-1] == pytest.approx(2.5)
    (fold,), _ = folds(runs, Design(holdout=(100,)))
    assert set(fold.targets) == {"N", "D", "C", "width", "params", "tokens"}
    for values in fold.targets.values():
        assert not np.isin(fold.test["loss"], values).any()
        assert not np.isin(fold.test["eval loss"], values).any()


def test_labels_of_any_kind_and_their_order() -> None:
    C = np.tile(np.geomspace(1e18, 1e21, 20), 2)
    seed = np.repeat([10.0, 9.0], 20)
    runs = Runs.from_arrays(C=C, loss=np.tile(np.linspace(4, 2, 20), 2), seed=seed)
    possible, _ = folds(runs, Design(by="seed", holdout=(10,)))
    assert [fold.dataset for fold in possible] == ["10", "9"]


@pytest.mark.parametrize(
    ("design", "said"),
    [
        ({"by": "corpus"}, "has no column 'corpus' .*it has .*family"),
        ({"group": "corpus"}, "has no column 'corpus'"),
        ({"group": "family"}, "lie in 6 groups of family: family 0, family 1, family 2"),
        ({"holdout": (2.0,)}, "a hold-out of 2 would learn from runs that it scores"),
        ({"holdout": (1.0,), "protocol": "rolling-origin"}, "a hold-out of 1 would learn from runs"),
        ({"holdout": (np.inf,)}, "is no number of times"),
        ({"holdout": ()}, "name at least one"),
        ({"protocol": "jackknife"}, "the protocols are holdout, rolling-origin, leave-group-out"),
        ({"protocol": "leave-group-out"}, "name the column of the groups"),
        ({"holdout": (1e9,)}, "no fold of families.csv can be made"),
    ],
)
def test_what_cannot_be_divided(families: Callable[..., Runs], design: dict[str, Any], said: str) -> None:
    with pytest.raises(RunsError, match=said):
        folds(families(), Design(**design))


def test_an_empty_label_is_named_by_its_row() -> None:
    frame = pd.DataFrame({"C": np.geomspace(1e18, 1e20, 20), "loss": np.linspace(3, 2, 20), "corpus": "c4"})
    frame.loc[4, "corpus"] = ""
    with pytest.raises(RunsError, match="row 5: corpus is empty"):
        folds(Runs.read(frame), Design(by="corpus", holdout=(10,)))


def test_a_table_without_flops() -> None:
    runs = Runs.from_arrays(N=np.geomspace(1e7, 1e9, 20), loss=np.linspace(4, 3, 20))
    with pytest.raises(RunsError, match="held out by their FLOPs"):
        folds(runs, Design(holdout=(10,)))


def test_the_folds_are_those_of_the_ladder(ladder: Runs) -> None:
    possible, skipped = folds(ladder, Design(by="dataset", group="group"))
    count = {k: [fold for fold in possible if fold.k == k] for k in (10, 30, 100, 300)}
    assert [len(of_k) for of_k in count.values()] == [14, 14, 9, 8]
    assert [sum(len(fold.test) for fold in of_k) for of_k in count.values()] == [116, 116, 53, 35]
    assert len(possible) + len(skipped) == 4 * 14
    assert isinstance(possible[0], Fold)
