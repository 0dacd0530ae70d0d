"""Draws as labelled arrays: parameters with groups over the labels of their groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescale.grouping import Groups, element
from bayescale.laws import Law
from bayescale.model import Model
from bayescale.runs import Runs

__all__ = ["labelled", "one_by_one", "target_columns", "with_derived"]


def with_derived(
    law: Law, theta: Mapping[str, np.ndarray], groups: Mapping[str, Groups]
) -> dict[str, np.ndarray | xr.DataArray]:
    """The parameters, and what the law derives from them; arrays (chain, draw) or (chain, draw, group)."""
    drawn = {name: np.asarray(values, dtype=np.float64) for name, values in theta.items()}
    shape = next(values.shape for values in drawn.values() if values.ndim == 2)
    over = tuple(dict.fromkeys(groups[name].over for name in law.parameters if name in groups))
    # a quantity of one group stands on the parameters of that group, so all have to be of the same groups
    aligned = [name for name in law.parameters if name not in groups or groups[name].over == over[0]]
    if len(over) > 1 and len(aligned) < len(law.parameters):
        wanted = {name: drawn[name] for name in aligned}
    else:
        wanted = {name: drawn[name] for name in law.parameters}
    if over:
        wanted = {name: values if values.ndim == 3 else values[..., None] for name, values in wanted.items()}
        shape = (*shape, len(next(groups[name] for name in law.parameters if name in groups)))
    try:
        # a replicate that leaves a parameter at its bound may have no finite G or A: that draw is NaN or infinite
        with np.errstate(all="ignore"):
            derived = law.derived(**wanted)
    except TypeError:
        derived = {}  # it stands on a parameter that has other groups
    made: dict[str, np.ndarray | xr.DataArray] = dict(drawn)
    for name, values in derived.items():
        found = np.asarray(values)
        if over and found.ndim == 3 and found.shape[2] == 1:
            found = found[..., 0]
        of = shape if not over or found.ndim == 3 else shape[:2]
        found = np.broadcast_to(found, of)
        made[name] = _over(found, next(g for g in groups.values() if g.over == over[0])) if found.ndim == 3 else found
    return made


def _over(values: np.ndarray, groups: Groups) -> xr.DataArray:
    grid, labels = groups.grid(values)
    return xr.DataArray(grid, dims=("chain", "draw", *labels), coords={k: list(v) for k, v in labels.items()})


def labelled(values: Mapping[str, np.ndarray | xr.DataArray], groups: Mapping[str, Groups] | None = None) -> xr.Dataset:
    """A Dataset over (chain, draw), parameters with groups over their labels too."""
    first = next(array for array in values.values() if array.ndim == 2)
    variables = {
        name: array
        if isinstance(array, xr.DataArray)
        else _over(array, groups[name])
        if groups and name in groups
        else xr.DataArray(array, dims=("chain", "draw"))
        for name, array in values.items()
    }
    return xr.Dataset(variables, coords={"chain": np.arange(first.shape[0]), "draw": np.arange(first.shape[1])})


def one_by_one(draws: xr.Dataset) -> dict[str, np.ndarray]:
    """Every single number as an array (chain, draw), named as in ``alpha[c4]``; cells without a group are left out."""
    made: dict[str, np.ndarray] = {}
    for name, array in draws.data_vars.items():
        dims = [str(dim) for dim in array.dims if dim not in ("chain", "draw")]
        if not dims:
            made[str(name)] = array.values
            continue
        flat = array.values.reshape(*array.shape[:2], -1)
        labels = np.stack([axis.ravel() for axis in np.meshgrid(*(array[d].values for d in dims), indexing="ij")], -1)
        for place, cell in enumerate(labels.tolist()):
            if not np.isnan(flat[..., place]).all():
                made[element(str(name), tuple(map(str, cell)))] = flat[..., place]
    return made


def target_columns(targets: Mapping[str, Any] | pd.DataFrame | Runs, model: Model | None) -> dict[str, Any]:
    """The columns of targets, in whichever form they are given."""
    if isinstance(targets, Runs):
        labels = () if model is None else tuple(column for groups in model.groups for column in groups.over)
        read = [n for n in targets.table.data_vars if targets.table[n].dtype.kind == "f" or n in labels]
        return {str(name): targets[str(name)] for name in read if name != "loss"}
    return {str(name): targets[name] for name in targets}
