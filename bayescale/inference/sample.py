"""Sampling a posterior: find the mode, whiten, run NUTS in chunks, and fall back when that was not enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from bayescale._float64 import assert_float64, jax
from bayescale.errors import FitError
from bayescale.grouping import spread_out
from bayescale.inference import adaptive, compiled, trajectory
from bayescale.inference.compile_time import compile_seconds
from bayescale.inference.convergence import MAX_RHAT, MIN_ESS_PER_CHAIN, Convergence, convergence
from bayescale.inference.density import Density, Table
from bayescale.inference.frame import Frame, adapted, to_whitened, to_z
from bayescale.inference.grouped_mode import find_grouped_mode
from bayescale.inference.importance import Importance, importance
from bayescale.inference.mode import Modes, find_modes
from bayescale.inference.program import kept_in
from bayescale.inference.sampler import MANY, SHORT_TREE, Kernel, Sampler
from bayescale.inference.steps import stats_of, thinned
from bayescale.model import Model

__all__ = ["Samples", "sample"]

Progress = Callable[[str, int, int], None]

# Steps between two looks at the keyboard, and several times as many where trajectories are short and the table is not
# long.
CHUNK, SHORT_CHUNK = 50, 150
SCREENED = 512
# Up to this many rows one useless step is cheaper than waiting for the compiler.
AHEAD = 1 << 15
# The draws of the last, careful try are thinned.
THIN = 3
# What has been compiled ahead in this process: model, sampler and shapes of the table.
_AHEAD: set[Any] = set()


class Samples(NamedTuple):
    """Draws from a posterior and the record of how they were made.

    Attributes
    ----------
    theta : dict of str to array (chain, draw)
        Sampled parameters on their own scale.
    stats : dict of str to array (chain, draw)
        ``acceptance_rate, diverging, n_steps, tree_depth, energy, lp, step_size``.
    convergence : Convergence
        R-hat and effective sample sizes of `theta`.
    modes : Modes
        What the search for the mode found.
    importance : Importance or None
        The independent check by importance sampling.
    kernel : Kernel
        The kernel whose draws these are.
    tries : int
        How many kernels it took.
    seconds : dict of str to float
        ``total``; ``compile``, wherever it fell; ``sample``, all tries of NUTS; ``check``, their R-hat and ESS and the
        check by importance sampling. What is left went into the mode.
    interrupted : bool
        Whether the person stopped it before all draws were made.
    """

    theta: dict[str, np.ndarray]
    stats: dict[str, np.ndarray]
    convergence: Convergence
    modes: Modes
    importance: Importance | None
    kernel: Kernel
    tries: int
    seconds: dict[str, float]
    interrupted: bool


def _locate(model: Model, tables: Table, density: Density, seed: int) -> Modes:
    """The modes of the one table, searched from the best of many draws from the prior."""
    screened = SCREENED if tables.weight.shape[1] <= compiled.LONG_TABLE else SCREENED // 8
    drawn = model.sample_priors(screened, seed)
    if model.pools:
        modes = find_grouped_mode(model, tables, drawn)
    else:
        modes = find_modes(model, tables, {name: drawn[name] for name in density.names})[0]
    if not np.isfinite(modes.masses[0]):
        raise FitError(
            f"none of {screened} draws from the priors leads to a finite likelihood for this table: a loss or an input "
            "is out of all proportion to the priors. Run `bayescale check`, or set priors that allow the losses you see"
        )
    return modes


def _around(modes: Modes, chains: int, generator: np.random.Generator) -> np.ndarray:
    """First positions (chain, dim): draws around the modes, dealt out over the separate ones."""
    centres = modes.centres[modes.distinct]
    return centres[np.arange(chains) % len(centres)] + generator.standard_normal((chains, centres.shape[1]))


def _begin(model: Model, kernel: Kernel, tables: Table, frame: Frame, z: np.ndarray, seed: int) -> Any:
    """First states of the chains at ``z`` (chain, dim) of the one table."""
    potentials, gradients = compiled.evaluate(model, tables, z[None])
    keys = jax.random.split(jax.random.key(seed), len(z))[None] if kernel.dense else np.zeros((1, len(z)))
    return compiled.start_chains(kernel, _one(frame), to_whitened(frame, z)[None], potentials, gradients, keys)


def _one(tree: Any) -> Any:
    """The same arrays, as those of one table among several, where the compiled functions find them."""
    return jax.device_put(jax.tree.map(lambda array: np.asarray(array)[None], tree))


@contextmanager
def _compiling_ahead(model: Model, tables: Table, density: Density, sampler: Sampler) -> Iterator[None]:
    """Compile the sampler on another core while the mode is being looked for.

    Calls it once at positions that are not numbers; what it returns is thrown away, what it compiled is kept. What goes
    wrong there goes wrong in the open a moment later. Nothing to do where an equal model has been here before.
    """
    asked = (model, sampler, *(np.shape(leaf) for leaf in jax.tree.leaves(tables)))
    if asked in _AHEAD:
        yield
        return
    law, dim, chains, kernel = density.n_law, density.dim, sampler.chains, sampler.ladder(density.dim)[0]
    noise = dim - law
    shapes = ((dim,), (noise, noise), (law, noise), (law, law), (law,), (noise,), (dim,), (dim, dim))
    frames = Frame(*(np.zeros((1, *shape)) for shape in shapes))
    nowhere = np.full((1, chains, dim), np.nan)

    def call() -> None:
        states = compiled.start_chains(kernel, frames, nowhere, nowhere[..., 0], nowhere, np.zeros((1, chains)))
        chance = _chances(kernel, np.random.default_rng(0), chains, dim, _chunk(kernel, tables))
        compiled.step_chains(model, kernel, _devices(chains), tables, frames, states, chance)

    if kept_in() is None:  # what is kept takes turns with tracing
        compiled.trace_density(model, tables)
    with ThreadPoolExecutor(max_workers=1) as pool:
        if tables.weight.shape[1] <= AHEAD:
            pool.submit(call)
        yield
    _AHEAD.add(asked)


def _chunk(kernel: Kernel, tables: Table) -> int:
    short = kernel.max_tree_depth <= SHORT_TREE and tables.weight.shape[1] <= AHEAD
    return SHORT_CHUNK if short else CHUNK


def _chances(kernel: Kernel, generator: np.random.Generator, chains: int, dim: int, steps: int) -> Any:
    """Random numbers of the next steps of every chain of the one table; the same, whatever the size of the chunks."""
    chances = adaptive.chances if kernel.dense else trajectory.chances
    parts = [chances(generator, (1, chains, CHUNK), dim, kernel) for _ in range(steps // CHUNK)]
    return jax.tree.map(lambda *arrays: np.concatenate(arrays, axis=2), *parts) if len(parts) > 1 else parts[0]


def _devices(chains: int) -> int:
    """How many devices the chains are shared out over: as many as divide their number."""
    return max(n for n in range(1, jax.device_count() + 1) if chains % n == 0)


class _InterruptedError(FitError):
    """Stopped by the person before the first draw."""


class _Chains(NamedTuple):
    theta: dict[str, np.ndarray]
    steps: dict[str, np.ndarray]
    found: Convergence
    z: np.ndarray
    interrupted: bool


LABELS = ("sampling", "sampling again", "sampling again, long warm-up")


class _Task(NamedTuple):
    """What all tries of one fit share; `checking` collects the seconds spent on R-hat and ESS."""

    model: Model
    sampler: Sampler
    tables: Table
    seed: int
    progress: Progress | None
    checking: list[float]


def _run(task: _Task, attempt: int, frame: Frame, z: np.ndarray) -> _Chains:
    """Warm up and draw from chains at ``z`` (chain, dim), by chunks; an interrupt between them keeps what there is."""
    model, sampler, kernel = task.model, task.sampler, task.sampler.ladder(z.shape[-1])[attempt]
    generator = np.random.default_rng([task.seed, attempt])
    states = _begin(model, kernel, task.tables, frame, z, task.seed)
    thin = THIN if kernel.dense else 1
    total, chunk = kernel.warmup + thin * sampler.draws, _chunk(kernel, task.tables)
    frames, devices = _one(frame), _devices(sampler.chains)
    chunks: list[dict[str, np.ndarray]] = []
    done, interrupted = 0, False
    try:
        while done < total:
            chance = _chances(kernel, generator, len(z), z.shape[-1], chunk)
            states, steps = compiled.step_chains(model, kernel, devices, task.tables, frames, states, chance)
            chunks.append(jax.device_get(steps))
            done += chunk
            if task.progress is not None:
                task.progress(LABELS[min(attempt, len(LABELS) - 1)], min(done, total), total)
    except KeyboardInterrupt:
        interrupted = True
        if done < kernel.warmup + 4 * thin:
            raise _InterruptedError("interrupted during warm-up: there are no draws to keep yet") from None
    steps = {
        name: np.concatenate([chunk[name][0] for chunk in chunks], axis=1)[:, kernel.warmup : total]
        for name in chunks[0]
    }
    drawn = to_z(frame, steps.pop("position"))
    theta = spread_out(compiled.constrain(model, drawn, task.tables.anchors_of_first), model.groups_of)
    theta, steps = thinned(theta, steps, thin)
    began = time.perf_counter()
    found = convergence(theta)
    task.checking.append(time.perf_counter() - began)
    return _Chains(theta, steps, found, drawn, interrupted)


def _tries(task: _Task, modes: Modes) -> tuple[_Chains, int]:
    """Draws of the first kernel that converges, or of the last; and how many it took."""
    frame = modes.frame
    generator = np.random.default_rng([task.seed, len(LABELS)])
    chains = _run(task, 0, frame, to_z(frame, _around(modes, task.sampler.chains, generator)))
    kernels = task.sampler.ladder(modes.frame.centre.size)
    for attempt in range(1, len(kernels)):
        sound = modes.positive_definite or attempt > 1  # later frames are those of draws
        if chains.interrupted or (sound and _converged(chains, attempt - 1, chains.z.shape[-1])):
            return chains, attempt
        frame = adapted(frame, to_whitened(frame, chains.z), apart=modes.distinct.sum() > 1)
        try:
            chains = _run(task, attempt, frame, chains.z[:, -1])
        except _InterruptedError:
            return chains._replace(interrupted=True), attempt  # the draws of the last try are better than none
    return chains, len(kernels)


def _converged(chains: _Chains, attempt: int, several: int) -> bool:
    """Whether another, longer try would not be worth it: the limits allow for the noise of R-hat over few draws.

    The first try has to do well, with a quarter of its draws effective: the second costs little, and does. With many
    parameters (`several` dimensions) it does not, and the worst of them is worse.
    """
    (chains_run, draws), found = chains.steps["diverging"].shape, chains.found
    few = min(MIN_ESS_PER_CHAIN, 0.1 * draws)
    enough = (few if attempt or several > MANY else 0.25 * draws) * chains_run
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
        density, tables = Density(model, table), _one(table)
        if density.dim == 0:
            raise FitError("every parameter is pinned to a number, so there is nothing to fit")
        with _compiling_ahead(model, tables, density, sampler):
            modes = _locate(model, tables, density, seed)
        tables = tables if modes.anchors is None else tables._replace(anchors=modes.anchors)
        located, task = time.perf_counter(), _Task(model, sampler, tables, seed, progress, [])
        chains, tries = _tries(task, modes)
        sampled = time.perf_counter()
        check = None if model.pools else importance(model, tables, modes, seed)
    ended, checking = time.perf_counter(), sum(task.checking)
    seconds = {"total": ended - began, "compile": compiling.seconds}
    seconds |= {"sample": sampled - located - checking, "check": ended - sampled + checking}
    kernel = sampler.ladder(density.dim)[tries - 1]
    found, stats = chains.found, stats_of(chains.steps)
    return Samples(chains.theta, stats, found, modes, check, kernel, tries, seconds, chains.interrupted)
