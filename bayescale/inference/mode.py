"""Where the posterior is highest: multi-start quasi-Newton, then damped Newton steps, and the curvature there.

The search runs in NumPy, for many tables and starts in lockstep, and calls one compiled function for potentials and
gradients: compiling the search itself took longer than everything else a fit compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from bayescale.inference import compiled
from bayescale.inference.density import Density, Table
from bayescale.inference.frame import Frame, frame_at, rescaled, to_whitened
from bayescale.model import Model

__all__ = ["DIFFERENCE", "Measure", "Modes", "climb", "curved", "find_modes", "judged", "newton", "spectrum"]

STARTS = 16
# For long tables few starts are enough: a posterior that so many runs leave with several modes has them far apart.
FEW_STARTS = 4
CLIMBS = 300
NEWTON_STEPS = 40
# Step of the central differences that turn gradients into a Hessian: on the unconstrained scale one unit is a factor of
# e, and at 1e-5 truncation (1e-10) and rounding (1e-11) are both far below what a whitening or a Newton step can feel.
DIFFERENCE = 1e-5
# One unit of a log scale is a factor of e: no honest step is longer than a few of those.
LONGEST = 3.0
# A start has climbed far enough for Newton when a further step would gain this little, in nats.
CLOSE = 1e-3
# Starts this close, in posterior standard deviations, are on their way to one optimum: CLOSE is a twentieth of one.
TOGETHER = 0.3
# Two optima closer than APART posterior standard deviations are one; an optimum with less than a twentieth (GAP on the
# log scale) of the best one's probability is not worth a chain.
APART = 3.0
GAP = 3.0

# Potentials (table, point) and gradients (table, point, dim) at points (table, point, dim).
Measure = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Modes(NamedTuple):
    """What the search found for one table.

    Attributes
    ----------
    frame : Frame
        The whitening at the mode that holds the most probability (by the Laplace approximation).
    positive_definite : bool
        Whether the curvature there is that of a maximum; the frame uses absolute eigenvalues where it is not.
    gradient_norm : float
        Norm of the gradient at the mode in posterior standard deviations; 0 at a true mode.
    ends : array (start, dim)
        Where each start ended, the mode first, on the unconstrained scale.
    centres : array (start, dim)
        The same in whitened coordinates.
    masses : array (start,)
        Minus the log of the probability around each end, by the Laplace approximation, up to a constant.
    distinct : array of bool (start,)
        Ends that are separate modes and hold a share worth a chain, each the best of its own; the first is the mode.
    anchors : dict or None
        The table's, with the coordinates that the search chose for the values of groups; None without groups.
    """

    frame: Frame
    positive_definite: bool
    gradient_norm: float
    ends: np.ndarray
    centres: np.ndarray
    masses: np.ndarray
    distinct: np.ndarray
    anchors: dict[str, Any] | None = None


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=-1)


def _times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]


def climb(
    measure: Measure, z: np.ndarray, longest: float = LONGEST, inverse: np.ndarray | None = None, stragglers: int = 0
) -> np.ndarray:
    """BFGS with backtracking from all starts (table, start, dim) at once; each pass tries one point of each.

    It begins with the inverse Hessians that it is given, or with the identity. A start that has arrived in every table
    is not measured any more; it ends when no more than `stragglers` have not.
    """
    ends, places = z.copy(), np.arange(z.shape[1])
    value, gradient = measure(z)
    fresh, length = np.full(z.shape[:-1], inverse is None), np.ones(z.shape[:-1])
    inverse = np.broadcast_to(np.eye(z.shape[-1]), (*z.shape, z.shape[-1])) if inverse is None else inverse
    for _ in range(CLIMBS):
        move = -_times(inverse, gradient)
        move = np.where((_dot(move, gradient) < 0)[..., None], move, -gradient)
        move *= np.minimum(1.0, longest / (np.sqrt(_dot(move, move)) + 1e-300))[..., None]
        slope = _dot(move, gradient)
        ends[:, places] = z
        climbing = ((slope < -CLOSE) & (length > 1e-12)).any(axis=0)
        if climbing.sum() <= stragglers:
            break
        if not climbing.all():
            state = (z, value, gradient, inverse, fresh, length, move, slope)
            z, value, gradient, inverse, fresh, length, move, slope = (array[:, climbing] for array in state)
            places = places[climbing]
        step = length[..., None] * move
        trial = z + step
        new_value, new_gradient = measure(trial)
        accepted = (new_value <= value + 1e-4 * length * slope) & np.isfinite(new_gradient).all(axis=-1)
        change = np.where(accepted[..., None], new_gradient - gradient, 0.0)
        inverse, fresh = _updated(inverse, fresh, step, change)
        z, gradient = (np.where(accepted[..., None], a, b) for a, b in ((trial, z), (new_gradient, gradient)))
        value = np.where(accepted, new_value, value)
        length = np.where(accepted, 1.0, 0.3 * length)
    return ends


def _updated(
    inverse: np.ndarray, fresh: np.ndarray, step: np.ndarray, change: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The BFGS update of the inverse Hessians where the gradient changed by a positive curvature, and which are fresh.

    A fresh one is scaled by the first curvature it sees.
    """
    curvature, changed = _dot(step, change), _dot(change, change)
    use = curvature > 1e-10 * np.sqrt(_dot(step, step) * changed)
    share = np.where(use, 1.0 / np.where(use, curvature, 1.0), 0.0)
    if fresh.any():
        first = fresh & use
        scale = np.where(first, curvature / np.where(use, changed, 1.0), 1.0)
        inverse, fresh = inverse * scale[..., None, None], fresh & ~first
    bent = _times(inverse, change)
    lead = 0.5 * (1.0 + share * _dot(change, bent))[..., None] * step - bent
    update = (share[..., None] * step)[..., :, None] * lead[..., None, :]
    return inverse + update + np.swapaxes(update, -1, -2), fresh


