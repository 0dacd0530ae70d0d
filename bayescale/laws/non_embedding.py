"""What a Chinchilla fit predicts for somebody who counts parameters and compute without embeddings.

Kaplan et al. found N* ~ C^.73 and Hoffmann et al. C^.50. Most of the gap is counting: embeddings are a large part of a
small model. Pearce and Song (2024), arXiv 2406.12907, express the law of total parameters in non-embedding ones,
``N_total = N + gamma N**(1/3)``, and read off the exponent that a table of small models would show.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["GAMMA", "envelope_exponent", "local_exponent", "optimal_compute", "total_parameters"]

GAMMA = 47491.0
"""Embedding parameters over the cube root of the others, in arXiv 2406.12907."""


def total_parameters(N: Any, gamma: Any = GAMMA) -> Any:
    """Parameters with embeddings of a model that has `N` without.

    Examples
    --------
    >>> f"{total_parameters(1e9):.3g} {total_parameters(1e6):.3g}"
    '1.05e+09 5.75e+06'
    """
    return N + gamma * N ** (1.0 / 3.0)


def optimal_compute(N: Any, *, A: Any, B: Any, alpha: Any, beta: Any, gamma: Any = GAMMA) -> Any:
    """Non-embedding FLOPs, ``6 N D``, of the budget at which `N` non-embedding parameters are compute-optimal.

    Parameters
    ----------
    N : float or array
        Parameters without embeddings.
    A, B, alpha, beta : float or array
        Of a Chinchilla fit to total parameters.
    gamma : float
        Embedding parameters over the cube root of the others.
    """
    total = total_parameters(N, gamma)
    slope = N + gamma / 3.0 * N ** (1.0 / 3.0)
    # compute is counted without embeddings, so the data cost 6 N a token and dN_total/dlogN = slope
    return 6.0 * N * slope ** (-1.0 / beta) * total ** ((1.0 + alpha) / beta) * (beta * B / (alpha * A)) ** (1.0 / beta)


def local_exponent(N: Any, *, alpha: Any, beta: Any, gamma: Any = GAMMA) -> Any:
    """Slope of ``log N*`` in ``log C`` without embeddings, at a model of `N` parameters; tends to beta/(alpha+beta).

    Examples
    --------
    >>> [round(local_exponent(N, alpha=0.3478, beta=0.3658), 2) for N in (1e6, 1e8, 1e10)]
    [0.96, 0.61, 0.52]
    """
    embedded = gamma * N ** (-2.0 / 3.0)
    slope = (1.0 + embedded / 9.0) / (1.0 + embedded / 3.0)
    total = (1.0 + embedded / 3.0) / (1.0 + embedded)
    return 1.0 / (1.0 - slope / beta + (1.0 + alpha) / beta * total)


def _nearest(values: Any, grid: Any) -> Any:
    """The member of an ascending grid nearest to each value; the values themselves without a grid."""
    if grid is None:
        return values
    grid = np.asarray(grid, dtype=np.float64)
    return grid[np.searchsorted(0.5 * (grid[1:] + grid[:-1]), values)]


def envelope_exponent(
    sizes: Any, budgets: Any, *, A: Any, B: Any, alpha: Any, beta: Any, embeddings: bool = False, grid: Any = None
) -> Any:
    """Exponent of N* in C that the best of a set of models shows over a range of budgets.

    At each budget the model of lowest loss is taken, and log size is regressed on log compute.

    Parameters
    ----------
    sizes : array (size,)
        Parameters without embeddings.
    budgets : array (budget,)
        FLOPs, ``6 N D``, counted as `embeddings` says.
    A, B, alpha, beta : float or array (sample,)
        Of a Chinchilla fit to total parameters.
    embeddings : bool
        Whether size and compute are counted with embeddings.
    grid : array, optional
        Tokens at which losses are known, ascending; the nearest to the budget is taken, as for runs that were logged.

    Returns
    -------
    float or array (sample,)

    Examples
    --------
    >>> fit = dict(A=482.01, B=2085.43, alpha=0.3478, beta=0.3658)
    >>> sizes = np.logspace(2.9, 9.2, 20)
    >>> round(float(envelope_exponent(sizes, np.logspace(12.95, 20.7, 100), **fit)), 2)
    0.78
    """
    sizes, compute = np.asarray(sizes, dtype=np.float64), np.asarray(budgets, dtype=np.float64)
    total = total_parameters(sizes)
    counted = total if embeddings else sizes
    A, B, alpha, beta = (np.asarray(value, dtype=np.float64)[..., None, None] for value in (A, B, alpha, beta))
    tokens = _nearest(compute[:, None] / (6.0 * counted), grid)
    best = np.argmin(A * total**-alpha + B * tokens**-beta, axis=-1)
    x, y = np.log(compute), np.log(counted)[best]
    x = x - x.mean()
    return (x * (y - y.mean(axis=-1, keepdims=True))).sum(axis=-1) / (x * x).sum()
