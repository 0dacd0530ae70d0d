"""Tables of curves: what is read, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayescale.curves import read_tasks
from bayescale.errors import RunsError

PLAIN = "task,x,y\na,1,3\na,2,2.5\na,4,2.2\na,8,\nb,1,1\nb,2,0.9\nb,4,\n"


def read(text: str, folder: Path, **settings: str) -> list:
    path = folder / "tasks.csv"
    path.write_text(text)
    return read_tasks(path, **settings)


def test_a_plain_table(tmp_path: Path) -> None:
    a, b = read(PLAIN, tmp_path)
    assert (a.name, b.name) == ("a", "b")
    np.testing.assert_array_equal(a.rows, [4])
    np.testing.assert_array_equal(a.at, [8.0])
    assert np.isnan(a.truth).all()


def test_a_table_with_splits_units_and_its_own_rows(tmp_path: Path) -> None:
    text = "row,group,task,split,x,y,y_scale\n7,g,a,ctx,2,5,4\n8,g,a,ctx,1,6,4\n9,g,a,tgt,3,4.5,4\n10,g,a,tgt,4,,4\n"
    [task] = read(text, tmp_path)
    assert (task.name, task.family, task.unit) == ("g|a", "g", 4.0)
    np.testing.assert_array_equal(task.x, [1.0, 2.0])
    np.testing.assert_array_equal(task.rows, [9, 10])
    np.testing.assert_array_equal(task.truth, [4.5, np.nan])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("task,x\na,1\n", "no column y"),
        ("x,y\n", "no rows"),
        (PLAIN.replace("2.5", "-2.5"), "row 2, column y: -2.5; expected a positive number"),
        (PLAIN.replace("2.5", "oops"), "row 2, column y: oops; expected a finite number"),
        (PLAIN.replace("a,2,", "a,0,"), "row 2, column x: 0.0; expected a positive number"),
        (PLAIN.replace("a,8,", "a,,"), "column x: nan; expected a positive number"),
        (PLAIN.replace("b,2,0.9", "b,1,0.9"), "task b: 1 different x with a known y"),
        (PLAIN.replace("a,8,", "a,3,"), "every row to forecast has x <= 4"),
        (PLAIN.replace("b,4,", "b,4,0.8"), "task b: no row to forecast"),
        ("task,x,y,split\na,1,2,ctx\na,2,1,train\n", "column split: train; expected ctx or tgt"),
        ("task,x,y,split\na,1,2,ctx\na,2,,ctx\na,3,,tgt\n", "row 2, column y: nan; expected a positive number"),
        ("row,x,y\n1,1,3\n1,2,2\n2,3,\n", "row 2, column row"),
        (PLAIN.replace("a,8,", ",8,"), "row 4, column task: nan; expected a name"),
        ("x,y,y_scale\n1,3,1\n2,2,2\n3,,1\n", "column y_scale: expected one positive number a task"),
    ],
)
def test_a_bad_table_gets_one_message(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(RunsError) as caught:
        read(text, tmp_path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_missing_family(tmp_path: Path) -> None:
    with pytest.raises(RunsError, match="cannot be read as CSV"):
        read_tasks(tmp_path / "none.csv")
    with pytest.raises(RunsError, match="no column kind"):
        read(PLAIN, tmp_path, family="kind")


def test_a_frame_is_left_as_it_is() -> None:
    frame = pd.DataFrame({"x": [1, 2, 3], "y": [3.0, 2.0, None]})
    before = frame.copy()
    read_tasks(frame)
    pd.testing.assert_frame_equal(frame, before)
