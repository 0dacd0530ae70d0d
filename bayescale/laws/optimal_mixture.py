"""The additive mixture law of Shukor et al. (2025): Chinchilla, and a term of the shares of all domains."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayescale._float64 import jnp
from bayescale.laws._mixture_law import MixtureLaw
from bayescale.laws._shares import over_domains, powers_of
from bayescale.laws.chinchilla import Chinchilla
from bayescale.prior import Prior

__all__ = ["OptimalMixture", "mixture_term"]


def mixture_term(h: Any, worth: Any, gamma: Any) -> Any:
    """``1 / sum_i C_i h_i^gamma_i`` over what it is at the uniform mixture, with ``C`` given up to a factor."""
    size = 1 if np.ndim(worth) == 0 else np.shape(worth)[-1]
    worth = jnp.asarray(worth)
    shares = jnp.asarray(getattr(h, "value", h))
    return over_domains(worth, worth) / over_domains(worth * powers_of(size * shares, gamma), worth)


class OptimalMixture(MixtureLaw):
    r"""Chinchilla, with a term for the mixture that is the same at all sizes and lengths of training.

    .. math:: L(N, D, h) = E + \frac{1}{\sum_i C_i h_i^{\gamma_i}} + a (N/N_0)^{-\alpha} + b (D/D_0)^{-\beta}

    One law for each target loss; ``h`` are the shares of all ``M`` domains, columns ``share[xx]`` of the table. In
    parameters that can be judged the term of the mixture is

    .. math:: m \, \frac{\sum_i w_i}{\sum_i w_i (M h_i)^{\gamma_i}}

    with ``m`` the nats that it is at the uniform mixture, and ``w`` what the domains are worth to the target there.
    Only the ratios of the ``w`` count, so their level is pinned at 1, and each by itself is wide; the
    :math:`C_i = M^{\gamma_i} w_i / (m \sum_j w_j)`, in 1/nats, are derived. A domain with a small ``w`` does nothing
    for the target but take room from others, and its ``gamma`` then rests on what is usual among the domains. The
    spread of ``gamma`` is kept small: a domain with an exponent near 0 adds a constant to the sum whichever it is, and
    which one does cannot be told.

    ``E`` and ``m`` are told apart only by how far the mixtures of the table reach: their sum is much better known than
    either. The best mixture does not depend on ``N`` and ``D``: `bayescale.fits.optimal_mixture`.

    References
    ----------
    Shukor et al. 2025, arXiv 2507.09404, the additive law.

    Examples
    --------
    >>> law = OptimalMixture()
    >>> theta = dict(E=1.2, m=0.5, a=0.3, b=0.3, alpha=0.35, beta=0.35, w=[3.0, 1.0], gamma=[0.5, 0.5])
    >>> [round(float(law.loss(1e9, 2e10, h, **theta)), 3) for h in ([0.5, 0.5], [0.8, 0.2])]
    [2.3, 2.252]
    """

    name = "optimal-mixture"
    formula = (
        "L(N, D, h) = E + m (sum of w)/(sum over domains of w (M h)^gamma) + a (N/N0)^-alpha + b (D/D0)^-beta,  "
        "M domains, C = M^gamma w/(m sum of w), A = a N0^alpha, B = b D0^beta"
    )
    citation = "arXiv:2507.09404"
    priors = {
        "E": Prior.parse("LogNormal(log(1.3), 0.6)"),
        "m": Prior.parse("LogNormal(log(0.5), 1.0)"),
        "a": Chinchilla.priors["a"],
        "b": Chinchilla.priors["b"],
        "alpha": Chinchilla.priors["alpha"],
        "beta": Chinchilla.priors["beta"],
        "w": Prior.parse("LogNormal(log(1.0), 0.8)"),
        "gamma": Prior.parse("LogNormal(log(0.5), 0.5)"),
    }
    spreads = {"w": "LogNormal(log(0.8), 0.5)", "gamma": "LogNormal(log(0.15), 0.5)"}
    ratios = ("w",)
    linear = ("E", "m", "a", "b")
    falls_in = ("N", "D")
    may_be_zero = ("h",)
    either_way = ("h",)

    def loss(
        self, N: Any, D: Any, h: Any, *, E: Any, m: Any, a: Any, b: Any, alpha: Any, beta: Any, w: Any, gamma: Any
    ) -> Any:
        return E + m * mixture_term(h, w, gamma) + a * (N / self.N0) ** -alpha + b * (D / self.D0) ** -beta

    def derived(self, *, m: Any, a: Any, b: Any, alpha: Any, beta: Any, w: Any, gamma: Any, **_: Any) -> dict[str, Any]:
        return {"A": a * self.N0**alpha, "B": b * self.D0**beta, "C": self._worth(m, w, gamma)}
