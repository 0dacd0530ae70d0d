"""How far a run is from the compute-optimal one of its budget."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bayescale._float64 import jnp
from bayescale.laws._law import Law
from bayescale.laws._positive import log

__all__ = ["off_optimum"]

# Tokens per parameter, roughly, of the optimum of a law that gives none by a formula of the budget.
USUAL = 20.0


def off_optimum(law: Law, columns: Mapping[str, Any], theta: Mapping[str, Any]) -> Any:
    """Decades of tokens per parameter (run,) from the compute-optimal run of the same budget; more tokens above 0.

    It is 0 where the columns have no ``N`` and ``D``: such runs are taken to be compute-optimal.
    """
    if not {"N", "D"} <= columns.keys():
        return 0.0
    ratio = log(columns["D"]) - log(columns["N"])
    if law.inputs != ("N", "D") or type(law).optimum is Law.optimum:
        return (ratio - math.log(USUAL)) / math.log(10.0)
    N, D = law.optimum(columns["C"], **{name: theta[name] for name in law.parameters})
    return (ratio - jnp.log(D) + jnp.log(N)) / math.log(10.0)
