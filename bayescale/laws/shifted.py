"""Chinchilla with power terms that stay finite at size nought."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.laws.chinchilla import Chinchilla
from bayescale.prior import Prior

__all__ = ["Shifted"]


class Shifted(Law):
    r"""Chinchilla in which small models and short runs do not follow the power law yet.

    .. math:: L(N, D) = E + a \left(\frac{N + s_N}{N_0 + s_N}\right)^{-\alpha}
        + b \left(\frac{D + s_D}{D_0 + s_D}\right)^{-\beta}

    ``a`` and ``b`` are the nats lost at the reference run, as in ``chinchilla``; the shifts are
    :math:`s_N = N_0 10^{t_N}` and :math:`s_D = D_0 10^{t_D}`: at ``t_N`` = -4, 100,000 parameters. Without runs small
    enough to feel them, both rest on their priors, and the fit says so.

    References
    ----------
    Zhai et al. 2021, arXiv 2106.04560: a (C + d)^-b + c in one variable, compute. The sum over two is ours.

    Examples
    --------
    >>> law = Shifted()
    >>> round(float(law.loss(1e9, 2e10, E=1.8, a=0.3, b=0.3, alpha=0.4, beta=0.4, t_N=-2.0, t_D=-2.0)), 4)
    2.4
    """

    name = "shifted"
    formula = (
        "L(N, D) = E + a ((N + s_N)/(N0 + s_N))^-alpha + b ((D + s_D)/(D0 + s_D))^-beta,  "
        "s_N = N0 10^t_N, s_D = D0 10^t_D"
    )
    citation = "arXiv:2106.04560"
    priors = dict(Chinchilla.priors) | {
        "t_N": Prior.parse("Normal(-4, 0.7)"),
        "t_D": Prior.parse("Normal(-4, 0.7)"),
    }
    linear = ("E", "a", "b")

    def loss(self, N: Any, D: Any, *, E: Any, a: Any, b: Any, alpha: Any, beta: Any, t_N: Any, t_D: Any) -> Any:
        p_N, p_D = 10.0**t_N, 10.0**t_D
        size, data = (N / self.N0 + p_N) / (1.0 + p_N), (D / self.D0 + p_D) / (1.0 + p_D)
        return E + a * size**-alpha + b * data**-beta

    def derived(self, *, a: Any, b: Any, alpha: Any, beta: Any, t_N: Any, t_D: Any, **_: Any) -> dict[str, Any]:
        p_N, p_D = 10.0**t_N, 10.0**t_D
        return {
            "A": a * (self.N0 * (1.0 + p_N)) ** alpha,
            "B": b * (self.D0 * (1.0 + p_D)) ** beta,
            "s_N": p_N * self.N0,
            "s_D": p_D * self.D0,
        }
