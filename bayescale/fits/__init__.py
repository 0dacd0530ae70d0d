"""Fits: a law with draws of its parameters, the record of where they came from, and the questions asked of them."""

from bayescale.fits._fit import Fit
from bayescale.fits._summary import Summary

__all__ = ["Fit", "Summary"]
