"""Kaplan's law of compute."""

from __future__ import annotations

from typing import Any

from bayescale.compute import FLOPS_PER_PF_DAY
from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["KaplanC"]


class KaplanC(Law):
    r"""A power law in compute without a floor, for the best run of each budget.

    .. math:: L(C) = (C_c / C)^{\alpha_C} = l_C (C / C_0)^{-\alpha_C}

    One law for two columns: the FLOPs spent at a fixed batch (the paper's fit: alpha_C .057, C_c 1.6e7 PF-days), or the
    least that would do, ``C_min`` of `bayescale.laws.kaplan_compute.minimum_compute` (alpha_C .050, C_c 3.1e8 PF-days).
    FLOPs are those of the non-embedding parameters, C = 6 N D. ``C_c`` is reported in FLOPs and in PF-days.

    References
    ----------
    Kaplan et al. 2020, arXiv 2001.08361, Eq. 1.3 and Table 5.

    Examples
    --------
    >>> law = KaplanC()
    >>> f"{law.derived(l_C=2.6148, alpha_C=0.050)['C_c_PF_days']:.1e}"
    '3.1e+08'
    """

    name = "kaplan-C"
    formula = "L(C) = (C_c/C)^alpha_C = l_C (C/C0)^-alpha_C"
    citation = "arXiv:2001.08361"
    N_convention = "without embeddings"
    priors = {
        "l_C": Prior.parse("LogNormal(log(2.5), 0.5)"),
        "alpha_C": Prior.parse("LogNormal(log(0.05), 0.5)"),
    }
    linear = ("l_C",)

    def loss(self, C: Any, *, l_C: Any, alpha_C: Any) -> Any:
        return l_C * (C / self.C0) ** -alpha_C

    def derived(self, *, l_C: Any, alpha_C: Any) -> dict[str, Any]:
        C_c = self.C0 * l_C ** (1.0 / alpha_C)
        return {"C_c": C_c, "C_c_PF_days": C_c / FLOPS_PER_PF_DAY}
