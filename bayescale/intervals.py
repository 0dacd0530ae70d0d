"""The same summary of draws everywhere: mean, sd, and five quantiles under the same names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["KEYS", "interval", "quantiles"]

KEYS: Mapping[str, float] = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}


def quantiles(draws: Any) -> dict[str, float | None]:
    """Quantiles of draws of one quantity: ``q05, q25, median, q75, q95``.

    A point estimate (one draw) fills ``median`` and leaves the rest None, as JSON has no other way to say "unknown".

    Parameters
    ----------
    draws : array_like
        Any shape; all values count alike.

    Examples
    --------
    >>> quantiles([1.0])
    {'q05': None, 'q25': None, 'median': 1.0, 'q75': None, 'q95': None}
    """
    flat = np.asarray(draws, dtype=np.float64).ravel()
    if flat.size == 1:
        return {key: float(flat[0]) if key == "median" else None for key in KEYS}
    return dict(zip(KEYS, map(float, np.quantile(flat, list(KEYS.values()))), strict=True))


def interval(draws: Any) -> dict[str, float | None]:
    """As `quantiles`, with ``mean`` and ``sd`` in front (None for a point estimate)."""
    flat = np.asarray(draws, dtype=np.float64).ravel()
    several = flat.size > 1
    if not several:
        return {"mean": None, "sd": None} | quantiles(flat)
    mean = float(flat.mean())
    # a draw beyond all numbers has no distance from a mean that is beyond them too
    sd = float("inf") if np.isinf(mean) else float(flat.std(ddof=1))
    return {"mean": mean, "sd": sd} | quantiles(flat)
