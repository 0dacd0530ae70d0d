"""Damped Newton from many starts at once: a few lanes work through a queue of tasks inside one compiled loop.

A batch that steps in lockstep until its slowest member is done spends most of its work on members that finished long
ago. Here a lane that is done writes its answer and takes the next task, so that no evaluation is wasted, and the few
lanes fit into the cache however many tasks there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from bayescale._float64 import jax, jnp

__all__ = ["Ends", "Local", "Queue", "Search", "minimise", "solve"]

# Coordinates are logarithms and exponents: no honest step changes one by more than a few units.
LONGEST_STEP = 3.0
# A step that promises less than this fraction of the objective is below the rounding of a sum over runs.
ROUNDING = 1e-14
# What rounding of losses of a few nats leaves of half a sum of squares over a table without noise, and less.
NOTHING = 1e-27
# As fractions of the largest curvature.
FIRST_DAMPING = 1e-3
MOST_DAMPING = 1e14
# Directions flatter than this fraction of the steepest are left alone: the objective does not know them.
FLOOR = 1e-12


class Local(NamedTuple):
    """An objective near one point of each lane.

    Attributes
    ----------
    value : array (lane,)
        The objective.
    gradient : array (dim, lane)
    hessian : array (dim, dim, lane)
        Or what stands in for it in a stage that asks for less.
    """

    value: Any
    gradient: Any
    hessian: Any


@dataclass(frozen=True)
class Search:
    """How to search; part of what is compiled.

    Attributes
    ----------
    lanes : int
        Tasks in work at a time.
    steps : int
        Most evaluations of a task.
    """

    lanes: int = 128
    steps: int = 1000


class Queue(NamedTuple):
    """Tasks, and how each is to be worked on.

    Attributes
    ----------
    starts : array (task, dim)
        Where each starts.
    total : int or scalar array
        How many of the rows are tasks; the rest is room, so that queues of different lengths share compiled code.
    stage, last : int or scalar array
        The stages that tasks start and end in.
    promise : array (stage,)
        A stage ends when a step promises to lower the objective by less than this fraction.
    """

    starts: Any
    total: Any
    stage: Any
    last: Any
    promise: Any


class Ends(NamedTuple):
    """Where the tasks ended; every array has the task first.

    Attributes
    ----------
    position : array (task, dim)
    value : array (task,)
        NaN where the objective is not finite at the start.
    converged : array of bool (task,)
        The gradient is within the tolerance, or no step promises anything above rounding.
    steps : array of int (task,)
        Evaluations.
    """

    position: Any
    value: Any
    converged: Any
    steps: Any


class _Lanes(NamedTuple):
    task: Any
    stage: Any
    steps: Any
    at: Any
    here: Local
    trial: Any
    promised: Any
    damping: Any
    growth: Any


Evaluate = Callable[[Any, Any, Any], Local]


def solve(matrix: Any, vector: Any) -> Any:
    """``matrix x = vector`` in each lane by LDL', negative pivots turned round, so that a step always leads down."""
    dim = matrix.shape[0]
    floor = 1e-14 * jnp.abs(jnp.diagonal(matrix)).max(-1) + 1e-300
    columns, pivots, rest = [], [], matrix
    for j in range(dim):
        pivot = jnp.maximum(jnp.abs(rest[j, j]), floor)
        column = rest[:, j] / pivot[None]
        rest = rest - pivot[None, None] * column[:, None] * column[None, :]
        columns.append(column)
        pivots.append(pivot)
    forward: list[Any] = []
    for i in range(dim):
        forward.append(vector[i] - sum((columns[j][i] * forward[j] for j in range(i)), jnp.zeros_like(vector[i])))
    solution: list[Any] = [None] * dim
    for i in reversed(range(dim)):
        known = sum((columns[i][k] * solution[k] for k in range(i + 1, dim)), jnp.zeros_like(vector[i]))
        solution[i] = forward[i] / pivots[i] - known
    return jnp.stack(solution)


def _propose(here: Local, damping: Any) -> tuple[Any, Any]:
    """The damped step and what the quadratic model promises of it."""
    dim = here.gradient.shape[0]
    damping = jnp.maximum(damping, FLOOR * jnp.abs(jnp.diagonal(here.hessian)).max(-1))
    step = -solve(here.hessian + damping[None, None] * jnp.eye(dim)[:, :, None], here.gradient)
    step = step * jnp.minimum(1.0, LONGEST_STEP / (jnp.sqrt(jnp.square(step).sum(0)) + 1e-300))[None]
    slope = (here.gradient * step).sum(0)
    bend = (here.hessian * step[:, None] * step[None, :]).sum((0, 1))
    promised = -(slope + 0.5 * bend)
    return step, jnp.where(promised > 0, promised, -0.5 * slope)


