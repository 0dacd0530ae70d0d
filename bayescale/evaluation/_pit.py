"""Whether observed runs lie evenly in their predictive distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

__all__ = ["uniformity"]

DRAWN = 200
# With fewer points a test of uniformity finds nothing, whatever the forecasts are.
LEAST = 5
ALLOWED = 0.01


def uniformity(points: pd.DataFrame, seed: int = 0) -> dict[str, Any] | None:
    """Test the probability integral transform (PIT) of the points of one forecaster for uniformity.

    Points of one fold share the fit, and so its error: a test of all points together would take one bad fit for many.
    One point is drawn from each fold instead, 200 times, and each draw is tested (the pointwise order test with Cauchy
    combination of ArviZ). Twice the median of p-values is a p-value, however they depend on each other; their minimum
    is none: it is often below .01 for forecasters that are calibrated. Folds of one data set share their test runs all
    the same.

    Parameters
    ----------
    points : pandas.DataFrame
        ``dataset, at, part, pit``, one row a point.
    seed : int

    Returns
    -------
    dict or None
        ``n_folds``; ``draws``; ``p``, of all draws together; ``p_min``, ``p_median``, of single draws; ``passes``,
        whether ``p`` is above .01. None with fewer than five folds.

    References
    ----------
    Twice the median: Rueger's rule, in Gasparin, Wang and Ramdas 2024, arXiv:2404.03484.
    """
    from arviz_stats.base.array import array_stats

    values = [fold["pit"].to_numpy() for _, fold in points.groupby(["dataset", "at", "part"], sort=True)]
    if len(values) < LEAST:
        return None
    generator = np.random.default_rng([seed, 21])
    drawn = np.stack([generator.choice(fold, DRAWN) for fold in values], axis=1)
    p = np.asarray(array_stats.uniformity_test(drawn, axis=-1)[0], dtype=np.float64)
    middle = float(np.median(p))
    together = min(1.0, 2.0 * middle)
    return {
        "n_folds": len(values), "draws": DRAWN, "p": together, "p_min": float(p.min()), "p_median": middle,
        "passes": together > ALLOWED,
    }  # fmt: skip
