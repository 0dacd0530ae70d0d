"""Point fits of laws of one language: what its tokens, their share, and those of other languages are worth."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from bayescale._float64 import jax, jnp
from bayescale.laws._mixtures import PLENTY, Mixture
from bayescale.laws.atlas import Atlas

__all__ = ["LAWS", "LanguageTable"]

ALWAYS = ("E", "a", "b", "alpha", "beta")
# What each law takes for D_t and U_t (the run's or the target's), and what is free beside `ALWAYS`.
LAWS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "chinchilla": ("run, fresh", ()),
    "data-constrained-D": ("run", ("lambda_D",)),
    "msl": ("run, fresh", ("gamma",)),
    "atlas, D_t": ("target", ("lambda_D",)),
    "atlas, D_t + D_other": ("target and others", ("lambda_D", "tau_other")),
    "atlas": ("target, sources and others", ("lambda_D", "tau_other", "tau")),
}
# Start, least and most of each parameter, positive ones by their logarithm; tau is not positive.
RANGES: Mapping[str, tuple[float, float, float]] = {
    "E": (np.log(0.5), -8.0, 2.5),
    "a": (np.log(0.1), -14.0, 3.0),
    "b": (np.log(0.3), -14.0, 3.0),
    "alpha": (np.log(0.4), np.log(0.02), np.log(3.0)),
    "beta": (np.log(0.4), np.log(0.02), np.log(3.0)),
    "lambda_D": (np.log(0.15), np.log(1e-3), np.log(30.0)),
    "gamma": (np.log(0.1), -12.0, np.log(3.0)),
    "tau_other": (0.02, -1.0, 2.0),
    "tau": (0.05, -1.0, 2.0),
}
FREE_SIGN = ("tau_other", "tau")
EXPONENTS = (0.2, 0.4, 0.8)
# Residuals of log loss beyond this count by their size, not its square.
SOFT = 0.01
EVALUATIONS = 200


class LanguageTable:
    """The runs that one language was measured on.

    Parameters
    ----------
    runs : Runs or mapping
        The table: N, loss, target, ``tokens[xx]``, ``unique[xx]``.
    mixture : Mixture
        Of the same table.
    sources : mapping
        Sources of every target.
    target : str
    length : int
        Rows that arrays are padded to, so that all languages share compiled code.
    """

    def __init__(
        self, runs: Any, mixture: Mixture, sources: Mapping[str, tuple[str, ...]], target: str, length: int
    ) -> None:
        self.rows = np.flatnonzero(mixture.target == target)
        self.width, self._length = len(sources[target]), length
        split = mixture.split(sources)
        alone = mixture.split(dict.fromkeys(sources, ()))
        whole = mixture.tokens.sum(axis=1)
        unique = np.minimum((mixture.unique * (mixture.tokens > 0)).sum(axis=1), PLENTY)
        zero, plenty = np.zeros_like(split["D_i"]), np.full_like(split["U_i"], PLENTY)
        no_more = {"D_i": zero, "U_i": plenty, "D_other": np.zeros_like(whole), "U_other": np.full_like(whole, PLENTY)}
        run = no_more | {"D_t": whole, "U_t": unique}
        own = no_more | {name: split[name] for name in ("D_t", "U_t")}
        self._seen = {
            "run": run,
            "run, fresh": run | {"U_t": np.full_like(whole, PLENTY)},
            "target": own,
            "target and others": own | {name: alone[name] for name in ("D_other", "U_other")},
            "target, sources and others": split,
        }
        self._N = np.asarray(runs["N"], dtype=np.float64)
        self._share = split["D_t"] / whole
        self.loss = np.asarray(runs["loss"], dtype=np.float64)[self.rows]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every parameter of the widest law, one `tau` a source."""
        return (*(name for name in RANGES if name != "tau"), *("tau",) * self.width)

    def _columns(self, law: str) -> tuple[np.ndarray, ...]:
        seen = self._seen[LAWS[law][0]]
        columns = (self._N, *(seen[name] for name in Atlas.inputs[1:]), self._share)
        mine = [values[self.rows] for values in columns]
        return tuple(np.concatenate([v, np.repeat(v[:1], self._length - len(v), axis=0)]) for v in mine)

    def forecast(self, law: str, train: np.ndarray) -> np.ndarray:
        """Loss of all runs (row,) by the best of a few searches, fitted to the rows of `train` (row,) of bool."""
        free = np.array([name in (*ALWAYS, *LAWS[law][1]) for name in self.names])
        # gamma 0 is no share at all; what is not free stays where it does nothing
        still = np.array([0.0 if name in FREE_SIGN else RANGES[name][0] for name in self.names])
        still = np.where(np.array([name == "gamma" for name in self.names]) & ~free, -np.inf, still)
        weight = np.zeros(self._length)
        weight[: len(train)] = train
        target = np.zeros(self._length)
        target[: len(train)] = np.log(self.loss)
        # handed over once: a search measures hundreds of points
        columns, target, weight = jax.device_put((self._columns(law), target, weight))
        low, high = (np.array([RANGES[name][end] for name in self.names])[free] for end in (1, 2))

        def whole(x: np.ndarray) -> np.ndarray:
            full = still.copy()
            full[free] = x
            return full

        ends = [
            least_squares(
                lambda x: np.asarray(_residuals(whole(x), columns, target, weight)),
                self._start(exponent)[free],
                lambda x: np.asarray(_slopes(whole(x), columns, target, weight))[:, free],
                bounds=(low, high),
                loss="soft_l1",
                f_scale=SOFT,
                x_scale="jac",
                max_nfev=EVALUATIONS,
            )
            for exponent in EXPONENTS
        ]
        best = min(ends, key=lambda end: float(end.cost))
        return np.exp(np.asarray(_log_loss(whole(best.x), columns)))[: len(train)]

    def _start(self, exponent: float) -> np.ndarray:
        steep = ("alpha", "beta")
        return np.array([np.log(exponent) if name in steep else RANGES[name][0] for name in self.names])


def _log_loss(x: Any, columns: tuple[Any, ...]) -> Any:
    *inputs, share = columns
    positive = dict(zip((name for name in RANGES if name not in FREE_SIGN), jnp.exp(x[:7]), strict=True))
    gamma = positive.pop("gamma")
    made = Atlas().loss(*inputs, **positive, tau_other=x[7], tau=x[None, 8:])
    return jnp.log(made) - gamma * jnp.log(share)


@jax.jit
def _residuals(x: Any, columns: tuple[Any, ...], log_loss: Any, weight: Any) -> Any:
    return weight * (_log_loss(x, columns) - log_loss)


_slopes = jax.jit(jax.jacfwd(_residuals))
