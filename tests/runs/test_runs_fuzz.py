"""Whatever the table, it is read or refused in words: never another exception."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayescale.runs import Runs, RunsError, check

CELLS = st.one_of(
    st.floats(),
    st.integers(-(10**40), 10**40),
    st.text(max_size=12),
    st.sampled_from(
        ["", "NaN", "inf", "-", "70B", "1,300", "3,21", "2b8", "1e400", "true", "1_0", "\u0663", "0", "-0.0"]
    ),
    st.none(),
    st.booleans(),
    st.lists(st.integers(), max_size=2),
)
NAMES = st.one_of(
    st.sampled_from(["N", "D", "C", "U", "loss", "params", "tokens", "flops", "val_loss", "ppl", "Model Size (B)"]),
    st.sampled_from(["run", "row", "name", "step", "dataset", "total_gflops", "epochs", "log10_tokens", ""]),
    st.text(max_size=10),
)
WHERE = st.one_of(
    st.none(), st.sampled_from(["loss < 3", "N > 1e8 and D < 1e12", "`run` == 'a'", "C"]), st.text(max_size=20)
)
QUICK = settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def _read_or_refused(source: object, where: str | None, drop_bad: bool) -> None:
    runs = None
    with contextlib.suppress(RunsError):
        runs = Runs.read(source, where=where, drop_bad=drop_bad)  # type: ignore[arg-type]
    if runs is not None:
        for name in ("N", "D", "C", "U", "loss"):
            if name in runs and name in runs.columns:
                assert np.all(np.isfinite(runs[name]) & (runs[name] > 0))
        assert repr(runs)
    verdict = check(source, where=where)  # type: ignore[arg-type]
    assert str(verdict)


@QUICK
@given(data=st.data(), names=st.lists(NAMES, min_size=1, max_size=6), where=WHERE, drop_bad=st.booleans())
def test_random_frames(data: st.DataObject, names: list[str], where: str | None, drop_bad: bool) -> None:
    n_rows = data.draw(st.integers(0, 6))
    columns = [data.draw(st.lists(CELLS, min_size=n_rows, max_size=n_rows)) for _ in names]
    frame = pd.DataFrame(dict(enumerate(pd.Series(cells, dtype=object) for cells in columns)))
    frame.columns = pd.Index(names)
    _read_or_refused(frame, where, drop_bad)


@QUICK
@given(text=st.text(max_size=200), drop_bad=st.booleans())
def test_random_text(text: str, drop_bad: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    _mutated(text.encode(errors="surrogatepass"), drop_bad, tmp_path_factory)


def _seed_tables() -> list[bytes]:
    frame = pd.DataFrame(
        {
            "params": ["70M", "160M", "1b4", "6.9B"],
            "tokens": [1.4e9, 3.2e9, 2.8e10, 1.4e11],
            "val_loss": [3.6, 3.3, 2.7, 2.4],
            "name": ["a", "b", "c", "d"],
        }
    )
    parquet = io.BytesIO()
    frame.to_parquet(parquet)
    return [
        frame.to_csv(index=False).encode(),
        frame.to_csv(index=False, sep=";").encode("utf-8-sig"),
        frame.to_json(orient="records", lines=True).encode(),
        frame.to_csv(index=False).encode("utf-16"),
        parquet.getvalue(),
    ]


SEED_TABLES = _seed_tables()


@QUICK
@given(
    seed=st.sampled_from(SEED_TABLES),
    changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255), st.sampled_from("ciox")), min_size=1, max_size=8),
    drop_bad=st.booleans(),
)
def test_mutated_bytes(
    seed: bytes,
    changes: list[tuple[float, int, str]],
    drop_bad: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    data = bytearray(seed)
    for where, byte, how in changes:
        place = min(int(where * len(data)), max(len(data) - 1, 0))
        if how == "c" and data:
            data[place] = byte
        elif how == "i":
            data[place:place] = bytes([byte])
        elif how == "o" and data:
            del data[place]
        elif data:
            del data[place:]
    _mutated(bytes(data), drop_bad, tmp_path_factory)


def _mutated(data: bytes, drop_bad: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_bytes(data)
    _read_or_refused(path, None, drop_bad)


def test_text_that_is_no_text_in_a_parquet_file(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "bad.parquet"
    table = pyarrow.table({"N": ["70M", "160M"], "D": ["1B", "2B"], "loss": [3.0, 2.8]})
    parquet.write_table(table, path, compression="none")
    path.write_bytes(path.read_bytes().replace(b"70M", b"7\x80M"))
    with pytest.raises(RunsError, match="damaged Parquet file"):
        Runs.read(path)
