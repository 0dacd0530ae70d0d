"""Scores of a predictive distribution against what was observed, run by run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import scoringrules
from scipy.special import gammaln, logsumexp

__all__ = ["BANDS", "LEVELS", "SCORES", "log_density", "score_points"]

# The quantiles of a forecast file, by the names that scorers of such files read.
LEVELS: Mapping[str, float] = {
    "q005": 0.005, "q025": 0.025, "q050": 0.05, "q100": 0.1, "q250": 0.25, "q500": 0.5,
    "q750": 0.75, "q900": 0.9, "q950": 0.95, "q975": 0.975, "q995": 0.995,
}  # fmt: skip
BANDS: Mapping[int, tuple[str, str]] = {
    50: ("q250", "q750"),
    80: ("q100", "q900"),
    90: ("q050", "q950"),
    95: ("q025", "q975"),
    99: ("q005", "q995"),
}
SCORES = (*(f"cov{level}" for level in BANDS), "crps", "crps_log", "is90", "log_score", "are", "bias", "width90")

# The kernel of the density of draws. Its tail lets a run that no draw came near have a finite score; its width, below
# Silverman's, makes up for that tail: at 4,000 draws it widens what it smooths by two per cent.
_KERNEL_NU = 4.0
_KERNEL_WIDTH = 0.7


def score_points(draws: np.ndarray, observed: np.ndarray) -> pd.DataFrame:
    """Score draws of each run against its observed loss.

    Parameters
    ----------
    draws : array (sample, run)
        Losses of a new run.
    observed : array (run,)

    Returns
    -------
    pandas.DataFrame
        One row a run. ``q005 ... q995``: quantiles of the draws. ``cov50 ... cov99``: 1 inside the central band, 0
        outside. ``crps``: the continuous ranked probability score over the loss, from the eleven quantiles (twice the
        quantile score integrated over the levels), so that a forecast file gives the same; ``crps_log``: that of log
        loss, from all draws. ``is90``: interval score of the 90 % band over the loss. ``log_score``: log predictive
        density of log loss, higher is better. ``are``, ``bias``: absolute and signed error of the median [%];
        ``width90``: width of the 90 % band over the median [%]. ``pit``: where in the draws the run lies, 0 to 1.

    References
    ----------
    Gneiting and Raftery 2007, doi 10.1198/016214506000001437.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(2.5, 0.05, size=(1000, 2))
    >>> score_points(draws, np.array([2.5, 2.8]))["cov90"].tolist()
    [1.0, 0.0]
    """
    at = np.quantile(draws, list(LEVELS.values()), axis=0)
    log_draws, log_observed = np.log(draws), np.log(observed)
    made: dict[str, np.ndarray] = dict(zip(LEVELS, at, strict=True))
    for level, (low, high) in BANDS.items():
        made[f"cov{level}"] = ((observed >= made[low]) & (observed <= made[high])).astype(float)
    made["crps"] = _crps_of_quantiles(at, observed) / observed
    made["crps_log"] = scoringrules.crps_ensemble(log_observed, log_draws, m_axis=0, backend="numpy")
    q050, q500, q950 = (made[name] for name in ("q050", "q500", "q950"))
    made["is90"] = scoringrules.interval_score(observed, q050, q950, 0.1, backend="numpy") / observed
    made["log_score"] = log_density(log_draws, log_observed)
    made["bias"] = 100.0 * (q500 / observed - 1.0)
    made["are"] = np.abs(made["bias"])
    made["width90"] = 100.0 * (q950 - q050) / q500
    # strictly inside 0 and 1: a run below all of n draws lies at half of the first of n + 1 steps
    below = (draws < observed).sum(axis=0) + 0.5 * (draws == observed).sum(axis=0)
    made["pit"] = (below + 0.5) / (len(draws) + 1.0)
    return pd.DataFrame(made)


def _crps_of_quantiles(at: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Twice the quantile score, integrated over the levels: each stands for what is closer to it than to the others."""
    levels = np.array(list(LEVELS.values()))
    score = scoringrules.quantile_score(observed, at, levels[:, None], backend="numpy")
    edges = np.concatenate([[0.0], (levels[1:] + levels[:-1]) / 2.0, [1.0]])
    return 2.0 * (np.diff(edges)[:, None] * score).sum(axis=0)


def log_density(draws: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Log density (run,) at the observed values of a kernel estimate from draws (sample, run).

    Normal kernels, as in ``scoringrules.logs_ensemble``, give minus infinity a few widths beyond the last draw, and one
    such run would be all that a mean says.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4000, 1))
    >>> bool(abs(log_density(draws, np.zeros(1))[0] + 0.5 * np.log(2 * np.pi)) < 0.1)
    True
    """
    q25, q75 = np.quantile(draws, [0.25, 0.75], axis=0)
    spread = np.minimum(draws.std(axis=0), (q75 - q25) / 1.34)
    # draws that are all alike still have a density, if a very narrow one
    width = np.maximum(_KERNEL_WIDTH * 1.06 * spread * len(draws) ** -0.2, 1e-12)
    squared = ((observed - draws) / width) ** 2
    nu = _KERNEL_NU
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi)
    kernel = constant - (nu + 1) / 2 * np.log1p(squared / nu)
    return logsumexp(kernel, axis=0) - np.log(len(draws)) - np.log(width)
