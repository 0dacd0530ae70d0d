"""Kaplan's law of data."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["KaplanD"]


class KaplanD(Law):
    r"""A power law in tokens without a floor, for large models stopped early on a data set of limited size.

    .. math:: L(D) = (D_c / D)^{\alpha_D} = l_D (D / D_0)^{-\alpha_D}

    In the paper ``D`` is the size of the data set, not the tokens processed. Its fit: alpha_D .095, D_c 5.4e13 tokens.
    ``l_D`` is the loss at ``D0`` tokens. With a floor this is ``power-D``.

    References
    ----------
    Kaplan et al. 2020, arXiv 2001.08361, Eq. 1.2 and Table 5.

    Examples
    --------
    >>> law = KaplanD()
    >>> f"{law.derived(l_D=2.1183, alpha_D=0.095)['D_c']:.1e}"
    '5.4e+13'
    """

    name = "kaplan-D"
    formula = "L(D) = (D_c/D)^alpha_D = l_D (D/D0)^-alpha_D"
    citation = "arXiv:2001.08361"
    priors = {
        "l_D": Prior.parse("LogNormal(log(2.5), 0.5)"),
        "alpha_D": Prior.parse("LogNormal(log(0.1), 0.5)"),
    }
    linear = ("l_D",)

    def loss(self, D: Any, *, l_D: Any, alpha_D: Any) -> Any:
        return l_D * (D / self.D0) ** -alpha_D

    def derived(self, *, l_D: Any, alpha_D: Any) -> dict[str, Any]:
        return {"D_c": self.D0 * l_D ** (1.0 / alpha_D)}
