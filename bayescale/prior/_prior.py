"""Prior: a distribution over one parameter, as a value that can be printed, compared, parsed and stored.

NumPyro's own distributions compare by identity, so a model that held them would never be equal to another one and
would be traced anew at every fit; a `Prior` holds a family name and Python floats, and makes the distribution when
asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from bayescale.errors import PriorError

if TYPE_CHECKING:
    import numpyro.distributions as dist

__all__ = ["Prior"]

# Natural logarithm of numbers near the ends of float64.
LARGEST_LOG = 700.0


def _positive(*names: str) -> Callable[[Mapping[str, float]], str | None]:
    def problem(arguments: Mapping[str, float]) -> str | None:
        for name in names:
            if not arguments[name] > 0:
                return f"{name} must be above 0, got {arguments[name]!r}"
        return None

    return problem


def _ordered(arguments: Mapping[str, float]) -> str | None:
    return None if arguments["low"] < arguments["high"] else "low must be below high"


def _truncated(arguments: Mapping[str, float]) -> str | None:
    return _positive("sd")(arguments) or _ordered(arguments)


def _sample_truncated(
    generator: np.random.Generator, mean: float, sd: float, low: float, high: float, size: int
) -> np.ndarray:
    from scipy.stats import truncnorm

    return truncnorm.rvs((low - mean) / sd, (high - mean) / sd, loc=mean, scale=sd, size=size, random_state=generator)


@dataclass(frozen=True)
class _Family:
    """How one family is written and checked: argument names in order, defaults, and what makes them invalid."""

    arguments: tuple[str, ...]
    numpyro: str
    problem: Callable[[Mapping[str, float]], str | None]
    sample: Callable[..., np.ndarray]
    defaults: tuple[float, ...] = ()


_FAMILIES: dict[str, _Family] = {
    "Normal": _Family(("mean", "sd"), "Normal", _positive("sd"), lambda g, m, s, n: g.normal(m, s, n)),
    "LogNormal": _Family(
        ("log_median", "log_sd"), "LogNormal", _positive("log_sd"), lambda g, m, s, n: g.lognormal(m, s, n)
    ),
    "StudentT": _Family(
        ("df", "mean", "scale"), "StudentT", _positive("df", "scale"), lambda g, v, m, s, n: m + s * g.standard_t(v, n)
    ),
    "LogStudentT": _Family(
        ("df", "log_median", "log_scale"),
        "ExpTransform",
        _positive("df", "log_scale"),
        # tails this heavy reach beyond the largest number there is
        lambda g, df, m, s, n: np.exp(np.clip(m + s * g.standard_t(df, n), -LARGEST_LOG, LARGEST_LOG)),
    ),
    "LogitStudentT": _Family(
        ("df", "logit_median", "logit_scale"),
        "SigmoidTransform",
        _positive("df", "logit_scale"),
        lambda g, df, m, s, n: expit(m + s * g.standard_t(df, n)),
    ),
    "HalfNormal": _Family(
        ("scale",), "HalfNormal", _positive("scale"), lambda g, s, n: s * np.abs(g.standard_normal(n))
    ),
    "HalfCauchy": _Family(
        ("scale",), "HalfCauchy", _positive("scale"), lambda g, s, n: s * np.abs(g.standard_cauchy(n))
    ),
    "Gamma": _Family(("shape", "rate"), "Gamma", _positive("shape", "rate"), lambda g, a, r, n: g.gamma(a, 1 / r, n)),
    "InverseGamma": _Family(
        ("shape", "scale"), "InverseGamma", _positive("shape", "scale"), lambda g, a, s, n: s / g.gamma(a, 1.0, n)
    ),
    "Exponential": _Family(("rate",), "Exponential", _positive("rate"), lambda g, r, n: g.exponential(1 / r, n)),
    "Beta": _Family(("a", "b"), "Beta", _positive("a", "b"), lambda g, a, b, n: g.beta(a, b, n)),
    "Uniform": _Family(("low", "high"), "Uniform", _ordered, lambda g, low, high, n: g.uniform(low, high, n)),
    "TruncatedNormal": _Family(
        ("mean", "sd", "low", "high"), "TruncatedNormal", _truncated, _sample_truncated, (0.0, math.inf)
    ),
    "Fixed": _Family(("value",), "Delta", lambda _: None, lambda g, value, n: np.full(n, value)),
}


@dataclass(frozen=True, init=False)
class Prior:
    """A prior distribution over one parameter.

    Parameters
    ----------
    family : str
        ``Normal(mean, sd)``, ``LogNormal(log_median, log_sd)``, ``StudentT(df, mean, scale)``, its exponential
        ``LogStudentT(df, log_median, log_scale)`` and inverse logit ``LogitStudentT(df, logit_median, logit_scale)``,
        which let an exceptional table move as far as its runs ask, ``HalfNormal(scale)``, ``HalfCauchy(scale)``,
        ``Gamma(shape, rate)``, ``InverseGamma(shape, scale)``, ``Exponential(rate)``, ``Beta(a, b)``,
        ``Uniform(low, high)``, ``TruncatedNormal(mean, sd, low=0, high=inf)`` or ``Fixed(value)``.
    *arguments : float
        The numbers of that family, in the order above.

    Raises
    ------
    PriorError
        Unknown family, wrong number of arguments, or an argument outside its range.

    Examples
    --------
    >>> Prior("LogNormal", 0.5, 0.4) == Prior.parse("LogNormal(0.5, 0.4)")
    True
    >>> print(Prior.parse("LogNormal(log(1.7), 0.5)"))
    LogNormal(log(1.7), 0.5)
    """

    family: str
    arguments: tuple[float, ...]

    def __init__(self, family: str, *arguments: float) -> None:
        if family not in _FAMILIES:
            raise PriorError(f"unknown prior family {family!r}; the families are {', '.join(sorted(_FAMILIES))}")
        form = _FAMILIES[family]
        missing = len(form.arguments) - len(arguments)
        if missing < 0 or missing > len(form.defaults):
            raise PriorError(f"{family} takes ({', '.join(form.arguments)}), got {len(arguments)} numbers")
        values = tuple(float(v) for v in arguments) + form.defaults[len(form.defaults) - missing :]
        named = dict(zip(form.arguments, values, strict=True))
        for name, value in named.items():
            if math.isnan(value) or (
                math.isinf(value) and not (family == "TruncatedNormal" and name in ("low", "high"))
            ):
                raise PriorError(f"{family}: {name} must be a finite number, got {value!r}")
        problem = form.problem(named)
        if problem:
            raise PriorError(f"{family}({', '.join(map(repr, values))}): {problem}")
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "arguments", values)

    @property
    def fixed(self) -> bool:
        """Whether the parameter is pinned to a number instead of sampled."""
        return self.family == "Fixed"

    def distribution(self) -> dist.Distribution:
        """The NumPyro distribution; a new object at each call, built inside the trace that uses it."""
        return _distribution(self.family, *self.arguments)

    @staticmethod
    def together(priors: Sequence[Prior]) -> dist.Distribution:
        """One NumPyro distribution over a vector of parameters whose priors are of one family with the same ends."""
        return _distribution(priors[0].family, *np.array([prior.arguments for prior in priors]).T)

    @classmethod
    def parse(cls, text: str | float | Prior) -> Prior:
        """Read ``"LogNormal(0.5, 0.4)"``, ``"LogNormal(log(1.7), 0.5)"``, or a plain number (pins the parameter).

        Raises
        ------
        PriorError
            The text is not a prior; the message shows the form that was expected.
        """
        if isinstance(text, Prior):
            return text
        if not isinstance(text, str):
            return cls("Fixed", float(text))
        match = re.fullmatch(r"\s*([A-Za-z]\w*)\s*\((.*)\)\s*", text)
        if match is None or match.group(1) in _FUNCTIONS:
            return cls("Fixed", _number(text, text))
        parts = match.group(2).split(",") if match.group(2).strip() else []
        return cls(match.group(1), *(_number(part, text) for part in parts))

    @property
    def median(self) -> float:
        """Median of the prior, to the accuracy of 4,001 fixed draws: a scale, not a statistic."""
        return float(np.median(self.sample(np.random.default_rng(0), 4001)))

    def sample(self, generator: np.random.Generator, size: int) -> np.ndarray:
        """`size` draws, float64, made without JAX: nothing is compiled to look at a prior."""
        return np.asarray(_FAMILIES[self.family].sample(generator, *self.arguments, size), dtype=np.float64)

    def __str__(self) -> str:
        names = _FAMILIES[self.family].arguments
        shown = [
            _as_log(v) if name.startswith("log_median") else repr(v)
            for name, v in zip(names, self.arguments, strict=True)
        ]
        return f"{self.family}({', '.join(shown)})"

    def __repr__(self) -> str:
        return f"Prior({self.family!r}, {', '.join(repr(v) for v in self.arguments)})"


_FUNCTIONS = ("log", "exp", "sqrt")


def _as_log(value: float) -> str:
    """``log(1.7)`` for the logarithm of a short number, which says more than 0.5306282510621704; exact either way."""
    short = f"{math.exp(value):.6g}" if abs(value) < 700 else ""
    return (
        f"log({short})" if short and len(short) < len(repr(value)) and math.log(float(short)) == value else repr(value)
    )


def _number(part: str, whole: str) -> float:
    """A number, or the ``log``, ``exp`` or ``sqrt`` of one: priors on log scales are easier judged as ``log(1.7)``."""
    match = re.fullmatch(rf"\s*(?:(-?)({'|'.join(_FUNCTIONS)})\s*\(\s*([^()\s]+)\s*\)|([^()\s]+))\s*", part)
    try:
        if match is None:
            raise ValueError
        if match.group(2):
            value = getattr(math, match.group(2))(float(match.group(3)))
            return -value if match.group(1) else value
        return float(match.group(4))
    except (ValueError, OverflowError):
        raise PriorError(
            f"cannot read {part.strip()!r} in the prior {whole.strip()!r}: expected a number such as 1.7, log(1.7) or "
            "sqrt(2), in a prior such as LogNormal(0.5, 0.4) or Normal(1.7, 0.3), or a plain number to pin the "
            "parameter"
        ) from None


def _distribution(family: str, *arguments: Any) -> dist.Distribution:
    """The NumPyro distribution of one parameter (numbers) or of several (arrays)."""
    import numpyro.distributions as dist

    if family == "TruncatedNormal":
        mean, sd, low, high = arguments
        ends = {name: value for name, value in (("low", low), ("high", high)) if np.isfinite(value).all()}
        return dist.TruncatedNormal(mean, sd, **ends) if ends else dist.Normal(mean, sd)
    if family in ("LogStudentT", "LogitStudentT"):
        transform = getattr(dist.transforms, _FAMILIES[family].numpyro)()
        return dist.TransformedDistribution(dist.StudentT(*arguments), transform)
    return getattr(dist, _FAMILIES[family].numpyro)(*arguments)
