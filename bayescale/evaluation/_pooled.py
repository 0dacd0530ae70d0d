"""Scores of folds made into one number, and how far it would move with other groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bayescale.evaluation._scores import SCORES
from bayescale.optimisation.resampling import groups_of, resample_counts

__all__ = ["Pool", "pooled"]

REPLICATES = 4000
# Two groups have three resamples: an interval over them says nothing.
LEAST_GROUPS = 3
ENDS = (0.05, 0.95)
PAIRED = ("crps", "is90", "log_score", "are")
RATIOS = ("crps", "is90", "are", "width90")


class Pool:
    """The folds of one hold-out and one forecaster, ready to be averaged: one row a data set.

    Parameters
    ----------
    folds : pandas.DataFrame
        ``dataset, group`` and scores, one row a fold.
    seed : int
        Of the resamples of groups.
    """

    def __init__(self, folds: pd.DataFrame, seed: int) -> None:
        keys = ["dataset", "group"]
        self.families = folds.groupby(keys, sort=True).mean(numeric_only=True).reset_index()
        self.groups = groups_of(self.families["group"])
        count = int(self.groups.max()) + 1
        generator = np.random.default_rng([seed, 22])
        self.counts = resample_counts(self.groups, REPLICATES, generator) if count >= LEAST_GROUPS else None

    def mean(self, name: str) -> float:
        """Every data set counts alike."""
        return float(self.families[name].mean())

    def group_mean(self, name: str) -> float:
        """Every group counts alike."""
        return float(self.families.groupby("group")[name].mean().mean())

    def interval(self, value: Callable[[np.ndarray], np.ndarray]) -> dict[str, float | None]:
        """90 % interval of what `value` makes of weights (replicate, data set), over resamples of whole groups."""
        if self.counts is None:
            return {"q05": None, "q95": None}
        drawn = value(self.counts / self.counts.sum(axis=1, keepdims=True))
        low, high = np.quantile(drawn, ENDS)
        return {"q05": float(low), "q95": float(high)}

    def interval_of(self, name: str) -> dict[str, float | None]:
        """Interval of the mean of a column."""
        values = self.families[name].to_numpy()
        return self.interval(lambda weight: weight @ values)

    def interval_of_ratio(self, name: str, over: str) -> dict[str, float | None]:
        """Interval of the ratio of the means of two columns."""
        one, other = self.families[name].to_numpy(), self.families[over].to_numpy()
        return self.interval(lambda weight: (weight @ one) / (weight @ other))


def pooled(folds: pd.DataFrame, baseline: pd.DataFrame | None, seed: int) -> dict[str, Any]:
    """Summary of the folds of one forecaster at one hold-out, and how it compares with a baseline on the same folds.

    Parameters
    ----------
    folds, baseline : pandas.DataFrame
        ``dataset, group, part, n_test`` and the scores, one row a fold that was answered.
    seed : int

    Returns
    -------
    dict
        ``n_folds, n_points, n_groups``; every score, all data sets alike; ``by_group``: the same, all groups alike;
        ``interval``: 90 % of each score over resamples of whole groups. With a baseline, over the folds that both
        answered: ``baseline`` (its scores), ``difference`` (mean difference, forecaster less baseline, with interval)
        and ``ratio`` (of the means, with interval).
    """
    pool = Pool(folds, seed)
    made: dict[str, Any] = {
        "n_folds": len(folds),
        "n_points": int(folds["n_test"].sum()),
        "n_groups": int(pool.groups.max()) + 1,
    }
    made |= {name: pool.mean(name) for name in SCORES}
    made["by_group"] = {name: pool.group_mean(name) for name in SCORES}
    made["interval"] = {name: pool.interval_of(name) for name in SCORES}
    if baseline is None:
        return made
    both = folds.merge(baseline, on=["dataset", "group", "part"], suffixes=("", "_baseline"))
    if both.empty:
        return made | {"baseline": None, "difference": None, "ratio": None}
    return made | _against(both, seed)


def _against(both: pd.DataFrame, seed: int) -> dict[str, Any]:
    """Paired comparison over folds that both answered."""
    for name in PAIRED:
        both[f"{name}_less"] = both[name] - both[f"{name}_baseline"]
    pool = Pool(both, seed)
    ratio = {name: pool.mean(name) / pool.mean(f"{name}_baseline") for name in RATIOS}
    return {
        "baseline": {"n_folds": len(both)} | {name: pool.mean(f"{name}_baseline") for name in SCORES},
        "difference": {name: {"mean": pool.mean(f"{name}_less")} | pool.interval_of(f"{name}_less") for name in PAIRED},
        "ratio": {
            name: {"value": value} | pool.interval_of_ratio(name, f"{name}_baseline") for name, value in ratio.items()
        },
    }
