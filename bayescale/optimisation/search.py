"""What is compiled: searches over a queue of tasks, and what is asked of where they end."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from bayescale._float64 import assert_float64, jax, jnp
from bayescale.optimisation.newton import Ends, Queue, Search, minimise
from bayescale.optimisation.projection import Projection
from bayescale.optimisation.regression import STAGES, Regression, Resampled

__all__ = ["best_linear", "gradient_norms", "log_losses", "meeting", "residual_sum", "search_all"]

# Few enough for what a row adds to all lanes to stay in the fastest cache.
LANES = 64
# Queues are padded to this length, so that they share compiled code.
ROOM = 8192
# Lanes times rows that are held at a time; long tables get fewer lanes.
HELD = 1 << 22
BLOCK = 64
# Fewer tasks than this are not worth another core.
SHARE = 256
# Two searches have met where the law gives every run the same log loss to so many nats.
MEET = 1e-7
# A stage on the way is left once a step promises to lower the objective by a hundred-thousandth, the last one by this
# much less. Newton's method squares what is left with its last step, so that what is followed to NEAR ends within 1e-9
# of the optimum; what is reported is refined to END.
ON_THE_WAY, NEAR, END = 1e-5, 1e-8, 1e-13

# Vectors as wide as the processor has them, where XLA stops at half of that; saves a third of an evaluation's time.
WIDE = {"xla_cpu_prefer_vector_width": 512}


@partial(jax.jit, static_argnames=("objective", "search"), compiler_options=WIDE)
def _search(objective: Regression | Projection, search: Search, table: Resampled, which: Any, queue: Queue) -> Ends:
    return minimise(partial(objective.evaluate, table, which), queue, search)


def search_all(
    objective: Regression | Projection,
    table: Resampled,
    starts: np.ndarray,
    which: np.ndarray,
    *,
    stages: range | None = None,
    refine: bool = False,
) -> Ends:
    """Minimise an objective from every start, in one compiled call on each core.

    Where a task ends does not depend on how they are shared out.

    Parameters
    ----------
    objective : Regression or Projection
    table : Resampled
    starts : array (task, dim)
        Coordinates.
    which : array of int (task,)
        The resample that each task fits.
    stages : range, optional
        The stages to go through; all of them by default.
    refine : bool
        Whether to go on in the last of them until a step promises less than rounding leaves of an objective.

    Returns
    -------
    Ends
        NumPy arrays, the task first.
    """
    assert_float64()
    total = len(starts)
    stages = range(STAGES) if stages is None else stages
    search = Search(max(8, min(LANES, HELD // len(table.centre))))
    promise = np.full(STAGES, ON_THE_WAY)
    promise[stages[-1]] = END if refine else NEAR
    which = np.asarray(which, dtype=np.int64)

    def follow(part: np.ndarray) -> list[np.ndarray]:
        room = max(ROOM, 1 << (len(part) - 1).bit_length())
        tasks = np.resize(starts[part], (room, starts.shape[1]))
        queue = Queue(tasks, len(part), stages[0], stages[-1], promise)
        ends = _search(objective, search, table, np.resize(which[part], room), queue)
        return [np.asarray(values)[: len(part)] for values in ends]

    # every other task for each core: neighbours in a grid of starts take alike long
    cores = max(1, min(os.cpu_count() or 1, total // SHARE))
    with ThreadPoolExecutor(cores) as pool:
        parts = [np.arange(core, total, cores) for core in range(cores)]
        found = list(pool.map(follow, parts))
    order = np.argsort(np.concatenate(parts), kind="stable")
    return Ends(*(np.concatenate(values)[order] for values in zip(*found, strict=True)))


def _blocks(function: Any, *arrays: Any, size: int = BLOCK) -> Any:
    """`function` of each row of the arrays, some rows at a time, so that a long table fits into memory."""
    return jax.lax.map(lambda row: function(*row), arrays, batch_size=size)


@partial(jax.jit, static_argnames=("objective",))
def _gradient_norms(objective: Regression, table: Resampled, which: Any, positions: Any) -> Any:
    return _blocks(lambda k, z: objective.gradient_norm(table, k, z), which, positions)


def gradient_norms(objective: Regression, table: Resampled, which: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Relative norm of the gradient (task,) at each of the positions (task, dim)."""
    return np.asarray(_gradient_norms(objective, table, np.asarray(which), positions))


@partial(jax.jit, static_argnames=("objective",))
def _log_losses(objective: Regression, columns: tuple[Any, ...], positions: Any) -> Any:
    def one(position: Any) -> Any:
        theta = list(objective.coordinates.natural(position))
        return jnp.log(jax.vmap(lambda columns: objective.loss(columns, theta))(columns))

    return _blocks(one, positions)


def log_losses(objective: Regression, table: Resampled, positions: np.ndarray) -> np.ndarray:
    """Log loss (task, run) that the law gives the runs at each of the positions (task, dim), padding included."""
    return np.asarray(_log_losses(objective, table.columns, positions))


@partial(jax.jit, static_argnames=("projection",))
def _best_linear(projection: Projection, table: Resampled, which: Any, positions: Any, least: Any) -> tuple[Any, Any]:
    def some(which: Any, positions: Any) -> tuple[Any, Any]:
        linear = projection.best(table, which, positions.T, least)
        return linear.T, projection.complete(linear, positions.T).T

    linear, whole = jax.lax.map(lambda part: some(*part), (which, positions))
    return linear.reshape(-1, linear.shape[-1]), whole.reshape(-1, whole.shape[-1])


def best_linear(
    projection: Projection, table: Resampled, which: np.ndarray, positions: np.ndarray, least: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The best linear parameters (task, linear), and the coordinates (task, dim) of all parameters with them.

    `least` as in `Projection.best`.
    """
    total, lanes = len(positions), min(LANES, len(positions))
    room = total + -total % lanes
    split = np.resize(positions, (room, positions.shape[1])).reshape(-1, lanes, positions.shape[1])
    linear, whole = _best_linear(projection, table, np.resize(which, room).reshape(-1, lanes), split, least)
    return np.asarray(linear)[:total], np.asarray(whole)[:total]


@partial(jax.jit, static_argnames=("objective",))
def _residual_sum(objective: Regression, table: Resampled, positions: Any) -> Any:
    def one(position: Any) -> Any:
        left = objective.residuals(table, jnp.asarray(0), objective.coordinates.natural(position))
        return jnp.where(table.count[0] > 0, jnp.square(left), 0.0).sum()

    return _blocks(one, positions)


def residual_sum(objective: Regression, table: Resampled, positions: np.ndarray) -> np.ndarray:
    """Half the sum of squared residuals (task,) on the table itself at each of the positions (task, dim)."""
    return 0.5 * np.asarray(_residual_sum(objective, table, positions))


def meeting(fitted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of `fitted` (task, run) that are equal to MEET nats in every run.

    Only what a law says of the runs enters the objective: searches that have met there have the same way before them.

    Returns
    -------
    first, kind : array of int (kind,), array of int (task,)
        A row of each kind, and the kind of each row.
    """
    levels = np.round(fitted / MEET) * MEET
    # rows are told apart by a few random projections of them, which is much faster than sorting them
    mixed = levels @ np.random.default_rng(0).normal(size=(fitted.shape[1], 3))
    keys = np.round(np.where(np.isfinite(mixed), mixed, np.inf) / (1e-3 * MEET))
    _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first, kind.ravel()
