"""Row selection: what it can say, and that it can do nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayescale.runs import Runs, RunsError, check

FRAME = pd.DataFrame(
    {
        "params": ["100M", "400M", "1B", "2B", "4B"],
        "tokens": [2e9, 8e9, 2e10, 4e10, 8e10],
        "eval/loss": [3.3, 3.0, 2.8, 2.7, 2.6],
        "dataset": ["c4", "c4", "rpj", "rpj", "it's"],
        "has eval": [True, True, False, True, False],
        "lr": ["1e-3", "", "3e-4", "1e-4", "1e-4"],
    }
)


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("loss < 2.9", [3, 4, 5]),
        ("N > 4e8", [3, 4, 5]),
        ("N >= 4e8 and loss > 2.65", [2, 3, 4]),
        ("dataset == 'c4'", [1, 2]),
        ('dataset != "c4"', [3, 4, 5]),
        ("dataset == 'c4' or N == 4e9", [1, 2, 5]),
        ("dataset in ['c4', \"it's\"]", [1, 2, 5]),
        ("dataset not in ('c4',) and not dataset == 'rpj' or loss > 3.2", [1, 5]),
        ("`eval/loss` <= 2.7", [4, 5]),
        ("`has eval`", [1, 2, 4]),
        ("`has eval` == 'true'", [1, 2, 4]),
        ("not `has eval`", [3, 5]),
        ("2.65 < loss <= 3", [2, 3, 4]),
        ("D / N > 15 and C < 1e20", [1, 2]),
        ("(loss < 2.9) & (N < 3e9)", [3, 4]),
        ("lr < 5e-4", [3, 4, 5]),
        ("params == '1B' or loss == 3.3", [1, 3]),
        ("-loss < -2.9", [1, 2]),
        ("True", [1, 2, 3, 4, 5]),
        ("  ", [1, 2, 3, 4, 5]),
    ],
)
def test_rows_are_selected(where: str, rows: list[int]) -> None:
    runs = Runs.read(FRAME, where=where)
    assert runs.table["row"].values.tolist() == rows


def test_text_tables_compare_like_frames(written) -> None:  # type: ignore[no-untyped-def]
    path = written(FRAME.to_csv(index=False))
    for where in ("`has eval`", "dataset == 'c4'", "lr < 5e-4", "tokens > 1e10"):
        assert Runs.read(path, where=where).table["row"].values.tolist() == (
            Runs.read(FRAME, where=where).table["row"].values.tolist()
        )


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("los < 3", "there is no column 'los'; did you mean 'loss'?"),
        ("nowhere == 1", "Known are 'N', 'D', 'C', 'loss', 'params', 'tokens'"),
        ("loss = 3", "write == to compare"),
        ("N > 70B", "write 70B as 7e10"),
        ("loss <", "cannot be read"),
        ("loss", "instead of yes or no"),
        ("loss + 1", "instead of yes or no"),
        ("dataset > 'c4'", "compare numbers"),
        ("dataset == 4", "a number is compared with a text"),
        ("loss == 'c4'", "a number is compared with a text"),
        ("loss and N", "'loss' is not a comparison"),
        ("loss < 3 & N > 1", "join comparisons with and, or"),
        ("dataset + 1 > 2", "is text"),
        ("__import__('os').system('true')", "is not allowed"),
        ("loss.real < 3", "'loss.real' is not allowed"),
        ("[x for x in dataset]", "is not allowed"),
        ("dataset[0] == 'c4'", "is not allowed"),
        ("(lambda: 1)()", "is not allowed"),
        ("f'{loss}' == '3'", "is not allowed"),
        ("loss is 3", "'is' is not allowed"),
        ("dataset in 'c4'", "'in' takes a list"),
        ("loss == None", "is not allowed"),
        ("@loss < 3", "cannot be read"),
        ("loss < 9**9**9**9 and loss > 10**400", "selects none"),
        ("loss < " + "1" * 500, "too large"),
        ("loss < 3 and " * 200 + "True", "characters long"),
        ("loss > 100", "selects none of the rows"),
    ],
)
def test_everything_else_is_refused_in_words(where: str, said: str) -> None:
    with pytest.raises(RunsError, match=said):
        Runs.read(FRAME, where=where)
    assert not check(FRAME, where=where).ok


def test_rows_that_are_deselected_need_not_be_sound() -> None:
    frame = FRAME.assign(tokens=[2e9, 8e9, 2e10, -1.0, np.nan])
    with pytest.raises(RunsError):
        Runs.read(frame)
    assert len(Runs.read(frame, where="N < 2e9")) == 3


def test_a_comparison_with_a_blank_is_said_and_not_silent() -> None:
    frame = FRAME.assign(**{"eval/loss": [3.3, 3.0, np.nan, 2.7, 2.6]})
    runs = Runs.read(frame, where="loss < 3.2")
    assert runs.table["row"].values.tolist() == [2, 4, 5]
    assert any("compares loss, which row 3 does not have" in warning for warning in runs.warnings)


@pytest.mark.parametrize(
    "where", ["not " * 490 + "loss < 3", "(" * 900 + "loss < 3" + ")" * 900, "-" * 1900 + "loss < 3"]
)
def test_deep_nesting_is_answered_too(where: str) -> None:
    # How deep the parser goes differs between Python versions: an answer or a refusal, and nothing else.
    try:
        runs = Runs.read(FRAME, where=where)
    except RunsError:
        return
    assert runs.table["row"].values.tolist() == [3, 4, 5]
