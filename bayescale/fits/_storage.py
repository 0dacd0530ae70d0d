"""Fits as files: one netCDF file, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import xarray as xr

from bayescale.errors import FitError

__all__ = ["read", "write"]


def write(tree: xr.DataTree, path: Path) -> Path:
    """Write a tree beside `path` and rename it into place, so that a crash leaves the last good file.

    Raises
    ------
    FitError
        The folder does not exist or cannot be written.
    """
    if path.suffix != ".nc":
        raise FitError(f"a fit is saved as netCDF: give a name that ends in .nc, e.g. {path.with_suffix('.nc').name}")
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".nc")
        os.close(handle)
        try:
            tree.map_over_datasets(_plain).to_netcdf(temporary, engine="h5netcdf")
            os.replace(temporary, path)
        finally:
            Path(temporary).unlink(missing_ok=True)
    except OSError as error:
        raise FitError(f"cannot write {path}: {error.strerror or error}") from None
    return path


def _plain(dataset: xr.Dataset) -> xr.Dataset:
    """Text columns as variable-length strings, which netCDF stores; other objects as their text."""
    objects = [name for name in dataset.data_vars if dataset[name].dtype.kind not in "fiub"]
    return dataset.assign({name: dataset[name].astype(str).astype(object) for name in objects})


def read(path: Path) -> xr.DataTree:
    """Read a whole tree into memory.

    Raises
    ------
    FitError
        The file is missing or is not netCDF.
    """
    if not path.is_file():
        raise FitError(f"there is no fit at {path}; `bayescale fit RUNS --out {path.name}` writes one")
    try:
        with xr.open_datatree(path, engine="h5netcdf", phony_dims="access") as opened:
            tree = opened.load()
    except (OSError, ValueError, KeyError) as error:
        raise FitError(f"{path} is not a fit written by bayescale ({error})") from None
    return tree.map_over_datasets(_unwrapped)


def _unwrapped(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.map(lambda values: values.astype(object) if values.dtype.kind in "UT" else values, keep_attrs=True)
