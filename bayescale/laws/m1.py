"""M1: a power law without a floor."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["M1"]


class M1(Law):
    r"""A power law in the amount of data, whose error falls for ever.

    .. math:: \epsilon(x) = \beta x^{-c} = r (D/D_0)^{-c}

    The first of four laws that are compared on benchmark curves of errors and losses; the column ``D`` holds ``x``,
    examples or tokens, or any other scale (``--column D=...``). ``r`` is the error at ``D0``.

    References
    ----------
    Alabdulmohsin et al. 2022, arXiv 2209.06640.

    Examples
    --------
    >>> round(float(M1().at(D=1e6).loss(4e6, r=0.4, c=0.5)), 3)
    0.2
    """

    name = "m1"
    formula = "L(D) = r (D/D0)^-c,  beta = r D0^c"
    citation = "arXiv:2209.06640"
    loss_unit = "as in the table"
    priors = {
        "r": Prior.parse("LogNormal(log(0.7), 1.5)"),
        "c": Prior.parse("LogNormal(log(0.3), 0.7)"),
    }
    linear = ("r",)

    def loss(self, D: Any, *, r: Any, c: Any) -> Any:
        return r * (D / self.D0) ** -c

    def derived(self, *, r: Any, c: Any) -> dict[str, Any]:
        return {"beta": r * self.D0**c}
