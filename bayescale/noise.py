"""Noise: how the loss of an observed run scatters around the law, on log loss."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpyro.distributions as dist

from bayescale._float64 import jax, jnp
from bayescale.errors import NoiseError
from bayescale.prior import Prior

if TYPE_CHECKING:
    from bayescale.runs import Runs

__all__ = ["KNOWN_SD", "LOSS_SD", "Noise", "StudentT", "evaluation_sd", "log_likelihood"]

# Columns: the sd of each log loss that is known beforehand, and the sd that the evaluation leaves of each loss.
KNOWN_SD = "known sd"
LOSS_SD = "loss_sd"


def evaluation_sd(runs: Runs) -> np.ndarray:
    """Sd (run,) of each log loss from its evaluation: by the delta rule that of the loss over the loss; 0 without."""
    if LOSS_SD not in runs or "loss" not in runs:
        return np.zeros(len(runs))
    sd, loss = (np.asarray(runs[name], dtype=np.float64) for name in (LOSS_SD, "loss"))
    return np.asarray(sd / loss)


_SIGMA = Prior("HalfNormal", 0.1)
_NU = Prior("Gamma", 2.0, 0.1)
_SLOPE = Prior("Normal", 0.0, 0.5)
_FAMILIES: dict[str, dict[str, Prior]] = {
    "student-t": {"sigma": _SIGMA, "nu": _NU},
    "normal": {"sigma": _SIGMA},
    "laplace": {"sigma": _SIGMA},
}


@dataclass(frozen=True)
class Noise:
    r"""The distribution of an observed loss around the law, additive on log loss.

    ``log loss_i = log L_i + s_i e_i`` with ``e`` standard Student-t, normal or Laplace, and
    ``log s_i = log(sigma) + sum_X sigma_X log(X_i / X0)`` over the named columns. ``sigma`` is the relative scatter of
    a run at the reference run: .01 is one per cent.

    Parameters
    ----------
    family : {"student-t", "normal", "laplace"}
        ``student-t`` (its degrees of freedom ``nu`` are sampled) is the default: five undertrained runs among 245 move
        the Chinchilla exponents by many standard errors under normal noise and by a tenth of one under it.
        ``laplace`` is the likelihood that Huber regression with a tiny delta amounts to (arXiv 2404.10102).
    columns : tuple of str
        Columns of the table in which ``log s`` is linear, e.g. ``("D",)``: short runs scatter more than long ones.

    Raises
    ------
    NoiseError
        Unknown family.

    Examples
    --------
    >>> Noise.parse("student-t(D)")
    Noise(family='student-t', columns=('D',))
    >>> sorted(Noise.parse("normal(N,D)").priors)
    ['sigma', 'sigma_D', 'sigma_N']
    """

    family: str = "student-t"
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.family not in _FAMILIES:
            raise NoiseError(f"unknown noise {self.family!r}; the noises are {', '.join(sorted(_FAMILIES))}")
        if len(set(self.columns)) != len(self.columns):
            raise NoiseError(f"noise {self}: a column is named twice")

    @classmethod
    def parse(cls, text: str | Noise) -> Noise:
        """Read ``"student-t"``, ``"student-t(D)"`` or ``"normal(N,D)"``.

        Raises
        ------
        NoiseError
            The text is not a noise; the message shows the form that was expected.
        """
        if isinstance(text, Noise):
            return text
        match = re.fullmatch(r"\s*([\w-]+)\s*(?:\(([^()]*)\))?\s*", text)
        if match is None:
            raise NoiseError(f'cannot read the noise {text!r}: write "student-t", "student-t(D)" or "normal(N,D)"')
        columns = tuple(c.strip() for c in (match.group(2) or "").split(",") if c.strip())
        return cls(match.group(1), columns)

    def __str__(self) -> str:
        return self.family + (f"({','.join(self.columns)})" if self.columns else "")

    @property
    def priors(self) -> dict[str, Prior]:
        """Default priors of ``sigma``, ``nu`` and one slope ``sigma_X`` for each column."""
        return _FAMILIES[self.family] | {f"sigma_{column}": _SLOPE for column in self.columns}

    def scale(self, data: Mapping[str, Any], reference: Mapping[str, float], theta: Mapping[str, Any]) -> Any:
        """Scale of the noise on log loss, a scalar or one value a run.

        Parameters
        ----------
        data : mapping of str to array (run,)
            The named columns.
        reference : mapping of str to float
            The law's reference run; a column it does not have is taken as it is.
        theta : mapping of str to float
            ``sigma`` and the slopes.
        """
        scale = theta["sigma"]
        for column in self.columns:
            scale = scale * (data[column] / reference.get(column, 1.0)) ** theta[f"sigma_{column}"]
        return scale

    def distribution(self, location: Any, scale: Any, theta: Mapping[str, Any]) -> dist.Distribution:
        """Distribution of log loss given the law's log loss (`location`) and the noise's `scale`."""
        if self.family == "student-t":
            return StudentT(theta["nu"], location, scale)
        return {"normal": dist.Normal, "laplace": dist.Laplace}[self.family](location, scale)


def log_likelihood(distribution: dist.Distribution, value: Any, weight: Any) -> Any:
    """Log density of all values (run,) that `weight` (run,) of bool counts, in one number."""
    if isinstance(distribution, StudentT):
        return distribution.total_log_prob(value, weight)
    return jnp.where(weight, distribution.log_prob(value), 0.0).sum()


_TOGETHER = 8


@jax.custom_jvp
def _sum_log1p(values: Any) -> Any:
    """``log(1 + value)`` summed over the last axis, with one logarithm for eight of them.

    Logarithms are half of the cost of a gradient, whose own part here needs none. A value of 1e38 would overflow: 1e19
    scales away.
    """
    room = -values.shape[-1] % _TOGETHER
    padded = jnp.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, room)]) if room else values
    products = jnp.prod((1.0 + padded).reshape(*padded.shape[:-1], _TOGETHER, -1), axis=-2)
    return jnp.log(products).sum(axis=-1)


@_sum_log1p.defjvp
def _(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (values,), (changes,) = primals, tangents
    return _sum_log1p(values), (changes / (1.0 + values)).sum(axis=-1)


_SHIFT = np.arange(12.0)


def _log_normaliser(nu: Any) -> Any:
    """``log Gamma((nu+1)/2) - log Gamma(nu/2) - log(nu pi)/2``, to 1e-14.

    The recurrence moves the argument up by twelve, where five terms of the asymptotic series of the difference
    suffice. Half the compile time of the difference of two `lgamma`, and no cancellation at large ``nu``.
    """
    half = nu / 2.0
    y = half + _SHIFT.size
    square = 1.0 / (y * y)
    series = 1 / 8 - square * (1 / 192 - square * (1 / 640 - square * (17 / 14336 - square * 31 / 18432)))
    difference = 0.5 * jnp.log(y) - series / y - jnp.log((half + _SHIFT + 0.5) / (half + _SHIFT)).sum()
    return difference - 0.5 * jnp.log(nu * np.pi)


class StudentT(dist.Distribution):
    """Student-t with one ``nu`` for all runs.

    Parameters
    ----------
    nu : float
        Degrees of freedom.
    location : array (run,)
        Centre of each run.
    scale : float or array (run,)
        Scale, one for all runs or one each.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "nu": dist.constraints.positive,
        "location": dist.constraints.real,
        "scale": dist.constraints.positive,
    }
    support = dist.constraints.real
    pytree_data_fields = ("nu", "location", "scale")

    def __init__(self, nu: Any, location: Any, scale: Any) -> None:
        self.nu, self.location, self.scale = nu, location, scale
        super().__init__(batch_shape=jnp.shape(location), event_shape=())

    def log_prob(self, value: Any) -> Any:
        """Log density of `value`, an array (run,)."""
        # products with what is one number for all runs: a quotient would be differentiated run by run
        squared = jnp.square((value - self.location) * (1.0 / self.scale))
        tail = jnp.log1p(squared * (1.0 / self.nu))
        return (_log_normaliser(self.nu) - jnp.log(self.scale)) - (0.5 * (self.nu + 1.0)) * tail

    def total_log_prob(self, value: Any, weight: Any) -> Any:
        """Sum of `log_prob` over the values that `weight` counts, at about half the cost."""
        squared = jnp.square((value - self.location) * (1.0 / self.scale)) * (1.0 / self.nu)
        tail = _sum_log1p(jnp.where(weight, squared, 0.0))
        count, scales = weight.sum(), jnp.log(self.scale)
        scales = count * scales if jnp.ndim(self.scale) == 0 else jnp.where(weight, scales, 0.0).sum()
        return count * _log_normaliser(self.nu) - scales - 0.5 * (self.nu + 1.0) * tail

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Draws of shape ``sample_shape + (run,)``."""
        return self.location + self.scale * jax.random.t(key, self.nu, (*sample_shape, *self.batch_shape))