def curved(measure: Measure, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Potential, gradient and Hessian (differences of gradients) at each of ``z`` (table, start, dim)."""
    tables, starts, dim = z.shape
    steps = DIFFERENCE * np.concatenate([np.zeros((1, dim)), np.eye(dim), -np.eye(dim)])
    values, gradients = measure((z[:, :, None, :] + steps).reshape(tables, -1, dim))
    values, gradients = values.reshape(tables, starts, -1), gradients.reshape(tables, starts, -1, dim)
    hessian = (gradients[:, :, 1 : dim + 1] - gradients[:, :, dim + 1 :]) / (2.0 * DIFFERENCE)
    return values[..., 0], gradients[..., 0, :], 0.5 * (hessian + np.swapaxes(hessian, -1, -2))


def spectrum(hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvectors, absolute eigenvalues (kept away from zero), and whether all were positive."""
    values, vectors = np.linalg.eigh(np.where(np.isfinite(hessian), hessian, 0.0))
    floor = 1e-8 * np.maximum(np.abs(values).max(axis=-1), 1e-8)[..., None]
    return vectors, np.maximum(np.abs(values), floor), (values > floor).all(axis=-1)


def newton(
    measure: Measure, z: np.ndarray, gain: float = 1e-10, reach: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Damped Newton on the absolute Hessian; returns the ends, their potentials, gradients and Hessians.

    It goes on until a further step would gain less than `gain` nats; its first step is at most `reach` long. Starts
    that have come together go on as one.
    """
    at = curved(measure, z)
    radius = np.full(z.shape[:-1], reach)
    leader = _leaders(z, at[0], at[2])
    going = np.isfinite(at[0]) & (leader == np.arange(z.shape[1]))
    for _ in range(NEWTON_STEPS):
        value, gradient, hessian = at
        vectors, sizes, _ = spectrum(hessian)
        along = np.einsum("...ji,...j->...i", vectors, np.where(np.isfinite(gradient), gradient, 0.0)) / sizes
        move = -_times(vectors, along)
        going &= (np.abs(_dot(move, gradient)) > gain) & (radius > 1e-10)
        if not going.any():
            break
        move *= np.minimum(1.0, radius / (np.linalg.norm(move, axis=-1) + 1e-300))[..., None]
        trial = np.where(going[..., None], z + move, z)
        measured = going.any(axis=0)
        new = tuple(old.copy() for old in at)
        for old, part in zip(new, curved(measure, trial[:, measured]), strict=True):
            old[:, measured] = part
        finite = np.isfinite(new[0]) & np.isfinite(new[1]).all(axis=-1) & np.isfinite(new[2]).all(axis=(-1, -2))
        better = going & finite & (new[0] <= value + 1e-12 * np.abs(new[0]))
        z = np.where(better[..., None], trial, z)
        at = (
            np.where(better, new[0], value),
            np.where(better[..., None], new[1], gradient),
            np.where(better[..., None, None], new[2], hessian),
        )
        radius = np.where(better, 2.0 * radius, 0.25 * radius)
    one = (np.arange(len(z))[:, None], leader)
    return z[one], at[0][one], at[1][one], at[2][one]


def _leaders(z: np.ndarray, value: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """For each start (table, start) the best of those TOGETHER with it, by the curvature at the best of all."""
    value = np.where(np.isfinite(value), value, np.inf)
    best = value.argmin(axis=1)
    vectors, sizes, _ = spectrum(hessian[np.arange(len(z)), best])
    white = z @ (vectors * np.sqrt(sizes)[:, None, :])
    near = np.linalg.norm(white[:, :, None] - white[:, None], axis=-1) < TOGETHER
    leader = np.where(near, value[:, None, :], np.inf).argmin(axis=-1)
    leader = np.where(np.isfinite(value), leader, np.arange(z.shape[1]))
    for _ in range(z.shape[1].bit_length()):  # the best of the best of those, to the end
        leader = np.take_along_axis(leader, leader, axis=1)
    return leader


def _starts(model: Model, tables: Table, measure: Measure, candidates: Mapping[str, np.ndarray]) -> np.ndarray:
    """The best of many candidates for each table, on the unconstrained scale (table, start, dim)."""
    rows = tables.weight.shape[1]
    z = np.asarray(compiled.unconstrain(model, dict(candidates), tables.anchors_of_first))
    heights, _ = measure(z)
    best = np.argsort(np.where(np.isfinite(heights), heights, np.inf), axis=1, kind="stable")
    return z[best[:, : STARTS if rows <= compiled.LONG_TABLE else FEW_STARTS]]


def find_modes(model: Model, tables: Table, candidates: Mapping[str, np.ndarray]) -> list[Modes]:
    """Search for the modes of the posterior of each table.

    Parameters
    ----------
    model : Model
        Law, noise and priors.
    tables : Table
        Several tables of one padded size, the first axis of every array; their typical runs are alike.
    candidates : mapping of str to array (candidate,)
        Draws from the prior of every sampled parameter; the search starts from the best of them, so in every basin that
        the prior takes seriously.
    """

    def measure(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return compiled.evaluate(model, tables, np.broadcast_to(z, (count, *z.shape[-2:])))

    count = len(tables.weight)
    starts = _starts(model, tables, measure, candidates)
    vectors, sizes, _ = spectrum(curved(measure, starts)[2])
    inverse = (vectors / sizes[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    # a pass costs as much for one start as for all, and Newton takes fewer of them
    climbed = climb(measure, starts, inverse=inverse, stragglers=starts.shape[1] // 4)
    return judged(model, tables, *newton(measure, climbed))


def judged(
    model: Model,
    tables: Table,
    ends: np.ndarray,
    potentials: np.ndarray,
    gradients: np.ndarray,
    hessians: np.ndarray,
    units: np.ndarray | None = None,
) -> list[Modes]:
    """The modes of each table, given where its searches ended (table, start, ...), in `units` (dim,) of a parameter."""

    def measure_prior(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        silent = tables._replace(weight=np.zeros(tables.weight.shape, dtype=bool))
        values, found = compiled.evaluate(model, silent, z if units is None else z * units)
        return values, found if units is None else found * units

    vectors, sizes, positive = spectrum(hessians)
    masses = potentials + 0.5 * np.log(sizes).sum(axis=-1)
    slopes = np.linalg.norm(np.einsum("...ji,...j->...i", vectors, gradients) / np.sqrt(sizes), axis=-1)
    # an end that is no optimum may come first only where no start reached one
    settled = np.isfinite(masses) & (slopes < 0.1) & positive
    order = np.lexsort((np.where(np.isfinite(masses), masses, np.inf), ~settled), axis=-1)
    first = np.take_along_axis(ends, order[:, :1, None], axis=1)
    prior_hessians = curved(measure_prior, first)[2][:, 0]
    density = Density(model, None, tables.anchors_of_first)
    found = []
    for table, best in enumerate(order):
        frame = frame_at(
            ends[table, best[0]], hessians[table, best[0]], prior_hessians[table], density.n_law, density.sigma_at
        )
        whole = ends[table, best] if units is None else ends[table, best] * units
        frame = frame if units is None else rescaled(frame, units)
        found.append(
            Modes(
                frame,
                bool(positive[table, best[0]]),
                float(slopes[table, best[0]]),
                whole,
                to_whitened(frame, whole),
                masses[table, best],
                _distinct(ends[table, best], masses[table, best], settled[table, best], hessians[table, best[0]]),
            )
        )
    return found


def _distinct(ends: np.ndarray, masses: np.ndarray, settled: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Which ends, the best first, are modes of their own and hold a share worth a chain."""
    vectors, sizes, _ = spectrum(hessian)
    white = (ends - ends[0]) @ (vectors * np.sqrt(sizes))
    near = np.linalg.norm(white[:, None, :] - white[None, :, :], axis=-1) < APART
    earlier = np.tri(len(ends), k=-1, dtype=bool)
    distinct = ~(near & earlier).any(axis=1) & (masses < masses[0] + GAP) & settled
    distinct[0] = True
    return distinct
