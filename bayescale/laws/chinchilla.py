"""The Chinchilla law of Hoffmann et al. (2022), Approach 3."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["Chinchilla"]


class Chinchilla(Law):
    r"""A floor, and one power law each in parameters and tokens.

    .. math:: L(N, D) = E + a (N / N_0)^{-\alpha} + b (D / D_0)^{-\beta}

    ``a`` and ``b`` are the nats lost at the reference run to a finite model and to finite data, so that their priors
    can be judged; ``A = a N0**alpha`` and ``B = b D0**beta`` are the constants that papers print. The fit is also
    better conditioned in them: over the runs of the paper the condition number of the Jacobian of log loss is 43 in
    (E, log a, log b, alpha, beta) and 1,900 with log A and log B.

    References
    ----------
    Hoffmann et al. 2022, arXiv 2203.15556, Eq. 2; re-analysis Besiroglu et al. 2024, arXiv 2404.10102.

    Examples
    --------
    >>> law = Chinchilla()
    >>> round(float(law.loss(70e9, 1.4e12, E=1.8172, a=0.36, b=0.34, alpha=0.3473, beta=0.3672)), 3)
    1.971
    """

    name = "chinchilla"
    formula = "L(N, D) = E + a (N/N0)^-alpha + b (D/D0)^-beta,  A = a N0^alpha, B = b D0^beta"
    citation = "arXiv:2203.15556"
    priors = {
        "E": Prior.parse("LogNormal(log(1.7), 0.5)"),
        "a": Prior.parse("LogNormal(log(0.3), 1.5)"),
        "b": Prior.parse("LogNormal(log(0.3), 1.5)"),
        "alpha": Prior.parse("LogNormal(log(0.35), 0.5)"),
        "beta": Prior.parse("LogNormal(log(0.35), 0.5)"),
    }
    linear = ("E", "a", "b")
    powers = {"a": "alpha", "b": "beta"}

    def loss(self, N: Any, D: Any, *, E: Any, a: Any, b: Any, alpha: Any, beta: Any) -> Any:
        return E + a * (N / self.N0) ** -alpha + b * (D / self.D0) ** -beta

    def derived(self, *, a: Any, b: Any, alpha: Any, beta: Any, **_: Any) -> dict[str, Any]:
        return {
            "A": a * self.N0**alpha,
            "B": b * self.D0**beta,
            "G": self._G(a, b, alpha, beta),
            "N_exponent": beta / (alpha + beta),
            "D_exponent": alpha / (alpha + beta),
        }

    def _G(self, a: Any, b: Any, alpha: Any, beta: Any) -> Any:
        """``(alpha A / (beta B))**(1 / (alpha + beta))``, in which ``N* = G (C/6)**N_exponent`` (Eq. 4)."""
        return (alpha * a * self.N0**alpha / (beta * b * self.D0**beta)) ** (1.0 / (alpha + beta))

    def optimum(self, compute: Any, *, a: Any, b: Any, alpha: Any, beta: Any, **_: Any) -> tuple[Any, Any]:
        G = self._G(a, b, alpha, beta)
        share = beta / (alpha + beta)
        return G * (compute / 6.0) ** share, (compute / 6.0) ** (1.0 - share) / G

    def exponents(self, compute: Any, *, alpha: Any, beta: Any, **_: Any) -> tuple[Any, Any]:
        return beta / (alpha + beta), alpha / (alpha + beta)

    def frontier(self, compute: Any, *, E: Any, a: Any, b: Any, alpha: Any, beta: Any) -> Any:
        A, B, total = a * self.N0**alpha, b * self.D0**beta, alpha + beta
        K = total * (A / beta) ** (beta / total) * (B / alpha) ** (alpha / total)
        return E + K * (compute / 6.0) ** (-alpha * beta / total)
