"""How well a fit of the smaller runs forecasts the largest ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayescale.errors import RunsError
from bayescale.fits import Fit
from bayescale.runs import Runs

__all__ = ["crps", "score", "split"]

LEAST = 8  # runs to fit; with fewer the score is that of chance


def split(runs: Runs, factor: float) -> tuple[Runs, Runs]:
    """The runs to fit, with ``C <= max C / factor``, and the runs to forecast, with ``C >= max C / 2``.

    Raises
    ------
    RunsError
        There are no FLOPs, the factor is not above 2, or fewer than eight runs are left to fit.
    """
    if "C" not in runs:
        raise RunsError(f"runs are held out by their FLOPs, and {runs.source} has none: leave the hold-out away")
    if not factor > 2.0:
        raise RunsError(f"a hold-out of {factor:g} would fit the runs that it scores; give a factor above 2, e.g. 10")
    compute = np.asarray(runs["C"], dtype=np.float64)
    # the tolerance keeps a run that stands on a limit up to rounding
    train = compute <= compute.max() / factor * (1 + 1e-9)
    if train.sum() < LEAST:
        ratio = compute.max() / np.sort(compute)[min(LEAST, len(compute)) - 1]
        advice = f"the largest factor that does is {ratio:.3g}" if ratio > 2 else "leave the hold-out away"
        raise RunsError(
            f"a hold-out of {factor:g} leaves {train.sum()} of {len(runs)} runs to fit, those with "
            f"C <= {compute.max() / factor:.3g}; at least {LEAST} are needed: {advice}"
        )
    return runs.subset(train), runs.subset(compute >= compute.max() / 2 * (1 - 1e-9))


def score(fit: Fit, test: Runs, seed: int = 0) -> dict[str, Any]:
    """Compare a fit's forecast with observed losses.

    Parameters
    ----------
    fit : Fit
        Fitted without the test runs.
    test : Runs
        Runs with losses.
    seed : int
        Of the noise of new runs.

    Returns
    -------
    dict
        ``n_train``, ``n_test``; ``are``, the mean absolute relative error of the median [%], and ``bias``, the mean
        signed one (forecast less observed) [%]; ``cov50``, ``cov90``, shares of the runs inside the central bands of a
        new run; ``crps``, the continuous ranked probability score over the loss; ``is90``, the interval score of the
        90 % band over the loss. The last four are None for a point, which has no band.

    References
    ----------
    Gneiting and Raftery 2007, doi 10.1198/016214506000001437.
    """
    made, observed = fit.forecast(test, seed=seed), np.asarray(test["loss"], dtype=np.float64)
    mean, new = made["mean_loss"].values, made["new_run_loss"].values
    # Noise is symmetric on log loss, so this is the median of a new run as well, without its Monte Carlo error.
    relative = np.median(mean, axis=0) / observed - 1.0
    scores: dict[str, Any] = {"n_train": len(fit.runs), "n_test": len(test)}
    scores |= {"are": 100.0 * float(np.abs(relative).mean()), "bias": 100.0 * float(relative.mean())}
    if fit.kind == "point" or not np.isfinite(new).all():
        return scores | dict.fromkeys(("cov50", "cov90", "crps", "is90"))
    q05, q25, q75, q95 = np.quantile(new, [0.05, 0.25, 0.75, 0.95], axis=0)
    outside = np.maximum(q05 - observed, 0.0) + np.maximum(observed - q95, 0.0)
    return scores | {
        "cov50": float(((q25 <= observed) & (observed <= q75)).mean()),
        "cov90": float(((q05 <= observed) & (observed <= q95)).mean()),
        "crps": float((crps(new, observed) / observed).mean()),
        "is90": float(((q95 - q05 + 20.0 * outside) / observed).mean()),
    }


def crps(draws: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Continuous ranked probability score of the empirical distribution of draws.

    ``E|X - y| - E|X - X'| / 2`` over the draws, by sorting.

    Parameters
    ----------
    draws : array (sample, run)
    observed : array (run,)

    Returns
    -------
    numpy.ndarray
        Shape (run,), in the unit of the draws.

    Examples
    --------
    >>> crps(np.array([[1.0], [3.0]]), np.array([2.0])).tolist()
    [0.5]
    """
    count = len(draws)
    ranks = np.arange(1, count + 1)[:, None]
    within = ((2 * ranks - count - 1) * np.sort(draws, axis=0)).sum(axis=0) / count**2
    return np.abs(draws - observed).mean(axis=0) - within
