"""Compute-optimal allocation: how a budget is split between parameters and tokens, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bayescale._float64 import jax, jnp
from bayescale.errors import TargetError
from bayescale.forecast import check_budgets
from bayescale.laws import Law

__all__ = ["allocate"]


@partial(jax.jit, static_argnames=("law",))
def _split(law: Law, theta: Mapping[str, Any], budgets: Any) -> dict[str, Any]:
    def at(draw: Mapping[str, Any], budget: Any) -> dict[str, Any]:
        N, D = law.optimum(budget, **draw)
        N_exponent, D_exponent = law.exponents(budget, **draw)
        values = {"N": N, "D": D, "D_per_N": D / N, "loss": law.frontier(budget, **draw)}
        values |= {"N_exponent": N_exponent, "D_exponent": D_exponent}
        return jax.tree.map(jnp.asarray, values)

    return jax.vmap(lambda draw: jax.vmap(lambda budget: at(draw, budget))(budgets))(theta)


def allocate(law: Law, theta: Mapping[str, Any], budgets: Any) -> xr.Dataset:
    """The compute-optimal run of each budget under each draw, with ``C = 6 N D``.

    Parameters
    ----------
    law : Law
        A law of parameters and tokens.
    theta : mapping of str to array (sample,)
        Draws of the law's parameters.
    budgets : array_like (budget,)
        Training FLOPs.

    Returns
    -------
    xarray.Dataset
        ``N`` [parameters], ``D`` [tokens], ``D_per_N`` [tokens per parameter], ``loss`` [nats per token], and the local
        exponents ``N_exponent``, ``D_exponent`` of N* and D* in C; all (sample, budget).

    Raises
    ------
    TargetError
        The law does not split compute, a budget is not a positive number, or most draws have no interior optimum.
    """
    if not law.splits_compute:
        raise TargetError(
            f"{law.name} gives loss as a function of {', '.join(law.inputs)} alone, so it cannot split a budget "
            "between parameters and tokens: fit a law of N and D, such as chinchilla"
        )
    values = check_budgets(budgets)
    draws = {name: jnp.asarray(theta[name]) for name in law.parameters}
    split = {name: np.asarray(array) for name, array in _split(law, draws, jnp.asarray(values)).items()}
    lost = np.isnan(split["N"]).mean(axis=0)
    if (lost > 0.5).any():
        raise TargetError(
            f"{law.name} has no optimum inside (one parameter, one token) at {values[np.argmax(lost)]:.3g} FLOPs for "
            f"{lost.max():.0%} of the draws: under them one of the two is worth nothing"
        )
    return xr.Dataset({name: (("sample", "budget"), array) for name, array in split.items()}, coords={"budget": values})
