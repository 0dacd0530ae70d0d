"""BiMix, the data mixing law of Ge et al. (2024): loss of a domain by its proportion and the volume of training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayescale.laws._law import Law
from bayescale.laws._shares import check_shares
from bayescale.prior import Prior

__all__ = ["BiMix"]


class BiMix(Law):
    r"""A power of the domain's proportion times a power law with a floor in the volume of training.

    .. math:: L(p, D) = \frac{A}{p^{\alpha}} \left(\frac{B}{s^{\beta}} + C\right)
        = p^{-\alpha} \left(E + b (D/D_0)^{-\beta}\right)

    One law for each domain, at one size of model. ``p`` is the domain's proportion in the mixture (the paper's
    :math:`r_i`), ``D`` the tokens of the whole mixture (its :math:`s`). The paper prints five coefficients, of which
    ``A`` cannot be told from ``B`` and ``C``: here A = 1, ``E`` is ``C``, and ``b`` the nats that ``D0`` tokens of the
    domain alone leave above it. It is `msl` at one size.

    `bayescale.laws.shares.optimal_shares` gives the proportions that are best for a weighted sum of domains.

    References
    ----------
    Ge et al. 2024, arXiv 2405.14908.

    Examples
    --------
    >>> law = BiMix()
    >>> [round(float(law.loss(2e10, p, E=1.7, b=0.4, alpha=0.05, beta=0.3)), 3) for p in (1.0, 0.25)]
    [2.1, 2.251]
    """

    name = "bimix"
    formula = "L(D, p) = (E + b (D/D0)^-beta) p^-alpha,  B = b D0^beta"
    citation = "arXiv:2405.14908"
    priors = {
        "E": Prior.parse("LogNormal(log(1.7), 0.5)"),
        "b": Prior.parse("LogNormal(log(0.4), 1.0)"),
        "beta": Prior.parse("LogNormal(log(0.35), 0.5)"),
        "alpha": Prior.parse("HalfNormal(0.2)"),
    }
    linear = ("E", "b")

    def loss(self, D: Any, p: Any = 1.0, *, E: Any, b: Any, beta: Any, alpha: Any) -> Any:
        return (E + b * (D / self.D0) ** -beta) * p**-alpha

    def derived(self, *, b: Any, beta: Any, **_: Any) -> dict[str, Any]:
        return {"B": b * self.D0**beta}

    def check_runs(self, columns: Mapping[str, Any]) -> None:
        """Refuse proportions above 1; see `Law.check_runs`."""
        check_shares(columns["p"], self.name)
