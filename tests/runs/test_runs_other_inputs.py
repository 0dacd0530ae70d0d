"""Inputs that only some laws read: steps and batch, found when a law asks for them and left alone otherwise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayescale.errors import RunsError
from bayescale.laws.kaplan_steps import KaplanSteps
from bayescale.model import Model
from bayescale.runs import Runs

TABLE = pd.DataFrame({"params": ["70M", "1B"], "train_steps": ["100K", "2e5"], "val_loss": [3.6, 2.7]})
NEEDS = ["N", "S", "loss"]


@pytest.mark.parametrize("column", ["S", "steps", "train_steps", "Training Steps", "current_steps"])
def test_steps_are_found_by_what_people_call_them(column: str) -> None:
    runs = Runs.read(TABLE.rename(columns={"train_steps": column}), needs=NEEDS)
    assert runs["S"].tolist() == [1e5, 2e5]
    assert runs.columns["S"] == column


def test_a_model_reads_them() -> None:
    data = Model(KaplanSteps()).data(Runs.read(TABLE, needs=NEEDS))
    np.testing.assert_array_equal(data["S"], [1e5, 2e5])


def test_arrays_may_hold_them() -> None:
    runs = Runs.from_arrays(N=[1e8, 1e9], S=[1e4, 1e5], loss=[3.0, 2.5])
    assert Model(KaplanSteps()).data(runs)["S"].tolist() == [1e4, 1e5]


def test_a_table_with_bad_steps_is_fine_for_laws_that_do_not_read_them() -> None:
    table = pd.DataFrame({"N": [1e8, 1e9], "D": [1e9, 1e10], "step": [0, -1], "steps": ["?", "?"], "loss": [3.0, 2.5]})
    assert len(Runs.read(table)) == 2
    assert len(Runs.read(table, needs=["N", "D", "loss"])) == 2


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (TABLE.drop(columns="train_steps"), r"no column holds S \(training steps\)"),
        (TABLE.assign(steps=[1, 2]), r"2 columns could be S \(training steps\)"),
        (TABLE.assign(train_steps=[0, 5]), "row 1, column 'train_steps'.*is zero; S \\(training steps\\) is expected"),
    ],
)
def test_steps_that_cannot_be_used_are_refused_with_a_reason(table: pd.DataFrame, said: str) -> None:
    with pytest.raises(RunsError, match=said):
        Runs.read(table, needs=NEEDS)


def test_a_batch_size_without_a_unit_is_not_taken_for_tokens() -> None:
    table = TABLE.assign(batch_size=[512, 512])
    with pytest.raises(RunsError, match=r"no column holds B \(batch size, tokens\)"):
        Runs.read(table, needs=[*NEEDS, "B"])
    runs = Runs.read(table.assign(tokens_per_batch=["0.5M", "1M"]), needs=[*NEEDS, "B"])
    assert runs["B"].tolist() == [5e5, 1e6]
