"""Draws from many small posteriors at a time: importance sampling from Student-t pieces that are adapted.

The points of all rounds count, weighed by the mixture of all their proposals (Cornuet et al. 2012, arXiv 0907.1254);
and the prior is one of the pieces, so that whatever the data leave open is covered (Hesterberg 1995,
doi:10.1080/00401706.1995.10484303). Without it bands of laws with four parameters and more were up to a
third too narrow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from bayescale.curves._modes import Peaks, find_peaks
from bayescale.curves._posterior import Posterior

__all__ = ["Draws", "draw"]

# points of each round, in up to so many dimensions and in more; and how many rounds follow the first
PROPOSED, FEW, PROPOSED_IN_MORE = 1024, 8, 2048
ROUNDS = 3
DOF = 5.0
# share of the prior beside the modes, and of the piece that has the moments of what was seen beside both
PRIOR = 0.7
ADAPTED = 0.6
# moments are taken with weights flattened until at least so many draws carry them
LEAST_EFFECTIVE = 40.0
WIDENED = 1.1


class Draws(NamedTuple):
    """Equally weighted draws of each curve's posterior.

    Attributes
    ----------
    z : array (curve, draw, size)
        Coordinates.
    log_evidence : array (curve,)
        Log marginal likelihood.
    effective : array (curve,)
        Effective number among the points that the draws were taken from.
    """

    z: np.ndarray
    log_evidence: np.ndarray
    effective: np.ndarray


def draw(posterior: Posterior, curves: int, kept: int, generator: np.random.Generator) -> Draws:
    """Sample the posterior of each curve.

    Parameters
    ----------
    posterior : Posterior
        Of one law.
    curves : int
        How many curves it has.
    kept : int
        Draws of each.
    generator : Generator
        The same generator gives the same draws.
    """
    pieces = _with_prior(find_peaks(posterior, curves, generator))
    proposed = PROPOSED if posterior.size <= FEW else PROPOSED_IN_MORE
    which = np.repeat(np.arange(curves), proposed)
    tried: list[Peaks] = []
    z, potential = np.empty((curves, 0, posterior.size)), np.empty((curves, 0))
    densities: list[np.ndarray] = []
    for remaining in reversed(range(ROUNDS + 1)):
        new = _proposed(pieces, proposed, generator)
        height = posterior.potential(new.reshape(-1, posterior.size), which).reshape(curves, proposed)
        z, potential = np.concatenate([z, new], axis=1), np.concatenate([potential, height], axis=1)
        known = [_log_proposal(earlier, new) for earlier in tried]
        densities = [np.concatenate(pair, axis=1) for pair in zip(densities, known, strict=True)]
        tried, densities = [*tried, pieces], [*densities, _log_proposal(pieces, z)]
        log_mixture = logsumexp(densities, axis=0) - np.log(len(tried))
        log_ratio = -potential - 0.5 * posterior.size * np.log(2.0 * np.pi) - log_mixture
        if remaining:
            pieces = _adapted(pieces, z, log_ratio, first=remaining == ROUNDS)
    weights = _truncated(log_ratio)
    log_evidence = logsumexp(log_ratio, axis=1) - np.log(z.shape[1])
    places = (np.arange(kept) + generator.random((curves, 1))) / kept
    cumulative = np.cumsum(weights, axis=1)
    chosen = np.array([np.searchsorted(row, at) for row, at in zip(cumulative, places, strict=True)])
    chosen = np.minimum(chosen, z.shape[1] - 1)
    return Draws(np.take_along_axis(z, chosen[..., None], axis=1), log_evidence, 1.0 / (weights**2).sum(axis=1))


def _with_prior(pieces: Peaks) -> Peaks:
    """The pieces, and the prior."""
    curves, _, size = pieces.centre.shape
    centre, root = np.zeros((curves, 1, size)), np.broadcast_to(np.eye(size), (curves, 1, size, size))
    return Peaks(
        np.concatenate([pieces.centre, centre], axis=1),
        np.concatenate([pieces.root, root], axis=1),
        np.concatenate([pieces.log_share + np.log(1.0 - PRIOR), np.full((curves, 1), np.log(PRIOR))], axis=1),
    )


def _proposed(pieces: Peaks, proposed: int, generator: np.random.Generator) -> np.ndarray:
    """Draws (curve, proposal, size), dealt out over the pieces by their shares."""
    curves, count, size = pieces.centre.shape
    ends = np.cumsum(np.exp(pieces.log_share), axis=1)
    places = (np.arange(proposed) + 0.5) / proposed
    piece = np.minimum((places[None, :, None] > ends[:, None, :]).sum(axis=2), count - 1)
    normal = generator.standard_normal((curves, proposed, size))
    normal /= np.sqrt(generator.chisquare(DOF, (curves, proposed)) / DOF)[..., None]
    curve = np.arange(curves)[:, None]
    return pieces.centre[curve, piece] + np.einsum("cpij,cpj->cpi", pieces.root[curve, piece], normal)


def _log_proposal(pieces: Peaks, z: np.ndarray) -> np.ndarray:
    """Log density (curve, proposal) of the mixture of Student-t pieces."""
    size = z.shape[-1]
    parts = []
    for k in range(pieces.centre.shape[1]):
        root = pieces.root[:, k]
        apart = (z - pieces.centre[:, k, None]) @ np.swapaxes(np.linalg.inv(root), 1, 2)
        log_volume = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        kernel = -0.5 * (DOF + size) * np.log1p((apart**2).sum(axis=2) / DOF)
        parts.append((pieces.log_share[:, k] - log_volume)[:, None] + kernel)
    constant = gammaln((DOF + size) / 2.0) - gammaln(DOF / 2.0) - 0.5 * size * np.log(DOF * np.pi)
    return logsumexp(parts, axis=0) + constant


def _truncated(log_ratio: np.ndarray) -> np.ndarray:
    """Weights (curve, proposal) that add up to 1, so that a draw far out counts for less (Ionides 2008).

    No weight is more than the root of their number times their mean, doi:10.1198/106186008X320456.
    """
    weights = np.exp(log_ratio - log_ratio.max(axis=1, keepdims=True))
    weights = np.minimum(weights, np.sqrt(weights.shape[1]) * weights.mean(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _flattened(log_ratio: np.ndarray) -> np.ndarray:
    """Weights raised to the largest power up to 1 that leaves LEAST_EFFECTIVE draws, curve by curve."""
    centred = log_ratio - log_ratio.max(axis=1, keepdims=True)
    low, high = np.zeros(len(centred)), np.ones(len(centred))

    def weights(power: np.ndarray) -> np.ndarray:
        raised = np.exp(power[:, None] * centred)
        return raised / raised.sum(axis=1, keepdims=True)

    def few(power: np.ndarray) -> np.ndarray:
        return 1.0 / (weights(power) ** 2).sum(axis=1) < LEAST_EFFECTIVE

    whole = ~few(high)
    for _ in range(12):
        middle = 0.5 * (low + high)
        too_few = few(middle)
        low, high = np.where(too_few, low, middle), np.where(too_few, middle, high)
    return weights(np.where(whole, 1.0, low))


def _adapted(pieces: Peaks, z: np.ndarray, log_ratio: np.ndarray, first: bool) -> Peaks:
    """The pieces with one more, or another first one, that has the moments of the weighted draws."""
    weights = _flattened(log_ratio)
    mean = np.einsum("cp,cpi->ci", weights, z)
    centred = z - mean[:, None]
    covariance = WIDENED * np.einsum("cp,cpi,cpj->cij", weights, centred, centred)
    root = np.linalg.cholesky(covariance + 1e-4 * np.eye(z.shape[-1]))
    if first:
        shares = np.concatenate(
            [np.full((len(z), 1), np.log(ADAPTED)), pieces.log_share + np.log(1.0 - ADAPTED)], axis=1
        )
        return Peaks(
            np.concatenate([mean[:, None], pieces.centre], axis=1),
            np.concatenate([root[:, None], pieces.root], axis=1),
            shares,
        )
    centre, roots = pieces.centre.copy(), pieces.root.copy()
    centre[:, 0], roots[:, 0] = mean, root
    return Peaks(centre, roots, pieces.log_share)
