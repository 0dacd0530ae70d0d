"""Losses that allow for what the law may be wrong by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bayescale.discrepancy import SAMPLED

if TYPE_CHECKING:
    from bayescale.fits._fit import Fit

__all__ = ["widened"]

LOSSES = ("mean_loss", "new_run_loss")


def widened(fit: Fit, made: xr.Dataset, compute: str, seed: int, losses: tuple[str, ...] = LOSSES) -> xr.Dataset:
    """Losses over (sample, ..) times what the law may be off by at that compute.

    They stay as they are where it is taken at its word. `compute` names the coordinate with the FLOPs. A path has other
    sizes in each draw, and is off by what the law is at their medians.
    """
    if fit.ladder is None or fit.model is None or fit.model.discrepancy is None:
        return made
    targets = made[compute]
    sizes = {name: _middle(made[name]) for name in ("N", "D") if name in made}
    columns = {"C": targets.values} | {name: size.values for name, size in sizes.items() if size.dims == targets.dims}
    theta = {name: fit.theta[name] for name in SAMPLED if name in fit.theta}
    offsets = fit.model.discrepancy.offsets(fit.ladder, columns, made.sizes["sample"], seed, theta)
    factors = xr.DataArray(np.exp(offsets), dims=("sample", *targets.dims))
    return made.assign({name: made[name] * factors for name in losses})


def _middle(size: xr.DataArray) -> xr.DataArray:
    return size.median("sample") if "sample" in size.dims else size
