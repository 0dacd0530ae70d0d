"""What a `Runs` holds: the labelled table, where each column came from, and a hash of its numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from bayescale.errors import Problem
from bayescale.runs._assess import Assessment, typed_column
from bayescale.runs._names import LOSS_SD, STANDARD
from bayescale.runs._values import formulas

__all__ = ["Record", "record_of", "stored_name"]

# xarray takes these for the dimension and for the row numbers.
_TAKEN = {"run": "run (column)", "row": "row (column)"}


@dataclass(frozen=True)
class Record:
    """The frozen contents of a `Runs`; its arrays are read-only."""

    table: xr.Dataset
    inputs: tuple[str, ...]
    columns: dict[str, str]
    dropped: tuple[Problem, ...]
    warnings: tuple[str, ...]
    source: str
    sha256: str

    def subset(self, places: np.ndarray) -> Record:
        """The runs at `places`, with their row numbers."""
        table = _read_only(self.table.isel(run=places))
        return replace(self, table=table, sha256=_hash(table, self.inputs))


def record_of(assessment: Assessment) -> Record:
    """Label the rows that are kept."""
    values, raw, kept = assessment.values, assessment.raw, assessment.kept
    names = [*STANDARD, *(name for name in values.read if name not in STANDARD)]
    variables = {name: values[name][kept] for name in names if name in values}
    inputs = tuple(sorted(variables))
    for column in raw.frame.columns:
        # a column of that name that was set aside, or is of another loss, is not the sd of this one
        if column not in variables and not (column == LOSS_SD and "loss" in variables):
            variables[column] = typed_column(raw.frame[column].to_numpy()[kept])
    table = _read_only(
        xr.Dataset(
            {stored_name(name): ("run", cells) for name, cells in variables.items()},
            coords={"row": ("run", raw.rows[kept])},
        )
    )
    warnings = tuple(
        f"column {problem.column!r}: {problem.message}" if problem.column else problem.message
        for problem in assessment.warnings
    )
    columns = formulas(assessment.found, values)
    return Record(table, inputs, columns, assessment.of_rows, warnings, raw.source, _hash(table, inputs))


def stored_name(name: str) -> str:
    """The name that a table column has in the Dataset."""
    return _TAKEN.get(name, name)


def _read_only(table: xr.Dataset) -> xr.Dataset:
    for variable in table.variables.values():
        variable.values.setflags(write=False)
    return table


def _hash(table: xr.Dataset, inputs: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for name in sorted(inputs):
        values = np.asarray(table[stored_name(name)].values, dtype="<f8")
        # One NaN and one zero, so that equal numbers have equal bytes.
        values = np.where(np.isnan(values), np.nan, values) + 0.0
        digest.update(f"{name}:{values.size};".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
