"""The data-constrained law in which only data decay."""

from __future__ import annotations

import math
from typing import Any

from bayescale._float64 import jnp
from bayescale.laws._law import Law
from bayescale.laws._repetition import effective
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.data_constrained import DataConstrained

__all__ = ["DataConstrainedD"]


class DataConstrainedD(Law):
    r"""Chinchilla of effective tokens; all parameters are worth the same, however few the unique tokens.

    .. math:: L(N, D, U) = E + a (N/N_0)^{-\alpha} + b (D'/D_0)^{-\beta},\quad
        D' = U_D + U_D R_D^* (1 - e^{-R_D / R_D^*})

    :math:`D'` is the :math:`S_\lambda(D; U)` of ATLAS (arXiv 2510.22037, Eq. 3) with lambda = 1/R_D*, here
    ``lambda_D``. Published fit: R_D* 2.92, so lambda .343. That is a fifth of what the law with decaying
    parameters finds in the same runs: the number belongs to the law.

    References
    ----------
    Muennighoff et al. 2023, arXiv 2305.16264, App. A.

    Examples
    --------
    >>> law = DataConstrainedD()
    >>> theta = dict(E=1.869, a=0.349, b=0.346, alpha=0.353, beta=0.353, lambda_D=0.345)
    >>> [round(float(law.loss(1e9, 2e10, U, **theta)), 2) for U in (2e10, 5e9, 5e8)]
    [2.56, 2.61, 3.01]
    """

    name = "data-constrained-D"
    formula = (
        "L(N, D, U) = E + a (N/N0)^-alpha + b (D'/D0)^-beta,  "
        "D' = U_D (1 + (1 - exp(-lambda_D (D/U_D - 1))) / lambda_D), U_D = min(U, D)"
    )
    citation = "arXiv:2305.16264"
    priors = {name: prior for name, prior in DataConstrained.priors.items() if name != "lambda_N"}
    linear = ("E", "a", "b")
    falls_in = ("N",)

    def loss(
        self, N: Any, D: Any, U: Any = math.inf, *, E: Any, a: Any, b: Any, alpha: Any, beta: Any, lambda_D: Any
    ) -> Any:
        fresh = effective(jnp.asarray(D), jnp.asarray(U), 1.0 / lambda_D)
        return E + a * (N / self.N0) ** -alpha + b * (fresh / self.D0) ** -beta

    def derived(self, *, lambda_D: Any, E: Any, **theta: Any) -> dict[str, Any]:
        fresh = Chinchilla(self.N0, self.D0, self.C0).derived(**theta)
        return fresh | {"R_D": 1.0 / lambda_D, "repeat_loss_D": lambda_D / (1.0 + lambda_D)}
