"""Draws of every law at the targets of every curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bayescale._float64 import jax
from bayescale.curves._calibration import Bands
from bayescale.curves._discrepancy import Discrepancy, Rows, ahead
from bayescale.curves._posterior import BEFORE, FEW_LANES, LANES, Posterior, filled
from bayescale.curves._sampling import draw
from bayescale.curves._shapes import SHAPES, values
from bayescale.curves._tasks import Task
from bayescale.curves._thinning import Origin, shortened

__all__ = ["Progress", "distances", "sample_bands"]

DRAWS = 96
# a band is computed at so many distances, and interpolated between them
DISTANCES = 16
# curves that fall at every step are a class of their own from this many points on
POINTS_TO_JUDGE = 8

Progress = Callable[[str, int, int], None]


def distances(tasks: Sequence[Task], origin: Origin) -> np.ndarray:
    """u (curve, DISTANCES) at which bands are computed: those of the targets, or even steps where they are many."""
    found = []
    for task, end in zip(tasks, origin.log_x, strict=True):
        u = np.unique(np.log(task.at) - end)
        found.append(filled(u, DISTANCES) if len(u) <= DISTANCES else np.linspace(u[0], u[-1], DISTANCES))
    return np.array(found)


def sample_bands(
    tasks: Sequence[Task], rows: Rows, at: np.ndarray, settings: Discrepancy, seed: int, progress: Progress | None
) -> tuple[Bands, np.ndarray]:
    """Sample the posterior of every law for every curve.

    Parameters
    ----------
    tasks : sequence of Task
        The curves.
    rows : Rows
        The same, thinned.
    at : array (curve, distance)
        From `distances`.
    settings : Discrepancy
        Priors of the residuals.
    seed : int
        Each law has a stream of its own.
    progress : callable or None
        Called with (label, laws done, laws in all).

    Returns
    -------
    Bands, array (curve, law)
        The draws, and the effective number behind them.
    """
    made, held_out, effective = [], [], []
    short = shortened(rows)
    lost = np.maximum((np.asarray(rows.used) - short.used).sum(axis=1), 1.0)
    for number, law in enumerate(SHAPES):
        posterior = Posterior(law, rows, settings)
        drawn = draw(posterior, len(tasks), DRAWS, np.random.default_rng([seed, number]))
        before = draw(Posterior(law, short, settings), len(tasks), 1, np.random.default_rng([seed, number, 1]))
        made.append(_at_targets(posterior, drawn.z, at))
        held_out.append((drawn.log_evidence - before.log_evidence) / lost)
        effective.append(drawn.effective)
        if progress is not None:
            progress("laws", number + 1, len(SHAPES))
    location, variance, sigma = (np.stack(part, axis=1) for part in zip(*made, strict=True))
    falling = np.array([float(_falls(task)) for task in tasks])
    different = np.array([len(np.unique(task.x)) for task in tasks])
    bands = Bands(location, variance, sigma, np.stack(held_out, axis=1), falling, np.log(different / 10.0))
    return bands, np.stack(effective, axis=1)


def _falls(task: Task) -> bool:
    x, first = np.unique(task.x, return_index=True)
    return len(x) >= POINTS_TO_JUDGE and bool((np.diff(task.y[first]) <= 0).all())


def _at_targets(posterior: Posterior, z: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and variance of the curve (curve, draw, distance), and sigma (curve, draw).

    A target between known points, which a table may hold beside those beyond, gets the law there and the discrepancy
    of the end.
    """
    curves, draws, size = z.shape
    flat, which = z.reshape(-1, size), np.repeat(np.arange(curves), draws)
    settings = posterior.settings
    state = jax.tree.map(lambda array: array[:, None], posterior.states(flat, which))
    sigma, tau, omega, _ = np.exp(posterior.log_scales(flat)).T[..., None]
    u = at[which]
    distance = np.maximum(u, 0.0)
    points = np.maximum(1.0, distance / np.asarray(posterior.rows.spacing)[which][:, None])
    later = ahead(state, distance, points, (tau, omega), settings)
    p00, _, _, p02, _, p22 = later.covariance
    mean = settings.level * flat[:, :1] + _law(posterior.law, flat, u) + np.asarray(later.mean[0] + later.mean[2])
    shape = (curves, draws, at.shape[1])
    variance = np.asarray(p00 + 2.0 * p02 + p22)
    return mean.reshape(shape), variance.reshape(shape), sigma.reshape(curves, draws)


def _law(name: str, z: np.ndarray, u: np.ndarray) -> np.ndarray:
    parts = []
    lanes = LANES if len(z) > LANES // 2 else FEW_LANES
    for start in range(0, len(z), lanes):
        part = slice(start, start + lanes)
        log_f = values(name, filled(z[part, BEFORE:], lanes), filled(u[part], lanes))
        parts.append(np.asarray(log_f)[: len(z[part])])
    return np.concatenate(parts)
