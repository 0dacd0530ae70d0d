"""Losses that allow for what the law may be wrong by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescale._float64 import jax
from bayescale.discrepancy import DISTANCES
from bayescale.ladder import Ladder
from bayescale.model import Model
from bayescale.new_groups import at_runs

if TYPE_CHECKING:
    from bayescale.fits._fit import Fit

__all__ = ["bends", "bent_curves", "widened"]

LOSSES = ("mean_loss", "new_run_loss")
SIZES = ("N", "D")


def widened(fit: Fit, made: xr.Dataset, compute: str, seed: int, losses: tuple[str, ...] = LOSSES) -> xr.Dataset:
    """Losses over (sample, ..) times what the law may be off by at that compute.

    They stay as they are where it is taken at its word. `compute` names the coordinate with the FLOPs. Without sizes
    for coordinates runs are those of the compute-optimal path.
    """
    if fit.ladder is None or fit.model is None or fit.model.discrepancy is None:
        return made
    targets = made[compute]
    sizes = [name for name in SIZES if name in made.coords and made[name].dims == targets.dims]
    columns = {"C": targets.values} | {name: made[name].values for name in sizes}
    own = {name: fit.theta[name] for name in DISTANCES if name in fit.theta}
    offsets = fit.model.discrepancy.offsets(fit.ladder, columns, made.sizes["sample"], seed, own)
    labels = {str(name): made[name].values for name in made.coords if made[name].dims == targets.dims}
    theta, _ = at_runs(fit.model, fit.theta, labels, seed)
    offsets = offsets + bends(fit.model, fit.ladder, columns, theta)
    factors = xr.DataArray(np.exp(offsets), dims=("sample", *targets.dims))
    return made.assign({name: made[name] * factors for name in losses})


def bent_curves(fit: Fit, made: xr.Dataset) -> xr.Dataset:
    """IsoFLOP curves ``mean_loss`` (sample, budget, size) with the smooth error of the law, where it has one."""
    if fit.ladder is None or fit.model is None:
        return made
    N, D = (made[name].values.ravel() for name in SIZES)
    off = bends(fit.model, fit.ladder, {"N": N, "D": D, "C": 6.0 * N * D}, fit.theta)
    loss = made["mean_loss"]
    return made.assign(mean_loss=loss * np.exp(np.reshape(np.broadcast_to(off, (len(loss), N.size)), loss.shape)))


def bends(model: Model, ladder: Ladder, columns: Mapping[str, Any], theta: Mapping[str, Any]) -> Any:
    """The smooth error of the law in the log loss of runs (sample, run); 0 where it is taken at its word.

    Parameters
    ----------
    model : Model
    ladder : Ladder
        The runs that were fitted.
    columns : mapping of str to array (run,)
        FLOPs ``C`` and, where known, ``N`` and ``D``; without them runs are taken to be compute-optimal.
    theta : mapping of str to array (sample,) or (sample, run)
        Draws of all parameters.
    """
    if model.discrepancy is None or not model.nuisance:
        return 0.0
    data = {name: np.asarray(columns[name], np.float64) for name in (*SIZES, "C") if name in columns}
    data |= model.discrepancy.read(ladder, data)
    shown = {name: theta[name] for name in model.mean_parameters}
    return np.asarray(jax.vmap(lambda draw: model.law_error(data, draw))(shown))
