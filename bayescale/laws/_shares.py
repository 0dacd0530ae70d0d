"""Shares of a mixture: a column of one domain's, or wide columns of the shares of all, checked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from bayescale._float64 import jnp
from bayescale.errors import RunsError

__all__ = ["check_shares", "domains_of", "over_domains", "powers_of", "read_shares"]

_SHARE = re.compile(r"share\[(.+)\]")
# Shares printed to two or three digits add up to 1 within this; they are divided by their sum.
ROUNDED = 5e-3
WANTED = (
    "a law of mixtures reads share[xx], a column for every domain that was trained on; where the table calls them "
    'otherwise, --column "share[*]=weight_*" takes weight_arxiv for share[arxiv] and so on'
)


def check_shares(shares: Any, law: str) -> None:
    """Refuse a column ``p`` that holds something above 1.

    Raises
    ------
    RunsError
        With the first run that does, and what is probably meant.
    """
    values = np.asarray(shares, dtype=np.float64)
    bad = np.flatnonzero(values > 1.0 + 1e-9)
    if bad.size:
        raise RunsError(
            f"run {bad[0] + 1}: p is {values[bad[0]]:.6g}; {law} reads a share of the mixture, above 0 and at most 1. "
            "Divide percentages by 100"
        )


def domains_of(columns: Any) -> tuple[str, ...]:
    """Domains with a column ``share[..]``, in alphabetical order: that in which groups stand."""
    names: Iterable[Any] = getattr(columns, "table", columns)
    return tuple(sorted(match[1] for name in names if (match := _SHARE.fullmatch(str(name)))))


def read_shares(columns: Any, domains: tuple[str, ...] = ()) -> tuple[tuple[str, ...], np.ndarray]:
    """The domains of a table, and the share of each in the mixture of each run, (run, domain).

    Parameters
    ----------
    columns : Runs or mapping
        ``share[xx]`` for every domain.
    domains : tuple of str
        Those there have to be; whichever there are if empty.

    Raises
    ------
    RunsError
        No shares, a domain too few or too many, or a run whose shares are no mixture.
    """
    there = domains_of(columns)
    if not there:
        raise RunsError(f"{WANTED}. There are none")
    expected = domains or there
    lacking = [name for name in expected if name not in there]
    if lacking:
        raise RunsError(f"share[{lacking[0]}] is missing: a run has a share of every domain, 0 where it has none of it")
    unknown = [name for name in there if name not in expected]
    if unknown:
        raise RunsError(f"share[{unknown[0]}] is of no domain of the fit, which are {', '.join(expected)}")
    shares = np.stack(np.broadcast_arrays(*(_numbers(columns, name) for name in expected)), axis=-1)
    _check_mixtures(shares, expected)
    return expected, shares / shares.sum(axis=-1, keepdims=True)


def _check_mixtures(shares: np.ndarray, domains: tuple[str, ...]) -> None:
    bad = np.argwhere(~(np.isfinite(shares) & (shares >= 0)))
    if bad.size:
        run, place = bad[0]
        value = shares[run, place]
        found = "blank" if np.isnan(value) else f"{value:.6g}"
        raise RunsError(
            f"run {run + 1}: share[{domains[place]}] is {found}; expected a share of the mixture, from 0 to 1 (0 for a "
            "domain that it has none of)"
        )
    total = shares.sum(axis=-1)
    off = np.flatnonzero(np.abs(total - 1.0) > ROUNDED)
    if off.size:
        hint = "divide percentages by 100" if abs(total[off[0]] - 100.0) < 100 * ROUNDED else "is a domain missing?"
        raise RunsError(
            f"run {off[0] + 1}: the shares of {', '.join(domains)} add up to {total[off[0]]:.6g}, not to 1: {hint}"
        )


def _numbers(columns: Any, domain: str) -> np.ndarray:
    name = f"share[{domain}]"
    cells = np.atleast_1d(np.asarray(columns[name]))
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        raise RunsError(f"column {name!r} holds something that is no share of a mixture") from None


def powers_of(shares: Any, gamma: Any) -> Any:
    """``shares ** gamma``, and 0 with a gradient of 0 where there is nothing of a domain."""
    values = jnp.asarray(getattr(shares, "value", shares))
    some = jnp.where(values > 0, values, 1.0)
    return jnp.where(values > 0, jnp.exp(jnp.asarray(gamma) * jnp.log(some)), 0.0)


def over_domains(terms: Any, parameter: Any) -> Any:
    """The sum over the last axis of what each domain adds, where `parameter` has a value for each.

    A parameter that is one number is that of one domain, whose terms are those of the runs.
    """
    return terms if np.ndim(parameter) == 0 else jnp.asarray(terms).sum(axis=-1)
