"""Every way in gives the same runs; everything that is no table gets one sentence."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayescale.runs import Runs, RunsError, check

Write = Callable[..., Path]


def _rows(good_csv: str) -> list[list[str]]:
    return [line.split(",") for line in good_csv.strip().splitlines()]


def _same(runs: Runs, good_csv: str) -> None:
    expected = np.array([[float(cell) for cell in row] for row in _rows(good_csv)[1:]])
    for place, name in enumerate(("N", "D", "loss")):
        np.testing.assert_array_equal(runs[name], expected[:, place])
        assert runs[name].dtype == np.float64
    np.testing.assert_array_equal(runs.table["row"], [1, 2, 3, 4])


TEXT_FORMATS = {
    "csv": lambda rows: "\n".join(",".join(row) for row in rows),
    "no final newline": lambda rows: "\n".join(",".join(row) for row in rows).rstrip(),
    "windows newlines": lambda rows: "\r\n".join(",".join(row) for row in rows),
    "old mac newlines": lambda rows: "\r".join(",".join(row) for row in rows),
    "tsv": lambda rows: "\n".join("\t".join(row) for row in rows),
    "semicolons": lambda rows: "\n".join(";".join(row) for row in rows),
    "bars": lambda rows: "\n".join("|".join(row) for row in rows),
    "byte-order mark": lambda rows: "\ufeff" + "\n".join(",".join(row) for row in rows),
    "all quoted": lambda rows: "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows),
    "spaces": lambda rows: "\n".join(", ".join(f" {cell} " for cell in row) for row in rows),
    "blank lines": lambda rows: "\n\n" + "\n\n".join(",".join(row) for row in rows) + "\n\n",
    "final separators": lambda rows: "\n".join(",".join(row) + "," for row in rows),
    "json lines": lambda rows: "\n".join(json.dumps(dict(zip(rows[0], row, strict=True))) for row in rows[1:]),
    "json lines of numbers": lambda rows: "\n".join(
        json.dumps({name: float(cell) for name, cell in zip(rows[0], row, strict=True)}) for row in rows[1:]
    ),
    "json array": lambda rows: json.dumps([dict(zip(rows[0], row, strict=True)) for row in rows[1:]], indent=1),
}


@pytest.mark.parametrize("form", TEXT_FORMATS)
@pytest.mark.parametrize("name", ["runs.csv", "runs.txt"])
def test_text_formats_are_told_by_their_content(good_csv: str, written: Write, form: str, name: str) -> None:
    _same(Runs.read(written(TEXT_FORMATS[form](_rows(good_csv)), name)), good_csv)


def test_gzip_utf16_and_string_paths(good_csv: str, written: Write) -> None:
    _same(Runs.read(written(gzip.compress(good_csv.encode()), "runs.csv.gz")), good_csv)
    _same(Runs.read(written(good_csv.encode("utf-16"))), good_csv)
    _same(Runs.read(str(written(good_csv))), good_csv)


def test_data_frame_and_parquet(good_csv: str, tmp_path: Path) -> None:
    frame = pd.read_csv(io.StringIO(good_csv))
    _same(Runs.read(frame), good_csv)
    frame.to_parquet(tmp_path / "runs.parquet")
    _same(Runs.read(tmp_path / "runs.parquet"), good_csv)
    named = frame.assign(run=["a", "b", "c", "d"]).set_index("run")
    runs = Runs.read(named)
    _same(runs, good_csv)
    assert runs["run"].tolist() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("form", ["csv", "json lines", "parquet", "gzip"])
def test_standard_input(good_csv: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    if form == "parquet":
        pd.read_csv(io.StringIO(good_csv)).to_parquet(buffer)
    else:
        data = TEXT_FORMATS["json lines" if form == "json lines" else "csv"](_rows(good_csv)).encode()
        buffer.write(gzip.compress(data) if form == "gzip" else data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(buffer.getvalue())))
    runs = Runs.read("-")
    _same(runs, good_csv)
    assert runs.source == "standard input"


NO_TABLE = {
    "empty": (b"", "is empty"),
    "only blanks": (b" \n\n ", "is empty"),
    "only a mark": (b"\xef\xbb\xbf", "is empty"),
    "header only": (b"N,D,loss\n", "no rows"),
    "zero bytes": (b"N,D\x00,loss\n1,2,3\n", "binary file"),
    "excel": (b"PK\x03\x04rest", "Excel"),
    "pdf": (b"%PDF-1.7 rest", "PDF"),
    "netcdf": (b"\x89HDF\r\n\x1a\n", "HDF5 or netCDF"),
    "damaged gzip": (gzip.compress(b"N,D,loss\n1e9,2e9,3\n")[:-9], "damaged gzip"),
    "damaged parquet": (b"PAR1" + b"\x01" * 40 + b"PAR1", "damaged Parquet"),
    "latin-1": ("N,D,loss,who\n1e8,2e9,3.3,René\n".encode("latin-1"), "not UTF-8"),
    "unclosed quote": (b'N,D,loss\n1e8,2e9,"3.3\n1e9,2e10,2.9\n', "line 3: unexpected end of data"),
    "huge cell": (b"N,D,loss\n1e8," + b"2" * 200_000 + b",3.1\n", "field larger than field limit"),
    "json of numbers": (b"[1, 2]", "array of JSON objects"),
    "broken json": (b'{"N": 1e8, "D": 2e9, "loss": 3}\n{"N": 1e9, ', "line 2 is not valid JSON"),
    "empty json array": (b"[]", "is empty"),
    "json without keys": (b"{}\n{}", "without keys"),
    "deep json": (b"[" * 200_000, "not valid JSON"),
}


@pytest.mark.parametrize("case", NO_TABLE)
def test_what_is_no_table_is_refused_in_one_message(case: str, written: Write) -> None:
    content, said = NO_TABLE[case]
    path = written(content)
    with pytest.raises(RunsError, match=said) as caught:
        Runs.read(path)
    assert str(path) in str(caught.value)
    verdict = check(path)
    assert not verdict.ok
    assert [problem.message for problem in verdict.problems] == [str(caught.value)]
    assert verdict.runs is None


def test_missing_file_directory_and_wrong_type(good_csv: str, written: Write, tmp_path: Path) -> None:
    written(good_csv, "ladder.csv")
    with pytest.raises(RunsError, match=r"there is no file .*ladde\.csv; did you mean .*ladder\.csv"):
        Runs.read(tmp_path / "ladde.csv")
    with pytest.raises(RunsError, match="does not exist either"):
        Runs.read(tmp_path / "nowhere" / "runs.csv")
    with pytest.raises(RunsError, match=r"is a directory; name one table in it, for example .*ladder\.csv"):
        Runs.read(tmp_path)
    with pytest.raises(RunsError, match="cannot read runs from int"):
        Runs.read(3)  # type: ignore[arg-type]
    with pytest.raises(RunsError, match="no columns"):
        Runs.read(pd.DataFrame())
    with pytest.raises(RunsError, match="no rows"):
        Runs.read(pd.DataFrame({"N": [], "loss": []}))


def test_rows_of_the_wrong_width_are_named_and_can_be_dropped(written: Write) -> None:
    path = written("N,D,loss\n1e8,2e9,3.3\n2e8,4e9\n3e8,6e9,3.0,oops\n1e9,2e10,2.9\n")
    with pytest.raises(RunsError) as caught:
        Runs.read(path)
    ragged = {problem.row: problem.message for problem in caught.value.problems if "cells" in problem.message}
    assert set(ragged) == {2, 3}
    assert "has 2 cells and the header has 3" in ragged[2]
    runs = Runs.read(path, drop_bad=True)
    np.testing.assert_array_equal(runs.table["row"], [1, 4])
    assert runs.n_dropped == 2


def test_long_cells_below_the_limit_are_fine(written: Write) -> None:
    config = "x = 1 " * 2_000
    runs = Runs.read(written(f'N,D,loss,config\n1e8,2e9,3.3,"{config}"\n1e9,2e10,2.9,"{config}\ny"\n'))
    assert len(runs) == 2


def test_two_columns_of_one_name(written: Write) -> None:
    with pytest.raises(RunsError, match="more than one column has this name"):
        Runs.read(written("N,D,loss,loss\n1e8,2e9,3.3,3.4\n1e9,2e10,2.9,3.0\n"))
    runs = Runs.read(written("N,D,loss,note,note\n1e8,2e9,3.3,a,b\n1e9,2e10,2.9,c,d\n"))
    assert runs["note (column 5)"].tolist() == ["b", "d"]
