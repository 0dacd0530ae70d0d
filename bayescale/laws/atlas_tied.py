"""ATLAS with one exponent for parameters and effective tokens."""

from __future__ import annotations

from typing import Any

from bayescale.laws.atlas import Atlas

__all__ = ["AtlasTied"]


class AtlasTied(Atlas):
    r"""ATLAS with :math:`\alpha = \beta`, as in all fits that its paper prints (Table C.1), though its text has two.

    .. math:: L = E + a (N/N_0)^{-\alpha} + b (D_\mathrm{eff}/D_0)^{-\alpha}

    Everything else is as in `Atlas`.

    References
    ----------
    Longpre et al. 2025, arXiv 2510.22037, Table C.1.

    Examples
    --------
    >>> AtlasTied(k=5).parameters
    ('E', 'a', 'b', 'alpha', 'tau', 'tau_other', 'lambda_D')
    """

    name = "atlas-tied"
    formula = Atlas.formula.replace("-beta", "-alpha")
    citation = "arXiv:2510.22037, Table C.1"
    priors = {name: prior for name, prior in Atlas.priors.items() if name != "beta"}
    powers = {}

    def loss(
        self,
        N: Any,
        D_t: Any,
        U_t: Any,
        D_i: Any,
        U_i: Any,
        D_other: Any,
        U_other: Any,
        *,
        E: Any,
        a: Any,
        b: Any,
        alpha: Any,
        tau: Any,
        tau_other: Any,
        lambda_D: Any,
    ) -> Any:
        columns = (N, D_t, U_t, D_i, U_i, D_other, U_other)
        shared = {"tau": tau, "tau_other": tau_other, "lambda_D": lambda_D}
        return super().loss(*columns, E=E, a=a, b=b, alpha=alpha, beta=alpha, **shared)
