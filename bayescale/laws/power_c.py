"""A floor and one power law in training compute."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["PowerC"]


class PowerC(Law):
    r"""Loss as a function of training compute alone, with a floor.

    .. math:: L(C) = E + c (C / C_0)^{-\gamma}

    ``c`` is the loss above the floor at the reference run, in nats per token; ``A = c C0**gamma`` is the constant in
    front of ``C**-gamma``. For the best
    runs of a ladder (one per budget); it needs no parameter or token counts.

    References
    ----------
    Henighan et al. 2020, arXiv 2010.14701, Eq. 1.1.

    Examples
    --------
    >>> law = PowerC()
    >>> round(float(law.loss(6 * 1e9 * 2e10, E=1.8, c=0.5, gamma=0.15)), 4)
    2.3
    """

    name = "power-C"
    formula = "L(C) = E + c (C/C0)^-gamma,  A = c C0^gamma"
    citation = "arXiv:2010.14701"
    priors = {
        "E": Prior.parse("LogNormal(log(1.7), 0.5)"),
        "c": Prior.parse("LogNormal(log(0.5), 1.5)"),
        "gamma": Prior.parse("LogNormal(log(0.15), 0.5)"),
    }
    linear = ("E", "c")

    def loss(self, C: Any, *, E: Any, c: Any, gamma: Any) -> Any:
        return E + c * (C / self.C0) ** -gamma

    def derived(self, *, c: Any, gamma: Any, **_: Any) -> dict[str, Any]:
        return {"A": c * self.C0**gamma}
