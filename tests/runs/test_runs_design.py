"""Warnings about the runs as a set; none of them stops a fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayescale.runs import Runs
from bayescale.runs._design import diverged

N = np.repeat(10 ** np.linspace(7, 10, 6), 4)
D = np.tile(10 ** np.linspace(9, 12, 4), 6)
LOSS = 1.7 + 400 / N**0.34 + 400 / D**0.28


def _warnings(**columns: object) -> list[str]:
    frame = pd.DataFrame({"N": N, "D": D, "loss": LOSS}).assign(**columns)
    return list(Runs.read(frame).warnings)


def test_a_sound_table_has_no_warnings() -> None:
    assert _warnings() == []


def test_diverged_runs_are_named() -> None:
    loss = LOSS.copy()
    loss[-1] *= 1.6
    (warning,) = _warnings(loss=loss)
    assert "1 of 24 runs look diverged" in warning
    assert "(row 24)" in warning
    assert "--where" in warning


def test_ten_per_cent_is_the_line() -> None:
    two = {"N": np.array([1e8, 1e9]), "D": np.array([1e9, 1e9])}
    assert not diverged({**two, "loss": np.array([3.0, 3.29])}).any()
    assert diverged({**two, "loss": np.array([3.0, 3.31])}).tolist() == [False, True]


def test_more_parameters_on_fewer_tokens_is_no_divergence() -> None:
    assert not diverged({"N": np.array([1e8, 1e9]), "D": np.array([1e11, 1e9]), "loss": np.array([3.0, 4.0])}).any()


def test_divergence_agrees_with_the_definition() -> None:
    rng = np.random.default_rng(5)
    numbers = {"N": rng.integers(1, 8, 300) * 1e8, "D": rng.integers(1, 8, 300) * 1e9, "loss": rng.uniform(2, 4, 300)}
    smaller = (numbers["N"][None] <= numbers["N"][:, None]) & (numbers["D"][None] <= numbers["D"][:, None])
    best = np.where(smaller, numbers["loss"][None], np.inf).min(axis=1)
    np.testing.assert_array_equal(diverged(numbers), numbers["loss"] > 1.1 * best)


def test_divergence_by_quantile_never_says_more_than_the_definition() -> None:
    rng = np.random.default_rng(6)
    numbers = {"N": 10 ** rng.uniform(7, 9, 3000), "D": 10 ** rng.uniform(9, 11, 3000)}
    numbers["loss"] = rng.uniform(2, 4, 3000)
    smaller = (numbers["N"][None] <= numbers["N"][:, None]) & (numbers["D"][None] <= numbers["D"][:, None])
    exact = numbers["loss"] > 1.1 * np.where(smaller, numbers["loss"][None], np.inf).min(axis=1)
    flagged = diverged(numbers)
    assert not (flagged & ~exact).any()
    # Only runs whose better neighbours share a bin of one in a thousand are missed.
    assert flagged.sum() >= 0.95 * exact.sum()


@pytest.mark.parametrize("label", ["dataset", "experiment", "unique_tokens"])
def test_runs_of_different_series_are_not_compared(label: str) -> None:
    values = (
        np.where(np.arange(24) % 2, 1e9, 2e9) if label == "unique_tokens" else np.where(np.arange(24) % 2, "a", "b")
    )
    assert _warnings(loss=LOSS * np.where(np.arange(24) % 2, 1.5, 1.0), **{label: values}) == []


def test_runs_of_one_size() -> None:
    (warning,) = _warnings(N=1e9, loss=1.7 + 400 / D**0.28 + 1e-6 * np.arange(24))
    assert "all 24 runs have one number of parameters" in warning
    assert "rests on the prior" in warning
    (warning,) = _warnings(D=1e10, loss=1.7 + 400 / N**0.34 + 1e-6 * np.arange(24))
    assert "one number of training tokens" in warning
    frame = pd.DataFrame({"N": 1e9, "D": D[:4], "loss": LOSS[:4]})
    assert Runs.read(frame, needs=["D", "loss"]).warnings == ()


def test_the_same_numbers_under_other_labels() -> None:
    frame = pd.DataFrame({"N": N, "D": D, "loss": LOSS, "experiment": "first"})
    twice = pd.concat([frame, frame.assign(experiment="second")], ignore_index=True)
    (warning,) = Runs.read(twice).warnings
    assert "24 rows repeat the size and the loss of another row under other labels" in warning
    assert "row 25 repeats row 1" in warning


def test_checkpoints_of_one_run() -> None:
    (warning,) = _warnings(run_name=[f"width-{place // 4}" for place in range(24)])
    assert "6 runs come with several checkpoints (column 'run_name'" in warning
    assert _warnings(run_name=[f"run {place}" for place in range(24)]) == []
    (warning,) = _warnings(model_name=[f"m{place // 4}" for place in range(24)], step=np.tile([1, 2, 3, 4], 6))
    assert "several checkpoints" in warning
