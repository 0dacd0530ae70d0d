"""Modes of many small posteriors at a time."""

from __future__ import annotations

import numpy as np

from bayescale.curves._posterior import Posterior

__all__ = ["Peaks", "find_peaks"]

CANDIDATES = 96
STARTS = 3
STEPS = 45
LONGEST_STEP = 2.0
DIFFERENCE = 1e-4
# the prior alone has curvature 1, so that less than this is a ridge or a saddle
LEAST_CURVATURE = 0.7
SAME = 0.3
# a mode this many nats lower still gets draws
DEEPEST = 5.0


class Peaks:
    """Gaussian pieces of the posteriors of many curves.

    Attributes
    ----------
    centre : array (curve, piece, size)
    root : array (curve, piece, size, size)
        Lower Cholesky factor of the covariance.
    log_share : array (curve, piece)
        Log of their shares, -inf where a piece repeats another.
    """

    def __init__(self, centre: np.ndarray, root: np.ndarray, log_share: np.ndarray) -> None:
        self.centre, self.root, self.log_share = centre, root, log_share


def find_peaks(posterior: Posterior, curves: int, generator: np.random.Generator) -> Peaks:
    """Search each posterior from the best of many draws of the prior, and measure the curvature there.

    Parameters
    ----------
    posterior : Posterior
        Of one law.
    curves : int
        How many curves it has.
    generator : Generator
        Of the candidates, which are the same for every curve.
    """
    drawn = 0.8 * generator.standard_normal((CANDIDATES, posterior.size))
    everyone = np.arange(curves)
    heights = posterior.potential(np.repeat(drawn, curves, axis=0), np.tile(everyone, CANDIDATES))
    best = np.argsort(heights.reshape(CANDIDATES, curves), axis=0, kind="stable")[:STARTS]
    which = np.tile(everyone, STARTS)
    z, potential = _descend(posterior, drawn[best].reshape(-1, posterior.size), which)
    eigenvalues, vectors = _curvature(posterior, z, which)
    covariance = np.einsum("lij,lj,lkj->lik", vectors, 1.0 / eigenvalues, vectors)
    log_mass = -potential - 0.5 * np.log(eigenvalues).sum(axis=1)

    def by_curve(array: np.ndarray) -> np.ndarray:
        return np.swapaxes(array.reshape(STARTS, curves, *array.shape[1:]), 0, 1)

    return _sorted(by_curve(z), by_curve(np.linalg.cholesky(covariance)), by_curve(log_mass))


def _sorted(centre: np.ndarray, root: np.ndarray, log_mass: np.ndarray) -> Peaks:
    """The heaviest first, repeated ones without a share."""
    order = np.argsort(-log_mass, axis=1, kind="stable")
    centre = np.take_along_axis(centre, order[..., None], axis=1)
    root = np.take_along_axis(root, order[..., None, None], axis=1)
    log_mass = np.take_along_axis(log_mass, order, axis=1)
    size = centre.shape[-1]
    repeated = np.zeros(log_mass.shape, dtype=bool)
    for later in range(1, log_mass.shape[1]):
        for earlier in range(later):
            apart = np.linalg.solve(root[:, earlier], (centre[:, later] - centre[:, earlier])[..., None])[..., 0]
            repeated[:, later] |= (apart**2).sum(axis=1) < SAME * size
    share = np.where(repeated, -np.inf, np.maximum(log_mass - log_mass[:, :1], -DEEPEST))
    return Peaks(centre, root, share - np.log(np.exp(share).sum(axis=1, keepdims=True)))


def _descend(posterior: Posterior, z: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """BFGS with step halving in every lane at a time: where it ends (lane, size) and how low that is (lane,)."""
    lanes, size = z.shape
    inverse = np.repeat(0.3 * np.eye(size)[None], lanes, axis=0)
    potential, gradient = posterior.measure(z, which)
    length = np.ones(lanes)
    for _ in range(STEPS):
        direction = -np.einsum("lij,lj->li", inverse, gradient)
        uphill = (direction * gradient).sum(axis=1) >= 0
        direction[uphill] = -gradient[uphill]
        direction *= np.minimum(1.0, LONGEST_STEP / np.maximum(np.linalg.norm(direction, axis=1), 1e-12))[:, None]
        slope = (direction * gradient).sum(axis=1)
        moved = z + length[:, None] * direction
        new_potential, new_gradient = posterior.measure(moved, which)
        better = new_potential <= potential + 1e-4 * length * slope
        _learn(inverse, moved - z, new_gradient - gradient, better)
        z = np.where(better[:, None], moved, z)
        potential = np.where(better, new_potential, potential)
        gradient = np.where(better[:, None], new_gradient, gradient)
        length = np.where(better, np.minimum(1.0, 2.0 * length), 0.3 * length)
        if ((np.abs(gradient).max(axis=1) < 1e-2) | (length < 1e-6)).all():
            break
    return z, potential


def _learn(inverse: np.ndarray, step: np.ndarray, change: np.ndarray, better: np.ndarray) -> None:
    """The update of BFGS, in place, for the lanes that moved along a convex stretch."""
    inner = (step * change).sum(axis=1)
    convex = better & (inner > 1e-10)
    if not convex.any():
        return
    step, change, rho = step[convex], change[convex], 1.0 / inner[convex]
    left = np.eye(step.shape[1])[None] - rho[:, None, None] * step[:, :, None] * change[:, None, :]
    rank_one = rho[:, None, None] * step[:, :, None] * step[:, None, :]
    inverse[convex] = left @ inverse[convex] @ np.swapaxes(left, 1, 2) + rank_one


def _curvature(posterior: Posterior, z: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, not below LEAST_CURVATURE, and eigenvectors of the Hessian, from differences of gradients."""
    hessian = np.zeros((*z.shape, z.shape[1]))
    for axis in range(z.shape[1]):
        shift = DIFFERENCE * np.eye(z.shape[1])[axis]
        slopes = posterior.measure(z + shift, which)[1] - posterior.measure(z - shift, which)[1]
        hessian[:, axis] = slopes / (2.0 * DIFFERENCE)
    eigenvalues, vectors = np.linalg.eigh(0.5 * (hessian + np.swapaxes(hessian, 1, 2)))
    return np.maximum(eigenvalues, LEAST_CURVATURE), vectors
