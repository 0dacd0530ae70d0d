"""The whitening: coordinates in which a scaling-law posterior is close to standard normal, whatever the noise."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayescale._float64 import jax, jnp

__all__ = ["Frame", "adapted", "frame_at", "log_jacobian", "pull_back", "rescaled", "to_whitened", "to_z"]

# Up to this length a matrix times a vector is written as a sum of products, which the compiler fuses with what stands
# around it; a `dot` it does not.
SMALL = 32
# Chains that moved less than this, in units of what was expected of them, have nothing to say of the width.
STUCK = 1e-8


class Frame(NamedTuple):
    """A map from whitened ``x`` to the flat unconstrained ``z``: the noise first, the law given the noise.

    With the curvature at the mode split into that of the prior and that of the likelihood, the width of the law's
    parameters is known for every noise: the likelihood's share scales with ``1 / sigma**2``. So the funnel of a short
    table, in which a smaller sigma pins the law more tightly, is straightened, and not only measured at one place.

    Attributes
    ----------
    centre : array (dim,)
        The mode.
    noise : array (n_noise, n_noise)
        Square root of the covariance of the noise parameters.
    shift : array (n_law, n_noise)
        How the law's parameters follow the noise parameters.
    basis : array (n_law, n_law)
        Directions along which prior and likelihood are both uncorrelated, in units of the prior.
    ratio : array (n_law,)
        Curvature of the likelihood over that of the prior along each, at the mode's sigma.
    sigma : array (n_noise,)
        One at the place of ``log sigma`` among the noise parameters, zero elsewhere.
    middle, stretch : array (dim,), (dim, dim)
        Where draws that have been seen lie in these coordinates, and the root of their covariance; zero and the
        identity before any have.
    """

    centre: Any
    noise: Any
    shift: Any
    basis: Any
    ratio: Any
    sigma: Any
    middle: Any
    stretch: Any


def _root(covariance_inverse: np.ndarray) -> np.ndarray:
    """A square root of the inverse of a symmetric matrix, by absolute eigenvalues kept away from zero."""
    values, vectors = np.linalg.eigh(covariance_inverse)
    sizes = np.maximum(np.abs(values), 1e-8 * np.maximum(np.abs(values).max(initial=0.0), 1e-8))
    return vectors / np.sqrt(sizes)[None, :]


def frame_at(
    mode: np.ndarray, hessian: np.ndarray, prior_hessian: np.ndarray, n_law: int, sigma_at: int | None
) -> Frame:
    """The frame of a mode.

    Parameters
    ----------
    mode : array (dim,)
        Flat unconstrained vector, the law's parameters first.
    hessian, prior_hessian : array (dim, dim)
        Of the potential, and of the prior's part of it.
    n_law : int
        How many of the parameters are the law's.
    sigma_at : int or None
        Place of ``log sigma`` in the flat vector; None where sigma is pinned.
    """
    law, noise = slice(0, n_law), slice(n_law, mode.size)
    inverse_law = _root(hessian[law, law])
    shift = -inverse_law @ inverse_law.T @ hessian[law, noise]
    schur = hessian[noise, noise] + hessian[noise, law] @ shift
    prior_root = _root(prior_hessian[law, law])
    likelihood = prior_root.T @ (hessian[law, law] - prior_hessian[law, law]) @ prior_root
    ratio, rotation = np.linalg.eigh(0.5 * (likelihood + likelihood.T))
    place = np.zeros(mode.size - n_law)
    if sigma_at is not None:
        place[sigma_at - n_law] = 1.0
    basis, unmoved = prior_root @ rotation, (np.zeros(mode.size), np.eye(mode.size))
    return Frame(mode, _root(schur), shift, basis, np.maximum(ratio, 0.0), place, *unmoved)


def rescaled(frame: Frame, units: np.ndarray) -> Frame:
    """The frame of the unconstrained ``z``, given that of ``z / units`` (dim,)."""
    law, noise = units[: frame.ratio.size], units[frame.ratio.size :]
    return frame._replace(
        centre=frame.centre * units,
        noise=noise[:, None] * frame.noise,
        shift=law[:, None] * frame.shift / noise[None, :],
        basis=law[:, None] * frame.basis,
    )


def adapted(frame: Frame, x: np.ndarray, apart: bool) -> Frame:
    """The frame in which draws `x` (chain, draw, dim) of this one have mean zero and unit covariance.

    Where the chains are in separate modes (`apart`), the spread is that within chains. Chains that are stuck leave the
    frame as it is.
    """
    dim = x.shape[-1]
    around = x.mean(axis=1, keepdims=True) if apart else x.mean(axis=(0, 1), keepdims=True)
    values, vectors = np.linalg.eigh(np.cov((x - around).reshape(-1, dim), rowvar=False).reshape(dim, dim))
    if not values.max() > STUCK:
        return frame
    # a direction in which nothing moved stays as wide as a thousandth of the others
    stretch = vectors * np.sqrt(np.maximum(values, 1e-6 * values.max()))
    middle = frame.middle + frame.stretch @ x.reshape(-1, dim).mean(axis=0)
    return frame._replace(middle=middle, stretch=frame.stretch @ stretch)


def _times(matrix: Any, vector: Any) -> Any:
    """Matrix times vector, or times each of an array of vectors (..., dim)."""
    return (matrix * vector[None, :]).sum(axis=1) if vector.ndim == 1 and vector.size <= SMALL else vector @ matrix.T


def _widths(frame: Frame, noise: Any) -> Any:
    """Width of the law along each basis direction, at noise parameters that differ from the mode's by `noise`."""
    space = noise.__array_namespace__()
    return 1.0 / space.sqrt(1.0 + frame.ratio * space.exp(-2.0 * (frame.sigma * noise).sum(axis=-1))[..., None])


def to_z(frame: Frame, x: Any) -> Any:
    """From whitened to unconstrained, arrays (..., dim) of NumPy or JAX."""
    x = frame.middle + _times(frame.stretch, x)
    n_law = frame.ratio.size
    noise = _times(frame.noise, x[..., n_law:])
    law = _times(frame.shift, noise) + _times(frame.basis, _widths(frame, noise) * x[..., :n_law])
    return frame.centre + x.__array_namespace__().concatenate([law, noise], axis=-1)


def log_jacobian(frame: Frame, x: Any) -> Any:
    """Log volume of `to_z` at ``x``, up to a constant, of shape (...)."""
    x = frame.middle + _times(frame.stretch, x)
    widths = _widths(frame, _times(frame.noise, x[..., frame.ratio.size :]))
    return x.__array_namespace__().log(widths).sum(axis=-1)


def pull_back(frame: Frame, x: Any, potential: Any, gradient: Any) -> tuple[Any, Any]:
    """Potential and gradient in whitened coordinates (dim,) from those on the unconstrained scale; traceable."""
    (_, log_volume), pull = jax.vjp(lambda x: (to_z(frame, x), log_jacobian(frame, x)), x)
    return potential - log_volume, pull((gradient, -jnp.ones_like(log_volume)))[0]


def to_whitened(frame: Frame, z: np.ndarray) -> np.ndarray:
    """The inverse of `to_z`, arrays (..., dim)."""
    n_law = frame.ratio.size
    law, noise = (z - frame.centre)[..., :n_law], (z - frame.centre)[..., n_law:]
    along = (law - noise @ frame.shift.T) @ np.linalg.inv(frame.basis).T / _widths(frame, noise)
    x = np.concatenate([along, noise @ np.linalg.inv(frame.noise).T], axis=-1)
    return (x - frame.middle) @ np.linalg.inv(frame.stretch).T
