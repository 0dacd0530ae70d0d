"""What the pictures take, checked: each variable that is missing is named, with what would hold it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescale.errors import BayescaleError
from bayescale.plots._numbers import flops

__all__ = ["Float", "RunsLike", "caption", "column", "quantiles", "values", "warnings_of"]

Float = NDArray[np.float64]


class RunsLike(Protocol):
    """A table of training runs: float64 columns by their standard names, and where it came from."""

    @property
    def source(self) -> str: ...
    def __getitem__(self, name: str, /) -> NDArray[Any]: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __len__(self) -> int: ...


def values(dataset: xr.Dataset, name: str, dims: Sequence[str], picture: str) -> Float:
    """One variable or coordinate of a Dataset as an array with its dimensions in the order of `dims`.

    Raises
    ------
    BayescaleError
        `dataset` is not a Dataset, or has no such variable over those dimensions.
    """
    shape = f"({', '.join(dims)})"
    if not isinstance(dataset, xr.Dataset):
        raise BayescaleError(
            f"{picture} needs an xarray Dataset with a variable {name!r} over {shape}, not a {type(dataset).__name__}."
        )
    if name not in dataset.variables:
        known = ", ".join(str(key) for key in dataset.variables) or "nothing"
        raise BayescaleError(
            f"{picture} needs {name!r} over {shape}, and the Dataset it was given has none; it holds: {known}."
        )
    array = dataset[name]
    if set(array.dims) != set(dims):
        found = f"({', '.join(str(dim) for dim in array.dims)})"
        raise BayescaleError(f"{picture} needs {name!r} over {shape}, and here it lies over {found}.")
    result: Float = np.asarray(array.transpose(*dims).values, dtype=np.float64)
    if result.size == 0:
        raise BayescaleError(f"{picture} needs {name!r} over {shape}, and here it is empty: sizes {dict(array.sizes)}.")
    return result


def column(runs: RunsLike, name: str, picture: str) -> Float:
    """One column of the runs as float64.

    Raises
    ------
    BayescaleError
        The table has no such column.
    """
    if name not in runs:
        meaning = {"N": "parameters", "D": "training tokens", "C": "training FLOPs", "loss": "nats per token"}
        raise BayescaleError(
            f"{picture} needs the runs' column {name} ({meaning.get(name, 'a number')}), and the table "
            f"{runs.source} has none; name the column that holds it when reading the table (--column {name}=...)."
        )
    return np.asarray(runs[name], dtype=np.float64)


def quantiles(samples: Float, levels: Sequence[float], name: str, picture: str) -> Float:
    """Quantiles over the first dimension, draws that are NaN (a replicate that failed) left out.

    Raises
    ------
    BayescaleError
        Somewhere not one draw is a number.
    """
    if np.any(np.all(np.isnan(samples), axis=0)):
        raise BayescaleError(f"{picture} cannot draw {name!r}: at one place or more every draw of it is NaN.")
    return np.asarray(np.nanquantile(samples, levels, axis=0), dtype=np.float64)


def warnings_of(*datasets: xr.Dataset | None) -> tuple[str, ...]:
    """The warnings that the Datasets carry in their attributes, each once: a list, an array, or lines of text."""
    found: dict[str, None] = {}
    for dataset in datasets:
        stated = None if dataset is None else dataset.attrs.get("warnings")
        if stated is None:
            continue
        # netCDF gives a list of one string back as a plain string.
        lines = stated.splitlines() if isinstance(stated, str) else [str(item) for item in np.ravel(stated)]
        found.update((line.strip(), None) for line in lines if line.strip())
    return tuple(found)


def caption(dataset: xr.Dataset, budgets: Float | None = None) -> str:
    """For a legend's title: the law, what its draws mean (posterior, bootstrap, point), and the budget if there is one.

    Several budgets have a colour bar instead.
    """
    parts = [str(dataset.attrs[key]) for key in ("law", "kind") if dataset.attrs.get(key)]
    if budgets is not None and len(budgets) == 1:
        parts.append(f"{flops(float(budgets[0]))} FLOPs")
    return ", ".join(parts)
