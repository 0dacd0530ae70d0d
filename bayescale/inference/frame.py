"""The whitening: coordinates in which a scaling-law posterior is close to standard normal, whatever the noise."""

from __future__ import annotations

from typing import Any, NamedTuple

from bayescale._float64 import jax, jnp

__all__ = ["Frame", "frame_at", "log_jacobian", "to_whitened", "to_z"]


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
    """

    centre: Any
    noise: Any
    shift: Any
    basis: Any
    ratio: Any
    sigma: Any


def _root(covariance_inverse: Any) -> Any:
    """A square root of the inverse of a symmetric matrix, by absolute eigenvalues kept away from zero."""
    values, vectors = jnp.linalg.eigh(covariance_inverse)
    sizes = jnp.maximum(jnp.abs(values), 1e-8 * jnp.maximum(jnp.abs(values).max(initial=0.0), 1e-8))
    return vectors / jnp.sqrt(sizes)[None, :]


def frame_at(mode: Any, hessian: Any, prior_hessian: Any, n_law: int, sigma_at: int | None) -> Frame:
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
    ratio, rotation = jnp.linalg.eigh(0.5 * (likelihood + likelihood.T))
    place = jnp.zeros(mode.size - n_law)
    place = place if sigma_at is None else place.at[sigma_at - n_law].set(1.0)
    return Frame(mode, _root(schur), shift, prior_root @ rotation, jnp.maximum(ratio, 0.0), place)


def _times(matrix: Any, vector: Any) -> Any:
    """Matrix times vector as a sum of products: small enough to be fused with its neighbours, which a `dot` is not."""
    return (matrix * vector[None, :]).sum(axis=1)


def _widths(frame: Frame, noise: Any) -> Any:
    """Width of the law along each basis direction, at noise parameters that differ from the mode's by `noise`."""
    return 1.0 / jnp.sqrt(1.0 + frame.ratio * jnp.exp(-2.0 * (frame.sigma * noise).sum()))


def to_z(frame: Frame, x: Any) -> Any:
    """From whitened to unconstrained, arrays (dim,)."""
    n_law = frame.ratio.size
    noise = _times(frame.noise, x[n_law:])
    law = _times(frame.shift, noise) + _times(frame.basis, _widths(frame, noise) * x[:n_law])
    return frame.centre + jnp.concatenate([law, noise])


def log_jacobian(frame: Frame, x: Any) -> Any:
    """Log volume of `to_z` at ``x``, up to a constant."""
    return jnp.log(_widths(frame, _times(frame.noise, x[frame.ratio.size :]))).sum()


def to_whitened(frame: Frame, z: Any) -> Any:
    """The inverse of `to_z`."""
    n_law = frame.ratio.size
    law, noise = (z - frame.centre)[:n_law], (z - frame.centre)[n_law:]
    along = jax.scipy.linalg.solve(frame.basis, law - frame.shift @ noise) / _widths(frame, noise)
    return jnp.concatenate([along, jax.scipy.linalg.solve(frame.noise, noise)])
