"""Draws as the groups of a tree, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from bayescale.laws import Law

__all__ = ["as_named", "chains", "storable", "with_derived"]

# A tree takes no "/" in a name, and columns are called such things as optimizer/batch_size.
SLASH = "\N{DIVISION SLASH}"


def with_derived(law: Law, theta: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The parameters, and what the law derives from them."""
    drawn = {name: np.asarray(values, dtype=np.float64) for name, values in theta.items()}
    # a replicate that leaves a parameter at its bound may have no finite G or A: that draw is NaN or infinite
    with np.errstate(all="ignore"):
        derived = law.derived(**{name: drawn[name] for name in law.parameters})
    shape = next(iter(drawn.values())).shape
    return drawn | {name: np.broadcast_to(np.asarray(values), shape) for name, values in derived.items()}


def chains(values: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Arrays (chain, draw) as a Dataset over both."""
    count, draws = next(iter(values.values())).shape
    return xr.Dataset(
        {name: (("chain", "draw"), array) for name, array in values.items()},
        coords={"chain": np.arange(count), "draw": np.arange(draws)},
    )


def storable(dataset: xr.Dataset) -> xr.Dataset:
    """The Dataset with names that a tree takes."""
    return dataset.rename({name: str(name).replace("/", SLASH) for name in dataset.data_vars if "/" in str(name)})


def as_named(dataset: xr.Dataset) -> xr.Dataset:
    """The Dataset with the names that `storable` was given."""
    return dataset.rename({name: str(name).replace(SLASH, "/") for name in dataset.data_vars if SLASH in str(name)})
