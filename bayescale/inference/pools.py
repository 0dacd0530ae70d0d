"""Coordinates of parameters that have a value for each group of runs.

A value can be sampled in two ways. *Its own*, which suits a group whose runs say much: the parameter itself, or, where
the loss is linear in it, what it contributes to the loss of a run typical of the group. Contributions are what a table
determines most precisely, and their ridges are straight (see `density`). Or as a *deviation* from the level in units of
the spread, which suits a group whose runs say little: its prior is then the same for every spread, and no funnel opens
where the spread gets small. Which of the two is decided value by value, once the curvature at the mode is known.

Where a law says which exponent belongs to which contribution, what a few runs of a group determine are coordinates:
the loss of the typical run, in place of the floor, and how steeply it falls in each input, exponent times contribution.
They stay put while an exponent and the floor, hard to tell apart, move along their ridge; and the exponent, of which a
group's own runs may say little, can be sampled as a deviation from its level. Where the floor of some group is almost
zero (`bounded`), it must not be what is left over: it is sampled itself, and the last contribution gives way instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np

from bayescale._float64 import jax, jnp
from bayescale.model import Model

__all__ = ["Pools"]

# The bend between a straight and a logarithmic scale of a contribution, as a fraction of its usual size.
BEND = 1.0 / 8.0


class Pools:
    """The pooled parameters of a model on their part of the flat vector; traceable.

    Parameters
    ----------
    model : Model
        Settled on a table.
    anchors : mapping
        From `bayescale.inference.anchors.anchors_of`.
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
        last = {self.steep.get(self._last or ""): 1, self._last: 2}
        return {n: len(of[n]) for n in sorted(of, key=lambda n: (last.get(n, 0), n in self.model.law.linear))}

    @property
    def dim(self) -> int:
        """Length of their part of the flat vector."""
        return sum(self.sizes.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the values, in the order of the flat vector."""
        return tuple(label for name in self.sizes for label in self.model.groups_of[name].names(name))

    @cached_property
    def linear(self) -> tuple[str, ...]:
        """Parameters whose own coordinate is a contribution to the loss of a typical run."""
        law, of = self.model.law, self.model.groups_of
        positive = [name for name in law.linear if name in of and self.model.pools[name].link.kind in ("log", "floor")]
        return tuple(
            n
            for n in positive
            if self.model.pools[n].prior.sample(np.random.default_rng(0), 64).min() > 0
            and self.model.pools[n].link.low == 0.0
            and of[n].key in self.anchors.get("typical", {})
        )

    @cached_property
    def steep(self) -> dict[str, str]:
        """The exponent of each linear parameter but the floor, where all of them have the same groups."""
        powers, of = self.model.law.powers, self.model.groups_of
        alike = len({of[name].over for name in (*self.linear, *powers.values()) if name in of}) == 1
        ends = {self.model.pools[exponent].link.kind for exponent in powers.values() if exponent in of}
        whole = set(powers) <= set(self.linear) and set(powers.values()) <= of.keys() and ends == {"log"}
        return dict(powers) if alike and whole and len(self.linear) == len(powers) + 1 else {}

    @cached_property
    def floor(self) -> str | None:
        """The linear parameter without an exponent, where all others have one."""
        return next(name for name in self.linear if name not in self.steep) if self.steep else None

    @cached_property
    def _last(self) -> str | None:
        """The linear parameter in whose place stands the loss of the typical run."""
        return next(reversed(self.steep), None) if "bounded" in self.anchors else self.floor

    @property
    def kept(self) -> tuple[str, ...]:
        """Parameters that are always sampled as their own: those that a few runs determine, given the others."""
        exponents = self.steep.values() if "bounded" in self.anchors else ()
        return tuple(dict.fromkeys((*self.linear, *exponents))) if self.steep else ()

    def _bases(self, theta: Mapping[str, Any], asked: tuple[str, ...] | None = None) -> dict[str, Any]:
        """What one unit of each linear parameter contributes to the loss of the run typical of each group."""
        law, of = self.model.law, self.model.groups_of
        found: dict[str, Any] = {}
        for over in dict.fromkeys(of[name].over for name in self.linear):
            names = [name for name in asked or self.linear if of[name].over == over]
            aligned = {n: theta[n] for n in law.parameters if n in theta and n in of and of[n].over == over}
            key = of[names[0]].key
            # a parameter whose groups lie across these stays at its usual value: any fixed one makes a coordinate
            usual = {n: self.model.priors[n].median for n in law.parameters}
            inputs = [self.anchors["typical"][key][n] for n in law.inputs]
            inside = {n: theta[n][at] for n, at in self.anchors["inside"][key].items() if n in theta}
            alone = {n: theta[n] for n in law.parameters if n in theta and n not in of}
            rest = usual | {n: value for n, value in (alone | inside | aligned).items() if n not in law.linear}

            def loss(name: str, value: Any, inputs: Any = inputs, rest: Any = rest) -> Any:
                return law.loss(*inputs, **rest | dict.fromkeys(law.linear, 0.0) | {name: value})

            # a derivative, which leaves out the rest of the law, and not the law itself at a unit
            found |= {name: jax.jvp(partial(loss, name), (1.0,), (1.0,))[1] for name in names}
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
        parts = self._split(z)
        alike: dict[Any, list[tuple[str, Any, Mapping[str, Any]]]] = {}
        total = 0.0
        for name, part in parts.items():
            if name in self.linear and name not in bases:
                # the parameters on which they stand come before
                bases |= self._bases(dict(scalars) | theta, self._known_with(name))
            pool, own = self.model.pools[name], self.anchors["own"][name]
            if pool.apart:
                inner, log_slope = self._own(name, parts, theta, bases)
                theta[name] = pool.link.outer(inner, jnp)
                log_slope = log_slope + pool.link.log_slope(inner, jnp)
                total = total + (log_slope + jax.vmap(pool.prior.distribution().log_prob)(theta[name])).sum()
                continue
            hyper = {suffix: scalars[f"{name}_{suffix}"] for suffix in pool.hyper}
            centre = self._centre(name, hyper)
            if name in self.kept:
                inner, log_slope = self._own(name, parts, theta, bases)
            else:
                # the branch that is not taken must not overflow either, or its gradient would be no number
                usual = self.anchors["usual"][name] if name in self.linear else 0.0
                safe = parts | {name: jnp.where(own > 0, part, usual)}
                (inner, log_slope), (apart, log_spread) = (
                    self._own(name, safe, theta, bases),
                    self._apart(name, part, hyper),
                )
                inner = jnp.where(own > 0, inner, centre + apart)
                log_slope = jnp.where(own > 0, log_slope, log_spread)
            theta[name] = pool.link.outer(inner, jnp)
            total = total + log_slope.sum()
            if pool.slope is None and pool.shared is None and pool.link.floor is None:
                key = (self.sizes[name], pool.link.kind, pool.link.low, pool.link.high)
                alike.setdefault(key, []).append((name, inner, hyper))
            else:
                total = total + self._log_prior(name, inner, theta[name], centre, hyper)
        return theta, total + sum(map(self._log_normal, alike.values()))

    def _split(self, z: Any) -> dict[str, Any]:
        ends = np.cumsum([0, *self.sizes.values()])
        return {name: z[start:end] for name, start, end in zip(self.sizes, ends[:-1], ends[1:], strict=True)}

    def _known_with(self, name: str) -> tuple[str, ...]:
        """Linear parameters that stand on no more than this one does."""
        return (name,) if name == self._last else tuple(n for n in self.linear if n != self._last)

    def inverse(self, theta: Mapping[str, Any]) -> Any:
        """The part of the flat vector at given parameters, level and spread among them."""
        bases = self._bases(theta) if self.linear else {}
        contributions = {name: jnp.asarray(theta[name]) * basis for name, basis in bases.items()}
        parts = []
        for name in self.sizes:
            pool, own = self.model.pools[name], self.anchors["own"][name]
            inner = pool.link.inner(jnp.asarray(theta[name]), jnp)
            if pool.apart or name in self.kept:
                parts.append(self._own_inverse(name, inner, theta, contributions))
                continue
            hyper = {suffix: theta[f"{name}_{suffix}"] for suffix in pool.hyper}
            apart = inner - self._centre(name, hyper)
            together, mean = self._together(name, apart, hyper)
            units = (apart - mean) / hyper["spread"] + mean / together
            parts.append(jnp.where(own > 0, self._own_inverse(name, inner, theta, contributions), units))
        return jnp.concatenate(parts)

    def _own(
        self, name: str, parts: Mapping[str, Any], theta: Mapping[str, Any], bases: Mapping[str, Any]
    ) -> tuple[Any, Any]:
        """Inner value, and log slope of it, at a value's own coordinate; `theta` holds the parameters before it."""
        part, last = parts[name], self._last
        if last and name == self.steep.get(last):
            contribution, _ = self._contribution(last, parts[last], theta, bases)
            return part - jnp.log(contribution), jnp.zeros_like(part)
        if name not in self.linear:
            return part, jnp.zeros_like(part)
        contribution, log_slope = self._contribution(name, part, theta, bases)
        outer, link = contribution / bases[name], self.model.pools[name].link
        inner = link.inner(outer, jnp)
        return inner, jnp.log(outer) + log_slope - link.log_slope(inner, jnp)

    def _contribution(
        self, name: str, part: Any, theta: Mapping[str, Any], bases: Mapping[str, Any]
    ) -> tuple[Any, Any]:
        """What a linear parameter contributes to the loss of the typical run, and the log slope of its logarithm."""
        if name in self.steep and name != self._last:
            return jnp.exp(part) / theta[self.steep[name]], jnp.zeros_like(part)
        bend = BEND * self.anchors["usual"][name]
        if name == self._last:
            part = part - sum(theta[other] * bases[other] for other in self.linear if other != name)
        contribution = bend * jax.nn.softplus(jnp.maximum(part / bend, -600.0))
        return contribution, -jnp.log(contribution) - jax.nn.softplus(-part / bend)

    def _own_inverse(self, name: str, inner: Any, theta: Mapping[str, Any], contributions: Mapping[str, Any]) -> Any:
        last = self._last
        if last and name == self.steep.get(last):
            return inner + jnp.log(contributions[last])
        if name not in self.linear:
            return inner
        if name in self.steep and name != last:
            return jnp.log(contributions[name]) + jnp.log(jnp.asarray(theta[self.steep[name]]))
        bend, contribution = BEND * self.anchors["usual"][name], contributions[name]
        others = sum(contributions[other] for other in self.linear if other != name) if name == last else 0.0
        return others + contribution + bend * jnp.log(-jnp.expm1(-contribution / bend))

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
        """Log density of all groups of a parameter that is not plain on the inner scale, without constants."""
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
        # normal with a deviation in common, which is integrated out: in means and what is left of them, for the
        # difference of two squares is noise where the ratio is large
        counts = np.bincount(members)
        ratio = jnp.square(hyper[f"spread_{pool.shared}"] / spread)
        means = jax.ops.segment_sum(apart, members, num_segments=len(counts)) / counts
        squares = jnp.square(apart - means[members]).sum() + (counts * jnp.square(means) / (1.0 + counts * ratio)).sum()
        return -0.5 * squares / jnp.square(spread) - size * jnp.log(spread) - 0.5 * jnp.log1p(counts * ratio).sum()

    def _log_normal(self, alike: list[tuple[str, Any, Mapping[str, Any]]]) -> Any:
        """The same of parameters that scatter around a level on one scale, in as many groups: name, values, the rest.

        Together, for a compiler takes as long for one of them as for all.
        """
        inner = jnp.stack([values for _, values, _ in alike])
        level, spread = (jnp.stack([hyper[part] for _, _, hyper in alike]) for part in ("level", "spread"))
        apart = (inner - self.model.pools[alike[0][0]].link.inner(level, jnp)[:, None]) / spread[:, None]
        return -0.5 * jnp.square(apart).sum() - inner.shape[1] * jnp.log(spread).sum()
