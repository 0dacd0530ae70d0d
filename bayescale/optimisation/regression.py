"""Robust regression of a law on a table: the sum over runs of Huber's function of the residual, with its derivatives.

Least squares is the same objective with an infinite delta, on log loss or on the loss itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayescale._float64 import jax, jnp
from bayescale.laws import Law
from bayescale.laws._positive import Positive
from bayescale.optimisation.coordinates import Coordinates
from bayescale.optimisation.newton import Local

__all__ = ["STAGES", "Cost", "Regression", "Resampled", "derivatives", "resampled"]


# Residuals of a table without noise are rounding, 1e-16 to 1e-14 nats; an optimum is judged as if all residuals were
# larger than they are by this, which is a hundredth of the smallest delta in use.
ALLOWANCE = 1e-5
# Stages of any search.
STAGES = 4


@dataclass(frozen=True)
class Cost:
    """What a residual costs in one stage of a search.

    Attributes
    ----------
    delta : float
        Beyond it the cost grows linearly; infinite for least squares.
    curved : bool
        Whether the Hessian has the curvature of the law (Newton) or not (Gauss-Newton).
    """

    delta: float
    curved: bool


class Resampled(NamedTuple):
    """A table and its resamples; the first is the table itself.

    Attributes
    ----------
    columns : tuple of Positive (run,)
        Inputs of the law.
    centre, spread : array (run,)
        The observed value of run i in resample k is ``centre[i] + sign[k, i] spread[i]``: spread is 0 unless residuals
        are resampled.
    precision : array (run,)
        Residuals are multiplied with it: one over a standard deviation, or 1.
    count : array (resample, run)
        How often each run is in each resample; 0 for padding.
    sign : array (resample, run)
        Sign with which each residual returns; of the table itself, what makes ``spread`` its own residual.
    delta, curved : array (stage,)
        What a residual costs in each stage of a search; see `Cost`. Values, so that objectives of one law share
        compiled code whatever their delta.
    """

    columns: tuple[Any, ...]
    centre: Any
    spread: Any
    precision: Any
    count: Any
    sign: Any
    delta: Any
    curved: Any


def resampled(
    columns: Mapping[str, np.ndarray],
    target: np.ndarray,
    precision: np.ndarray,
    count: np.ndarray,
    costs: tuple[Cost, ...],
) -> Resampled:
    """Pad a table and its resamples, so that tables of similar size share compiled code.

    Parameters
    ----------
    columns : mapping of str to array (run,)
        Inputs of the law, in its order.
    target, precision : array (run,)
        Observed values, and what residuals are multiplied with.
    count : array (resample, run)
        How often each run is in each resample.
    costs : tuple of Cost
        One for each stage of the search, at most STAGES; the last is the one that is meant.
    """
    size = len(target)
    step = max(16, (1 << (size - 1).bit_length()) // 8)
    room = -size % step

    def grow(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, np.full(room, values[0])])

    held = tuple(Positive(np.log(grow(values)), grow(values)) for values in columns.values())
    costs = costs + (costs[-1],) * (STAGES - len(costs))
    return Resampled(
        columns=held,
        centre=grow(target),
        spread=np.zeros(size + room),
        precision=grow(precision),
        count=np.pad(count, ((0, 0), (0, room))),
        sign=np.zeros((1, size + room), np.int8),
        delta=np.array([cost.delta for cost in costs]),
        curved=np.array([float(cost.curved) for cost in costs]),
    )


@jax.custom_jvp
def _log(value: Any) -> Any:
    """Logarithm to 3e-16, at a third of the cost: one of single precision, and two terms of the series around it."""
    near = jnp.log(value.astype(jnp.float32)).astype(jnp.float64)
    left = value * jnp.exp(-near) - 1.0
    return near + (left - 0.5 * left * left)


@_log.defjvp
def _(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    return _log(primals[0]), tangents[0] / primals[0]


Scalar = Callable[[list[Any]], Any]


def _slope(function: Scalar, i: int) -> Scalar:
    """Partial derivative; the other arguments stay constants, so that nothing is multiplied with zeros."""

    def slope(theta: list[Any]) -> Any:
        return jax.jvp(lambda value: function([*theta[:i], value, *theta[i + 1 :]]), (theta[i],), (jnp.ones(()),))[1]

    return slope


def derivatives(
    function: Scalar, theta: list[Any], straight: frozenset[int] = frozenset()
) -> tuple[Any, list[Any], list[list[Any]]]:
    """A scalar function of scalars, its gradient and the lower triangle of its Hessian.

    Between two of the arguments in which the function is `straight` there is no second derivative: None.
    """
    dim = len(theta)
    first = [_slope(function, i) for i in range(dim)]
    bends = [[None if {i, j} <= straight else _slope(first[i], j)(theta) for j in range(i + 1)] for i in range(dim)]
    return function(theta), [slope(theta) for slope in first], bends


def _symmetric(lower: list[list[Any]]) -> Any:
    dim = len(lower)
    return jnp.stack([jnp.stack([lower[max(i, j)][min(i, j)] for j in range(dim)]) for i in range(dim)])


@dataclass(frozen=True)
class Regression:
    """The objective of a law; equal ones share compiled code.

    Attributes
    ----------
    law : Law
    coordinates : Coordinates
    on_log : bool
        Whether residuals are those of log loss or of loss.
    """

    law: Law
    coordinates: Coordinates
    on_log: bool

    @property
    def _straight(self) -> frozenset[int]:
        return frozenset(i for i, name in enumerate(self.coordinates.names) if name in self.law.linear)

    def loss(self, columns: tuple[Any, ...], theta: list[Any]) -> Any:
        """Loss of one run."""
        named = dict(zip(self.coordinates.names, theta, strict=True)) | dict(self.coordinates.pinned)
        return self.law.loss(*columns, **named)

    def _run(self, theta: list[Any], cost: tuple[Any, Any], row: tuple[Any, ...]) -> list[Any]:
        """What one run adds to the objective, its gradient and its Hessian in the parameters, in one lane."""
        columns, centre, spread, precision, count, sign = row
        delta, curved = cost
        loss, slopes, bends = derivatives(lambda theta: self.loss(columns, theta), theta, self._straight)
        unit = precision / loss if self.on_log else precision
        residual = precision * ((_log(loss) if self.on_log else loss) - (centre + sign * spread))
        size = jnp.abs(residual)
        inside = jnp.minimum(size, delta)
        pull = count * unit * jnp.clip(residual, -delta, delta)
        # d2 log L = d2 L / L - (dL / L)^2
        outer = jnp.where(size <= delta, count, 0.0) * unit * unit - (curved * pull / loss if self.on_log else 0.0)
        value = count * inside * (size - 0.5 * inside)
        bent = curved * pull
        # without the barrier the compiler works these out again inside each of the sums below, at four times the cost
        value, pull, outer, bent, slopes, bends = jax.lax.optimization_barrier(
            (value, pull, outer, bent, slopes, bends)
        )
        products = [
            outer * slopes[i] * slopes[j] + (0.0 if bends[i][j] is None else bent * bends[i][j])
            for i in range(len(theta))
            for j in range(i + 1)
        ]
        return [value, *(pull * slope for slope in slopes), *products]

    def residuals(self, table: Resampled, resample: Any, theta: Any) -> Any:
        """Residuals (run,) of one set of parameters (dim,) on one resample, in units of `delta`."""
        loss = jax.vmap(lambda columns: self.loss(columns, list(theta)))(table.columns)
        sign = table.sign[jnp.minimum(resample, table.sign.shape[0] - 1)].astype(float)
        return table.precision * ((jnp.log(loss) if self.on_log else loss) - (table.centre + sign * table.spread))

    def gradient_norm(self, table: Resampled, resample: Any, position: Any) -> Any:
        """Norm of the gradient of the last stage at one position (dim,), over the sum of what the runs add to it.

        1 where no two runs disagree, 0 at an optimum. ALLOWANCE keeps it at 0 where all residuals are rounding.
        """
        natural = self.coordinates.natural
        residual = self.residuals(table, resample, natural(position))
        slopes = jax.jacfwd(lambda position: self.residuals(table, resample, natural(position)))(position)
        slopes = jnp.where(jnp.isfinite(slopes), slopes, 0.0)
        count = table.count[resample].astype(float)
        pull = count * jnp.clip(residual, -table.delta[-1], table.delta[-1])
        sizes = jnp.linalg.norm(slopes, axis=1)
        scale = ((jnp.abs(pull) + ALLOWANCE * count) * sizes).sum()
        return jnp.linalg.norm((pull[:, None] * slopes).sum(0)) / (scale + 1e-300)

    def evaluate(self, table: Resampled, which: Any, position: Any, task: Any, stage: Any) -> Local:
        """The objective near `position` (dim, lane); `which` (task,) is the resample of each task."""
        theta = self.coordinates.natural(position)
        local = self.evaluate_natural(table, which, theta, task, stage)
        chained = self.coordinates.chain(theta, local.gradient, local.hessian, table.curved[stage])
        return Local(local.value, *chained)

    def evaluate_natural(self, table: Resampled, which: Any, theta: Any, task: Any, stage: Any) -> Local:
        """The objective near parameters `theta` (dim, lane), differentiated by the parameters themselves."""
        dim, lanes = theta.shape
        resample = which[task]
        cost = (table.delta[stage], table.curved[stage])
        count = table.count[resample].T.astype(float)
        signs = table.sign[jnp.minimum(resample, table.sign.shape[0] - 1)].T.astype(float)
        parts = list(theta)
        each_lane = jax.vmap(self._run, in_axes=(0, 0, (None, None, None, None, 0, 0)))

        def add(total: list[Any], row: tuple[Any, ...]) -> tuple[list[Any], None]:
            return [old + new for old, new in zip(total, each_lane(parts, cost, row), strict=True)], None

        rows = (table.columns, table.centre, table.spread, table.precision, count, signs)
        sums = jax.lax.scan(add, [jnp.zeros(lanes)] * (1 + dim + dim * (dim + 1) // 2), rows)[0]
        rest = iter(sums[1 + dim :])
        hessian = _symmetric([[next(rest) for _ in range(i + 1)] for i in range(dim)])
        return Local(sums[0], jnp.stack(sums[1 : 1 + dim]), hessian)
