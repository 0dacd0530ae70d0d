"""Fits: a law with draws of its parameters, the record of where they came from, and the questions asked of them."""

from bayescale.fits._fit import Fit
from bayescale.fits._log_densities import log_groups
from bayescale.fits._mixture import optimal_mixture
from bayescale.fits._sensitivity import Sensitivity, allocation_verdicts, forecast_verdicts
from bayescale.fits._summary import Summary

__all__ = ["Fit", "Sensitivity", "Summary", "allocation_verdicts", "forecast_verdicts", "log_groups", "optimal_mixture"]
