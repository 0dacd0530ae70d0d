"""The pictures of one fit, written to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from bayescale.fits import Fit

__all__ = ["draw"]

REACH = 100.0


def draw(fit: Fit, folder: Path, budgets: Any = None) -> list[Path]:
    """Draw what a fit can show, as PNG and PDF.

    Parameters
    ----------
    fit : Fit
        Any fit.
    folder : Path
        Made where it is missing.
    budgets : array_like, optional
        FLOPs of the IsoFLOP curves and the frontier; by default four over the range of the table, and the last a
        hundred times beyond.

    Returns
    -------
    list of Path
        The files.
    """
    from bayescale import plots

    folder.mkdir(parents=True, exist_ok=True)
    prior = None
    if fit.model is not None and fit.kind == "posterior":
        import xarray as xr

        drawn = {name: values for name, values in fit.model.sample_priors(4000).items() if values.ndim == 1}
        prior = xr.Dataset({name: ("sample", values) for name, values in drawn.items()})
    hidden = () if fit.model is None else fit.model.nuisance
    shown = {name: draws for name, draws in fit.theta.items() if name not in hidden}
    names = [name for name, draws in shown.items() if draws.ndim == 1 and np.isfinite(draws).all()]
    written = list(plots.save(plots.posteriors(fit.draws[names], prior).flat[0].figure, folder / "posteriors"))
    runs = fit.runs
    if fit.model is not None and fit.model.groups:
        return written  # the others are pictures of one group
    if "C" not in runs or not (fit.law.splits_compute or fit.law.inputs == ("C",)):
        return written
    low, high = float(np.min(runs["C"])), float(np.max(runs["C"]))
    if not set(fit.law.parameters) <= set(names):
        return written  # the fit says how budgets are split, and not what they lose
    path = fit.path(np.geomspace(low, REACH * high, 60))
    written += plots.save(plots.forecast_band(path, runs), folder / "forecast")
    if not {"N", "D"} <= set(fit.law.inputs):
        return written
    chosen = np.geomspace(low, high, 4) if budgets is None else np.asarray(budgets, dtype=np.float64)
    written += plots.save(plots.isoflop_curves(fit.isoflop_curves(chosen), runs), folder / "isoflop")
    allocation = fit.allocation([*chosen, REACH * high])
    N = np.concatenate([runs["N"], allocation["N"].median("sample").values])
    D = np.concatenate([runs["D"], allocation["D"].median("sample").values])
    grid = fit.surface(np.geomspace(N.min() / 2, N.max() * 2, 60), np.geomspace(D.min() / 2, D.max() * 2, 60))
    written += plots.save(plots.frontier(allocation, grid, runs), folder / "frontier")
    return written
