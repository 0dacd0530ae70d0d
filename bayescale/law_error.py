"""The smooth error of a law: how its loss bends away from that of real runs across compute and tokens per parameter.

A law that fits a short ladder to a fraction of a per cent may do so with a floor that is far off: what real IsoFLOP
curves do far from their minimum, and what small budgets do, goes into the parameters. An error that varies slowly over
the table says that such bends are no evidence. It is a sum of bumps on a grid, the heights of which are sampled with
the law: a Gaussian process in the weight-space view, so that sampling costs no matrix of runs by runs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescale._float64 import jnp

__all__ = ["HEIGHTS", "added", "bumps"]

# Where the bumps stand: decades of compute from the top of the ladder, and decades of tokens per parameter from 20.
# They are as wide as they are apart, one decade, so that between them the sum is as free as on them.
COMPUTE = (0.0, -1.0, -2.0, -3.0)
RATIO = (-1.0, 0.0, 1.0, 2.0)
USUAL_RATIO = 20.0
# Of two lines of bumps one sd apart, the sum of squares is sqrt(pi) in each.
NORM = math.sqrt(math.pi)

HEIGHTS = tuple(f"bump_{place + 1}" for place in range(len(COMPUTE) * len(RATIO)))


def bumps(beyond: np.ndarray, ratio: np.ndarray | float = USUAL_RATIO) -> np.ndarray:
    """The bumps (run, bump) at runs, scaled so that heights of sd 1 make an error of sd 1 within the grid.

    Parameters
    ----------
    beyond : array (run,)
        Decades of compute from the top of the ladder, negative below it.
    ratio : array (run,) or float
        Tokens per parameter; 20 where nothing is known.

    References
    ----------
    Rasmussen and Williams 2006, ISBN 026218253X, section 2.1 (the weight-space view of a Gaussian process).

    Examples
    --------
    >>> bool(abs((bumps(np.array([-1.5])) ** 2).sum() - 1.0) < 0.1)  # the variance inside the grid
    True
    >>> bool((bumps(np.array([4.0])) < 1e-3).all())  # nothing is left of it four decades further on
    True
    """
    across = np.log10(np.broadcast_to(np.asarray(ratio, dtype=np.float64), np.shape(beyond)) / USUAL_RATIO)
    nodes = np.array(list(itertools.product(COMPUTE, RATIO)))
    away = np.stack([np.asarray(beyond, dtype=np.float64), across], axis=-1)[:, None, :] - nodes
    return np.asarray(np.exp(-0.5 * (away**2).sum(axis=-1)) / NORM)


def added(theta: Mapping[str, Any], bumps: Any) -> Any:
    """What the error adds to log loss, (..., run), given its heights (...) among the parameters."""
    return jnp.stack([jnp.asarray(theta[name]) for name in HEIGHTS], axis=-1) @ jnp.asarray(bumps).T
