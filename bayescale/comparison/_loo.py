"""Leave one run out: by Pareto-smoothed importance sampling, and by refitting where that does not hold."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from arviz_stats.loo import loo
from scipy.special import logsumexp

from bayescale.errors import FitError
from bayescale.fits import Fit
from bayescale.fits._log_densities import pointwise
from bayescale.inference.sampler import Sampler
from bayescale.procedures._posterior import draw, with_pinned
from bayescale.procedures._procedure import losses

__all__ = ["LeaveOneOut", "good_k", "leave_one_out", "log_likelihood"]


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Log predictive density of each run given all others.

    Attributes
    ----------
    elpd : numpy.ndarray (run,)
        Of log loss [nats].
    pareto_k : numpy.ndarray (run,)
        How heavy the tail of the importance weights is; above ``threshold`` they cannot be relied on.
    threshold : float
        ``min(1 - 1 / log10(draws), 0.7)``.
    refitted : tuple of int
        Runs (places in the table, from 0) whose density is that of a fit without them.
    left : tuple of int
        Runs whose Pareto k is too high and that were not refitted: more than was allowed, or the refit failed.
    """

    elpd: np.ndarray
    pareto_k: np.ndarray
    threshold: float
    refitted: tuple[int, ...] = ()
    left: tuple[int, ...] = ()

    @property
    def total(self) -> float:
        """Sum over the runs."""
        return float(self.elpd.sum())

    @property
    def se(self) -> float:
        """Standard error of the sum."""
        return float(np.sqrt(len(self.elpd) * self.elpd.var(ddof=1)))


def good_k(draws: int) -> float:
    """The Pareto k up to which this many draws suffice.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao and Gabry 2024, arXiv 1507.02646, section 3.

    Examples
    --------
    >>> good_k(4000), round(good_k(1000), 3)
    (0.7, 0.667)
    """
    return min(1.0 - 1.0 / math.log10(draws), 0.7)


def log_likelihood(fit: Fit) -> np.ndarray:
    """Log density of the log loss of every run under every draw (chain, draw, run).

    Raises
    ------
    FitError
        The fit has no likelihood, or its draws are no posterior.
    """
    if fit.kind != "posterior" or fit.model is None:
        raise FitError(f"{fit.record.procedure} gives no posterior: runs are left out one by one with nuts")
    each = pointwise(fit.model, fit.theta, fit.model.data(fit.runs), np.log(losses(fit.runs)))
    return each.reshape(fit.draws.sizes["chain"], fit.draws.sizes["draw"], -1)


def leave_one_out(fit: Fit, sampler: Sampler, most: int, seed: int = 0) -> LeaveOneOut:
    """Log predictive density of each run given the others.

    Parameters
    ----------
    fit : Fit
        Of nuts.
    sampler : Sampler
        Of the refits.
    most : int
        How many runs may be refitted without; those with the highest Pareto k come first.
    seed : int
        Of the refits.

    References
    ----------
    Vehtari, Gelman and Gabry 2017, arXiv 1507.04544.
    """
    each = log_likelihood(fit)
    found = _psis(fit, each)
    threshold = good_k(each.shape[0] * each.shape[1])
    k = np.asarray(found.pareto_k.values, dtype=np.float64).ravel()
    elpd = np.asarray(found.elpd_i.values, dtype=np.float64).ravel().copy()
    # a k that is no number comes from weights that are no weights
    high = [int(run) for run in np.argsort(-np.where(np.isnan(k), np.inf, k)) if not k[run] <= threshold]
    refitted, left = [], high[most:]
    for run in high[:most]:
        try:
            elpd[run] = _without(fit, run, sampler, seed)
            refitted.append(run)
        except FitError:
            left.append(run)
    return LeaveOneOut(elpd, k, threshold, tuple(refitted), tuple(left))


def _psis(fit: Fit, each: np.ndarray) -> Any:
    """ArviZ's PSIS-LOO; what it would warn of is dealt with run by run."""
    varied = [name for name in fit.theta if np.ptp(fit.theta[name]) > 0]
    tree = xr.DataTree.from_dict(
        {
            "posterior": fit.draws[varied],
            "log_likelihood": xr.Dataset({"log_loss": (("chain", "draw", "run"), each)}),
            "observed_data": xr.Dataset({"log_loss": ("run", np.log(losses(fit.runs)))}),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return loo(tree, pointwise=True)


def _without(fit: Fit, run: int, sampler: Sampler, seed: int) -> float:
    """Log predictive density of a run under a fit without it."""
    assert fit.model is not None
    model, runs = fit.model, fit.runs
    rest = runs.subset(np.arange(len(runs)) != run)
    theta = with_pinned(model, draw(model, rest, sampler, seed, like=len(runs)))
    one = {name: values[run : run + 1] for name, values in model.data(runs).items()}
    flat = {name: values.ravel() for name, values in theta.items()}
    each = pointwise(model, flat, one, np.log(losses(runs))[run : run + 1])
    return float(logsumexp(each) - np.log(each.size))
