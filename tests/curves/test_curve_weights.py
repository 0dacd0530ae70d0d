"""Weights of importance sampling: truncated, so that no draw stands for all."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale.curves._sampling import _truncated


def test_a_draw_far_out_counts_for_less() -> None:
    log_ratio = np.zeros((2, 1024))
    log_ratio[1, 7] = 6.0
    even, truncated = _truncated(log_ratio)
    np.testing.assert_allclose(even, 1.0 / 1024, rtol=1e-12)
    # by hand: the mean weight, thirty-two times that, and the rest as they are
    highest = 32.0 * (1023.0 + np.exp(6.0)) / 1024.0
    assert truncated[7] == pytest.approx(highest / (1023.0 + highest), rel=1e-12)
    assert truncated.sum() == pytest.approx(1.0, rel=1e-12)
