"""M2: a power law on top of a floor."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.laws.m1 import M1
from bayescale.prior import Prior

__all__ = ["M2"]


class M2(Law):
    r"""A power law in the amount of data that ends in a floor.

    .. math:: \epsilon(x) = \epsilon_\infty + \beta x^{-c} = E + r (D/D_0)^{-c}

    As ``power-D``, for any error or loss: the prior of the floor reaches down to a hundredth.

    References
    ----------
    Alabdulmohsin et al. 2022, arXiv 2209.06640.

    Examples
    --------
    >>> round(float(M2().at(D=1e6).loss(4e6, E=0.1, r=0.4, c=0.5)), 3)
    0.3
    """

    name = "m2"
    formula = "L(D) = E + r (D/D0)^-c,  beta = r D0^c"
    citation = "arXiv:2209.06640"
    loss_unit = "as in the table"
    priors = {"E": Prior.parse("LogNormal(log(0.3), 1.5)"), **M1.priors}
    linear = ("E", "r")

    def loss(self, D: Any, *, E: Any, r: Any, c: Any) -> Any:
        return E + r * (D / self.D0) ** -c

    def derived(self, *, r: Any, c: Any, **_: Any) -> dict[str, Any]:
        return {"beta": r * self.D0**c}
