"""How well scores that are hidden are predicted, against simpler ways of predicting them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayescale.errors import RunsError
from bayescale.transfer._gibbs import GibbsSettings
from bayescale.transfer._matrix import complete
from bayescale.transfer._pairs import Pairs

__all__ = ["HoldOut", "hold_out"]

# Of the central 90 % interval of a normal.
NINETY = 1.6449


@dataclass(frozen=True)
class HoldOut:
    """Predictions of hidden scores.

    Attributes
    ----------
    by_repeat : pandas.DataFrame
        One row a repeat and method (``posterior``, ``least-squares``, ``mean``): ``rmse``, ``cov90``, ``width90``,
        ``crps``, how many scores were hidden, and for the posterior whether its diagnostics were good.
    """

    by_repeat: pd.DataFrame

    def summary(self) -> dict[str, dict[str, float]]:
        """Means over the repeats, for each method."""
        means = self.by_repeat.groupby("method")[["rmse", "cov90", "width90", "crps"]].mean()
        return {str(name): {key: float(value) for key, value in row.items()} for name, row in means.iterrows()}


def hold_out(
    pairs: Pairs,
    share: float = 0.2,
    repeats: int = 5,
    settings: GibbsSettings | None = None,
    *,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> HoldOut:
    """Hide a share of the measured pairs, predict them, and score the predictions.

    Beside the posterior: additive least squares of target and source effects and the covariates, and the mean of the
    other scores, each with the normal interval of its residuals.

    Parameters
    ----------
    pairs : Pairs
        From `read_pairs`.
    share : float
        Of the measured pairs.
    repeats : int
        Random choices of the pairs that are hidden.
    settings : GibbsSettings, optional
    seed : int
    progress : callable, optional
        Called with (label, done, total).

    Raises
    ------
    RunsError
        A share outside (0, 1), or too few pairs.
    """
    if not 0 < share < 1:
        raise RunsError(f"--holdout {share:g}: expected a share of the measured pairs between 0 and 1")
    places = np.argwhere(pairs.measured)
    count = round(share * len(places))
    if count < 1:
        raise RunsError(f"--holdout {share:g} of {len(places)} pairs is none")
    rows = []
    for repeat in range(repeats):
        chosen = places[np.random.default_rng([seed, repeat]).permutation(len(places))[:count]]
        hidden = np.zeros_like(pairs.measured)
        hidden[tuple(chosen.T)] = True
        kept, truth = pairs.without(hidden), pairs.score[hidden]
        matrix = complete(kept, settings, seed=seed + repeat)
        drawn = matrix.draws["score"].values.reshape(-1, *hidden.shape)[:, hidden].astype(np.float64)
        # what was hidden is a measurement, with its own error
        error = pairs.sd[hidden] * np.random.default_rng([seed, repeat, 1]).standard_normal(drawn.shape)
        scored = {"posterior": _scored(drawn + error, truth) | {"ok": matrix.diagnostics.ok}}
        for name, (mean, sd) in {"least-squares": _additive(kept, hidden), "mean": _mean(kept, hidden)}.items():
            scored[name] = _scored_normal(mean, sd, truth)
        rows += [{"repeat": repeat, "method": name, "hidden": count} | values for name, values in scored.items()]
        if progress is not None:
            progress("hold-out", repeat + 1, repeats)
    return HoldOut(pd.DataFrame(rows))


def _scored(drawn: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    ranked = np.sort(drawn, axis=0)
    weights = 2.0 * np.arange(1, len(drawn) + 1) - len(drawn) - 1.0
    crps = np.abs(drawn - truth).mean(0) - (weights[:, None] * ranked).sum(0) / len(drawn) ** 2
    return {
        "rmse": float(np.sqrt(((drawn.mean(0) - truth) ** 2).mean())),
        "cov90": float(((low <= truth) & (truth <= high)).mean()),
        "width90": float((high - low).mean()),
        "crps": float(crps.mean()),
    }


def _scored_normal(mean: np.ndarray, sd: float, truth: np.ndarray) -> dict[str, float]:
    from scipy.stats import norm

    off = (truth - mean) / sd
    crps = sd * (off * (2.0 * norm.cdf(off) - 1.0) + 2.0 * norm.pdf(off) - 1.0 / np.sqrt(np.pi))
    return {
        "rmse": float(np.sqrt(((mean - truth) ** 2).mean())),
        "cov90": float((np.abs(off) <= NINETY).mean()),
        "width90": 2.0 * NINETY * sd,
        "crps": float(crps.mean()),
    }


def _additive(kept: Pairs, hidden: np.ndarray) -> tuple[np.ndarray, float]:
    """Least squares of effects of target and source and the covariates; the sd of the residuals."""
    n = len(kept.languages)
    target, source = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    covariates = np.stack([np.ones_like(kept.score), *kept.covariates.values()])

    def design(cells: np.ndarray) -> np.ndarray:
        return np.column_stack([*covariates[:, cells], np.eye(n)[target[cells]], np.eye(n)[source[cells]]])

    seen = kept.measured
    rows = design(seen)
    effects, _, rank, _ = np.linalg.lstsq(rows, kept.score[seen], rcond=None)
    left = kept.score[seen] - rows @ effects
    freedom = max(len(left) - int(rank), 1)
    return design(hidden) @ effects, float(np.sqrt((left**2).sum() / freedom))


def _mean(kept: Pairs, hidden: np.ndarray) -> tuple[np.ndarray, float]:
    seen = kept.score[kept.measured]
    return np.full(int(hidden.sum()), seen.mean()), float(seen.std(ddof=1))
