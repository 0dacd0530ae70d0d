"""What is varied, on which runs, and which change is named the largest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import bayescale
from bayescale.comparison._plan import Plan
from bayescale.comparison._variants import variants
from bayescale.runs import Runs


@pytest.fixture
def runs() -> Runs:
    """Twelve runs; the losses above 3 are in rows 1 and 2, and the FLOPs column is 20 % above 6 N D in one row."""
    N, D = np.geomspace(1e8, 1e10, 12), np.geomspace(2e9, 2e11, 12)
    C = 6 * N * D * np.where(np.arange(12) == 5, 1.2, 1.0)
    return Runs.from_arrays(N=N, D=D, C=C, loss=np.linspace(3.15, 2.1, 12), body=0.7 * N)


def test_the_highest_losses_are_left_out_one_after_the_other(fake: Callable[..., str], runs: Runs) -> None:
    listed = [v for v in variants(runs, [fake("boots")], Plan()) if v.what == "without the highest losses"]
    assert [v.setting for v in listed] == ["1", "2", "3", "4", "5"]
    for count, variant in enumerate(listed, start=1):
        np.testing.assert_array_equal(variant.runs["loss"], np.sort(runs["loss"])[::-1][count:])


def test_settings_are_varied_where_a_procedure_has_them(fake: Callable[..., str], runs: Runs) -> None:
    listed = variants(runs, [fake("boots")], Plan())
    assert [v.settings for v in listed if v.what == "delta"] == [{"delta": 1e-4}, {"delta": 1e-2}]
    assert not [v for v in listed if v.what == "window"]
    chosen = Plan(settings={"boots": {"delta": "1e-2"}})
    assert [v.settings for v in variants(runs, ["boots"], chosen) if v.what == "delta"] == [
        {"delta": 1e-4},
        {"delta": 1e-3},
    ]


def test_another_column_for_n_keeps_tokens_and_own_flops(fake: Callable[..., str], runs: Runs) -> None:
    name = fake("boots")
    (varied,) = [v for v in variants(runs, [name], Plan(alternatives={"N": "body"})) if v.what == "another column"]
    assert varied.setting == "N=body"
    np.testing.assert_array_equal(varied.runs["N"], runs["body"])
    np.testing.assert_array_equal(varied.runs["D"], runs["D"])
    np.testing.assert_array_equal(varied.runs["C"], runs["C"])
    derived = Runs.from_arrays(N=runs["N"], D=runs["D"], loss=runs["loss"], body=runs["body"])
    (varied,) = [v for v in variants(derived, [name], Plan(alternatives={"N": "body"})) if v.what == "another column"]
    np.testing.assert_allclose(varied.runs["C"], 6 * runs["body"] * runs["D"], rtol=1e-12)


def test_flops_that_differ_from_six_nd_are_replaced(fake: Callable[..., str], runs: Runs) -> None:
    name = fake("boots")
    (varied,) = [v for v in variants(runs, [name], Plan()) if v.what.startswith("6 N D")]
    np.testing.assert_allclose(varied.runs["C"], 6 * runs["N"] * runs["D"], rtol=1e-12)
    for same in (
        Runs.from_arrays(N=runs["N"], D=runs["D"], C=6.03 * runs["N"] * runs["D"], loss=runs["loss"]),
        Runs.from_arrays(N=runs["N"], C=runs["C"], loss=runs["loss"]),
    ):
        assert not [v for v in variants(same, [name], Plan()) if v.what.startswith("6 N D")]


def test_the_table_says_how_far_each_answer_moves(fake: Callable[..., str], runs: Runs) -> None:
    made = bayescale.compare(runs, procedures=[fake("boots"), fake("other", beta=0.4)], sensitivity=True)
    moved = made.sensitivity
    assert moved is not None
    boots = moved[moved["procedure"] == "boots"].set_index(["what", "setting"])
    base = boots.loc[("as given", "all runs")]
    assert base["change"] == 0.0
    assert base["N_ratio"] == 1.0
    # the made-up answer rises by 1 % of beta for each loss above 3 that is left out, of which there are two
    one, two, three = (boots.loc[("without the highest losses", str(count)), "change"] for count in (1, 2, 3))
    assert 0 < one < two == three
    # its beta is 10 delta higher than the truth: from delta 1e-3 to 1e-2 by about 9 %
    assert boots.loc[("delta", "0.01"), "change"] > two
    influential = boots.loc["without the most influential run"]
    assert influential.index.tolist() == ["row 1 (loss 3.15)"]
    assert influential["change"].item() == pytest.approx(one)
    assert moved.attrs["mover"].startswith("the largest mover: delta, 0.01, moves the N exponent of ")
    assert moved.attrs["mover"] in " ".join(repr(made).split())
    assert {"what", "setting", "procedure", "N_exponent", "N"} <= set(made.document()["sensitivity"][0])


def test_a_refusal_is_a_row_with_its_reason(fake: Callable[..., str], runs: Runs) -> None:
    made = bayescale.compare(runs, procedures=[fake("picky", least=10)], sensitivity=True).sensitivity
    assert made is not None
    dropped = made[made["what"] == "without the highest losses"].set_index("setting")
    assert np.isfinite(dropped.loc["2", "N_exponent"])
    assert np.isnan(dropped.loc["3", "N_exponent"])
    assert "picky needs 10 runs" in dropped.loc["3", "note"]
