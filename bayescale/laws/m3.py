"""M3: a power law in data that wears off."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["M3"]


class M3(Law):
    r"""A power law whose argument, not whose value, has a floor.

    .. math:: \epsilon(x) = \beta (x^{-1} + \gamma)^c = r \left[(1 - t) D_0/D + t\right]^{c},\qquad t = s^{1/c}

    ``r`` is the error at ``D0``, and ``s`` the share of it that no amount of data removes: the floor is ``r s``. In the
    paper's constants that is :math:`\beta\gamma^c`. Where the curve is still straight, ``s`` rests on its prior.

    References
    ----------
    Alabdulmohsin et al. 2022, arXiv 2209.06640, after Bansal et al. 2022, arXiv 2202.01994: alpha (D^-1 + C)^p.

    Examples
    --------
    >>> law = M3().at(D=1e6)
    >>> [round(float(law.loss(D, r=0.4, s=0.25, c=0.5)), 3) for D in (1e6, 4e6, 1e12)]
    [0.4, 0.218, 0.1]
    """

    name = "m3"
    formula = "L(D) = r ((1 - t) D0/D + t)^c,  t = s^(1/c);  = beta (1/D + gamma)^c"
    citation = "arXiv:2209.06640"
    loss_unit = "as in the table"
    priors = {
        "r": Prior.parse("LogNormal(log(0.7), 1.5)"),
        "s": Prior.parse("Beta(1, 1)"),
        "c": Prior.parse("LogNormal(log(0.3), 0.7)"),
    }
    linear = ("r",)
    falls_in = ()

    def loss(self, D: Any, *, r: Any, s: Any, c: Any) -> Any:
        t = s ** (1.0 / c)
        return r * ((1.0 - t) * (D / self.D0) ** -1.0 + t) ** c

    def derived(self, *, r: Any, s: Any, c: Any) -> dict[str, Any]:
        t = s ** (1.0 / c)
        return {
            "E": r * s,
            "beta": r * ((1.0 - t) * self.D0) ** c,
            "gamma": t / ((1.0 - t) * self.D0),
        }
