"""Where a ladder is cut: its lower parts are fitted, and the top of each is forecast."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayescale.runs import Runs

__all__ = ["Cut", "cuts"]

# As in the rehearsal of a forecast: a larger factor asks for more of a forecast and leaves less to learn from.
LOWER, UPPER = 3.0, 2.0
LEAST = 8  # runs to fit; with fewer, what is scored is the priors
# A run that stands on a limit up to rounding belongs to it.
ROUNDING = 1e-9


class Cut(NamedTuple):
    """One rehearsal inside a table.

    Attributes
    ----------
    below : Runs
        What is fitted: at most a third of the compute at the top.
    above : Runs
        What is forecast: at least half of it.
    """

    below: Runs
    above: Runs

    @property
    def at(self) -> float:
        """FLOPs of the largest run that is forecast."""
        return float(np.max(self.above["C"]))


def cuts(runs: Runs, most: int) -> list[Cut]:
    """Cuts of a ladder from its top downwards, at most so many; none of a ladder that is too short or has no FLOPs.

    A ladder is cut as long as eight runs are left to fit. The runs that are forecast at one cut are not forecast at
    another.
    """
    found: list[Cut] = []
    rest = runs
    while "C" in rest and len(found) < most:
        compute = np.asarray(rest["C"], dtype=np.float64)
        below = compute <= compute.max() / LOWER * (1 + ROUNDING)
        if below.sum() < LEAST:
            break
        found.append(Cut(rest.subset(below), rest.subset(compute >= compute.max() / UPPER * (1 - ROUNDING))))
        rest = found[-1].below
    return found
