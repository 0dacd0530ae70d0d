"""The mixture that is best for a weighted sum of losses, each a power of its own share (`msl`, `bimix`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayescale.errors import LawError

__all__ = ["optimal_shares"]

HALVINGS = 200


def optimal_shares(loss: Any, gamma: Any, weight: Any = 1.0) -> np.ndarray:
    r"""Shares that minimise :math:`\sum_i w_i c_i p_i^{-\gamma_i}` with :math:`\sum_i p_i = 1`.

    At the minimum :math:`p_i \propto (w_i c_i \gamma_i)^{1/(1+\gamma_i)}` up to a common multiplier, which is found by
    bisection; with one exponent for all it is :math:`p_i \propto (w_i c_i)^{1/(1+\gamma)}`.

    Parameters
    ----------
    loss : array (..., domain)
        Loss of each domain or family at share 1, :math:`c_i`; leading dimensions are draws.
    gamma : float or array (..., domain)
        Exponent of each, ``gamma`` of `msl` or ``alpha`` of `bimix`; above 0.
    weight : float or array (..., domain)
        What each counts in the sum; above 0.

    Returns
    -------
    array (..., domain)

    Raises
    ------
    LawError
        A value that is not a finite number above 0.

    References
    ----------
    He et al. 2024, arXiv 2410.12883, Sec. 4.

    Examples
    --------
    >>> optimal_shares([2.0, 2.0, 4.0], gamma=1.0, weight=[1.0, 1.0, 2.0]).round(3).tolist()
    [0.25, 0.25, 0.5]
    """
    c, g, w = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (loss, gamma, weight)))
    for name, values in (("loss", c), ("gamma", g), ("weight", w)):
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise LawError(f"optimal_shares needs a {name} above 0 for each domain; got {values[~(values > 0)][:1]}")
    pull = np.log(w * c * g)
    # each share falls in the multiplier; at one end all are below 1/n, at the other one of them is above 1
    low, high = pull.min(axis=-1), (pull + (1.0 + g) * np.log(c.shape[-1])).max(axis=-1)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        above = np.exp((pull - middle[..., None]) / (1.0 + g)).sum(axis=-1) > 1.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    shares = np.exp((pull - 0.5 * (low + high)[..., None]) / (1.0 + g))
    return shares / shares.sum(axis=-1, keepdims=True)
