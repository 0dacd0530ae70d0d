"""NUTS with short trajectories: every chain takes the same few leapfrog steps, and nothing else waits for anything.

In whitened coordinates a posterior is close to standard normal, where a trajectory of a few steps is as good as any.
A tree of bounded depth then needs no recursion: its leaves are computed in one short loop, and the No-U-Turn rules are
applied to the finished list. With chains side by side this costs little more than the gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bayescale._float64 import jax, jnp
from bayescale.inference.sampler import Kernel

__all__ = ["advance", "begin", "chances"]

# Dual averaging of the step size (Hoffman and Gelman 2014, Sec. 3.2), with the constants of that paper.
GAMMA, OFFSET, DECAY = 0.05, 10.0, 0.75
FIRST_STEP = 0.8
# An energy error of this many nats is no integration error any more: the trajectory has diverged.
DIVERGED = 1000.0
# The weight of a leaf is the exponential of its gain in nats, up to here, so that weights can be added up.
LARGEST = 600.0

Measure = Callable[[Any], tuple[Any, Any]]


class State(NamedTuple):
    """One chain between two steps.

    Attributes
    ----------
    position, gradient : array (dim,)
        In whitened coordinates.
    potential : float
    log_step, log_step_mean, surplus : float
        Log of the step size, its running mean, and the running mean of the shortfall in acceptance.
    taken : int
        Steps taken so far.
    """

    position: Any
    gradient: Any
    potential: Any
    log_step: Any
    log_step_mean: Any
    surplus: Any
    taken: Any


def begin(kernel: Kernel, x: Any, potential: Any, gradient: Any, key: Any) -> State:
    """First state of a chain at whitened ``x`` (dim,); traceable. The key is not used: see `chances`."""
    start, none = jnp.full((), math.log(FIRST_STEP), dtype=float), jnp.zeros(())
    return State(x, gradient, potential, start, start, none, jnp.zeros((), dtype=int))


class Chance(NamedTuple):
    """Everything random about a step, drawn ahead.

    Attributes
    ----------
    momentum : array (dim,)
        Standard normal.
    forward : array of int (level,)
        Direction of time of each doubling: 0 or 1.
    among, accept : array (level,)
        Uniform: which leaf of a new subtree is its candidate, and whether the candidate is taken.
    """

    momentum: Any
    forward: Any
    among: Any
    accept: Any


def chances(generator: np.random.Generator, shape: tuple[int, ...], dim: int, kernel: Kernel) -> Chance:
    """Random numbers of steps, with leading dimensions `shape`.

    Drawn outside: JAX's generator would take longer to compile than the rest of the sampler.
    """
    depth = kernel.max_tree_depth
    return Chance(
        generator.standard_normal((*shape, dim)),
        generator.integers(0, 2, (*shape, depth)),
        generator.uniform(size=(*shape, depth)),
        generator.uniform(size=(*shape, depth)),
    )


def _leaves(measure: Measure, start: Any, step: Any, forward: Any) -> tuple[Any, Any]:
    """All leaves of a tree beside its root, (leaf, 3, dim) for position, momentum and gradient, and their potentials.

    They come in the order in which doubling adds them: each doubling continues from the edge of the trajectory on its
    side.
    """
    depth = len(forward)
    along = jnp.concatenate([jnp.broadcast_to(forward[level], (1 << level,)) for level in range(depth)])

    def leapfrog(edges: Any, ahead: Any) -> tuple[Any, tuple[Any, Any]]:
        x, p, g = jnp.where(ahead > 0, edges[1], edges[0])
        signed = jnp.where(ahead > 0, step, -step)
        half = p - 0.5 * signed * g
        x = x + signed * half
        u, g = measure(x)
        new = jnp.stack([x, half - 0.5 * signed * g, g])
        return jnp.where((jnp.arange(2) == ahead)[:, None, None], new[None], edges), (new, u)

    return jax.lax.scan(leapfrog, jnp.stack([start, start]), along)[1]


def _turned(total: Any, first: Any, last: Any) -> Any:
    """The generalised no-U-turn rule of Betancourt 2017 (arXiv 1701.02434), for an identity metric."""
    return jnp.minimum((total * first).sum(axis=-1), (total * last).sum(axis=-1)) <= 0


def _turned_inside(momenta: Any) -> Any:
    """Whether a subtree, or one of the subtrees that it was doubled from, makes a U-turn; momenta (leaf, dim)."""
    size, found = len(momenta), jnp.zeros((), dtype=bool)
    while size > 1:
        parts = momenta.reshape(-1, size, momenta.shape[1])
        found |= _turned(parts.sum(axis=1), parts[:, 0], parts[:, -1]).any()
        size //= 2
    return found


def _tree(measure: Measure, start: Any, potential: Any, step: Any, chance: Chance) -> tuple[Any, Any, dict[str, Any]]:
    """One transition from `start` (3, dim); returns where it went, the potential there, and what was measured."""
    leaves, potentials = _leaves(measure, start, step, chance.forward)
    potentials = jnp.concatenate([potential[None], potentials])
    momenta = jnp.concatenate([start[1][None], leaves[:, 1]])
    energies = potentials + 0.5 * jnp.square(momenta).sum(axis=1)
    gain = energies[0] - energies
    broken = ~(gain > -DIVERGED)
    weights = jnp.where(broken, 0.0, jnp.exp(jnp.minimum(gain, LARGEST)))
    chosen, mass, going = jnp.zeros((), dtype=int), jnp.ones(()), jnp.ones((), dtype=bool)
    left = right = total = start[1]
    accepted, counted, diverged = jnp.zeros(()), jnp.zeros(()), jnp.zeros((), dtype=bool)
    for level in range(len(chance.forward)):
        part = slice(1 << level, 2 << level)
        added, weight = momenta[part], weights[part]
        counted += jnp.where(going, float(1 << level), 0.0)
        accepted += jnp.where(going, jnp.minimum(weight, 1.0).sum(), 0.0)
        diverged |= going & broken[part].any()
        going &= ~broken[part].any() & ~_turned_inside(added)
        below = jnp.tril(jnp.ones((1 << level, 1 << level))) * weight[None, :]
        candidate = part.start + (below.sum(axis=1) < chance.among[level] * weight.sum()).sum()
        chosen = jnp.where(going & (chance.accept[level] * mass < weight.sum()), candidate, chosen)
        mass += jnp.where(going, weight.sum(), 0.0)
        ahead, new = chance.forward[level] > 0, added.sum(axis=0)
        far, near = jnp.where(ahead, left, right), jnp.where(ahead, right, left)
        going &= ~_turned(total + new, far, added[-1])
        if level > 1:
            # a whole period of an oscillation looks like no turn at all from its ends: look across the seam as well
            going &= ~_turned(total + added[0], far, added[0]) & ~_turned(near + new, near, added[-1])
        total = total + new
        left, right = jnp.where(ahead, left, added[-1]), jnp.where(ahead, added[-1], right)
    taken = jnp.arange(len(potentials)) == chosen
    at = jnp.where(taken[:, None, None], jnp.concatenate([start[None], leaves]), 0.0).sum(axis=0)
    measured = {
        "accept": accepted / counted,
        "diverging": diverged,
        "leapfrogs": counted.astype(int),
        "energy": jnp.where(taken, energies, 0.0).sum(),
        "potential": jnp.where(taken, potentials, 0.0).sum(),
    }
    return at, measured["potential"], measured


def _tuned(state: State, accept: Any, kernel: Kernel) -> dict[str, Any]:
    """Dual averaging during warm-up; after it the step size stays at its running mean."""
    taken = state.taken + 1
    count = taken.astype(float)
    share = 1.0 / (count + OFFSET)
    surplus = (1.0 - share) * state.surplus + share * (kernel.target_accept - accept)
    log_step = math.log(10.0 * FIRST_STEP) - jnp.sqrt(count) / GAMMA * surplus
    weight = count**-DECAY
    mean = weight * log_step + (1.0 - weight) * state.log_step_mean
    log_step = jnp.where(taken < kernel.warmup, log_step, mean)
    old = (state.log_step, state.log_step_mean, state.surplus)
    new = (jnp.where(taken <= kernel.warmup, a, b) for a, b in zip((log_step, mean, surplus), old, strict=True))
    return dict(zip(("log_step", "log_step_mean", "surplus"), new, strict=True)) | {"taken": taken}


def advance(measure: Measure, kernel: Kernel, state: State, chance: Chance) -> tuple[State, dict[str, Any]]:
    """Take the steps of one chain for which there are random numbers; traceable."""

    def move(state: State, chance: Chance) -> tuple[State, Any]:
        start = jnp.stack([state.position, chance.momentum, state.gradient])
        step = jnp.exp(state.log_step)
        at, potential, measured = _tree(measure, start, state.potential, step, chance)
        tuned = _tuned(state, measured["accept"], kernel)
        new = state._replace(position=at[0], gradient=at[2], potential=potential, **tuned)
        return new, measured | {"position": at[0], "step_size": step}

    return jax.lax.scan(move, state, chance)
