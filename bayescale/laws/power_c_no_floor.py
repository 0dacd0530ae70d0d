"""A power law in compute without a floor: a straight line in log-log."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["PowerCNoFloor"]


class PowerCNoFloor(Law):
    r"""Loss as a function of training compute alone, falling for ever.

    .. math:: L(C) = c (C / C_0)^{-\gamma} = (C_c / C)^{\gamma}

    Kept because it is fitted so often. Text has an entropy, so the line must bend; the further it is extrapolated,
    the more optimistic it is. Compare with ``power-C``.

    References
    ----------
    Kaplan et al. 2020, arXiv 2001.08361, Eq. 1.3.

    Examples
    --------
    >>> law = PowerCNoFloor()
    >>> round(float(law.loss(law.C0 * 100, c=2.5, gamma=0.05)), 4)
    1.9858
    """

    name = "power-C-no-floor"
    formula = "L(C) = c (C/C0)^-gamma,  C_c = C0 c^(1/gamma)"
    citation = "arXiv:2001.08361"
    priors = {
        "c": Prior.parse("LogNormal(log(2.5), 0.5)"),
        "gamma": Prior.parse("LogNormal(log(0.05), 0.7)"),
    }
    linear = ("c",)

    def loss(self, C: Any, *, c: Any, gamma: Any) -> Any:
        return c * (C / self.C0) ** -gamma

    def derived(self, *, c: Any, gamma: Any) -> dict[str, Any]:
        return {"A": c * self.C0**gamma, "C_c": self.C0 * c ** (1.0 / gamma)}
