"""`Runs` as a value: read-only, hashed, printable."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayescale.runs import Runs, RunsError

FRAME = pd.DataFrame(
    {
        "N": [1e8, 4e8, 1e9],
        "D": [2e9, 8e9, 2e10],
        "loss": [3.3, 3.0, 2.8],
        "run": ["a", "b", "c"],
        "row": [7, 8, 9],
        "group": ["x", "x", "y"],
    }
)


def test_the_table_is_labelled() -> None:
    runs = Runs.read(FRAME)
    assert isinstance(runs.table, xr.Dataset)
    assert runs.table.sizes == {"run": 3}
    assert runs.table["row"].values.tolist() == [1, 2, 3]
    assert all(runs.table[name].dtype == np.float64 for name in ("N", "D", "C", "loss"))
    assert runs.table["group"].values.tolist() == ["x", "x", "y"]
    assert runs["run"].tolist() == ["a", "b", "c"]
    assert runs["row"].tolist() == [7.0, 8.0, 9.0]
    assert "group" in runs
    assert "absent" not in runs
    assert len(runs) == 3


def test_it_does_not_change() -> None:
    runs = Runs.read(FRAME)
    before = runs.sha256
    with pytest.raises(AttributeError):
        runs.source = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        runs["loss"][0] = 1.0
    table = runs.table
    table["loss"] = ("run", [1.0, 1.0, 1.0])
    runs.columns["N"] = "x"
    runs.dropped.clear()
    assert runs["loss"].tolist() == [3.3, 3.0, 2.8]
    assert runs.columns["N"] == "N"
    assert runs.sha256 == before
    with pytest.raises(TypeError, match=r"Runs\.read"):
        Runs(FRAME)


def test_a_frame_changed_afterwards_does_not_reach_it() -> None:
    frame = FRAME.copy()
    runs = Runs.read(frame)
    frame.loc[0, "loss"] = 99.0
    assert runs["loss"][0] == 3.3


def test_the_hash_is_of_the_numbers() -> None:
    runs = Runs.read(FRAME)
    assert len(runs.sha256) == 64
    assert Runs.read(FRAME[["loss", "group", "D", "N"]]).sha256 == runs.sha256
    renamed = FRAME[["N", "D", "loss"]].rename(columns={"N": "params", "loss": "val_loss"})
    assert Runs.read(renamed).sha256 == runs.sha256
    assert Runs.from_arrays(N=[1e8, 4e8, 1e9], D=[2e9, 8e9, 2e10], loss=[3.3, 3.0, 2.8]).sha256 == runs.sha256
    text = renamed.assign(params=["100M", "400M", "1B"])
    assert Runs.read(text) == runs
    assert hash(Runs.read(text)) == hash(runs)
    assert Runs.read(FRAME.assign(loss=[3.3, 3.0, np.nextafter(2.8, 3)])).sha256 != runs.sha256
    assert Runs.read(FRAME.iloc[:2]).sha256 != runs.sha256
    assert Runs.read(FRAME.rename(columns={"N": "D", "D": "N"})) != runs
    assert runs != "runs"


def test_it_can_be_copied_and_pickled() -> None:
    runs = Runs.read(FRAME)
    assert pickle.loads(pickle.dumps(runs)) == runs
    assert copy.deepcopy(runs) == runs


def test_repr_is_for_people() -> None:
    text = repr(Runs.read(FRAME))
    assert text.splitlines()[0] == "3 runs from DataFrame"
    assert "N    100M to 1B  parameters, from N" in text
    assert "C    1.2e+18 to 1.2e+20  training FLOPs, from 6 N D" in text
    assert "loss 2.8 to 3.3" in text


def test_subset() -> None:
    runs = Runs.read(FRAME)
    part = runs.subset(runs["loss"] < 3.2)
    assert part["N"].tolist() == [4e8, 1e9]
    assert part.table["row"].values.tolist() == [2, 3]
    assert part["run"].tolist() == ["b", "c"]
    assert part.sha256 != runs.sha256
    assert runs.subset(np.ones(3, dtype=bool)) == runs
    with pytest.raises(ValueError, match="read-only"):
        part["loss"][0] = 1.0
    for mask in ([True], [0, 1, 2], [False] * 3):
        with pytest.raises(RunsError, match="mask"):
            runs.subset(mask)


def test_from_arrays() -> None:
    runs = Runs.from_arrays(C=[6e17, 6e19], N=[1e8, 1e9], loss=[3.3, 2.8], source="made", U=[1e8, 1e9], who=["a", "b"])
    assert runs.source == "made"
    np.testing.assert_array_equal(runs["D"], [1e9, 1e10])
    assert runs["who"].tolist() == ["a", "b"]
    assert runs.columns == {"N": "N", "D": "C / (6 N)", "C": "C", "U": "U", "loss": "loss"}
    assert len(Runs.from_arrays(N=[7e10], D=[1.4e12])) == 1
    # Resampled tables repeat rows.
    assert len(Runs.from_arrays(N=[1e8, 1e8], D=[2e9, 2e9], loss=[3.0, 3.0])) == 2


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"N": [1e8, 1e9], "loss": [3.0]}, "one length"),
        ({"N": 1e8, "loss": 3.0}, "one dimension"),
        ({}, "one dimension"),
        ({"N": [], "loss": []}, "empty"),
        ({"N": [1e8, np.nan], "loss": [3.0, 2.9]}, "row 2, column 'N', value 'nan': is NaN"),
        ({"N": [1e8, 1e9], "loss": [3.0, -2.9]}, "row 2, column 'loss', value '-2.9': is negative"),
    ],
)
def test_from_arrays_refuses_what_is_no_run(columns: dict[str, object], said: str) -> None:
    with pytest.raises(RunsError, match=said):
        Runs.from_arrays(**columns)  # type: ignore[arg-type]


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(RunsError, match="no column 'width'; it has N, D, C, loss"):
        Runs.read(FRAME)["width"]
