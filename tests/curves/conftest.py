"""Curves from known laws, and one forecast of them that the tests share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bayescale.curves import CurveForecasts, forecast_curves, read_tasks


def simulated(count: int = 24, seed: int = 0) -> pd.DataFrame:
    """Power laws on floors, with 0.5 % noise: 24 points of context over two decades, targets to three times further."""
    generator = np.random.default_rng(seed)
    parts = []
    for number in range(count):
        floor, c, top = generator.uniform(0.2, 2.0), generator.uniform(0.2, 0.8), generator.uniform(0.5, 3.0)
        x = np.concatenate([np.geomspace(1e6, 1e8, 24), 1e8 * np.array([1.3, 1.7, 2.2, 3.0])])
        y = (floor + top * (x / 1e6) ** -c) * np.exp(0.005 * generator.standard_normal(len(x)))
        split = np.where(x > 1.01e8, "tgt", "ctx")
        parts.append(
            pd.DataFrame({"task": f"curve {number}", "group": f"g{number % 4}", "x": x, "y": y, "split": split})
        )
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="session")
def curves_table() -> pd.DataFrame:
    """Two dozen simulated curves."""
    return simulated()


@pytest.fixture(scope="session")
def curves_made(curves_table: pd.DataFrame) -> CurveForecasts:
    """Their forecast by the published prior set."""
    return forecast_curves(read_tasks(curves_table), seed=1)
