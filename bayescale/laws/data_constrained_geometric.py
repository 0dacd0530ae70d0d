"""The data-constrained law with an exact geometric decay per repetition."""

from __future__ import annotations

import math
from typing import Any

from bayescale._float64 import jnp
from bayescale.laws._law import Law
from bayescale.laws._repetition import effective
from bayescale.laws.data_constrained import DataConstrained
from bayescale.prior import Prior

__all__ = ["DataConstrainedGeometric"]


class DataConstrainedGeometric(Law):
    r"""The data-constrained law before its exponential approximation: each repetition is worth (1 - delta) of the last.

    .. math:: D' = U_D + (1 - \delta_D) U_D \frac{1 - (1 - \delta_D)^{R_D}}{\delta_D}

    and :math:`N'` likewise with :math:`\delta_N`. Reported are ``R_D`` and ``R_N``, (1 - delta)/delta, under
    which it is compared with ``data-constrained``; for small delta the two laws are one.

    References
    ----------
    Muennighoff et al. 2023, arXiv 2305.16264, App. A; published fit delta .0104 for data and .3676 for parameters.

    Examples
    --------
    >>> law = DataConstrainedGeometric()
    >>> theta = dict(E=1.869, a=0.349, b=0.346, alpha=0.353, beta=0.353, delta_D=0.0104, delta_N=0.3676)
    >>> [round(float(law.loss(1e9, 2e10, U, **theta)), 2) for U in (2e10, 5e9, 5e8)]
    [2.56, 2.64, 3.13]
    """

    name = "data-constrained-geometric"
    formula = (
        "L(N, D, U) = E + a (N'/N0)^-alpha + b (D'/D0)^-beta,  D' = U_D (1 + (1/delta_D - 1) (1 - (1 - delta_D)^R)), "
        "R = D/U_D - 1, N' likewise with delta_N, U_D = min(U, D), U_N = min(N*(U_D), N)"
    )
    citation = "arXiv:2305.16264"
    # medians are those of R* = 10 and 5
    priors = {name: DataConstrained.priors[name] for name in ("E", "a", "b", "alpha", "beta")} | {
        "delta_D": Prior.parse("Beta(1, 8)"),
        "delta_N": Prior.parse("Beta(1, 4)"),
    }
    linear = ()
    falls_in = ()

    @property
    def _exponential(self) -> DataConstrained:
        return DataConstrained(self.N0, self.D0, self.C0)

    def loss(
        self,
        N: Any,
        D: Any,
        U: Any = math.inf,
        *,
        E: Any,
        a: Any,
        b: Any,
        alpha: Any,
        beta: Any,
        delta_D: Any,
        delta_N: Any,
    ) -> Any:
        unique = jnp.minimum(jnp.asarray(D), jnp.asarray(U))
        filled = self._exponential._filled_by(unique, a, b, alpha, beta)
        fresh = effective(jnp.asarray(D), unique, 1.0 / delta_D - 1.0, -jnp.log1p(-delta_D))
        size = effective(jnp.asarray(N), filled, 1.0 / delta_N - 1.0, -jnp.log1p(-delta_N))
        return E + a * (size / self.N0) ** -alpha + b * (fresh / self.D0) ** -beta

    def derived(self, *, delta_D: Any, delta_N: Any, **theta: Any) -> dict[str, Any]:
        fresh = self._exponential._fresh.derived(**theta)
        return fresh | {"R_D": 1.0 / delta_D - 1.0, "R_N": 1.0 / delta_N - 1.0}
