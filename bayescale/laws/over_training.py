"""The over-training law of Gadre et al. (2024)."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["OverTraining"]


class OverTraining(Law):
    r"""Loss by compute and tokens per parameter: over-training shifts a power law in compute without bending it.

    .. math:: L(C, M) = E + \left(a M^{\eta} + b M^{-\eta}\right) C^{-\eta}
        = E + \frac{R}{2} \left[(M/M^*)^{\eta} + (M/M^*)^{-\eta}\right] (C/C_0)^{-\eta},\qquad M = D/N,\; C = 6ND

    ``R`` is the nats above the floor of the compute-optimal run of ``C0``, ``M`` (:math:`M^*`) its tokens per
    parameter, which is the same at every budget. It is Chinchilla with :math:`\alpha = \beta = 2\eta`, so the
    compute-optimal exponent is 1/2 whatever the data say (``chinchilla-tied`` is the same in other parameters).
    ``a_C`` and ``b_C`` are the constants that the paper prints.

    References
    ----------
    Gadre et al. 2024, arXiv 2403.08540, Eq. 4.

    Examples
    --------
    >>> law = OverTraining()
    >>> theta = dict(E=1.51, R=1.25, M=3.4, eta=0.121)
    >>> [round(float(law.loss(1e9, M * 1e9, **theta)), 2) for M in (20, 160)]
    [2.79, 2.59]
    """

    name = "over-training"
    formula = "L(N, D) = E + R/2 ((m/M)^eta + (m/M)^-eta) (C/C0)^-eta,  m = D/N, C = 6 N D"
    citation = "arXiv:2403.08540"
    priors = {
        "E": Prior.parse("LogNormal(log(1.7), 0.5)"),
        "R": Prior.parse("LogNormal(log(0.6), 1.0)"),
        "M": Prior.parse("LogNormal(log(20), 1.0)"),
        "eta": Prior.parse("LogNormal(log(0.175), 0.5)"),
    }
    linear = ("E", "R")

    def loss(self, N: Any, D: Any, *, E: Any, R: Any, M: Any, eta: Any) -> Any:
        # (m/M)^eta (C/C0)^-eta is a power of N alone, and its reciprocal partner one of D alone
        usual = self.D0 / self.N0
        size = (self.C0 / (6.0 * usual)) ** 0.5
        off = (M / usual) ** eta
        return E + 0.5 * R * ((N / size) ** (-2.0 * eta) / off + off * (D / (size * usual)) ** (-2.0 * eta))

    def derived(self, *, R: Any, M: Any, eta: Any, **_: Any) -> dict[str, Any]:
        half = 0.5 * R * self.C0**eta
        a_C, b_C = half * M**-eta, half * M**eta
        return {
            "a_C": a_C,
            "b_C": b_C,
            "alpha": 2.0 * eta,
            "A": a_C * 6.0**-eta,
            "B": b_C * 6.0**-eta,
            "N_exponent": 0.0 * eta + 0.5,
            "D_exponent": 0.0 * eta + 0.5,
        }

    def optimum(self, compute: Any, *, M: Any, **_: Any) -> tuple[Any, Any]:
        return (compute / (6.0 * M)) ** 0.5, (compute * M / 6.0) ** 0.5

    def exponents(self, compute: Any, **_: Any) -> tuple[Any, Any]:
        return 0.5, 0.5

    def frontier(self, compute: Any, *, E: Any, R: Any, eta: Any, **_: Any) -> Any:
        return E + R * (compute / self.C0) ** -eta
