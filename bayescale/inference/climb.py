"""Many starts down a potential in lockstep: quasi-Newton steps, then damped Newton steps.

In NumPy, for many tables at a time, through one compiled function for potentials and gradients: compiling the search
itself took longer than everything else a fit compiles.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["DIFFERENCE", "Measure", "apart", "climb", "curved", "newton", "spectrum"]

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

# Potentials (table, point) and gradients (table, point, dim) at points (table, point, dim).
Measure = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


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


def apart(z: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Distances (..., start, start) of ``z`` (..., start, dim), in the posterior sds of a Hessian (..., dim, dim)."""
    vectors, sizes, _ = spectrum(hessian)
    white = z @ (vectors * np.sqrt(sizes)[..., None, :])
    return np.asarray(np.linalg.norm(white[..., :, None, :] - white[..., None, :, :], axis=-1))


def _leaders(z: np.ndarray, value: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """For each start (table, start) the best of those TOGETHER with it, by the curvature at the best of all."""
    value = np.where(np.isfinite(value), value, np.inf)
    near = apart(z, hessian[np.arange(len(z)), value.argmin(axis=1)]) < TOGETHER
    leader = np.where(near, value[:, None, :], np.inf).argmin(axis=-1)
    leader = np.where(np.isfinite(value), leader, np.arange(z.shape[1]))
    for _ in range(z.shape[1].bit_length()):  # the best of the best of those, to the end
        leader = np.take_along_axis(leader, leader, axis=1)
    return leader
