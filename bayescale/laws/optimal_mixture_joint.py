"""The joint mixture law of Shukor et al. (2025): what size and data are worth depends on the mixture too."""

from __future__ import annotations

from typing import Any

from bayescale._float64 import jnp
from bayescale.laws._mixture_law import MixtureLaw
from bayescale.laws._shares import over_domains
from bayescale.laws.optimal_mixture import OptimalMixture, mixture_term
from bayescale.prior import Prior

__all__ = ["OptimalMixtureJoint"]


def _mean(h: Any, each: Any, power: Any) -> Any:
    """``(sum_i h_i each_i^(1/power))^power``: between the smallest and the largest of what each domain alone gives."""
    shares = jnp.asarray(getattr(h, "value", h))
    return over_domains(shares * jnp.exp(jnp.log(jnp.asarray(each)) / power), each) ** power


class OptimalMixtureJoint(MixtureLaw):
    r"""The additive law, with nats lost to size and to data that depend on the mixture.

    .. math:: L(N, D, h) = E + \frac{1}{\sum_i C_i h_i^{\gamma_i}} + a(h) (N/N_0)^{-\alpha} + b(h) (D/D_0)^{-\beta},\quad
        a(h) = \Big(\sum_i h_i a_i^{1/\gamma_A}\Big)^{\gamma_A},\quad b(h) = \Big(\sum_i h_i b_i^{1/\gamma_B}\Big)^{\gamma_B}

    ``a_i`` are the nats that a model of ``N0`` parameters loses to its size when it is trained on domain ``i`` alone,
    ``b_i`` those that ``D0`` tokens of it leave: the form :math:`A = (\sum_i C^A_i h_i)^{\gamma_A}` in parameters that
    can be judged, :math:`C^A_i = (a_i N_0^\alpha)^{1/\gamma_A}`. With all ``a_i`` alike and all ``b_i`` alike it is
    `optimal-mixture`. The best mixture depends on ``N`` and ``D``.

    It has four parameters for each domain, and few tables determine all of them: the powers ``gamma_A`` and ``gamma_B``
    in particular usually rest on their priors.

    References
    ----------
    Shukor et al. 2025, arXiv 2507.09404, has a joint law in which the coefficients of both power laws depend on the
    mixture. The form here is the one that it is quoted with; it has not been held against the print.

    Examples
    --------
    >>> law = OptimalMixtureJoint()
    >>> theta = dict(E=1.2, alpha=0.35, beta=0.35, c=[3.0, 1.0], gamma=[0.5, 0.5], gamma_A=1.0, gamma_B=1.0)
    >>> [round(float(law.loss(1e9, 2e10, [0.5, 0.5], a=a, b=[0.3, 0.3], **theta)), 3) for a in ([0.3, 0.3], [0.2, 0.4])]
    [2.3, 2.3]
    """

    name = "optimal-mixture-joint"
    formula = (
        "L(N, D, h) = E + 1/(mean over domains of c (M h)^gamma) + a(h) (N/N0)^-alpha + b(h) (D/D0)^-beta,  M domains, "
        "a(h) = (sum of h a^(1/gamma_A))^gamma_A, b(h) = (sum of h b^(1/gamma_B))^gamma_B"
    )
    citation = "arXiv:2507.09404"
    priors = dict(OptimalMixture.priors) | {
        "gamma_A": Prior.parse("LogNormal(log(1.0), 0.5)"),
        "gamma_B": Prior.parse("LogNormal(log(1.0), 0.5)"),
    }
    spreads = OptimalMixture.spreads | dict.fromkeys(("a", "b"), "LogNormal(log(0.3), 0.7)")
    straight = ("E",)
    falls_in = ("N", "D")
    may_be_zero = ("h",)
    either_way = ("h",)

    def loss(
        self,
        N: Any,
        D: Any,
        h: Any,
        *,
        E: Any,
        a: Any,
        b: Any,
        alpha: Any,
        beta: Any,
        c: Any,
        gamma: Any,
        gamma_A: Any,
        gamma_B: Any,
    ) -> Any:
        of_size, of_data = _mean(h, a, gamma_A), _mean(h, b, gamma_B)
        return E + mixture_term(h, c, gamma) + of_size * (N / self.N0) ** -alpha + of_data * (D / self.D0) ** -beta

    def derived(
        self, *, a: Any, b: Any, alpha: Any, beta: Any, c: Any, gamma: Any, gamma_A: Any, gamma_B: Any, **_: Any
    ) -> dict[str, Any]:
        return {
            "C": c * float(max(len(self.domains), 1)) ** (gamma - 1.0),
            "C_A": (a * self.N0**alpha) ** (1.0 / gamma_A),
            "C_B": (b * self.D0**beta) ** (1.0 / gamma_B),
        }
