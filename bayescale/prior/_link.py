"""The scale on which the values of groups scatter around their level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescale.errors import PriorError
from bayescale.prior._prior import Prior

__all__ = ["Link", "link_of"]

# Above its floor by more than this many sds of the prior, a parameter is its own scale; below, its logarithm is.
BEND = 1.0 / 8.0


@dataclass(frozen=True)
class Link:
    """A monotone map between a parameter (`outer`) and a real number (`inner`), and back.

    Attributes
    ----------
    kind : {"identity", "log", "logit", "floor"}
    low, high : float
        Ends of the parameter's range.
    sd : float
        Standard deviation of the prior on the inner scale.
    """

    kind: str
    low: float
    high: float
    sd: float

    @property
    def floor(self) -> float | None:
        """The end at which a normal distribution of the parameter itself is cut off; None where none is."""
        return self.low if self.kind == "floor" else None

    def outer(self, inner: Any, space: Any) -> Any:
        """The parameter; `space` is `numpy` or `jax.numpy`."""
        if self.kind == "log":
            return space.exp(inner)
        if self.kind == "logit":
            return self.low + (self.high - self.low) / (1.0 + space.exp(-inner))
        if self.kind == "floor":
            bend = BEND * self.sd
            return self.low + bend * space.logaddexp(0.0, (inner - self.low) / bend)
        return inner

    def inner(self, outer: Any, space: Any) -> Any:
        """The inverse of `outer`."""
        if self.kind == "log":
            return space.log(outer)
        if self.kind == "logit":
            return space.log((outer - self.low) / (self.high - outer))
        if self.kind == "floor":
            bend, above = BEND * self.sd, outer - self.low
            return self.low + above + bend * space.log(-space.expm1(-above / bend))
        return outer

    def log_slope(self, inner: Any, space: Any) -> Any:
        """Logarithm of the derivative of `outer`."""
        if self.kind == "log":
            return inner
        if self.kind == "logit":
            return math.log(self.high - self.low) - space.logaddexp(0.0, inner) - space.logaddexp(0.0, -inner)
        if self.kind == "floor":
            return -space.logaddexp(0.0, -(inner - self.low) / (BEND * self.sd))
        return space.zeros_like(inner)


_POSITIVE = ("LogNormal", "HalfNormal", "HalfCauchy", "Gamma", "InverseGamma", "Exponential", "LogStudentT")


def link_of(prior: Prior) -> Link:
    """The link that suits a family of priors.

    Raises
    ------
    PriorError
        A truncated normal without a lower end but with an upper one.
    """
    family, arguments = prior.family, prior.arguments
    if prior.fixed:
        return Link("log", 0.0, math.inf, 0.0) if arguments[0] > 0 else Link("identity", -math.inf, math.inf, 0.0)
    if family == "Normal":
        return Link("identity", -math.inf, math.inf, arguments[1])
    if family == "LogNormal":
        return Link("log", 0.0, math.inf, arguments[1])
    if family == "TruncatedNormal":
        _, sd, low, high = arguments
        if math.isinf(low) and math.isinf(high):
            return Link("identity", low, high, sd)
        if math.isinf(high):
            return Link("floor", low, high, sd)
        if math.isinf(low):
            raise PriorError(f"pooled({prior}): a truncated normal without a lower end cannot be pooled")
        return _measured(prior, "logit", low, high)
    if family == "StudentT":
        return _measured(prior, "identity", -math.inf, math.inf)
    if family in _POSITIVE:
        return _measured(prior, "log", 0.0, math.inf)
    low, high = arguments if family == "Uniform" else (0.0, 1.0)
    return _measured(prior, "logit", low, high)


def _measured(prior: Prior, kind: str, low: float, high: float) -> Link:
    """The link with the sd of 4,001 fixed draws, by their interquartile range."""
    inner = Link(kind, low, high, 1.0).inner(prior.sample(np.random.default_rng(0), 4001), np)
    return Link(kind, low, high, float(np.subtract(*np.quantile(inner, [0.75, 0.25]))) / 1.349)
