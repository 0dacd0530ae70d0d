"""Kaplan's law of parameters."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["KaplanN"]


class KaplanN(Law):
    r"""A power law in parameters without a floor, for runs that data and training time did not limit.

    .. math:: L(N) = (N_c / N)^{\alpha_N} = l_N (N / N_0)^{-\alpha_N}

    ``l_N`` is the loss at ``N0`` parameters; ``N_c``, which is tied to ``alpha_N`` almost exactly, is reported. The
    paper's fit: alpha_N .076, N_c 8.8e13 non-embedding parameters. Text has an entropy, so the line must bend
    somewhere: ``power-N`` is the same with a floor.

    References
    ----------
    Kaplan et al. 2020, arXiv 2001.08361, Eq. 1.1 and Table 5.

    Examples
    --------
    >>> law = KaplanN()
    >>> f"{law.derived(l_N=2.376, alpha_N=0.076)['N_c']:.1e}"
    '8.8e+13'
    """

    name = "kaplan-N"
    formula = "L(N) = (N_c/N)^alpha_N = l_N (N/N0)^-alpha_N"
    citation = "arXiv:2001.08361"
    N_convention = "without embeddings"
    priors = {
        "l_N": Prior.parse("LogNormal(log(2.5), 0.5)"),
        "alpha_N": Prior.parse("LogNormal(log(0.08), 0.5)"),
    }
    linear = ("l_N",)

    def loss(self, N: Any, *, l_N: Any, alpha_N: Any) -> Any:
        return l_N * (N / self.N0) ** -alpha_N

    def derived(self, *, l_N: Any, alpha_N: Any) -> dict[str, Any]:
        return {"N_c": self.N0 * l_N ** (1.0 / alpha_N)}
