"""C = 6 N D, and units that the numbers give away."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayescale.errors import Problem
from bayescale.runs import Runs, RunsError, check

RNG = np.random.default_rng(3)
N = 10 ** np.linspace(7.5, 10, 12)
D = 20 * N * np.exp(RNG.normal(0, 0.5, 12))
C = 6 * N * D
LOSS = 1.7 + 400 / N**0.34 + 400 / D**0.28


def _fatal(frame: pd.DataFrame) -> list[Problem]:
    return [problem for problem in check(frame).problems if problem.fatal]


@pytest.mark.parametrize("absent", ["N", "D", "C"])
def test_any_two_give_the_third(absent: str) -> None:
    frame = pd.DataFrame({"N": N, "D": D, "C": C, "loss": LOSS}).drop(columns=absent)
    runs = Runs.read(frame)
    np.testing.assert_allclose(runs[absent], {"N": N, "D": D, "C": C}[absent], rtol=1e-15)
    assert runs.columns[absent] == {"N": "C / (6 D)", "D": "C / (6 N)", "C": "6 N D"}[absent]


def test_one_of_them_alone_is_legal() -> None:
    runs = Runs.read(pd.DataFrame({"C": C, "loss": LOSS}))
    assert runs.columns == {"C": "C", "loss": "loss"}
    assert check(pd.DataFrame({"C": C, "loss": LOSS})).available == {"C", "loss"}


def test_agreement_within_a_percent_is_silent() -> None:
    assert Runs.read(pd.DataFrame({"N": N, "D": D, "C": C * 1.009, "loss": LOSS})).warnings == ()


def test_disagreement_is_reported_and_nothing_is_changed() -> None:
    off = C * np.where(np.arange(12) < 3, 1.3, 1.0)
    runs = Runs.read(pd.DataFrame({"N": N, "D": D, "FLOPs": off, "loss": LOSS}))
    np.testing.assert_array_equal(runs["C"], off)
    (warning,) = runs.warnings
    assert "more than 1 % in 3 of 12 rows" in warning
    assert "from 1 to 1.3" in warning
    assert "--column C=none" in warning
    repaired = Runs.read(pd.DataFrame({"N": N, "D": D, "FLOPs": off, "loss": LOSS}), columns={"C": "none"})
    np.testing.assert_allclose(repaired["C"], C, rtol=1e-15)


CORRUPTIONS = {
    "GFLOPs": ({"C": 1e-9}, "--column 'C=C (GFLOPs)'"),
    "PFLOPs": ({"C": 1e-15}, "--column 'C=C (PFLOPs)'"),
    "millions": ({"N": 1e-6}, "--column 'N=N (M)'"),
    "billions of tokens": ({"D": 1e-9}, "--column 'D=D (B)'"),
    "millions and billions": ({"N": 1e-6, "D": 1e-9}, "--column 'D=D (B)'"),
    "forward only": ({"C": 1 / 3}, "forward-only FLOPs"),
}


@pytest.mark.parametrize("case", CORRUPTIONS)
def test_a_wrong_unit_is_fatal_and_named(case: str) -> None:
    factors, said = CORRUPTIONS[case]
    frame = pd.DataFrame({"N": N, "D": D, "C": C, "loss": LOSS})
    for name, factor in factors.items():
        frame[name] *= factor
    problems = _fatal(frame)
    assert problems
    assert said in " ".join(problem.message for problem in problems)
    with pytest.raises(RunsError):
        # No dropping of rows helps.
        Runs.read(frame, drop_bad=True)


def test_the_option_named_repairs_the_table() -> None:
    frame = pd.DataFrame({"N": N, "D": D, "C": C * 1e-9, "loss": LOSS})
    runs = Runs.read(frame, columns={"C": "C (GFLOPs)"})
    np.testing.assert_allclose(runs["C"], C, rtol=4e-16)
    assert runs.warnings == ()


def test_a_ratio_that_wanders_is_not_explained_by_a_unit() -> None:
    frame = pd.DataFrame({"N": N, "D": D, "C": C * 10 ** np.linspace(0, 5, 12), "loss": LOSS})
    (problem,) = _fatal(frame)
    assert "not the same in all rows" in problem.message
    assert problem.column == "C"


def test_log10_columns_are_refused() -> None:
    problems = _fatal(pd.DataFrame({"N": N, "tokens": np.log10(D), "loss": LOSS}))
    assert [problem.column for problem in problems] == ["tokens"]
    assert "--column 'D=tokens (log10)'" in problems[0].message
    problems = _fatal(pd.DataFrame({"N": np.log10(N), "D": np.log10(D), "C": np.log10(C), "loss": LOSS}))
    assert [problem.column for problem in problems] == ["N", "D", "C"]


def test_billions_without_a_unit_are_refused() -> None:
    (problem,) = _fatal(pd.DataFrame({"N": N / 1e9, "loss": LOSS}))
    assert "--column 'N=N (B)'" in problem.message


def test_counts_under_a_name_that_says_billions_are_refused() -> None:
    (problem,) = _fatal(pd.DataFrame({"params (B)": 1e10 * N, "loss": LOSS}))
    assert "off by a factor" in problem.message


def test_small_models_are_legal_and_few_tokens_only_odd() -> None:
    verdict = check(pd.DataFrame({"N": [114, 240, 12560], "D": [1754385, 833333, 31250], "loss": [2.4, 2.2, 2.1]}))
    assert verdict.ok
    verdict = check(pd.DataFrame({"D": [160, 1000, 4096], "loss": [2.4, 2.2, 2.1]}))
    assert verdict.ok
    assert "few for tokens" in verdict.problems[0].message


def test_a_loss_that_is_none() -> None:
    frame = pd.DataFrame({"N": N, "D": D, "loss": -LOSS})
    frame.loc[0, "loss"] = 3.0
    (problem,) = _fatal(frame)
    assert "11 of 12 values are negative" in problem.message
    (problem,) = _fatal(pd.DataFrame({"N": N, "D": D, "loss": np.exp(LOSS) * 10}))
    assert "nats per token" in problem.message
    assert "(perplexity)" in problem.message


def test_a_few_negative_losses_are_rows() -> None:
    frame = pd.DataFrame({"N": N, "D": D, "loss": np.where(np.arange(12) == 4, -1.0, LOSS)})
    (problem,) = _fatal(frame)
    assert (problem.row, problem.column, problem.value) == (5, "loss", "-1.0")
