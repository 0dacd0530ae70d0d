"""Where the posterior is highest: multi-start L-BFGS, then damped Newton steps, and the curvature there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import optax

from bayescale._float64 import jax, jnp
from bayescale.inference.density import Density
from bayescale.inference.frame import Frame, frame_at, to_whitened

__all__ = ["LONG_TABLE", "Modes", "find_modes"]

STARTS = 16
# Above LONG_TABLE rows (padded) the starts climb one after the other, to spare memory, and few are enough: a posterior
# that so many runs leave with several modes has them far apart.
LONG_TABLE = 1 << 13
FEW_STARTS = 4
LBFGS_STEPS = 300
NEWTON_STEPS = 40
# Step of the central differences that turn gradients into a Hessian: on the unconstrained scale one unit is a factor of
# e, and at 1e-5 truncation (1e-10) and rounding (1e-11) are both far below what a whitening or a Newton step can feel.
DIFFERENCE = 1e-5
# Two optima closer than APART posterior standard deviations are one; an optimum with less than a twentieth (GAP on the
# log scale) of the best one's probability is not worth a chain.
APART = 3.0
GAP = 3.0

Potential = Callable[[Any], Any]


class Modes(NamedTuple):
    """What the search found.

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
    """

    frame: Frame
    positive_definite: Any
    gradient_norm: Any
    ends: Any
    centres: Any
    masses: Any
    distinct: Any


def _lbfgs(potential: Potential, z: Any) -> Any:
    """L-BFGS with backtracking; each pass of the one loop tries one point, so the density is compiled once."""
    direction = optax.scale_by_lbfgs(memory_size=10)

    def unfinished(carry: tuple[Any, ...]) -> Any:
        _, _, gradient, _, _, length, step = carry
        return (step < LBFGS_STEPS) & (jnp.linalg.norm(gradient) > 1e-5) & (length > 1e-12)

    def attempt(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        z, value, gradient, move, memory, length, step = carry
        trial = z + length * move
        new_value, new_gradient = jax.value_and_grad(potential)(trial)
        finite = jnp.isfinite(new_value) & jnp.isfinite(new_gradient).all()
        accepted = finite & (new_value <= value + 1e-4 * length * jnp.vdot(move, gradient))
        proposal, new_memory = direction.update(new_gradient, memory, trial)
        new_move = -jnp.where(jnp.vdot(proposal, new_gradient) > 0, proposal, new_gradient)
        # one unit of a log scale is a factor of e: no honest step is longer than a few of those
        new_move = new_move * jnp.minimum(1.0, 3.0 / (jnp.linalg.norm(new_move) + 1e-300))
        taken = (trial, new_value, new_gradient, new_move, new_memory, jnp.ones_like(length))
        kept = (z, value, gradient, move, memory, 0.3 * length)
        return (*jax.tree.map(lambda a, b: jnp.where(accepted, a, b), taken, kept), step + 1)

    # a start at infinite potential, so that the first pass only measures the start itself
    nowhere = jnp.full_like(z, 1e10)
    first = (z, jnp.asarray(jnp.inf), nowhere, jnp.zeros_like(z), direction.init(z), jnp.asarray(1.0), 0)
    return jax.lax.while_loop(unfinished, attempt, first)[0]


def _each(function: Callable[[Any], Any], xs: Any, at_once: bool) -> Any:
    """`function` of each row of `xs`: all at once, or one after the other where a table is too long for that."""
    return jax.vmap(function)(xs) if at_once else jax.lax.map(function, xs)


def _measure(potential: Potential, z: Any, at_once: bool = True) -> tuple[Any, Any, Any]:
    """Potential, gradient and Hessian (differences of gradients, so that nothing is differentiated twice)."""
    steps = DIFFERENCE * jnp.eye(z.size)
    points = z[None, :] + jnp.concatenate([jnp.zeros((1, z.size)), steps, -steps])
    values, gradients = _each(jax.value_and_grad(potential), points, at_once)
    hessian = (gradients[1 : z.size + 1] - gradients[z.size + 1 :]) / (2.0 * DIFFERENCE)
    return values[0], gradients[0], 0.5 * (hessian + hessian.T)


def _curvature(hessian: Any) -> tuple[Any, Any, Any]:
    """Eigenvectors, absolute eigenvalues (kept away from zero), and whether all were positive."""
    values, vectors = jnp.linalg.eigh(jnp.where(jnp.isfinite(hessian), hessian, 0.0))
    floor = 1e-8 * jnp.maximum(jnp.abs(values).max(), 1e-8)
    return vectors, jnp.maximum(jnp.abs(values), floor), (values > floor).all()


def _newton(potential: Potential, z: Any, at_once: bool) -> tuple[Any, Any, Any, Any]:
    """Damped Newton on the absolute Hessian; returns the end, its potential, gradient and Hessian."""

    def unfinished(carry: tuple[Any, ...]) -> Any:
        _, _, _, _, radius, decrement, step = carry
        return (step < NEWTON_STEPS) & (decrement > 1e-10) & (radius > 1e-10)

    def attempt(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        z, value, gradient, hessian, radius, _, step = carry
        vectors, sizes, _ = _curvature(hessian)
        move = -vectors @ ((vectors.T @ gradient) / sizes)
        trial = z + move * jnp.minimum(1.0, radius / (jnp.linalg.norm(move) + 1e-300))
        new = _measure(potential, trial, at_once)
        finite = jnp.isfinite(new[0]) & jnp.isfinite(new[1]).all() & jnp.isfinite(new[2]).all()
        better = finite & (new[0] <= value + 1e-12 * jnp.abs(new[0]))
        z, value, gradient, hessian = jax.tree.map(
            lambda a, b: jnp.where(better, a, b), (trial, *new), (z, value, gradient, hessian)
        )
        first = step == 0
        decrement = jnp.where(better & ~first, jnp.abs(jnp.vdot(move, gradient)), jnp.inf)
        radius = jnp.where(better, jnp.where(first, 1.0, 2.0 * radius), 0.25 * radius)
        return z, value, gradient, hessian, radius, decrement, step + 1

    start = (z, jnp.asarray(jnp.inf), jnp.zeros_like(z), jnp.eye(z.size), jnp.asarray(1.0), jnp.asarray(jnp.inf), 0)
    return jax.lax.while_loop(unfinished, attempt, start)[:4]


def _screen(density: Density, candidates: Mapping[str, Any], at_once: bool) -> Any:
    """The best of many candidates, on the unconstrained scale."""
    z = jax.vmap(density.unconstrain)(candidates)
    height = jax.lax.map(density.potential, z, batch_size=STARTS if at_once else 1)
    best = jnp.argsort(jnp.where(jnp.isfinite(height), height, jnp.inf))
    return z[best[: STARTS if at_once else FEW_STARTS]]


def find_modes(density: Density, candidates: Mapping[str, Any]) -> Modes:
    """Search for the modes of a posterior; traceable, so that it can be jitted and mapped over tables.

    Parameters
    ----------
    density : Density
        The posterior.
    candidates : mapping of str to array (candidate,)
        Draws from the prior; the search starts from the best of them, so in every basin that the prior takes seriously.
    """
    at_once = density.table.weight.size <= LONG_TABLE
    starts = _screen(density, candidates, at_once)
    climbed = _each(lambda z: _lbfgs(density.potential, z), starts, at_once)
    ends, potentials, gradients, hessians = _each(lambda z: _newton(density.potential, z, at_once), climbed, at_once)
    vectors, sizes, positive = jax.vmap(_curvature)(hessians)
    masses = potentials + 0.5 * jnp.log(sizes).sum(axis=1)
    slopes = jax.vmap(lambda v, s, g: jnp.linalg.norm((v.T @ g) / jnp.sqrt(s)))(vectors, sizes, gradients)
    # an end that is no optimum may come first only where no start reached one
    settled = jnp.isfinite(masses) & (slopes < 0.1) & positive
    order = jnp.lexsort((jnp.where(jnp.isfinite(masses), masses, jnp.inf), ~settled))
    ends, masses, settled = ends[order], masses[order], settled[order]
    best = order[0]
    white = (ends - ends[0][None, :]) @ (vectors[best] * jnp.sqrt(sizes[best])[None, :])
    near = jnp.linalg.norm(white[:, None, :] - white[None, :, :], axis=-1) < APART
    earlier = jnp.tri(len(starts), k=-1, dtype=bool)
    distinct = ~(near & earlier).any(axis=1) & (masses < masses[0] + GAP) & settled
    prior_hessian = _measure(density.prior_potential, ends[0])[2]
    frame = frame_at(ends[0], hessians[best], prior_hessian, density.n_law, density.sigma_at)
    centres = jax.vmap(lambda z: to_whitened(frame, z))(ends)
    return Modes(frame, positive[best], slopes[best], ends, centres, masses, distinct.at[0].set(True))
