"""The joint mixture law of Shukor et al. (2025): what size and data are worth depends on the mixture too."""

from __future__ import annotations

from typing import Any

from bayescale._float64 import jnp
from bayescale.laws._mixture_law import MixtureLaw
from bayescale.laws._shares import over_domains
from bayescale.laws.optimal_mixture import OptimalMixture, mixture_term
from bayescale.prior import Prior

__all__ = ["OptimalMixtureJoint"]


def _relative(h: Any, size: Any, power: Any) -> Any:
    """``(sum_i h_i u_i^(1/power))^power`` over what it is at the uniform mixture."""
    shares = jnp.asarray(getattr(h, "value", h))
    each = jnp.exp(jnp.log(jnp.asarray(size)) / power)
    even = each if jnp.ndim(each) == 0 else each.mean(axis=-1)
    return (over_domains(shares * each, each) / even) ** power


class OptimalMixtureJoint(MixtureLaw):
    r"""The additive law, with nats lost to size and to data that depend on the mixture.

    .. math:: L(N, D, h) = E + \frac{1}{\sum_i C_i h_i^{\gamma_i}} + \frac{A(h)}{N^{\alpha}}
        + \frac{B(h)}{D^{\beta}},\quad A(h) = \Big(\sum_i C^A_i h_i\Big)^{\gamma_A},\quad
        B(h) = \Big(\sum_i C^B_i h_i\Big)^{\gamma_B}

    The parameters of `optimal-mixture`, of which ``a`` and ``b`` are now of the uniform mixture; and for each domain
    ``u`` and ``v``, what would be lost to size and to data after training on it alone, up to a common factor:
    :math:`C^A_i = (a N_0^\alpha)^{1/\gamma_A} u_i^{1/\gamma_A}` over the mean of :math:`u^{1/\gamma_A}`. With all ``u``
    alike and all ``v`` alike it is the additive law. The best mixture depends on ``N`` and ``D``.

    It has four parameters for each domain, and few tables determine all of them: ``gamma_A`` and ``gamma_B`` in
    particular usually rest on their priors.

    References
    ----------
    Shukor et al. 2025, arXiv 2507.09404, has a joint law in which the coefficients of both power laws depend on the
    mixture. The form here is the one that it is quoted with; it has not been held against the print.

    Examples
    --------
    >>> law = OptimalMixtureJoint()
    >>> theta = dict(E=1.2, m=0.5, a=0.3, b=0.3, alpha=0.35, beta=0.35, gamma_A=1.0, gamma_B=1.0)
    >>> each = dict(w=[1.0, 1.0], gamma=[0.5, 0.5], v=[1.0, 1.0])
    >>> [round(float(law.loss(1e9, 2e10, [0.5, 0.5], u=u, **each, **theta)), 3) for u in ([1.0, 1.0], [1.0, 3.0])]
    [2.3, 2.3]
    """

    name = "optimal-mixture-joint"
    formula = (
        "L(N, D, h) = E + m (sum of w)/(sum over domains of w (M h)^gamma) + a U (N/N0)^-alpha + b V (D/D0)^-beta,  "
        "M domains, U = (sum of h u^(1/gamma_A) / mean of u^(1/gamma_A))^gamma_A, V as U of v and gamma_B"
    )
    citation = "arXiv:2507.09404"
    priors = dict(OptimalMixture.priors) | {
        "u": Prior.parse("LogNormal(log(1.0), 0.4)"),
        "v": Prior.parse("LogNormal(log(1.0), 0.4)"),
        "gamma_A": Prior.parse("LogNormal(log(1.0), 0.5)"),
        "gamma_B": Prior.parse("LogNormal(log(1.0), 0.5)"),
    }
    spreads = OptimalMixture.spreads | dict.fromkeys(("u", "v"), "LogNormal(log(0.3), 0.5)")
    ratios = ("w", "u", "v")
    linear = ("E", "m", "a", "b")
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
        m: Any,
        a: Any,
        b: Any,
        alpha: Any,
        beta: Any,
        w: Any,
        gamma: Any,
        u: Any,
        v: Any,
        gamma_A: Any,
        gamma_B: Any,
    ) -> Any:
        of_size = a * _relative(h, u, gamma_A) * (N / self.N0) ** -alpha
        of_data = b * _relative(h, v, gamma_B) * (D / self.D0) ** -beta
        return E + m * mixture_term(h, w, gamma) + of_size + of_data

    def derived(
        self, *, m: Any, a: Any, b: Any, alpha: Any, beta: Any, w: Any, gamma: Any, u: Any, v: Any, **powers: Any
    ) -> dict[str, Any]:
        return {
            "C": self._worth(m, w, gamma),
            "C_A": self._alone(a * self.N0**alpha, u, powers["gamma_A"]),
            "C_B": self._alone(b * self.D0**beta, v, powers["gamma_B"]),
        }

    def _alone(self, even: Any, size: Any, power: Any) -> Any:
        each = size ** (1.0 / power)
        return even ** (1.0 / power) * each / (each.mean(axis=-1, keepdims=True) if self.domains else each)
