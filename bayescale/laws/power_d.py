"""A floor and one power law in tokens."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["PowerD"]


class PowerD(Law):
    r"""Loss as a function of tokens alone, with a floor.

    .. math:: L(D) = E + b (D / D_0)^{-\beta}

    ``b`` is the loss above the floor at the reference run, in nats per token; ``B = b D0**beta`` is the constant in
    front of ``D**-beta``. For runs whose
    model size was never the constraint; it cannot split a budget.

    References
    ----------
    Kaplan et al. 2020, arXiv 2001.08361, Sec. 3 (there without a floor); Hestness et al. 2017, arXiv 1712.00409.

    Examples
    --------
    >>> law = PowerD()
    >>> round(float(law.loss(2e10, E=1.8, b=0.5, beta=0.35)), 4)
    2.3
    """

    name = "power-D"
    formula = "L(D) = E + b (D/D0)^-beta,  B = b D0^beta"
    citation = "arXiv:2001.08361"
    priors = {
        "E": Prior.parse("LogNormal(log(1.7), 0.5)"),
        "b": Prior.parse("LogNormal(log(0.5), 1.5)"),
        "beta": Prior.parse("LogNormal(log(0.35), 0.5)"),
    }
    linear = ("E", "b")

    def loss(self, D: Any, *, E: Any, b: Any, beta: Any) -> Any:
        return E + b * (D / self.D0) ** -beta

    def derived(self, *, b: Any, beta: Any, **_: Any) -> dict[str, Any]:
        return {"B": b * self.D0**beta}
