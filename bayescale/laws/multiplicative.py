"""One power term in parameters and tokens together."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["Multiplicative"]


class Multiplicative(Law):
    r"""A floor and a product of power laws: more of either always helps by the same factor.

    .. math:: L(N, D) = E + c (N/N_0)^{-\alpha} (D/D_0)^{-\beta}

    No model is ever too small for its data, so a budget has no best split: all of it goes to the input with the larger
    exponent. The law is here to be compared with (a joint law of this kind describes narrow ranges), and its
    allocation is refused. ``c`` is the nats above the floor at the reference run.

    References
    ----------
    Compared with the sum of two power laws of Rosenfeld et al. 2020, arXiv 1909.12673.

    Examples
    --------
    >>> law = Multiplicative()
    >>> round(float(law.loss(2e9, 4e10, E=1.8, c=0.6, alpha=0.1, beta=0.2)), 4)
    2.2874
    """

    name = "multiplicative"
    formula = "L(N, D) = E + c (N/N0)^-alpha (D/D0)^-beta,  A = c N0^alpha D0^beta"
    citation = "arXiv:1909.12673"
    priors = {
        "E": Prior.parse("LogNormal(log(1.7), 0.5)"),
        "c": Prior.parse("LogNormal(log(0.6), 1.0)"),
        "alpha": Prior.parse("LogNormal(log(0.15), 0.5)"),
        "beta": Prior.parse("LogNormal(log(0.15), 0.5)"),
    }
    linear = ("E", "c")

    @property
    def splits_compute(self) -> bool:
        """False: see the class."""
        return False

    @property
    def _no_split(self) -> str:
        return "in a product of powers all of a budget belongs to the input with the larger exponent"

    def loss(self, N: Any, D: Any, *, E: Any, c: Any, alpha: Any, beta: Any) -> Any:
        return E + c * ((N / self.N0) ** -alpha * (D / self.D0) ** -beta)

    def derived(self, *, c: Any, alpha: Any, beta: Any, **_: Any) -> dict[str, Any]:
        return {"A": c * self.N0**alpha * self.D0**beta}
