"""Variable projection: linear parameters at their best for each setting of the others, so that only these are searched.

Golub and Pereyra 1973, doi 10.1137/0710036; with linear parameters that may not be negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from bayescale._float64 import jax, jnp
from bayescale.optimisation.newton import Local, solve
from bayescale.optimisation.regression import Regression, Resampled

__all__ = ["MOST_LINEAR", "Projection", "non_negative"]

# Every set of positive parameters is tried, 2^k of them.
MOST_LINEAR = 5
# What a linear parameter of 0 is written as, so that the constants that papers print can be computed from it.
NIL = 1e-30


def non_negative(gram: Any, moment: Any) -> Any:
    """Least squares under non-negativity in each lane, exactly, by trying every set of positive parameters.

    Parameters
    ----------
    gram : array (linear, linear, lane)
        ``X' X``.
    moment : array (linear, lane)
        ``X' y``.

    Returns
    -------
    array (linear, lane)
        The coefficients that minimise ``|X c - y|^2`` with ``c >= 0``.
    """
    many, lanes = moment.shape
    size = jnp.sqrt(jnp.diagonal(gram).T) + 1e-300
    gram, moment = gram / (size[:, None] * size[None, :]), moment / size
    # every set of positive parameters is a lane of its own: (linear, set, lane)
    chosen = np.array(list(product((False, True), repeat=many))).T[:, :, None]
    both = chosen[:, None] & chosen[None, :]
    part = jnp.where(both, gram[:, :, None], np.eye(many)[:, :, None, None]).reshape(many, many, -1)
    right = jnp.where(chosen, moment[:, None], 0.0).reshape(many, -1)
    found = solve(part, right)
    # one step of iterative refinement: the normal equations square the condition number
    found = (found + solve(part, right - (part * found[None]).sum(1))).reshape(many, -1, lanes)
    lower = (found * moment[:, None]).sum(0)
    best = jnp.argmax(jnp.where((found >= 0).all(0), lower, -1.0), axis=0)
    return jnp.take_along_axis(found, best[None, None], axis=1)[:, 0] / size


@dataclass(frozen=True)
class Projection:
    """The sum of squares left by the best linear parameters, as a function of the coordinates of the others.

    Attributes
    ----------
    full : Regression
        The objective in all parameters; least squares on loss.
    """

    full: Regression

    @property
    def free(self) -> tuple[int, ...]:
        """Places of the parameters that are searched."""
        linear = self.full.law.linear
        return tuple(i for i, name in enumerate(self.full.coordinates.names) if name not in linear)

    @property
    def linear(self) -> tuple[int, ...]:
        """Places of the linear parameters."""
        linear = self.full.law.linear
        return tuple(i for i, name in enumerate(self.full.coordinates.names) if name in linear)

    def _natural(self, position: Any) -> list[Any]:
        logs = [self.full.coordinates.logs[i] for i in self.free]
        return [jnp.exp(z) if log else z for z, log in zip(position, logs, strict=True)]

    def _basis(self, columns: tuple[Any, ...], others: list[Any]) -> list[Any]:
        """What one unit of each linear parameter gives one run."""
        dim = len(self.full.coordinates.names)
        parts = []
        for i in self.linear:
            theta: list[Any] = [0.0] * dim
            theta[i] = 1.0
            for j, value in zip(self.free, others, strict=True):
                theta[j] = value
            parts.append(self.full.loss(columns, theta))
        return parts

    def best(self, table: Resampled, resample: Any, position: Any, least: Any = 0.0) -> Any:
        """The best linear parameters (linear, lane) at `position` (free, lane); `resample` (lane,).

        Those whose contributions to the residuals have a root mean square below `least` are raised to it.
        """
        many, lanes = len(self.linear), position.shape[1]
        others = self._natural(list(position))
        count = table.count[resample].T.astype(float)
        sign = table.sign[jnp.minimum(resample, table.sign.shape[0] - 1)].T.astype(float)

        def one(others: list[Any], row: tuple[Any, ...]) -> list[Any]:
            columns, centre, spread, precision, count, sign = row
            weight = count * precision * precision
            parts = self._basis(columns, others)
            target = weight * (centre + sign * spread)
            pairs = [weight * parts[i] * parts[j] for i in range(many) for j in range(i + 1)]
            return pairs + [target * part for part in parts]

        lane_by_lane = jax.vmap(one, in_axes=(0, (None, None, None, None, 0, 0)))

        def add(total: list[Any], row: tuple[Any, ...]) -> tuple[list[Any], None]:
            return [old + new for old, new in zip(total, lane_by_lane(others, row), strict=True)], None

        rows = (table.columns, table.centre, table.spread, table.precision, count, sign)
        sums = jax.lax.scan(add, [jnp.zeros(lanes)] * (many * (many + 3) // 2), rows)[0]
        place = {(i, j): k for k, (i, j) in enumerate((i, j) for i in range(many) for j in range(i + 1))}
        gram = jnp.stack([jnp.stack([sums[place[max(i, j), min(i, j)]] for j in range(many)]) for i in range(many)])
        usual = jnp.sqrt(jnp.diagonal(gram).T / count.sum(0)[None])
        return jnp.maximum(non_negative(gram, jnp.stack(sums[-many:])), least / usual)

    def complete(self, linear: Any, position: Any) -> Any:
        """Coordinates (dim, lane) of all parameters, from linear parameters and the coordinates of the others."""
        rows: list[Any] = [None] * len(self.full.coordinates.names)
        for k, i in enumerate(self.linear):
            rows[i] = jnp.log(jnp.maximum(linear[k], NIL))
        for k, i in enumerate(self.free):
            rows[i] = position[k]
        return jnp.stack(rows)

    def evaluate(self, table: Resampled, which: Any, position: Any, task: Any, stage: Any) -> Local:
        """The projected objective near `position` (free, lane).

        Its gradient is that of the full objective at the best linear parameters (the envelope theorem), its Hessian
        the Schur complement of the full one over the linear parameters that are not 0.
        """
        linear = self.best(table, which[task], position)
        full = self.full.evaluate_natural(table, which, self._joined(linear, position), task, stage)
        keep, out = np.array(self.free), np.array(self.linear)
        inside = linear > 0
        across = jnp.where(inside[:, None], full.hessian[out][:, keep], 0.0)
        both = inside[:, None] & inside[None, :]
        block = jnp.where(both, full.hessian[out][:, out], jnp.eye(len(out))[:, :, None])
        solved = jnp.stack([solve(block, across[:, j]) for j in range(len(keep))], axis=1)
        hessian = full.hessian[keep][:, keep] - (across[:, :, None] * solved[:, None]).sum(0)
        return self._chained(Local(full.value, full.gradient[keep], hessian), position)

    def _joined(self, linear: Any, position: Any) -> Any:
        rows: list[Any] = [None] * len(self.full.coordinates.names)
        for k, i in enumerate(self.linear):
            rows[i] = linear[k]
        for i, value in zip(self.free, self._natural(list(position)), strict=True):
            rows[i] = value
        return jnp.stack(rows)

    def _chained(self, local: Local, position: Any) -> Local:
        from_free = self.full.coordinates.part(self.free)
        one = jnp.ones(position.shape[1])
        gradient, hessian = from_free.chain(
            jnp.stack(self._natural(list(position))), local.gradient, local.hessian, one
        )
        return Local(local.value, gradient, hessian)
