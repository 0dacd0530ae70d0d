"""Sampling a posterior: find the mode, whiten, run NUTS in chunks, and fall back when that was not enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayescale._float64 import assert_float64, jax
from bayescale.errors import FitError
from bayescale.inference import compiled
from bayescale.inference.compile_time import compile_seconds
from bayescale.inference.convergence import MAX_RHAT, MIN_ESS_PER_CHAIN, convergence
from bayescale.inference.density import Density, Table
from bayescale.inference.frame import Frame
from bayescale.inference.importance import Importance, importance
from bayescale.inference.mode import LONG_TABLE, Modes
from bayescale.inference.nuts import Kernel
from bayescale.model import Model

__all__ = ["Sampler", "Samples", "sample"]

Progress = Callable[[str, int, int], None]

CHUNK = 50
SCREENED = 512
# Up to this many rows one useless step is cheaper than waiting for the compiler.
AHEAD = 1 << 15
# The fall-back, for posteriors that are not round after whitening.
LONG_WARMUP = 1000
LONG_TARGET = 0.98
THIN = 3


@dataclass(frozen=True)
class Sampler:
    """Settings of NUTS.

    Attributes
    ----------
    chains, draws : int
        Chains, and draws kept of each.
    warmup : int
        Steps that tune the step size first, and are dropped.
    target_accept : float
        Mean acceptance probability that the step size is tuned to.
    max_tree_depth : int
        At most ``2**max_tree_depth - 1`` leapfrog steps a draw.
    fallback : bool
        Sample again with a long warm-up and windowed dense adaptation when the first try does not converge.
    """

    chains: int = 4
    draws: int = 1000
    warmup: int = 150
    target_accept: float = 0.8
    max_tree_depth: int = 10
    fallback: bool = True

    def __post_init__(self) -> None:
        for name, least in (("chains", 1), ("draws", 4), ("warmup", 1), ("max_tree_depth", 1)):
            if getattr(self, name) < least:
                raise FitError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if not 0.0 < self.target_accept < 1.0:
            raise FitError(f"target_accept must lie between 0 and 1, got {self.target_accept}")

    @property
    def kernel(self) -> Kernel:
        """What is compiled first: whitening at the mode, step size only."""
        return Kernel(self.warmup, False, self.target_accept, self.max_tree_depth)

    @property
    def thorough(self) -> Kernel:
        """What is compiled when that was not enough: long warm-up, windowed dense adaptation."""
        target = max(self.target_accept, LONG_TARGET)
        return Kernel(max(self.warmup, LONG_WARMUP), True, target, self.max_tree_depth)


class Samples(NamedTuple):
    """Draws from a posterior and the record of how they were made.

    Attributes
    ----------
    theta : dict of str to array (chain, draw)
        Sampled parameters on their own scale.
    stats : dict of str to array (chain, draw)
        ``acceptance_rate, diverging, n_steps, tree_depth, energy, lp, step_size``.
    modes : Modes
        What the search for the mode found.
    importance : Importance or None
        The independent check by importance sampling.
    kernel : Kernel
        The kernel whose draws these are; ``kernel.dense`` where the fall-back was needed.
    seconds : dict of str to float
        ``total, compile, sample``.
    interrupted : bool
        Whether the person stopped it before all draws were made.
    """

    theta: dict[str, np.ndarray]
    stats: dict[str, np.ndarray]
    modes: Modes
    importance: Importance | None
    kernel: Kernel
    seconds: dict[str, float]
    interrupted: bool


def _locate(model: Model, table: Table, density: Density, seed: int) -> Modes:
    """The modes, searched from the best of many draws from the prior."""
    screened = SCREENED if len(table.weight) <= LONG_TABLE else SCREENED // 8
    drawn = model.sample_priors(screened, seed)
    modes: Modes = jax.device_get(compiled.locate(model, table, {name: drawn[name] for name in density.names}))
    if not np.isfinite(modes.masses[0]):
        raise FitError(
            f"none of {screened} draws from the priors leads to a finite likelihood for this table: a loss or an input "
            "is out of all proportion to the priors. Run `bayescale check`, or set priors that allow the losses you see"
        )
    return modes


def _starts(
    model: Model, table: Table, modes: Modes, chains: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the chains start, with potential and gradient: draws around the modes, dealt out over the separate ones."""
    centres = modes.centres[modes.distinct]
    x = centres[np.arange(chains) % len(centres)] + generator.standard_normal((chains, centres.shape[1]))
    room = -len(x) % compiled.BATCH
    parts = np.split(np.concatenate([x, np.zeros((room, x.shape[1]))]), (len(x) + room) // compiled.BATCH)
    weighed = [compiled.weigh(model, table, modes.frame, part)[:2] for part in parts]
    potentials, gradients = (np.concatenate(arrays)[: len(x)] for arrays in zip(*weighed, strict=True))
    return x, potentials, gradients


@contextmanager
def _compiling_ahead(model: Model, table: Table, density: Density, sampler: Sampler) -> Iterator[None]:
    """Compile the sampler on another core while the mode is being looked for.

    Calls it once at positions that are not numbers, where every trajectory ends at its first step; what it returns is
    thrown away, what it compiled is kept. What goes wrong there goes wrong in the open a moment later.
    """
    n_law, dim = density.n_law, density.dim
    shapes = ((dim,), (dim - n_law, dim - n_law), (n_law, dim - n_law), (n_law, n_law), (n_law,), (dim - n_law,))
    frame = Frame(*(np.zeros(shape) for shape in shapes))
    nowhere = np.full((sampler.chains, dim), np.nan)

    def call() -> None:
        keys = jax.random.split(jax.random.key(0), sampler.chains)
        states = compiled.start_chains(sampler.kernel, (nowhere, nowhere[:, 0], nowhere), keys)
        compiled.step_chains(model, sampler.kernel, CHUNK, _devices(sampler.chains), table, frame, states)

    with ThreadPoolExecutor(max_workers=1) as pool:
        if len(table.weight) <= AHEAD:
            pool.submit(call)
        yield


def _devices(chains: int) -> int:
    """How many devices the chains are shared out over: as many as divide their number."""
    return max(n for n in range(1, jax.device_count() + 1) if chains % n == 0)


class _InterruptedError(FitError):
    """Stopped by the person before the first draw."""


class _Chains(NamedTuple):
    theta: dict[str, np.ndarray]
    steps: dict[str, np.ndarray]
    interrupted: bool


def _run(
    model: Model,
    kernel: Kernel,
    sampler: Sampler,
    table: Table,
    modes: Modes,
    seed: int,
    progress: Progress | None,
) -> _Chains:
    """Warm up and draw, CHUNK steps at a time; an interrupt between chunks keeps what there is."""
    generator = np.random.default_rng(seed)
    keys = jax.random.split(jax.random.key(seed), sampler.chains)
    states = compiled.start_chains(kernel, _starts(model, table, modes, sampler.chains, generator), keys)
    thin = THIN if kernel.dense else 1
    total = kernel.warmup + thin * sampler.draws
    devices, label = _devices(sampler.chains), "sampling again, long warm-up" if kernel.dense else "sampling"
    chunks: list[tuple[Any, Any]] = []
    done, interrupted = 0, False
    try:
        while done < total:
            states, steps, theta = compiled.step_chains(model, kernel, CHUNK, devices, table, modes.frame, states)
            chunks.append(jax.device_get((steps._asdict(), theta)))
            done += CHUNK
            if progress is not None:
                progress(label, min(done, total), total)
    except KeyboardInterrupt:
        interrupted = True
        if done < kernel.warmup + 4 * thin:
            raise _InterruptedError("interrupted during warm-up: there are no draws to keep yet") from None
    steps, theta = jax.tree.map(lambda *parts: np.concatenate(parts, axis=1)[:, kernel.warmup : total], *chunks)
    return _Chains(*_thinned(theta, steps, thin), interrupted)


def _thinned(
    theta: Mapping[str, np.ndarray], steps: Mapping[str, np.ndarray], thin: int
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Every `thin`-th draw; one counts as divergent when any of the transitions since the last one was."""
    diverging = steps["diverging"]
    whole = diverging.shape[1] // thin * thin
    grouped = diverging[:, :whole].reshape(len(diverging), -1, thin).any(axis=2)
    kept = {name: values[:, thin - 1 : whole : thin] for name, values in steps.items()}
    return {name: values[:, thin - 1 : whole : thin] for name, values in theta.items()}, kept | {"diverging": grouped}


def _stats(steps: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    leapfrogs = steps["leapfrogs"]
    return {
        "acceptance_rate": steps["accept"],
        "diverging": steps["diverging"],
        "n_steps": leapfrogs,
        "tree_depth": np.floor(np.log2(np.maximum(leapfrogs, 1))).astype(np.int64) + 1,
        "energy": steps["energy"],
        "lp": -steps["potential"],
        "step_size": steps["step_size"],
    }


def _converged(chains: _Chains) -> bool:
    """Whether another, longer try would be worth it: the limits allow for the noise of R-hat over few draws."""
    several, draws = chains.steps["diverging"].shape
    found = convergence(chains.theta)
    enough = min(MIN_ESS_PER_CHAIN, 0.1 * draws) * several
    mixed = found.max_rhat <= max(MAX_RHAT, 1.0 + 5.0 / draws) and found.min_ess >= enough
    return mixed and not chains.steps["diverging"].any()


def sample(
    model: Model, table: Table, sampler: Sampler | None = None, seed: int = 0, progress: Progress | None = None
) -> Samples:
    """Sample the posterior of a model given a padded table of runs.

    Parameters
    ----------
    model : Model
        Law, noise and priors.
    table : Table
        From `pad`.
    sampler : Sampler, optional
        Settings.
    seed : int
        The same seed, table and versions give the same draws.
    progress : callable, optional
        Called with (label, steps done, steps in all) after each chunk.

    Raises
    ------
    FitError
        No finite likelihood anywhere, or interrupted before the first draw.
    """
    assert_float64()
    sampler = Sampler() if sampler is None else sampler
    began = time.perf_counter()
    with compile_seconds() as compiling:
        density = Density(model, table)
        if density.dim == 0:
            raise FitError("every parameter is pinned to a number, so there is nothing to fit")
        with _compiling_ahead(model, table, density, sampler):
            modes = _locate(model, table, density, seed)
        sampling = time.perf_counter()
        kernel = sampler.kernel
        chains = _run(model, kernel, sampler, table, modes, seed, progress)
        if sampler.fallback and not chains.interrupted and not (modes.positive_definite and _converged(chains)):
            try:
                chains = _run(model, sampler.thorough, sampler, table, modes, seed, progress)
                kernel = sampler.thorough
            except _InterruptedError:
                chains = chains._replace(interrupted=True)  # the draws of the first try are better than none
        sampled = time.perf_counter() - sampling
        check = importance(model, table, modes, seed)
    seconds = {"total": time.perf_counter() - began, "compile": compiling.seconds, "sample": sampled}
    return Samples(chains.theta, _stats(chains.steps), modes, check, kernel, seconds, chains.interrupted)
