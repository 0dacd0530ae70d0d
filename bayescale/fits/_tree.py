"""The groups of the tree of a fit, under names that a tree takes, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from bayescale.fits._labels import labelled, with_derived
from bayescale.fits._record import Record
from bayescale.grouping import gathered
from bayescale.laws import Law
from bayescale.model import Model
from bayescale.runs import Runs

__all__ = ["as_named", "tree_groups"]

# A tree takes no "/" in a name, and columns are called such things as optimizer/batch_size.
SLASH = "\N{DIVISION SLASH}"


def _storable(dataset: xr.Dataset) -> xr.Dataset:
    """The Dataset with names that a tree takes."""
    return dataset.rename({name: str(name).replace("/", SLASH) for name in dataset.data_vars if "/" in str(name)})


def as_named(dataset: xr.Dataset) -> xr.Dataset:
    """The Dataset with the names that `storable` was given."""
    return dataset.rename({name: str(name).replace(SLASH, "/") for name in dataset.data_vars if SLASH in str(name)})


def tree_groups(
    record: Record,
    law: Law,
    theta: Mapping[str, np.ndarray],
    runs: Runs,
    *,
    stats: Mapping[str, np.ndarray] | None,
    estimate: Mapping[str, float] | None,
) -> dict[str, xr.Dataset]:
    """The groups of the tree of a fit, in ArviZ's layout; arguments as in `Fit.assemble`."""
    model = Model.from_spec(record.model) if record.model else None
    of = {} if model is None else model.groups_of
    drawn = with_derived(law, gathered(theta, of), of)
    read = ("N", "D", "C", "loss_sd", *law.inputs, *(model.columns if model else ()), *law.table_columns(runs.table))
    read = (*read, *(column for groups in of.values() for column in groups.over))
    inputs = [name for name in dict.fromkeys(read) if name in runs.table]
    groups = {
        record.kind: _storable(labelled(drawn, of)),
        "observed_data": runs.table[["loss"]],
        "constant_data": _storable(runs.table[inputs]),
    }
    if stats:
        groups["sample_stats"] = labelled(stats)
    if estimate is not None:
        one = {name: np.full((1, 1), value) for name, value in estimate.items()}
        groups["point"] = _storable(labelled(with_derived(law, one, {})))
    return groups
