"""What coverage studies share: how far from nominal chance alone may take them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom


def off_nominal(inside: np.ndarray, level: float) -> str:
    """What is wrong with the share of studies inside an interval of this level; empty if chance may explain it.

    Beyond the central 99.98 % of the binomial: a family of a hundred such checks fails by chance once in fifty times.
    """
    low, high = binom.ppf([1e-4, 1 - 1e-4], inside.size, level) / inside.size
    return "" if low <= inside.mean() <= high else f"{inside.mean():.3f} is outside [{low:.3f}, {high:.3f}]"


@pytest.fixture(scope="session")
def check() -> Callable[[np.ndarray, float], str]:
    """``check(inside, level)``: `off_nominal`."""
    return off_nominal
