"""The regression of compute-optimal sizes on compute, for pairs that are given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayescale.errors import FitError
from bayescale.procedures._frontier_fit import regress

__all__ = ["OptimaFit", "regress_optima"]

# An optimum known to a factor of e^3 = 20 either way is not known: such numbers are weights, or sds in parameters.
MAX_LOG_SD = 3.0
# The scatter that independent pairs with right sds exceed once in many thousand tables of five pairs or more.
MAX_SCATTER = 3.0


@dataclass(frozen=True)
class OptimaFit:
    """``N* = coefficient C**exponent`` through given pairs.

    Attributes
    ----------
    exponent, coefficient : float
        The power law.
    exponent_sd : float
        Standard error of the exponent under the given sds; without them, from the scatter of the pairs.
    scatter : float or None
        Root mean square of residual over sd, two degrees of freedom taken off: 1 where the sds are right.
    used : array of bool (pair,)
        The pairs that took part.
    warnings : tuple of str
        Which pairs were left out and why, and whether the sds can be what they are said to be.
    """

    exponent: float
    coefficient: float
    exponent_sd: float
    scatter: float | None
    used: np.ndarray
    warnings: tuple[str, ...]


def regress_optima(C: ArrayLike, N_star: ArrayLike, log_N_star_sd: ArrayLike | None = None) -> OptimaFit:
    """Fit a power law to compute-optimal sizes, weighted by one over their squared sds.

    Parameters
    ----------
    C : array_like (pair,)
        FLOPs.
    N_star : array_like (pair,)
        Compute-optimal parameters (or tokens: then the coefficient and the exponent are those of D*).
    log_N_star_sd : array_like (pair,), optional
        Standard deviation of the natural logarithm of each `N_star`: no variance, no weight, not in parameters. A
        size with 10 % uncertainty has 0.1.

    Returns
    -------
    OptimaFit
        Pairs in which a number is not finite or not above 0 are left out, and named in its warnings.

    Raises
    ------
    FitError
        Lengths differ, fewer than two pairs of different compute are left, or an sd is above 3.

    References
    ----------
    Porian et al. 2024, arXiv 2406.19146, section 3.

    Examples
    --------
    >>> fit = regress_optima([1e18, 1e20, 1e22], [2e7, 2e8, 2e9], [0.1, 0.1, 0.2])
    >>> round(fit.exponent, 6)
    0.5
    """
    given = {"C": C, "N_star": N_star} | ({} if log_N_star_sd is None else {"log_N_star_sd": log_N_star_sd})
    columns = {name: np.atleast_1d(np.asarray(values, dtype=np.float64)) for name, values in given.items()}
    if len({values.shape for values in columns.values()}) > 1 or columns["C"].ndim != 1:
        raise FitError(f"pairs need columns of one length; found { {n: v.shape for n, v in columns.items()} }")
    used = np.logical_and.reduce([np.isfinite(values) & (values > 0) for values in columns.values()])
    warnings = [_named(columns, pair) for pair in np.flatnonzero(~used).tolist()]
    log_C, log_N = np.log(columns["C"][used]), np.log(columns["N_star"][used])
    if np.unique(log_C).size < 2:
        raise FitError(f"{np.unique(log_C).size} budget(s) with a usable optimum: an exponent needs at least two")
    sd = columns["log_N_star_sd"][used] if log_N_star_sd is not None else None
    if sd is not None and sd.max() > MAX_LOG_SD:
        raise FitError(
            f"log_N_star_sd goes up to {sd.max():.3g}, which would leave an optimum unknown by a factor of e^"
            f"{sd.max():.3g}: it is the standard deviation of ln N*, not a weight (1/sd^2) and not in parameters"
        )
    return _fit(log_C, log_N, sd, used, warnings)


def _named(columns: dict[str, np.ndarray], pair: int) -> str:
    values = ", ".join(f"{name} {numbers[pair]:.6g}" for name, numbers in columns.items())
    return f"pair {pair + 1} is left out ({values}): its numbers must be finite and above 0."


def _fit(
    log_C: np.ndarray, log_N: np.ndarray, sd: np.ndarray | None, used: np.ndarray, warnings: list[str]
) -> OptimaFit:
    weight = np.ones_like(log_C) if sd is None else sd**-2.0
    centre = float((weight * log_C).sum() / weight.sum())
    intercept, slope = (float(values[0]) for values in regress(log_C - centre, log_N[None], weight))
    residual = log_N - intercept - slope * (log_C - centre)
    spare = len(log_C) - 2
    mean_square = float((weight * residual**2).sum()) / spare if spare else None
    scatter = None if sd is None or mean_square is None else float(np.sqrt(mean_square))
    if scatter is not None and scatter > MAX_SCATTER:
        warnings.append(
            f"the pairs scatter {scatter:.1f} times as far around the line as their sds say, so the sds are too small "
            "and the weights arbitrary. If they are variances, give their square roots; if they hold the noise of the "
            "losses alone, the scatter has another source."
        )
    variance = 1.0 / float((weight * (log_C - centre) ** 2).sum())
    error = np.sqrt(variance if sd is not None else variance * (np.nan if mean_square is None else mean_square))
    return OptimaFit(slope, float(np.exp(intercept - slope * centre)), float(error), scatter, used, tuple(warnings))