def _judge(lanes: _Lanes, new: Local) -> _Lanes:
    """Take the trial points that are lower, and set the damping by how good the promise was."""
    first = jnp.isinf(lanes.here.value)
    finite = jnp.isfinite(new.value) & jnp.isfinite(new.gradient).all(0) & jnp.isfinite(new.hessian).all((0, 1))
    gain = lanes.here.value - new.value
    accepted = finite & (first | (gain > 0) | (jnp.abs(gain) <= ROUNDING * new.value))
    quality = jnp.where(first, 1.0, gain / jnp.maximum(lanes.promised, 1e-300))
    relief = jnp.clip(1.0 - (2.0 * quality - 1.0) ** 3, 0.1, 2.0)
    begun = FIRST_DAMPING * jnp.abs(jnp.diagonal(new.hessian)).max(-1) + 1e-300
    damping = jnp.where(accepted, lanes.damping * relief, lanes.damping * lanes.growth)
    damping = jnp.where(first, jnp.where(finite, begun, jnp.inf), damping)

    def keep(new: Any, old: Any) -> Any:
        return jnp.where(jnp.expand_dims(accepted, tuple(range(new.ndim - 1))), new, old)

    return lanes._replace(
        steps=lanes.steps + 1,
        at=keep(lanes.trial, lanes.at),
        here=Local(*map(keep, new, lanes.here)),
        damping=damping,
        growth=jnp.where(accepted, 2.0, 2.0 * lanes.growth),
    )


def minimise(evaluate: Evaluate, queue: Queue, search: Search) -> Ends:
    """Minimise an objective for every task of a queue; traceable.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(position (dim, lane), task (lane,), stage (lane,)) -> Local``.
    queue : Queue
    search : Search

    Returns
    -------
    Ends
    """
    starts, total, stage, last, promise = queue
    room, dim = starts.shape
    count = search.lanes

    def unfinished(carry: tuple[Any, Any, Ends]) -> Any:
        return (carry[0].task < total).any()

    def advance(carry: tuple[Any, Any, Ends]) -> tuple[Any, Any, Ends]:
        lanes, head, ends = carry
        lanes = _judge(lanes, evaluate(lanes.trial, jnp.minimum(lanes.task, total - 1), lanes.stage))
        step, promised = _propose(lanes.here, lanes.damping)
        lost = ~(lanes.damping < MOST_DAMPING) | (lanes.steps >= search.steps)
        flat = promised <= promise[lanes.stage] * lanes.here.value + NOTHING
        over = flat | lost
        done = over & ((lanes.stage == last) | (lanes.steps >= search.steps) | ~jnp.isfinite(lanes.here.value))
        place = jnp.where(done, lanes.task, room)
        value = jnp.where(jnp.isfinite(lanes.here.value), lanes.here.value, jnp.nan)
        found = Ends((lanes.at + jnp.where(flat[None], step, 0.0)).T, value, flat & (lanes.stage == last), lanes.steps)
        ends = Ends(*(all.at[place].set(new, mode="drop") for all, new in zip(ends, found, strict=True)))
        upward = over & ~done
        free = done | (lanes.task >= total)
        task = jnp.where(free, jnp.minimum(head + jnp.cumsum(free) - 1, room), lanes.task)
        head = head + free.sum()
        begins = free | upward
        near = lanes.at + jnp.where(upward[None], 0.0, step)
        trial = jnp.where(free[None], starts[jnp.minimum(task, room - 1)].T, near)
        lanes = lanes._replace(
            task=task,
            stage=jnp.where(free, stage, lanes.stage + upward),
            steps=jnp.where(free, 0, lanes.steps),
            at=jnp.where(begins[None], trial, lanes.at),
            here=lanes.here._replace(value=jnp.where(begins, jnp.inf, lanes.here.value)),
            trial=trial,
            promised=promised,
        )
        return lanes, head, ends

    zero, index = jnp.zeros(count), jnp.arange(count)
    here = Local(zero + jnp.inf, jnp.zeros((dim, count)), jnp.zeros((dim, dim, count)))
    trial = starts[jnp.minimum(index, room - 1)].T
    lanes = _Lanes(index, 0 * index + stage, 0 * index, trial, here, trial, zero, zero + 1.0, zero + 2.0)
    ends = Ends(jnp.zeros_like(starts), jnp.full(room, jnp.nan), jnp.zeros(room, bool), jnp.zeros(room, int))
    return jax.lax.while_loop(unfinished, advance, (lanes, jnp.asarray(count), ends))[2]
