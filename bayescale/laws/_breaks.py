"""Smooth breaks of a power law."""

from __future__ import annotations

from typing import Any

from bayescale._float64 import jax

__all__ = ["log_break"]


def log_break(log_x: Any, log_place: Any, change: Any, width: Any) -> Any:
    """Log of ``((1 + (x/d)^(1/f)) / (1 + (1/d)^(1/f)))^(-change f)``: 0 at x = 1, slope 0 before d, -change after.

    Parameters
    ----------
    log_x : array
        Logarithm of ``x``, a multiple of the reference.
    log_place, change, width : float
        ``log d``, the change of slope, and ``f``: the sharper the break, the smaller.
    """
    softplus = jax.nn.softplus
    return -change * width * (softplus((log_x - log_place) / width) - softplus(-log_place / width))
