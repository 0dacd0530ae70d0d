"""The smooth error of a law: how the loss of real runs bends away from it across the table.

A law that fits a short ladder to a fraction of a per cent may do so with a floor that is far off: what small budgets
do, and what IsoFLOP curves do far from their minimum, goes into the parameters. An error that varies slowly over the
table says that such bends are no evidence. It has three parts at every budget: the frontier itself may lie off the law,
and so may the two wings of its IsoFLOP curve. The wings begin flat at the law's compute-optimal run, so that the error
moves no minimum: how a budget is best split is still what the law says, and what the table tells of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescale._float64 import jnp

__all__ = ["BEND", "WINGS", "bent", "bumps"]

# Decades of compute from the top of the ladder at which the heights stand. Bumps are as wide as they are apart, so that
# between them the sum is as free as on them.
NODES = np.array([0.0, -1.0, -2.0, -3.0])
# Decades over which it fades beyond the top.
FADES = 2.0
# Decades of tokens per parameter from the optimum over which a wing opens.
OPEN = 0.7
# Of bumps one sd apart the sum of squares is sqrt(pi).
NORM = math.pi**0.25

BEND = tuple(f"bend_{place + 1}" for place in range(NODES.size))
OVER, UNDER = (tuple(f"{wing}_{place + 1}" for place in range(NODES.size)) for wing in ("over", "under"))
WINGS = OVER + UNDER


def bumps(beyond: Any) -> np.ndarray:
    """The bumps (run, node) at runs, scaled so that heights of sd 1 make an error of sd 1 among the nodes.

    Sampled heights of fixed bumps are the weight-space view of a Gaussian process, and cost no matrix of runs by runs.

    Parameters
    ----------
    beyond : array_like (run,)
        Decades of compute from the top of the ladder, negative below it. Above it the error fades, over two decades:
        far beyond all runs nothing is known of it, and the loss is expected to be the law's.

    References
    ----------
    Rasmussen and Williams 2006, ISBN 026218253X, section 2.1.

    Examples
    --------
    >>> bool(abs((bumps([-1.5]) ** 2).sum() - 1.0) < 0.02)  # the variance among the nodes
    True
    >>> (bumps([0.0, 2.0, 4.0])[:, 0] * NORM).round(2).tolist()  # what is left of it beyond the top
    [1.0, 0.61, 0.14]
    """
    decades = np.asarray(beyond, dtype=np.float64)
    away = np.where(decades > 0, decades / FADES, decades)[:, None] - NODES
    return np.asarray(np.exp(-0.5 * away**2) / NORM)


def bent(theta: Mapping[str, Any], bumps: Any, off: Any) -> Any:
    """What the error adds to the log loss of runs (run,).

    Parameters
    ----------
    theta : mapping of str to float
        Heights, in log loss, where there are any: of the frontier (`BEND`) and of the two wings (`WINGS`).
    bumps : array (run, node)
    off : array (run,) or float
        Decades of tokens per parameter from the compute-optimal run of the same budget; above 0 for more tokens.
    """

    def along(names: tuple[str, ...]) -> Any:
        if names[0] not in theta:
            return 0.0
        return jnp.asarray(bumps) @ jnp.stack([jnp.asarray(theta[name]) for name in names])

    if WINGS[0] not in theta:
        return along(BEND)
    wing = -jnp.expm1(-0.5 * jnp.square(off / OPEN))
    return along(BEND) + wing * jnp.where(off > 0, along(OVER), along(UNDER))
