"""Power laws through compute-optimal runs, for many bootstrap replicates at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["GAMMAS", "MIN_LOSSES", "FrontierLoss", "fit_frontier_loss", "regress"]

# Floor, coefficient and exponent, and one left over to see the scatter.
MIN_LOSSES = 4
GAMMAS = np.geomspace(0.005, 3.0, 160)
# Each step keeps .618 of the bracket: 50 of them bring its width to rounding.
GOLDEN, STEPS = (np.sqrt(5.0) - 1.0) / 2.0, 50


def regress(log_C: np.ndarray, log_y: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Straight lines ``log y = intercept + slope log C``, one a replicate; NaNs are left out.

    Parameters
    ----------
    log_C : array (budget,)
        Log compute, relative to the reference run.
    log_y : array (replicate, budget)
        Log of the compute-optimal size.
    weight : array (budget,), optional
        Weight of each squared residual; 1 without.

    Returns
    -------
    intercept, slope : array (replicate,)
        NaN where fewer than two budgets are left.
    """
    used = np.isfinite(log_y)
    w = np.where(used, np.ones(len(log_C)) if weight is None else weight, 0.0)
    y = np.where(used, log_y, 0.0)
    enough = used.sum(axis=1) >= 2
    total = np.where(enough, w.sum(axis=1), 1.0)[:, None]
    centre = (w * log_C).sum(axis=1, keepdims=True) / total
    mean = (w * y).sum(axis=1, keepdims=True) / total
    moment = (w * (log_C - centre) ** 2).sum(axis=1)
    slope = (w * (log_C - centre) * (y - mean)).sum(axis=1) / np.where(enough, moment, np.nan)
    return mean[:, 0] - slope * centre[:, 0], slope


@dataclass(frozen=True)
class FrontierLoss:
    """``L*(C) = E + c (C/C0)**-gamma`` of each replicate; all arrays (replicate,).

    Attributes
    ----------
    E, c, gamma : array
        Nats per token, nats per token at the reference budget, exponent.
    sigma : array
        Standard deviation of log loss around the curve, with three degrees of freedom taken off.
    identified : array of bool
        Whether floor and exponent lie inside their ranges: a floor of 0 or an exponent at an end of the grid means
        that the losses show no levelling off.
    """

    E: np.ndarray
    c: np.ndarray
    gamma: np.ndarray
    sigma: np.ndarray
    identified: np.ndarray


def fit_frontier_loss(log_C: np.ndarray, losses: np.ndarray) -> FrontierLoss:
    """Least squares of relative residuals by variable projection: E and c exactly, under E, c >= 0, for each gamma.

    Parameters
    ----------
    log_C : array (budget,)
        Log compute, relative to the reference run.
    losses : array (replicate, budget)
        Loss of the best run of each budget, nats per token; NaN is left out. With fewer than four left, what is found
        is NaN.
    """
    centre = log_C.mean()
    x, used = log_C - centre, np.isfinite(losses)
    enough = used.sum(axis=1) >= MIN_LOSSES
    used |= ~enough[:, None]
    filled = np.where(used & enough[:, None], losses, 1.0)
    best = _grid(x, filled, used)
    inside = (best > 0) & (best < len(GAMMAS) - 1)
    low, high = (np.log(GAMMAS[np.clip(best + step, 0, len(GAMMAS) - 1)]) for step in (-1, 1))
    gamma = np.exp(_narrow(x, filled, used, low, high))
    u = np.exp(-gamma[:, None] * x)
    E, c = _project(*_sums(u, filled, used))
    residual = np.where(used, np.log(filled / (E[:, None] + c[:, None] * u)), 0.0)
    sigma = np.sqrt((residual**2).sum(axis=1) / np.maximum(used.sum(axis=1) - 3, 1))
    identified = inside & (E > 0) & (c > 0) & enough
    E, c, gamma, sigma = (np.where(enough, v, np.nan) for v in (E, c * np.exp(gamma * centre), gamma, sigma))
    return FrontierLoss(E, c, gamma, sigma, identified)


def _grid(x: np.ndarray, losses: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Index of the best exponent of the grid for each replicate."""
    u = np.exp(-GAMMAS[:, None] * x)
    weight = used / losses**2
    s0, s1, s2 = weight.sum(axis=1)[:, None], weight @ u.T, weight @ (u * u).T
    t0, t1 = (weight * losses).sum(axis=1)[:, None], (weight * losses) @ u.T
    E, c = _project(s0, s1, s2, t0, t1)
    excess = E * E * s0 + 2.0 * E * c * s1 + c * c * s2 - 2.0 * (E * t0 + c * t1)
    return np.argmin(excess, axis=1)


def _sums(u: np.ndarray, losses: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, ...]:
    weight = used / losses**2
    powers = (weight, weight * u, weight * u * u, weight * losses, weight * losses * u)
    return tuple(values.sum(axis=-1) for values in powers)


def _project(
    s0: np.ndarray, s1: np.ndarray, s2: np.ndarray, t0: np.ndarray, t1: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The floor and the coefficient that fit best at a given exponent, neither below 0."""
    determinant = s0 * s2 - s1 * s1
    E, c = (t0 * s2 - t1 * s1) / determinant, (s0 * t1 - s1 * t0) / determinant
    E, c = np.where(E < 0, 0.0, E), np.where(E < 0, t1 / s2, c)
    return np.where(c < 0, t0 / s0, E), np.where(c < 0, 0.0, c)


def _narrow(x: np.ndarray, losses: np.ndarray, used: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Golden-section search of the log exponent between the neighbours of the grid's best."""

    def misfit(log_gamma: np.ndarray) -> np.ndarray:
        u = np.exp(-np.exp(log_gamma)[:, None] * x)
        E, c = _project(*_sums(u, losses, used))
        return (used * (1.0 - (E[:, None] + c[:, None] * u) / losses) ** 2).sum(axis=1)

    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = misfit(left), misfit(right)
    for _ in range(STEPS):
        lower = at_left < at_right
        low, high = np.where(lower, low, left), np.where(lower, right, high)
        fresh = np.where(lower, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        value = misfit(fresh)
        left, right, at_left, at_right = (
            np.where(lower, fresh, right),
            np.where(lower, left, fresh),
            np.where(lower, value, at_right),
            np.where(lower, at_left, value),
        )
    return 0.5 * (low + high)
