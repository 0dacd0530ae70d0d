"""The mixture that is best for the losses of one fit or of several, with its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from bayescale._float64 import jax, jnp
from bayescale.errors import TargetError
from bayescale.fits._fit import Fit
from bayescale.laws import Law
from bayescale.laws._mixture_law import MixtureLaw
from bayescale.laws.shares import lowest_shares

__all__ = ["optimal_mixture"]

# Draws of each fit: quantiles of shares need no more, and each is a search of its own.
DRAWS = 500


@dataclass(frozen=True)
class _Total:
    """The weighted sum of the losses of several laws at one size and length of training; hashable, for the compiler."""

    laws: tuple[Law, ...]
    weights: tuple[float, ...]
    at: tuple[tuple[str, float], ...]

    def each(self, h: Any, draw: Mapping[str, Any]) -> list[Any]:
        """Loss of every law."""
        runs, found = dict(self.at), []
        for place, law in enumerate(self.laws):
            inputs = {law.mixture: h} | {name: runs[name] for name in law.needs}  # type: ignore[attr-defined]
            theta = {name: draw[f"{place} {name}"] for name in law.parameters}
            found.append(law.loss(**inputs, **theta))
        return found

    def __call__(self, h: Any, **draw: Any) -> Any:
        return sum(weight * loss for weight, loss in zip(self.weights, self.each(h, draw), strict=True))


def optimal_mixture(
    fits: Fit | Mapping[str, Fit],
    *,
    weights: Mapping[str, float] | None = None,
    N: float | None = None,
    D: float | None = None,
    draws: int = DRAWS,
) -> xr.Dataset:
    """Shares of the domains at which a loss, or a weighted sum of losses, is lowest: the posterior of that mixture.

    Parameters
    ----------
    fits : Fit or mapping of str to Fit
        Fits of `optimal-mixture`, `optimal-mixture-joint` or `data-mixing` to runs of the same domains, one a target.
        Their draws are taken to be independent of each other.
    weights : mapping of str to float, optional
        What each target counts, above 0; 1 each if absent.
    N, D : float, optional
        Parameters and tokens of the run to come; left out for a law that reads neither.
    draws : int
        Of each fit, evenly spaced.

    Returns
    -------
    xarray.Dataset
        ``share`` (sample, domain); ``loss`` (sample, target) at those shares, nats per token. ``inside`` (domain):
        whether the median of the share lies within those of the runs that were fitted. Outside, the law's form decides.

    Raises
    ------
    TargetError
        A fit of another law, of other domains, or without N and D where its law reads them; a weight of no target.

    References
    ----------
    Shukor et al. 2025, arXiv 2507.09404, who minimise the fitted law over the mixture.
    """
    named = {"loss": fits} if isinstance(fits, Fit) else dict(fits)
    laws = _laws_of(named)
    domains = laws[0].domains
    total = _Total(laws, _weights(named, weights), _run(laws, N, D))
    drawn = {}
    for place, fit in enumerate(named.values()):
        for name in fit.law.parameters:
            values = fit.theta[name]
            drawn[f"{place} {name}"] = jnp.asarray(values[np.linspace(0, len(values) - 1, draws).astype(int)])
    shares = lowest_shares(total, drawn, len(domains))
    losses = np.asarray(jax.vmap(lambda h, draw: jnp.stack(total.each(h, draw)))(jnp.asarray(shares), drawn))
    return xr.Dataset(
        {"share": (("sample", "domain"), shares), "loss": (("sample", "target"), losses)},
        coords={"domain": list(domains), "target": list(named), "inside": ("domain", _inside(named, domains, shares))},
        attrs={"warnings": [f"{name}: {text}" for name, fit in named.items() for text in fit.diagnostics.warnings]},
    )


def _laws_of(fits: Mapping[str, Fit]) -> tuple[MixtureLaw, ...]:
    if not fits:
        raise TargetError("there is no fit to find the best mixture of")
    found: list[MixtureLaw] = []
    for name, fit in fits.items():
        law = fit.law
        if not isinstance(law, MixtureLaw):
            raise TargetError(f"{name} is a fit of {law.name}, which does not read the shares of a mixture")
        if fit.model is not None and any(groups.over != ("domain",) for groups in fit.model.groups):
            raise TargetError(f"{name} has parameters of other groups than domains: fit each target by itself")
        if found and law.domains != found[0].domains:
            raise TargetError(
                f"{name} has the domains {', '.join(law.domains)}, and others {', '.join(found[0].domains)}"
            )
        found.append(law)
    return tuple(found)


def _weights(fits: Mapping[str, Fit], weights: Mapping[str, float] | None) -> tuple[float, ...]:
    given = dict.fromkeys(fits, 1.0) if weights is None else dict(weights)
    if set(given) != set(fits):
        raise TargetError(f"weights are of {', '.join(given)}, and targets are {', '.join(fits)}: give one of each")
    bad = [name for name, value in given.items() if not (np.isfinite(value) and value > 0)]
    if bad:
        raise TargetError(f"the weight of {bad[0]} is {given[bad[0]]!r}; expected a number above 0")
    return tuple(float(given[name]) for name in fits)


def _run(laws: tuple[MixtureLaw, ...], N: float | None, D: float | None) -> tuple[tuple[str, float], ...]:
    read = {name for law in laws for name in law.needs}
    given = {name: float(value) for name, value in (("N", N), ("D", D)) if value is not None}
    missing = sorted(read - set(given))
    if missing:
        raise TargetError(f"{laws[0].name} has a loss at a size and length of training: give {' and '.join(missing)}")
    return tuple(sorted((name, value) for name, value in given.items() if name in read))


def _inside(fits: Mapping[str, Fit], domains: tuple[str, ...], shares: np.ndarray) -> np.ndarray:
    middle = np.median(shares, axis=0)
    found = np.ones(len(domains), dtype=bool)
    for fit in fits.values():
        seen = np.stack([fit.runs[f"share[{name}]"] for name in domains], axis=-1)
        found &= (middle >= seen.min(axis=0) - 1e-9) & (middle <= seen.max(axis=0) + 1e-9)
    return found
