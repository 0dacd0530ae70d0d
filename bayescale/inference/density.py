"""The posterior density of a model on a flat, unconstrained vector: what every sampler and optimiser here works on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpyro.distributions import biject_to, constraints

from bayescale._float64 import jax, jnp
from bayescale.inference.anchors import FLOOR
from bayescale.inference.pools import Pools
from bayescale.inference.transforms import Softplus
from bayescale.laws._positive import Positive
from bayescale.model import Model
from bayescale.noise import log_likelihood
from bayescale.prior import Prior

__all__ = ["BLOCK", "Density", "Table", "pad"]

# A law is a sum of contributions to the loss, so one of its posterior ridges (a higher floor against smaller terms) is
# a straight line in the contributions themselves, and another (a larger term against a smaller exponent) is one in
# logarithms. So the floor is sampled as the loss of a typical run, which the table knows, and each term by the
# logarithm of what it adds to that: both ridges are straight. Without a typical run what the law is linear in goes by
# softplus, the identity above a bend and a logarithm below it; the bend sits at this fraction of the prior median.
BEND = 1.0 / 8.0
# As far as the floor is known the ridge is as thin as the noise, and a bend in it is felt from further away.
LOW_BEND = 1.0 / 32.0
# Where a law has a term for each mixture the floor is hardly told from it, and comes closer to zero.
GROUPED_LOW_BEND = 1.0 / 64.0
# What a coordinate of each of these roles is an offset from depends on the parameters of the roles before it.
ORDER = ("", "term", "floor")
FINE = 4096
# A longer table is read in blocks of this many runs, small enough for everything about a block to stay in the cache.
BLOCK = 4096


class Table(NamedTuple):
    """A padded table of runs: the columns, the log losses, which rows are real, and the anchors of coordinates."""

    columns: dict[str, Any]
    log_loss: Any
    weight: Any
    anchors: dict[str, Any] = {}  # noqa: RUF012  (never changed; JAX takes no other mapping apart)

    @property
    def anchors_of_first(self) -> dict[str, Any]:
        """The anchors of the first of several tables."""
        return jax.tree.map(lambda values: np.asarray(values)[0], self.anchors)


def pad(
    columns: Mapping[str, np.ndarray], log_loss: np.ndarray, anchors: Mapping[str, Any] | None = None, like: int = 0
) -> Table:
    """Pad a table, so that tables of similar size share compiled code.

    To the next power of two up to 4,096 rows, and beyond to the next multiple of an eighth of it; to an eighth of it
    too where there are groups, whose tables are rarely alike; as far as a table of `like` rows, if that is larger.
    Padding repeats the first run and carries weight False, so it adds exactly nothing to the density.
    """
    size = len(log_loss)
    whole = max(size, like)
    power = max(16, 1 << (whole - 1).bit_length())
    step = power if power <= FINE and "own" not in (anchors or {}) else max(16, power // 8)
    room = whole - size + -whole % step

    def grow(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, np.repeat(values[:1], room, axis=0)])

    columns = {name: grow(values) for name, values in columns.items()}
    return Table(
        {name: _held(v) for name, v in columns.items()},
        grow(log_loss),
        np.arange(size + room) < size,
        dict(anchors or {}),
    )


def _held(values: np.ndarray) -> Any:
    """A column as laws take it: positive numbers with their logarithm, places of groups and zeros as they are."""
    if values.ndim > 1 or values.dtype.kind == "i" or not (values > 0).all():
        return values
    return Positive(np.log(values), values)


class _Block(NamedTuple):
    """Parameters next to each other in the flat vector that share a role, a transform and a family of priors."""

    names: tuple[str, ...]
    prior: Any
    transform: Any
    role: str


class Density:
    """Potential energy (minus log posterior density, up to a constant) of a model on R^dim.

    The same density as that of the NumPyro program that the model is (the tests hold the two equal), evaluated on
    blocks of parameters instead of one site at a time: a third of the operations, so less time to compile and to run.

    Parameters
    ----------
    model : Model
        Hashable, so that a `Density` can be rebuilt from it inside a jitted function for free.
    table : Table or None
        Data; arrays or tracers. None where only the prior and the parameters are asked about.
    anchors : mapping, optional
        Those of the table, where the table is not given: what the coordinates are fixed to (`anchors_of`).
    """

    def __init__(self, model: Model, table: Table | None, anchors: Mapping[str, Any] | None = None) -> None:
        self.model = model
        self.table: Any = table
        self.anchors = (table.anchors if table is not None else {}) if anchors is None else anchors
        self.pools = Pools(model, self.anchors)

    @cached_property
    def _blocks(self) -> tuple[_Block, ...]:
        """The blocks, what the mean depends on first and ``sigma`` first among the noise's."""
        mean = self.model.mean_parameters
        free = {name: prior for name, prior in self.model.scalars.items() if not prior.fixed}
        groups: dict[tuple[bool, str, str, tuple[bool, ...]], list[str]] = {}
        for name, prior in free.items():
            ends = tuple(map(math.isfinite, prior.arguments))
            groups.setdefault((name not in mean, self._role(name), prior.family, ends), []).append(name)
        # Python's sort is stable, so the noise keeps its own order, in which sigma stands first
        ordered = sorted(groups.items(), key=lambda group: group[0][0])
        return tuple(self._block(tuple(names), [free[name] for name in names], key[1]) for key, names in ordered)

    def _role(self, name: str) -> str:
        """How a parameter is sampled: ``floor`` or ``term`` of the typical run, ``linear``, or as it is."""
        law, support = self.model.law, self.model.scalars[name].distribution().support
        if name in law.linear and "run" in self.anchors and support is constraints.positive:
            return "floor" if name == FLOOR else "term"
        return "linear" if name in law.linear or name in self._floored else ""

    def _offset(self, role: str, names: tuple[str, ...], theta: Mapping[str, Any]) -> Any:
        """What is added to the coordinates of a block for its role, given the parameters of the roles before."""
        law = self.model.law
        if role not in ORDER[1:]:
            return 0.0
        # a floor over nothing, and one unit of each term over no floor and no other term
        known = self._pinned | dict(theta) | self.anchors.get("held", {})
        zero = known | ({FLOOR: 0.0} if role == "floor" else dict.fromkeys(law.linear, 0.0))

        def loss(units: Mapping[str, Any]) -> Any:
            at = zero | dict(units)
            return law.loss(*(self.anchors["run"][n] for n in law.inputs), **{n: at[n] for n in law.parameters})

        if role == "floor":
            return loss({})
        added = jnp.abs(jnp.stack([loss({name: 1.0}) for name in names]))
        return jnp.log(jnp.where((added > 0.0) & (added < jnp.inf), added, 1.0))

    @cached_property
    def _floored(self) -> set[str]:
        """Levels of groups that are cut off at zero: like what they stand for, they may be close to it."""
        return {f"{name}_level" for name, pool in self.model.pools.items() if pool.link.floor == 0.0}

    def _block(self, names: tuple[str, ...], priors: list[Prior], role: str) -> _Block:
        distribution = priors[0].together(priors)
        positive, transform = distribution.support is constraints.positive, biject_to(distribution.support)
        if role in ("floor", "linear") and (positive or set(names) <= self._floored):
            low = GROUPED_LOW_BEND if self.model.pools else LOW_BEND
            bend = low if role == "floor" else BEND
            transform = Softplus(bend * np.array([prior.median for prior in priors]))
        return _Block(names, distribution, transform, role)

    @property
    def names(self) -> tuple[str, ...]:
        """Sampled parameters, in the order of the flat vector."""
        scalars = [name for block in self._blocks for name in block.names]
        return (*scalars[: self._inner], *self.pools.names, *scalars[self._inner :])

    @property
    def dim(self) -> int:
        """Length of the flat vector."""
        return len(self.names)

    @property
    def n_law(self) -> int:
        """How many of the sampled parameters the mean depends on, the law's for the most part; they come first.

        Values of groups count among them, their levels and spreads with the noise.
        """
        return self._inner + self.pools.dim

    @cached_property
    def _inner(self) -> int:
        mean = self.model.mean_parameters
        return sum(name in mean for block in self._blocks for name in block.names)

    @property
    def sigma_at(self) -> int | None:
        """Place of ``log sigma`` in the flat vector; None where sigma is pinned."""
        return self.names.index("sigma") if "sigma" in self.names else None

    def _apart(self, z: Any) -> tuple[Any, Any]:
        """The scalars of a flat vector, and the values of groups."""
        if not self.pools.dim:
            return z, z[:0]
        grouped = slice(self._inner, self.n_law)
        return jnp.concatenate([z[: self._inner], z[self.n_law :]]), z[grouped]

    def _parts(self, z: Any) -> list[tuple[_Block, Any, Any]]:
        """Each block with its part of the vector of scalars, unconstrained and on its own scale."""
        ends = itertools.accumulate((len(block.names) for block in self._blocks), initial=0)
        flat = [z[start:end] for start, end in itertools.pairwise(ends)]
        stage = [ORDER.index(block.role) if block.role in ORDER else 0 for block in self._blocks]
        parts: dict[int, tuple[_Block, Any, Any]] = {}
        for place in sorted(range(len(flat)), key=lambda place: stage[place]):
            block = self._blocks[place]
            part = flat[place] - self._offset(block.role, block.names, self._named([*parts.values()]))
            parts[place] = block, part, block.transform(part)
        return [parts[place] for place in range(len(flat))]

    @staticmethod
    def _named(parts: list[tuple[_Block, Any, Any]]) -> dict[str, Any]:
        return {name: value[i] for block, _, value in parts for i, name in enumerate(block.names)}

    @staticmethod
    def _prior(parts: list[tuple[_Block, Any, Any]]) -> Any:
        """Log prior density on the unconstrained scale."""
        return sum(
            (block.prior.log_prob(value) + block.transform.log_abs_det_jacobian(part, value)).sum()
            for block, part, value in parts
        )

    def _read(self, z: Any) -> tuple[dict[str, Any], Any]:
        """Parameters on their own scale, and their log prior density on the unconstrained one."""
        scalars, grouped = self._apart(z)
        parts = self._parts(scalars)
        theta, log_prior = self._named(parts), self._prior(parts)
        if not self.pools.dim:
            return theta, log_prior
        values, log_density = self.pools.values(grouped, self._pinned | theta)
        return theta | values, log_prior + log_density

    def constrain(self, z: Any) -> dict[str, Any]:
        """Parameters on their own scale from a flat vector of shape (dim,); those with groups are (group,)."""
        return self._read(z)[0] if self.pools.dim else self._named(self._parts(z))

    def unconstrain(self, theta: Mapping[str, Any]) -> Any:
        """The flat vector, shape (dim,), of parameters on their own scale."""
        blocks = [
            b.transform.inv(jnp.stack([jnp.asarray(theta[name]) for name in b.names]))
            + self._offset(b.role, b.names, theta)
            for b in self._blocks
        ]
        scalars = jnp.concatenate(blocks)
        if not self.pools.dim:
            return scalars
        grouped = self.pools.inverse(self._pinned | dict(theta))
        return jnp.concatenate([scalars[: self._inner], grouped, scalars[self._inner :]])

    def prior_potential(self, z: Any) -> Any:
        """The part of the potential that is there before any data."""
        return -self._read(z)[1]

    def potential(self, z: Any) -> Any:
        """Minus the log density of the posterior on the unconstrained scale, Jacobians included."""
        theta, log_prior = self._read(z)
        return -self._likelihood(theta, self.table) - log_prior

    def measure(self, z: Any) -> tuple[Any, Any]:
        """The potential and its gradient, long tables block by block."""
        return _measure(self.model, self.table, z)

    def _measured(self, z: Any) -> tuple[Any, Any]:
        rows = self.table.weight.size
        if rows <= BLOCK or self.pools.dim:
            return jax.value_and_grad(self.potential)(z)
        length = math.gcd(rows, BLOCK)
        runs = self.table._replace(anchors={})
        blocks = jax.tree.map(lambda values: values.reshape(-1, length, *values.shape[1:]), runs)
        potential = jax.value_and_grad(lambda z, block: -self._likelihood(self.constrain(z), block))

        def add(total: Any, block: Table) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, total, potential(z, block)), None

        return jax.lax.scan(add, jax.value_and_grad(self.prior_potential)(z), blocks)[0]

    @property
    def _pinned(self) -> dict[str, Any]:
        return {name: prior.arguments[0] for name, prior in self.model.scalars.items() if prior.fixed}

    def _likelihood(self, theta: Mapping[str, Any], table: Table) -> Any:
        predicted = self.model.predictive(table.columns, self._pinned | dict(theta))
        return log_likelihood(predicted, table.log_loss, table.weight)


# Traced once for a model and a size of table, wherever it is used: tracing takes longer than compiling.
@partial(jax.jit, static_argnames=("model",), inline=True)
def _measure(model: Model, table: Table, z: Any) -> tuple[Any, Any]:
    return Density(model, table)._measured(z)
