"""Bootstrap replicates of the minima of IsoFLOP profiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayescale.procedures._isoflop_budgets import Budget
from bayescale.procedures._isoflop_minima import (
    Minima,
    akima_minima,
    parabola_minima,
    parabola_residuals,
    window_weights,
)
from bayescale.procedures._isoflop_settings import MIN_SIZES, IsoFLOPSettings

__all__ = ["excess_sd", "log_sds", "noise", "point_minimum", "replicates"]

# Simulated designs with equal, growing and heavy-tailed noise: with 4, intervals of 90 % held the exponent in 86 to
# 96 % of tables; with a budget's own variance in 84 to 94 %, with one for all in 86 to 98 % and up to twice as wide.
PRIOR_FREEDOM = 4.0


def point_minimum(budget: Budget, settings: IsoFLOPSettings) -> Minima:
    """The minimum of the budget's runs as they are; arrays (1,)."""
    return _minima(budget, budget.loss[None], np.ones((1, budget.loss.size)), settings)


def _minima(budget: Budget, losses: np.ndarray, weight: np.ndarray, settings: IsoFLOPSettings) -> Minima:
    if settings.method == "akima":
        return akima_minima(budget, losses)
    chosen = weight * window_weights(budget, losses, settings.window)
    return parabola_minima(budget, losses, chosen, settings.interior)


def noise(budgets: Sequence[Budget], settings: IsoFLOPSettings) -> tuple[np.ndarray, np.ndarray]:
    """What replicates draw their noise from: standardised residuals of all budgets, and the sd of each budget.

    A budget's own residuals are few, and the noise is seldom the same in all: each variance is drawn towards that of
    all budgets with the weight of `PRIOR_FREEDOM` degrees of freedom. A parabola through three sizes leaves no
    residual, so the noise is measured in windows of at least four.

    Returns
    -------
    pool : array (residual,)
        Residuals of log loss over their sd, centred.
    sd : array (budget,)
        Of log loss.
    """
    window = None if settings.window is None else max(settings.window, MIN_SIZES)
    parts = [parabola_residuals(b, window_weights(b, b.loss[None], window)[0]) for b in budgets]
    freedom = np.asarray([max(part.size - 3, 0) for part in parts], dtype=np.float64)
    squares = np.asarray([np.mean(part**2) if part.size else 0.0 for part in parts])
    together = float((freedom * squares).sum() / max(freedom.sum(), 1.0))
    sd = np.sqrt((freedom * squares + PRIOR_FREEDOM * together) / (freedom + PRIOR_FREEDOM))
    if not (sd > 0).all():
        return np.zeros(1), sd
    pool = np.concatenate([part / scale for part, scale in zip(parts, sd, strict=True)])
    return pool - pool.mean(), sd


def replicates(budgets: Sequence[Budget], settings: IsoFLOPSettings, generator: np.random.Generator) -> list[Minima]:
    """The minima of each budget in `settings.replicates` resampled tables; the window is chosen anew in each.

    Residuals (or seed noise) are added to the losses as observed. The parabola is linear in the losses, so this
    scatters its coefficients around those of the table exactly as adding them to its fitted values would, and it
    leaves the shape outside the window as it was seen.
    """
    pool, sd = noise(budgets, settings)
    found = []
    for place, budget in enumerate(budgets):
        shape = (settings.replicates, budget.loss.size)
        weight, losses = np.ones(shape), np.broadcast_to(budget.loss, shape)
        if settings.seed_noise_nats is not None:
            losses = losses + settings.seed_noise_nats * generator.standard_normal(shape)
        elif settings.resample == "rows":
            share = np.full(budget.loss.size, 1.0 / budget.loss.size)
            weight = generator.multinomial(budget.loss.size, share, settings.replicates).astype(np.float64)
        else:
            losses = losses * np.exp(sd[place] * generator.choice(pool, shape))
        found.append(_minima(budget, losses, weight, settings))
    return found


def log_sds(budgets: Sequence[Budget], drawn: Sequence[Minima]) -> np.ndarray:
    """Standard deviation of each budget's log minimum, larger by the share of replicates without one; (budget,)."""
    kept = [minima.log_size[np.isfinite(minima.log_size)] for minima in drawn]
    return np.asarray(
        [np.std(k) * len(m.log_size) / k.size if k.size else np.inf for k, m in zip(kept, drawn, strict=True)]
    )


def excess_sd(log_C: np.ndarray, log_size: np.ndarray, sd: np.ndarray) -> tuple[float, float]:
    """How far the minima lie off a power law, beyond what the noise of the losses explains.

    Parameters
    ----------
    log_C, log_size : array (budget,)
        Log compute and log minima of the table as it is.
    sd : array (budget,)
        Bootstrap sd of each log minimum.

    Returns
    -------
    excess : float
        Standard deviation of log minima around the line beside the noise, by the method of moments; 0 where the noise
        explains all, or where fewer than three minima or minima without noise do not tell.
    scatter : float
        Root mean square of residual over sd, two degrees of freedom taken off; NaN where it cannot be told.

    References
    ----------
    DerSimonian and Laird 1986, doi 10.1016/0197-2456(86)90046-2, with a covariate.
    """
    spare = len(log_C) - 2
    if spare < 1 or not (np.isfinite(sd) & (sd > 0)).all():
        return 0.0, float("nan")
    weight = sd**-2.0
    basis = np.stack([np.ones_like(log_C), log_C], axis=1)
    inverse = np.linalg.inv((basis * weight[:, None]).T @ basis)
    residual = log_size - basis @ (inverse @ (basis.T @ (weight * log_size)))
    misfit = float((weight * residual**2).sum())
    trace = weight.sum() - np.trace(inverse @ ((basis * weight[:, None] ** 2).T @ basis))
    return float(np.sqrt(max(misfit - spare, 0.0) / trace)), float(np.sqrt(misfit / spare))
