"""Averages of laws: weights from how each forecasts the top of a ladder from its lower parts, and the mixture."""

from bayescale.averaging._average import average
from bayescale.averaging._candidates import Candidate, candidates
from bayescale.averaging._cuts import Cut, cuts
from bayescale.averaging._density import Learnt, LogDensity, log_density
from bayescale.averaging._mixture import Average, Member
from bayescale.averaging._settings import Averaging
from bayescale.averaging._weights import predictive, stacking

__all__ = [
    "Average",
    "Averaging",
    "Candidate",
    "Cut",
    "Learnt",
    "LogDensity",
    "Member",
    "average",
    "candidates",
    "cuts",
    "log_density",
    "predictive",
    "stacking",
]
