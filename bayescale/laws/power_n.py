"""A floor and one power law in parameters."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["PowerN"]


class PowerN(Law):
    r"""Loss as a function of parameters alone, with a floor.

    .. math:: L(N) = E + a (N / N_0)^{-\alpha}

    ``a`` is the loss above the floor at the reference run, in nats per token; ``A = a N0**alpha`` is the constant in
    front of ``N**-alpha``. For runs whose
    data was never the constraint; it cannot split a budget.

    References
    ----------
    Kaplan et al. 2020, arXiv 2001.08361, Sec. 3 (there without a floor); Henighan et al. 2020, arXiv 2010.14701.

    Examples
    --------
    >>> law = PowerN()
    >>> round(float(law.loss(1e9, E=1.8, a=0.5, alpha=0.35)), 4)
    2.3
    """

    name = "power-N"
    formula = "L(N) = E + a (N/N0)^-alpha,  A = a N0^alpha"
    citation = "arXiv:2001.08361"
    priors = {
        "E": Prior.parse("LogNormal(log(1.7), 0.5)"),
        "a": Prior.parse("LogNormal(log(0.5), 1.5)"),
        "alpha": Prior.parse("LogNormal(log(0.35), 0.5)"),
    }
    linear = ("E", "a")

    def loss(self, N: Any, *, E: Any, a: Any, alpha: Any) -> Any:
        return E + a * (N / self.N0) ** -alpha

    def derived(self, *, a: Any, alpha: Any, **_: Any) -> dict[str, Any]:
        return {"A": a * self.N0**alpha}
