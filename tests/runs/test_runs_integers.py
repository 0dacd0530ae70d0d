"""The four silent integer traps of numpy, pandas and JAX, and integers in every type a table can hold."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from bayescale.runs import Runs, RunsError

LOSS = [3.0, 2.5]


def test_trap_jax_wraps_an_int64_without_x64() -> None:
    # jnp.asarray(np.int64(7e9)) is -1,589,934,592 in 32 bits.
    runs = Runs.read(pd.DataFrame({"N": np.array([7e9, 7e10], dtype=np.int64), "D": [1e11, 1e12], "loss": LOSS}))
    assert runs["N"].tolist() == [7e9, 7e10]
    assert runs["N"].dtype == np.float64


def test_trap_6nd_overflows_int64() -> None:
    frame = pd.DataFrame({"N": [7_000_000_000, 70_000_000_000], "D": [2_000_000_000_000] * 2, "loss": LOSS})
    with np.errstate(over="ignore"):
        assert (6 * frame["N"] * frame["D"] < 0).any()
    assert Runs.read(frame)["C"].tolist() == [8.4e22, 8.4e23]
    assert Runs.read(frame.assign(C=[8.4e22, 8.4e23])).warnings == (
        "all 2 runs have one number of training tokens (D = 2e+12): how the loss falls with D (beta) cannot be learnt "
        "from them and rests on the prior alone",
    )


def test_trap_text_columns_repeat_instead_of_multiplying() -> None:
    frame = pd.DataFrame({"num_params": ["2.8B", "4.2B"], "token_num": [1e11, 2e11], "loss": LOSS})
    assert str(frame["num_params"].dtype) == "str"
    runs = Runs.read(frame)
    assert runs["N"].tolist() == [2.8e9, 4.2e9]
    assert runs["C"].tolist() == [6 * 2.8e9 * 1e11, 6 * 4.2e9 * 2e11]


@pytest.mark.parametrize("second", ["84000000000000000000000", "8.4e22", 84000000000000000000000])
def test_trap_flops_written_as_digits(second: object, tmp_path: Path) -> None:
    # Digits beyond int64 become Python ints in an object column, or text as soon as one cell is written "1e24".
    frame = pd.DataFrame({"C": pd.Series([12 * 10**20, second], dtype=object), "loss": LOSS})
    assert Runs.read(frame)["C"].tolist() == [1.2e21, 8.4e22]
    path = tmp_path / "runs.csv"
    path.write_text(f"C,loss\n{12 * 10**20},3.0\n{second},2.5\n")
    assert Runs.read(path)["C"].tolist() == [1.2e21, 8.4e22]


def test_nan_strings_are_not_numbers() -> None:
    frame = pd.DataFrame({"N": ["1e9", "Infinity", "NaN", "-"], "D": ["1e10"] * 4, "loss": [3.0, 2.9, 2.8, 2.7]})
    with pytest.raises(RunsError) as caught:
        Runs.read(frame)
    assert [(problem.row, problem.value) for problem in caught.value.problems] == [
        (2, "Infinity"),
        (3, "NaN"),
        (4, "-"),
    ]


def _as(kind: str, values: list[int]) -> object:
    if kind == "object":
        return pd.Series(values, dtype=object)
    if kind == "str":
        return pd.Series([str(value) for value in values], dtype="str")
    if kind == "Decimal":
        return pd.Series([Decimal(value) for value in values], dtype=object)
    if kind == "category":
        return pd.Series([str(value) for value in values], dtype="category")
    return np.array(values, dtype=kind)


@settings(max_examples=60, deadline=None)
@given(
    N=st.lists(st.integers(10**3, 10**15), min_size=2, max_size=2, unique=True),
    D=st.lists(st.integers(10**5, 10**17), min_size=2, max_size=2, unique=True),
    kind=st.sampled_from(["int64", "uint64", "Int64", "object", "str", "Decimal", "category"]),
)
def test_integers_of_every_type_equal_float64(N: list[int], D: list[int], kind: str) -> None:
    typed = {"N": N, "D": D}
    made = {
        name: pd.array(values, dtype="Int64") if kind == "Int64" else _as(kind, values)
        for name, values in typed.items()
    }
    runs = Runs.read(pd.DataFrame({**made, "loss": LOSS}))
    assert runs["N"].tolist() == [float(value) for value in N]
    assert runs["D"].tolist() == [float(value) for value in D]
    assert runs["C"].tolist() == [6.0 * float(n) * float(d) for n, d in zip(N, D, strict=True)]


@settings(max_examples=40, deadline=None)
@given(
    C=st.lists(st.integers(10**9, 10**35), min_size=2, max_size=2, unique=True), kind=st.sampled_from(["object", "str"])
)
def test_flops_up_to_1e35(C: list[int], kind: str) -> None:
    assert Runs.read(pd.DataFrame({"C": _as(kind, C), "loss": LOSS}))["C"].tolist() == [float(value) for value in C]


@pytest.mark.parametrize(
    ("kind", "rtol"),
    [
        (pa.int64(), 0.0),
        (pa.uint64(), 0.0),
        (pa.decimal128(38, 0), 0.0),
        (pa.string(), 0.0),
        (pa.dictionary(pa.int32(), pa.string()), 0.0),
        (pa.dictionary(pa.int32(), pa.int64()), 0.0),
        # A float32 column has lost its digits before it is read.
        (pa.float32(), 6e-8),
    ],
)
def test_parquet_types(kind: pa.DataType, rtol: float, tmp_path: Path) -> None:
    N, D = [7_000_000_001, 70_000_000_003], [2_000_000_000_000, 3_000_000_000_000]
    columns = {}
    for name, values in {"N": N, "D": D}.items():
        value_type = kind.value_type if pa.types.is_dictionary(kind) else kind
        plain = [str(value) for value in values] if pa.types.is_string(value_type) else values
        if pa.types.is_decimal(value_type):
            plain = [Decimal(value) for value in values]
        if pa.types.is_floating(value_type):
            plain = [float(value) for value in values]
        array = pa.array(plain, type=value_type)
        columns[name] = array.dictionary_encode() if pa.types.is_dictionary(kind) else array
    path = tmp_path / "runs.parquet"
    parquet.write_table(pa.table({**columns, "loss": pa.array(LOSS)}), path)
    runs = Runs.read(path)
    np.testing.assert_allclose(runs["N"], np.array(N, dtype=float), rtol=rtol)
    np.testing.assert_allclose(runs["C"], 6.0 * np.array(N, dtype=float) * np.array(D, dtype=float), rtol=2 * rtol)
