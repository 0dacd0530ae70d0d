"""Partial pooling: one parameter that differs between groups of runs, as a property of its prior."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescale.errors import PriorError
from bayescale.prior._link import Link, link_of
from bayescale.prior._prior import Prior

if TYPE_CHECKING:
    import numpyro.distributions as dist

__all__ = ["Pooled", "apart", "pooled"]

# The spread between groups is about a third of what is unknown about all of them together, give or take a factor of
# two, and stays away from zero: at zero a posterior of groups has no mode.
SHARE, FACTOR = 0.35, 0.7
EXAMPLE = "pooled(LogNormal(log(0.35), 0.5), over=corpus)"


@dataclass(frozen=True)
class Pooled:
    """A prior for a parameter with one value in each group, partially pooled; made by `pooled`.

    Attributes
    ----------
    prior : Prior
        Of the level that the groups scatter around: the prior that the parameter has without groups. A level that is
        pinned is that of positive values where it is above 0.
    over : tuple of str
        Columns of the table whose values make the groups; two for a parameter of pairs, such as target and source.
    spread : Prior
        Of the standard deviation between groups, on the scale of `link`.
    shared : str or None
        One of `over`: groups that agree in it have a deviation in common beside their own, with a spread of its own.
    slope : Prior or None
        Of the slope on a covariate that the law knows for each group.
    apart : bool
        Whether the groups have nothing in common: each has `prior` for itself, and there is no level and no spread.
    """

    prior: Prior
    over: tuple[str, ...]
    spread: Prior
    shared: str | None = None
    slope: Prior | None = None
    apart: bool = False

    def __post_init__(self) -> None:
        if not self.over or len(set(self.over)) < len(self.over):
            raise PriorError(f"pooled({self.prior}): say over which column, e.g. {EXAMPLE}")
        if self.shared is not None and (self.shared not in self.over or len(self.over) < 2):
            raise PriorError(f"pooled({self.prior}): shared={self.shared} must be one of two columns in over")
        if not self.spread.fixed and (self.spread.sample(np.random.default_rng(0), 64) <= 0).any():
            raise PriorError(
                f"pooled({self.prior}): the spread is a standard deviation, and {self.spread} is no prior "
                "of one; write a LogNormal, which also keeps it away from zero"
            )
        if self.shared is not None and self.link.floor is not None:
            raise PriorError(f"pooled({self.prior}): a truncated normal cannot have a shared deviation")

    @property
    def fixed(self) -> bool:
        """Whether the parameter is pinned: never."""
        return False

    @cached_property
    def link(self) -> Link:
        """The scale on which groups scatter around the level."""
        return link_of(self.prior)

    @property
    def hyper(self) -> dict[str, Prior]:
        """Priors of what is sampled beside the groups, by the suffix of its name: ``level``, ``spread``, ..."""
        if self.apart:
            return {}
        found = {"level": self.prior, "spread": self.spread}
        if self.shared is not None:
            found[f"spread_{self.shared}"] = self.spread
        return found | ({} if self.slope is None else {"slope": self.slope})

    @property
    def median(self) -> float:
        """Median of the level."""
        return self.prior.median

    def __str__(self) -> str:
        if self.apart:
            return f"apart({self.prior}, over={'*'.join(self.over)})"
        parts = [str(self.prior), f"over={'*'.join(self.over)}", f"spread={self.spread}"]
        parts += [f"shared={self.shared}"] if self.shared else []
        parts += [f"slope={self.slope}"] if self.slope else []
        return f"pooled({', '.join(parts)})"

    @classmethod
    def parse(cls, text: str) -> Pooled:
        """Read ``"pooled(LogNormal(log(0.35), 0.5), over=corpus)"``; ``over=`` and ``spread=`` may be left out.

        ``apart(...)`` in place of ``pooled(...)``: each group has the prior for itself.

        Raises
        ------
        PriorError
            The text is no pooled prior; the message shows the form that was expected.
        """
        match = re.fullmatch(r"\s*(pooled|apart)\s*\((.*)\)\s*", text)
        if match is None:
            raise PriorError(f"cannot read {text!r}: expected {EXAMPLE}")
        named: dict[str, str] = {}
        for place, part in enumerate(_parts(match.group(2))):
            keyed = re.fullmatch(r"(over|spread|shared|slope)\s*=\s*(.*)", part)
            key, value = (
                (keyed.group(1), keyed.group(2)) if keyed else (("prior", "over", "spread")[min(place, 2)], part)
            )
            if key in named:
                raise PriorError(f"cannot read {text!r}: {key} is given twice; expected {EXAMPLE}")
            named[key] = value
        if not {"prior", "over"} <= named.keys():
            raise PriorError(f"cannot read {text!r}: expected a prior and a column, {EXAMPLE}")
        settings: dict[str, Any] = {key: Prior.parse(named[key]) for key in ("spread", "slope") if key in named}
        if "shared" in named:
            settings["shared"] = named["shared"]
        over = tuple(part.strip() for part in named["over"].split("*"))
        if match.group(1) == "apart":
            if settings:
                raise PriorError(f"cannot read {text!r}: groups that are apart have no {next(iter(settings))}")
            return apart(Prior.parse(named["prior"]), over)
        return pooled(Prior.parse(named["prior"]), over, **settings)

    def sample(
        self, generator: np.random.Generator, size: int, groups: np.ndarray, covariate: Any = 0.0
    ) -> dict[str, np.ndarray]:
        """Draws of everything that belongs to the parameter.

        Parameters
        ----------
        generator : numpy.random.Generator
            Source of randomness.
        size : int
            How many draws.
        groups : array of int (group,)
            Which members of `shared` each group belongs to; only the length counts without `shared`.
        covariate : array (group,)
            What the slope multiplies.

        Returns
        -------
        dict
            ``""`` -> (size, group), and each suffix of `hyper` -> (size,).
        """
        drawn = {suffix: prior.sample(generator, size) for suffix, prior in self.hyper.items()}
        none = drawn | {"": np.zeros((size, 0))}
        return {"": self.more(generator, none, (groups[:0], np.zeros(0)), (groups, covariate))} | drawn

    def more(
        self,
        generator: np.random.Generator,
        drawn: Mapping[str, np.ndarray],
        known: tuple[np.ndarray, Any],
        new: tuple[np.ndarray, Any],
    ) -> np.ndarray:
        """Draws (size, group) of groups beside those of which there are draws already.

        Parameters
        ----------
        generator : numpy.random.Generator
            Source of randomness.
        drawn : mapping
            As `sample` returns.
        known, new : tuple of array (group,) and array (group,)
            Which members of `shared` the groups belong to, and what the slope multiplies.
        """
        members, covariate = new
        if self.apart:
            size = len(drawn[""])
            return self.prior.sample(generator, size * len(members)).reshape(size, len(members))
        size = len(drawn["level"])
        spread = drawn["spread"][:, None]
        centre = self._centre(drawn, covariate) + np.zeros((size, len(members)))
        if self.link.floor is not None:
            return self._truncated(generator, centre, spread)
        apart = spread * generator.standard_normal(centre.shape)
        if self.shared is not None:
            count = int(max(known[0].max(initial=-1), members.max(initial=-1))) + 1
            own = self.link.inner(drawn[""], np) - self._centre(drawn, known[1])
            belongs = (known[0][:, None] == np.arange(count)).astype(float)
            common = drawn[f"spread_{self.shared}"][:, None]
            ratio = np.square(common / spread)
            # what the deviation in common is, given the groups there are
            certain = 1.0 + belongs.sum(axis=0) * ratio
            common = ratio * (own @ belongs) / certain + common / np.sqrt(certain) * generator.standard_normal(
                (size, count)
            )
            apart = apart + common[:, members]
        return self.link.outer(centre + apart, np)

    def _centre(self, drawn: Mapping[str, np.ndarray], covariate: Any) -> np.ndarray:
        centre = self.link.inner(drawn["level"], np)[:, None]
        return centre if self.slope is None else centre + drawn["slope"][:, None] * covariate

    def distribution(self, hyper: Mapping[str, Any], groups: np.ndarray, covariate: np.ndarray) -> dist.Distribution:
        """The NumPyro distribution of the values of all groups, given level, spread and the rest."""
        import numpyro.distributions as dist

        from bayescale._float64 import jnp

        if self.apart:
            return self.prior.distribution().expand([len(groups)]).to_event(1)
        link, spread = self.link, hyper["spread"]
        if link.floor is not None:
            return dist.TruncatedNormal(jnp.full(len(groups), hyper["level"]), spread, low=link.floor).to_event(1)
        centre = link.inner(hyper["level"], jnp) + hyper.get("slope", 0.0) * covariate
        inner = dist.Normal(centre, spread).to_event(1)
        if self.shared is not None:
            together = hyper[f"spread_{self.shared}"] ** 2 * (groups[:, None] == groups[None, :])
            inner = dist.MultivariateNormal(centre, spread**2 * np.eye(len(groups)) + together)
        ends = dist.constraints.interval(link.low, link.high) if link.kind == "logit" else dist.constraints.positive
        if link.kind == "identity":
            return inner
        return dist.TransformedDistribution(inner, [dist.transforms.IndependentTransform(dist.biject_to(ends), 1)])

    def _truncated(self, generator: np.random.Generator, centre: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """Values from a normal around the level that is cut off at the floor."""
        from scipy.special import ndtr, ndtri

        assert self.link.floor is not None
        level = self.link.outer(centre, np)
        below = ndtr((self.link.floor - level) / spread)
        values = level + spread * ndtri(below + (1.0 - below) * generator.uniform(1e-12, 1.0 - 1e-12, level.shape))
        return np.maximum(values, self.link.floor + 1e-9 * spread)


def pooled(
    prior: Prior | str,
    over: str | tuple[str, ...],
    spread: Prior | str | None = None,
    shared: str | None = None,
    slope: Prior | None = None,
) -> Pooled:
    """Let a parameter differ between groups of runs, and learn from all of them what is usual.

    Each group's value scatters around a level, normally on the scale of the family: logarithms for a positive
    parameter, logits for one between two ends, as they are otherwise. Level and spread are sampled along with the
    groups; a group that was not in the table is forecast from them.

    Parameters
    ----------
    prior : Prior or str
        Of the level.
    over : str or tuple of str
        The column whose values make the groups, or two for pairs.
    spread : Prior or str, optional
        Of the standard deviation between groups; a third of that of `prior`, give or take a factor of two, if absent.
    shared, slope
        See `Pooled`.

    Examples
    --------
    >>> print(pooled("LogNormal(log(0.35), 0.5)", over="corpus", spread="LogNormal(log(0.2), 0.7)"))
    pooled(LogNormal(log(0.35), 0.5), over=corpus, spread=LogNormal(log(0.2), 0.7))
    """
    level = Prior.parse(prior)
    if level.fixed and spread is None:
        raise PriorError(
            f"pooled({level}): a pinned parameter is the same in every group; where only its level is pinned, say how "
            "far groups scatter around it (spread=)"
        )
    columns = (over,) if isinstance(over, str) else tuple(over)
    if spread is None:
        spread = Prior("LogNormal", math.log(float(f"{SHARE * link_of(level).sd:.3g}")), FACTOR)
    return Pooled(level, columns, Prior.parse(spread), shared, slope)


def apart(prior: Prior | str, over: str | tuple[str, ...]) -> Pooled:
    """Let a parameter have a value in each group that says nothing of the others: each has the prior for itself.

    Examples
    --------
    >>> print(apart("LogNormal(0.5, 0.4)", over="corpus"))
    apart(LogNormal(0.5, 0.4), over=corpus)
    """
    return replace(pooled(prior, over), apart=True)


def _parts(text: str) -> Iterator[str]:
    """What stands between the commas that are in no bracket."""
    depth, start = 0, 0
    for place, letter in enumerate(text + ","):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
