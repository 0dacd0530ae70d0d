"""Rows that cannot be used: each is named by row, column, value and remedy, and dropped only on demand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayescale.runs import Runs, RunsError, check, describe

Write = Callable[..., Path]
BAD_CELLS = {
    "": "is blank",
    "  ": "is blank",
    "-": "is not a",
    "n/a": "is not a",
    "NaN": "is NaN",
    "nan": "is NaN",
    "inf": "is infinite",
    "-Infinity": "is infinite",
    "1e999": "is infinite",
    "0": "is zero",
    "-0.0": "is zero",
    "-3.2": "is negative",
    "3,21": "decimal",
    "0x10": "is not a",
}


@pytest.mark.parametrize("cell", BAD_CELLS)
@pytest.mark.parametrize("column", ["N", "D", "loss"])
def test_a_cell_that_cannot_be_used(column: str, cell: str, written: Write) -> None:
    cells = {"N": "4e8", "D": "8e9", "loss": "3.0"} | {column: cell}
    path = written("N;D;loss\n1e8;2e9;3.3\n" + ";".join(cells.values()) + "\n1e9;2e10;2.8\n2e9;4e10;2.7\n")
    with pytest.raises(RunsError) as caught:
        Runs.read(path)
    (problem,) = caught.value.problems
    assert (problem.row, problem.column, problem.value, problem.fatal) == (2, column, cell.strip() and cell, True)
    assert BAD_CELLS[cell] in problem.message or "comma" in problem.message
    assert f"row 2, column {column!r}" in str(caught.value)
    assert "--drop-bad" in str(caught.value)
    runs = Runs.read(path, drop_bad=True)
    np.testing.assert_array_equal(runs.table["row"], [1, 3, 4])
    assert runs.dropped == [problem]
    assert runs.n_dropped == 1
    assert "1 row dropped" in repr(runs)


def test_a_suffix_is_no_loss(written: Write) -> None:
    with pytest.raises(RunsError, match="row 1, column 'loss', value '3m': is not a plain number"):
        Runs.read(written("N,D,loss\n1e8,2e9,3m\n1e9,2e10,2.8\n"))


def test_all_such_rows_are_listed_and_the_message_shows_the_first(written: Write) -> None:
    rows = [
        f"{1e8 * (place + 1):g},{2e9 * (place + 1):g},{'' if place % 2 else 3.0 - place / 100}" for place in range(60)
    ]
    path = written("N,D,loss\n" + "\n".join(rows))
    with pytest.raises(RunsError) as caught:
        Runs.read(path)
    assert [problem.row for problem in caught.value.problems] == list(range(2, 61, 2))
    message = str(caught.value)
    assert "30 of 60 rows" in message
    assert message.count("is blank") == 10
    assert "and 20 more" in message
    verdict = check(path)
    assert not verdict.ok
    assert verdict.n_runs == 30
    assert len(verdict.problems) == 30
    assert verdict.runs is not None
    assert len(verdict.runs) == 30


def test_a_row_with_two_bad_cells_is_one_row(written: Write) -> None:
    runs = Runs.read(written("N,D,loss\n1e8,2e9,3.3\n,,x\n0,,2.9\n1e9,2e10,2.8\n"), drop_bad=True)
    assert [problem.row for problem in runs.dropped] == [2, 2, 2, 3, 3]
    assert runs.n_dropped == 2
    assert len(runs) == 2


def test_an_empty_row_is_one_problem(written: Write) -> None:
    with pytest.raises(RunsError) as caught:
        Runs.read(written("N,D,loss\n1e8,2e9,3.3\n,,\n1e9,2e10,2.8\n"))
    assert [describe(problem) for problem in caught.value.problems] == ["row 2: the row is empty"]


def test_columns_that_are_not_needed_may_hold_anything(written: Write) -> None:
    path = written("N,D,loss,lr\n1e8,,3.3,\n4e8,x,3.0,nan\n1e9,-1,2.8,abc\n")
    assert len(Runs.read(path, needs=["N", "loss"])) == 3
    assert Runs.read(path, needs=["N", "loss"])["lr"].tolist() == ["", "nan", "abc"]
    with pytest.raises(RunsError):
        Runs.read(path)


def test_the_remedy_offers_the_third_quantity(written: Write) -> None:
    path = written("N,D,C,loss\n1e8,2e9,,3.3\n4e8,8e9,,3.0\n1e9,2e10,1.2e20,2.8\n")
    with pytest.raises(RunsError, match="--column C=none: it is then computed from D and N"):
        Runs.read(path)
    assert len(Runs.read(path, columns={"C": "none"})) == 3


def test_exact_duplicates_stop_a_fit_and_the_first_is_kept(written: Write) -> None:
    path = written("N,D,loss,run\n1e8,2e9,3.3,a\n1e9,2e10,2.8,b\n1e8,2e9,3.3,a\n1e8,2e9,3.3,a\n")
    with pytest.raises(RunsError, match="row 3: the same as row 1 in every column"):
        Runs.read(path)
    runs = Runs.read(path, drop_bad=True)
    np.testing.assert_array_equal(runs.table["row"], [1, 2])
    assert runs.n_dropped == 2


def test_a_row_counter_does_not_hide_duplicates(written: Write) -> None:
    with pytest.raises(RunsError, match="row 3: the same as row 1"):
        Runs.read(written(",N,D,loss\n0,1e8,2e9,3.3\n1,1e9,2e10,2.8\n2,1e8,2e9,3.3\n"))


def test_replicates_with_a_seed_are_no_duplicates(written: Write) -> None:
    runs = Runs.read(written("N,D,loss,seed\n1e8,2e9,3.3,0\n1e8,2e9,3.3,1\n1e9,2e10,2.8,0\n"))
    assert len(runs) == 3
    assert any("row 2 repeats row 1" in warning for warning in runs.warnings)


def test_unhashable_cells_and_objects_are_handled() -> None:
    frame = pd.DataFrame(
        {"N": [1e8, 1e9, 1e9], "D": [2e9, 2e10, 2e10], "loss": [3.3, 2.8, 2.8], "tags": [["a"], ["b"], ["b"]]}
    )
    with pytest.raises(RunsError, match="row 3: the same as row 2"):
        Runs.read(frame)
    frame = pd.DataFrame({"N": [1e8, [1], True, 1j, pd.NaT], "D": 2e9, "loss": [3.3, 2.8, 2.7, 2.6, 2.5]})
    with pytest.raises(RunsError) as caught:
        Runs.read(frame)
    assert [problem.row for problem in caught.value.problems] == [2, 3, 4, 5]


def test_derived_values_outside_float64_are_refused(written: Write) -> None:
    with pytest.raises(RunsError, match="C computed from the other two is inf"):
        Runs.read(written("N,D,loss\n1e200,1e200,3.3\n1e8,2e9,3\n1e9,2e10,2.8\n"))


def test_one_run_and_no_run(written: Write) -> None:
    with pytest.raises(RunsError, match=r"one run can be used \(row 1\), and a law cannot be learnt from one run"):
        Runs.read(written("N,D,loss\n1e8,2e9,3.3\n"))
    path = written("N,D,loss\n1e8,2e9,3.3\n1e9,2e10,\n")
    with pytest.raises(RunsError, match="one run can be used"):
        Runs.read(path, drop_bad=True)
    with pytest.raises(RunsError, match="no row can be used"):
        Runs.read(written("N,D,loss\n1e8,2e9,x\n1e9,2e10,\n"), drop_bad=True)
    assert len(Runs.read(written("N,D,loss\n1e8,2e9,3.3\n1e9,2e10,2.8\n"))) == 2
