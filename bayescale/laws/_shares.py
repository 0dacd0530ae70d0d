"""Shares of a mixture, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayescale.errors import RunsError

__all__ = ["check_shares"]


def check_shares(shares: Any, law: str) -> None:
    """Refuse a column ``p`` that holds something above 1.

    Raises
    ------
    RunsError
        With the first run that does, and what is probably meant.
    """
    values = np.asarray(shares, dtype=np.float64)
    bad = np.flatnonzero(values > 1.0 + 1e-9)
    if bad.size:
        raise RunsError(
            f"run {bad[0] + 1}: p is {values[bad[0]]:.6g}; {law} reads a share of the mixture, above 0 and at most 1. "
            "Divide percentages by 100"
        )
