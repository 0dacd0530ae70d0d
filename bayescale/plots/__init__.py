"""Pictures of a fit, one a file: each takes xarray Datasets and the runs, and returns matplotlib Axes.

Nothing here computes a law or draws a sample, opens a window, or changes matplotlib's global settings: figures are
made without pyplot, so they are freed like any other object.
"""

from bayescale.plots._backtest import backtest
from bayescale.plots._exponent_path import exponent_path
from bayescale.plots._forecast_band import forecast_band
from bayescale.plots._frontier import frontier
from bayescale.plots._isoflop_curves import isoflop_curves
from bayescale.plots._posteriors import posteriors
from bayescale.plots._procedure_intervals import procedure_intervals
from bayescale.plots._save import save
from bayescale.plots._transfer_matrix import transfer_matrix

__all__ = [
    "backtest",
    "exponent_path",
    "forecast_band",
    "frontier",
    "isoflop_curves",
    "posteriors",
    "procedure_intervals",
    "save",
    "transfer_matrix",
]
