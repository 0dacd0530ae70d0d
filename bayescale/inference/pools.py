"""Coordinates of parameters that have a value for each group of runs.

A value can be sampled in two ways. *Its own*, which suits a group whose runs say much: the parameter itself, or, where
the loss is linear in it, what it contributes to the loss of a run typical of the group. Contributions are what a table
determines most precisely, and their ridges are straight (see `density`). Or as a *deviation* from the level in units of
the spread, which suits a group whose runs say little: its prior is then the same for every spread, and no funnel opens
where the spread gets small. Which of the two is decided value by value, once the curvature at the mode is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from bayescale._float64 import jax, jnp
from bayescale.grouping import Groups
from bayescale.model import Model

__all__ = ["Pools", "anchors_of"]

# The bend between a straight and a logarithmic scale of a contribution, as a fraction of its usual size.
BEND = 1.0 / 8.0


def anchors_of(model: Model, columns: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """What the coordinates of a model's groups are fixed to, for a table; empty for a model without groups.

    Returns
    -------
    dict
        ``own``: for each pooled parameter, 1 where a group's value is sampled as its own, 0 where as a deviation,
        (group,). ``typical``: for each grouping, the inputs of a run typical of each group, (group, ...). ``usual``:
        what each linear parameter usually contributes to the loss of that run, (group,).
    """
    if not model.pools:
        return {}
    typical = {groups.key: _typical(model, groups, columns) for groups in model.groups if _by_run(groups, columns)}
    bare = Pools(model, {"typical": typical})
    return {
        "own": {name: np.ones(len(groups)) for name, groups in model.groups_of.items()},
        "typical": typical,
        "usual": bare.usual(),
    }


def _by_run(groups: Groups, columns: Mapping[str, np.ndarray]) -> bool:
    return columns[groups.key].ndim == 1


def _typical(model: Model, groups: Groups, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    places = columns[groups.key]
    read = {name: columns[name] for name in model.law.inputs}
    # a group without a run in this table is like all of them
    runs = [places == place if (places == place).any() else places >= 0 for place in range(len(groups))]
    found = [model.law.typical({name: values[rows] for name, values in read.items()}) for rows in runs]
    return {name: np.stack([one[name] for one in found]) for name in model.law.inputs}


class Pools:
    """The pooled parameters of a model on their part of the flat vector; traceable.

    Parameters
    ----------
    model : Model
        Settled on a table.
    anchors : mapping
        From `anchors_of`.
    """

    def __init__(self, model: Model, anchors: Mapping[str, Any]) -> None:
        self.model, self.anchors = model, anchors

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many groups each parameter has; those in which the law is linear last, for they stand on the others."""
        of = self.model.groups_of
        missing = [name for name in self.model.pools if name not in of]
        if missing:
            raise ValueError(f"{missing[0]} is pooled, and the model has not been settled on a table")
        order = sorted(of, key=lambda name: name in self.model.law.linear)
        return {name: len(of[name]) for name in order}

    @property
    def dim(self) -> int:
        """Length of their part of the flat vector."""
        return sum(self.sizes.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the values, in the order of the flat vector."""
        of = self.model.groups_of
        return tuple(label for name in self.sizes for label in of[name].names(name))

    @cached_property
    def linear(self) -> tuple[str, ...]:
        """Parameters whose own coordinate is a contribution to the loss of a typical run."""
        law, of = self.model.law, self.model.groups_of
        positive = [name for name in law.linear if name in of and self.model.pools[name].link.kind in ("log", "floor")]
        return tuple(
            n
            for n in positive
            if self.model.pools[n].prior.sample(np.random.default_rng(0), 64).min() > 0
            and self._low(n) == 0.0
            and of[n].key in self.anchors.get("typical", {})
        )

    def _low(self, name: str) -> float:
        return self.model.pools[name].link.low

    def _bases(self, theta: Mapping[str, Any]) -> dict[str, Any]:
        """What one unit of each linear parameter contributes to the loss of the run typical of each group."""
        law, of = self.model.law, self.model.groups_of
        found: dict[str, Any] = {}
        for over in dict.fromkeys(of[name].over for name in self.linear):
            names = [name for name in self.linear if of[name].over == over]
            aligned = {n: theta[n] for n in law.parameters if n in theta and n in of and of[n].over == over}
            # a parameter that has other groups, or none, stays at its usual value: any fixed one makes a coordinate
            usual = {n: self.model.priors[n].median for n in law.parameters}
            inputs = [self.anchors["typical"][of[names[0]].key][n] for n in law.inputs]
            rest = usual | {n: value for n, value in aligned.items() if n not in law.linear}

            def contribution(units: Any, inputs: Any = inputs, rest: Any = rest) -> Any:
                return law.loss(*inputs, **rest | dict(zip(law.linear, units, strict=True)))

            units = jnp.array([[float(n == name) for n in law.linear] for name in names])
            made = jax.vmap(contribution)(units)
            found |= {name: made[place] for place, name in enumerate(names)}
        return found

    def usual(self) -> dict[str, np.ndarray]:
        """The contribution of each linear parameter at the medians of the priors, (group,)."""
        bases = jax.jit(lambda: self._bases({}))()
        return {
            name: np.broadcast_to(self.model.priors[name].median * np.asarray(basis), (self.sizes[name],))
            for name, basis in bases.items()
        }

    def values(self, z: Any, scalars: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """The parameters (group,) at their part of the flat vector, and their log density on that scale."""
        theta: dict[str, Any] = {}
        bases: dict[str, Any] = {}
        total, start = 0.0, 0
        for name, size in self.sizes.items():
            if name in self.linear and not bases:
                bases = self._bases(theta)  # the parameters on which they stand come before
            part, start = z[start : start + size], start + size
            pool, own = self.model.pools[name], self.anchors["own"][name]
            if pool.apart:
                inner, log_slope = self._own(name, part, bases)
                theta[name] = pool.link.outer(inner, jnp)
                log_slope = log_slope + pool.link.log_slope(inner, jnp)
                total = total + (log_slope + jax.vmap(pool.prior.distribution().log_prob)(theta[name])).sum()
                continue
            hyper = {suffix: scalars[f"{name}_{suffix}"] for suffix in pool.hyper}
            centre = self._centre(name, hyper)
            # the branch that is not taken must not overflow either, or its gradient would be no number
            inner, log_slope = self._own(name, jnp.where(own > 0, part, self._safe(name)), bases)
            apart, log_spread = self._apart(name, part, hyper)
            inner = jnp.where(own > 0, inner, centre + apart)
            theta[name] = pool.link.outer(inner, jnp)
            log_slope = jnp.where(own > 0, log_slope, log_spread)
            total = total + log_slope.sum() + self._log_prior(name, inner, theta[name], centre, hyper)
        return theta, total

    def inverse(self, theta: Mapping[str, Any]) -> Any:
        """The part of the flat vector at given parameters, level and spread among them."""
        parts, bases = [], self._bases(theta) if self.linear else {}
        for name in self.sizes:
            pool, own = self.model.pools[name], self.anchors["own"][name]
            inner = pool.link.inner(jnp.asarray(theta[name]), jnp)
            if pool.apart:
                parts.append(self._own_inverse(name, inner, bases))
                continue
            hyper = {suffix: theta[f"{name}_{suffix}"] for suffix in pool.hyper}
            apart = inner - self._centre(name, hyper)
            together, mean = self._together(name, apart, hyper)
            units = (apart - mean) / hyper["spread"] + mean / together
            parts.append(jnp.where(own > 0, self._own_inverse(name, inner, bases), units))
        return jnp.concatenate(parts)

    def _own(self, name: str, part: Any, bases: Mapping[str, Any]) -> tuple[Any, Any]:
        """Inner value, and log slope of it, at a value's own coordinate."""
        if name not in self.linear:
            return part, jnp.zeros_like(part)
        link = self.model.pools[name].link
        bend = BEND * self.anchors["usual"][name]
        contribution = bend * jax.nn.softplus(jnp.maximum(part / bend, -600.0))
        outer = contribution / bases[name]
        inner = link.inner(outer, jnp)
        log_slope = jnp.log(outer / contribution) - jax.nn.softplus(-part / bend) - link.log_slope(inner, jnp)
        return inner, log_slope

    def _safe(self, name: str) -> Any:
        return self.anchors["usual"][name] if name in self.linear else 0.0

    def _own_inverse(self, name: str, inner: Any, bases: Mapping[str, Any]) -> Any:
        if name not in self.linear:
            return inner
        bend = BEND * self.anchors["usual"][name]
        contribution = self.model.pools[name].link.outer(inner, jnp) * bases[name]
        return contribution + bend * jnp.log(-jnp.expm1(-contribution / bend))

    def _centre(self, name: str, hyper: Mapping[str, Any]) -> Any:
        pool = self.model.pools[name]
        centre = jnp.full(self.sizes[name], 1.0) * pool.link.inner(hyper["level"], jnp)
        return centre if pool.slope is None else centre + hyper["slope"] * self.model.structure(name)[1]

    def _apart(self, name: str, units: Any, hyper: Mapping[str, Any]) -> tuple[Any, Any]:
        """Deviations from the level, of which `units` are independent and standard normal, and their log slopes."""
        together, mean = self._together(name, units, hyper)
        spread = hyper["spread"]
        # the slope of a mean is spread evenly over the members: only the sum over all of them is asked for
        log_slope = jnp.log(spread) + (jnp.log(together) - jnp.log(spread)) / self._counts(name)
        return spread * (units - mean) + together * mean, log_slope

    def _together(self, name: str, values: Any, hyper: Mapping[str, Any]) -> tuple[Any, Any]:
        """Sd of the mean of what each group shares a deviation with, times the root of its number; and that mean."""
        pool = self.model.pools[name]
        if pool.shared is None:
            return hyper["spread"], values
        members, _ = self.model.structure(name)
        count = self._counts(name)
        mean = jax.ops.segment_sum(values, members, num_segments=int(members.max()) + 1)[members] / count
        return jnp.sqrt(jnp.square(hyper["spread"]) + count * jnp.square(hyper[f"spread_{pool.shared}"])), mean

    def _counts(self, name: str) -> np.ndarray:
        """How many groups have a deviation in common with each, itself included."""
        members, _ = self.model.structure(name)
        alone = self.model.pools[name].shared is None
        return np.ones(len(members)) if alone else np.bincount(members)[members].astype(float)

    def _log_prior(self, name: str, inner: Any, outer: Any, centre: Any, hyper: Mapping[str, Any]) -> Any:
        """Log density of all groups of a parameter on the inner scale, without constants."""
        pool, spread, size = self.model.pools[name], hyper["spread"], self.sizes[name]
        if pool.link.floor is not None:
            apart = (outer - hyper["level"]) / spread
            # the level is above the floor, where the tail that is cut off is at most a half: no need of `log_ndtr`
            inside = jnp.log1p(-0.5 * jax.lax.erfc((hyper["level"] - pool.link.floor) / (spread * math.sqrt(2.0))))
            slopes = pool.link.log_slope(inner, jnp).sum()
            return slopes - 0.5 * jnp.square(apart).sum() - size * (jnp.log(spread) + inside)
        apart = inner - centre
        if pool.shared is None:
            return -0.5 * jnp.square(apart / spread).sum() - size * jnp.log(spread)
        members, _ = self.model.structure(name)
        # normal with a deviation in common, which is integrated out: I + ratio * ones has a closed inverse
        counts = np.bincount(members)
        ratio = jnp.square(hyper[f"spread_{pool.shared}"] / spread)
        sums = jax.ops.segment_sum(apart, members, num_segments=len(counts))
        squares = jnp.square(apart).sum() - (jnp.square(sums) * ratio / (1.0 + counts * ratio)).sum()
        return -0.5 * squares / jnp.square(spread) - size * jnp.log(spread) - 0.5 * jnp.log1p(counts * ratio).sum()
