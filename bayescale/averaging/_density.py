"""How likely a law held runs that it had not seen, with the discrepancy and the noise of a new run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from bayescale._float64 import jax, jnp
from bayescale.fits._widened import bends
from bayescale.forecast import forecast
from bayescale.ladder import Ladder
from bayescale.model import Model
from bayescale.noise import Noise, evaluation_sd
from bayescale.runs import Runs

__all__ = ["Learnt", "LogDensity", "log_density"]

# Draws of the discrepancy for each draw of the parameters. The joint density of many runs rests on the few draws that
# come near all of them; those of the discrepancy cost next to nothing.
OFFSETS = 64
# Budgets in a decade that are told apart: runs of nearly one budget share what is peculiar to it. A draw each would be
# one more dimension for every run whose FLOPs differ in the third digit.
BUDGETS = 8.0
# Arrays are padded to multiples of this many runs, so that tables of similar size share compiled code.
ROOM = 16


class Learnt(NamedTuple):
    """What was learnt from the lower part of a ladder.

    Attributes
    ----------
    model : Model
    theta : mapping of str to array (sample,)
        Draws of all parameters.
    ladder : Ladder or None
        What forecasts start from; None for a law that is taken at its word.
    """

    model: Model
    theta: Mapping[str, np.ndarray]
    ladder: Ladder | None


class LogDensity(NamedTuple):
    """Log predictive density of log loss [nats].

    Attributes
    ----------
    joint : float
        Of all runs together. Their errors are shared where they come from one draw of the parameters or of the
        discrepancy.
    pointwise : numpy.ndarray (run,)
        Of each run by itself.
    effective : float
        How many draws the joint density rests on.
    """

    joint: float
    pointwise: np.ndarray
    effective: float


def log_density(learnt: Learnt, runs: Runs, seed: int = 0) -> LogDensity:
    """Log predictive density of the losses of these runs.

    Parameters
    ----------
    learnt : Learnt
        From other runs.
    runs : Runs
        With losses, the columns of the law and the noise and, where there is a discrepancy, FLOPs.
    seed : int
        Of the draws of the discrepancy.

    Examples
    --------
    >>> from bayescale.laws.power_c import PowerC
    >>> theta = {name: np.full(100, value) for name, value in dict(E=1.8, c=0.6, gamma=0.15, sigma=0.01).items()}
    >>> runs = Runs.from_arrays(C=[1.2e20, 1.2e21], loss=[2.4, 2.225])
    >>> found = log_density(Learnt(Model(PowerC(), Noise("normal")), theta, None), runs)
    >>> bool(np.isclose(found.joint, found.pointwise.sum()))  # no draw differs from another: nothing is shared
    True
    """
    model, theta = learnt.model, learnt.theta
    columns = {name: np.asarray(runs[name], dtype=np.float64) for name in model.columns}
    mean = np.log(forecast(model.law, None, theta, columns, None)["mean_loss"].values)
    residual = np.log(np.asarray(runs["loss"], dtype=np.float64)) - mean
    scale = model.noise.scale(columns, model.law.reference_run, {name: theta[name][:, None] for name in theta})
    if model.discrepancy is not None and learnt.ladder is not None:
        # what every run is off by for itself would be one more dimension a run to draws; it is one term of the scale
        own = model.discrepancy.own_sds(learnt.ladder, columns, theta)
        scale = np.hypot(scale, own)
        residual = residual - bends(model, learnt.ladder, columns, theta)
    scale = np.hypot(scale, evaluation_sd(runs))
    each = _each(learnt, columns, residual, scale, seed)
    pointwise = logsumexp(each, axis=0) - np.log(len(each))
    total = each.sum(axis=1)
    joint = float(logsumexp(total) - np.log(len(total)))
    effective = float(np.exp(2.0 * logsumexp(total) - logsumexp(2.0 * total))) if np.isfinite(joint) else 0.0
    return LogDensity(joint, pointwise, effective)


def _each(learnt: Learnt, columns: Mapping[str, np.ndarray], residual: np.ndarray, scale: Any, seed: int) -> np.ndarray:
    """Log density (draw, run) of each run under each draw of the parameters and of the discrepancy."""
    away = residual[:, None, :] - _offsets(learnt, columns, len(residual), seed)
    noise = {name: learnt.theta[name] for name in learnt.model.noise.priors}
    scales = _roomy(np.broadcast_to(scale, residual.shape))
    count = residual.shape[1]
    each = np.asarray(_log_prob(learnt.model.noise, noise, scales, _roomy(away)))[..., :count].reshape(-1, count)
    # a draw beyond the range of float64 gives these runs no density
    return np.where(np.isnan(each), -np.inf, each)


def _offsets(learnt: Learnt, columns: Mapping[str, np.ndarray], size: int, seed: int) -> Any:
    """Draws (sample, offset, run) of what runs are off by together; 0 for a law taken at its word."""
    if learnt.ladder is None or learnt.model.discrepancy is None:
        return 0.0
    budgets = 10.0 ** (np.round(BUDGETS * np.log10(columns["C"])) / BUDGETS)
    generator = np.random.default_rng([seed, 43])
    drawn = learnt.model.discrepancy.shared(learnt.ladder, budgets, size * OFFSETS, generator)
    return drawn.reshape(size, OFFSETS, -1)


def _roomy(values: np.ndarray) -> np.ndarray:
    """The same array with more runs at its end, copies of the last."""
    room = -values.shape[-1] % ROOM
    return np.concatenate([values, np.repeat(values[..., -1:], room, axis=-1)], axis=-1)


@partial(jax.jit, static_argnames=("noise",))
def _log_prob(noise: Noise, theta: Mapping[str, Any], scale: Any, residual: Any) -> Any:
    """Log density (sample, offset, run) of residuals of log loss; the scale is (sample, run)."""

    def one(draw: Mapping[str, Any], scale: Any, residual: Any) -> Any:
        return noise.distribution(jnp.zeros_like(residual), scale, draw).log_prob(residual)

    return jax.vmap(jax.vmap(one, in_axes=(None, None, 0)))(dict(theta), scale, residual)
