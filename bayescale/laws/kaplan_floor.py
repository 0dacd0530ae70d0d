"""Kaplan's joint law on top of a floor."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.laws.kaplan import Kaplan
from bayescale.prior import Prior

__all__ = ["KaplanFloor"]


class KaplanFloor(Law):
    r"""Kaplan's joint law with an irreducible loss, which text has.

    .. math:: L(N, D) = E + \left[(N_c / N)^{\alpha_N / \alpha_D} + D_c / D\right]^{\alpha_D}

    ``l_N`` is the nats above the floor at ``N0`` parameters with unlimited data, ``l_D`` those at ``D0`` tokens with an
    unlimited model. It is the coupled law (``kappa``) with the inner exponent of the data tied to 1: exponents of size
    and data outside, alpha_N and alpha_D, and the sharpness of the corner between them are two numbers instead of
    three.

    References
    ----------
    Kaplan et al. 2020, arXiv 2001.08361, Eq. 1.5 (there without a floor).

    Examples
    --------
    >>> law = KaplanFloor()
    >>> round(float(law.loss(1e9, 1e30, E=1.7, l_N=0.4, l_D=0.4, alpha_N=0.3, alpha_D=0.3)), 4)
    2.1
    """

    name = "kaplan-floor"
    formula = (
        "L(N, D) = E + [(N_c/N)^(alpha_N/alpha_D) + D_c/D]^alpha_D,  l_N = (N_c/N0)^alpha_N, l_D = (D_c/D0)^alpha_D"
    )
    citation = "arXiv:2001.08361"
    N_convention = "without embeddings"
    priors = {
        "E": Prior.parse("LogNormal(log(1.7), 0.5)"),
        "l_N": Prior.parse("LogNormal(log(0.4), 0.8)"),
        "l_D": Prior.parse("LogNormal(log(0.4), 0.8)"),
        "alpha_N": Prior.parse("LogNormal(log(0.3), 0.4)"),
        "alpha_D": Prior.parse("LogNormal(log(0.3), 0.4)"),
    }
    linear = ()
    # where one of the two terms is small, the power 1 / alpha_D of the bracket puts it below the last digit
    falls_in = ()

    @property
    def _above(self) -> Kaplan:
        return Kaplan(self.N0, self.D0, self.C0)

    def loss(self, N: Any, D: Any, *, E: Any, l_N: Any, l_D: Any, alpha_N: Any, alpha_D: Any) -> Any:
        return E + self._above.loss(N, D, l_N=l_N, l_D=l_D, alpha_N=alpha_N, alpha_D=alpha_D)

    def derived(self, *, E: Any, **theta: Any) -> dict[str, Any]:
        return self._above.derived(**theta)

    def optimum(self, compute: Any, *, E: Any = None, **theta: Any) -> tuple[Any, Any]:
        return self._above.optimum(compute, **theta)

    def exponents(self, compute: Any, **theta: Any) -> tuple[Any, Any]:
        return self._above.exponents(compute, **theta)
