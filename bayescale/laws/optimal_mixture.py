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


def mixture_term(h: Any, c: Any, gamma: Any) -> Any:
    """``1 / sum_i C_i h_i^gamma_i`` [nats], with ``c`` in the place of ``C`` at the uniform mixture."""
    size = 1 if jnp.ndim(c) == 0 else np.shape(h)[-1]
    shares = jnp.asarray(getattr(h, "value", h))
    return size / over_domains(c * powers_of(size * shares, gamma), c)


class OptimalMixture(MixtureLaw):
    r"""Chinchilla, with a term for the mixture that is the same at all sizes and lengths of training.

    .. math:: L(N, D, h) = E + \frac{1}{\sum_i C_i h_i^{\gamma_i}} + a (N/N_0)^{-\alpha} + b (D/D_0)^{-\beta}

    One law for each target loss; ``h`` are the shares of all ``M`` domains, columns ``share[xx]`` of the table. The
    parameters of domains are ``gamma`` and :math:`c_i = M^{1 - \gamma_i} C_i`, in 1/nats: at the uniform mixture the term
    is 1 over the mean of the :math:`c_i`. A domain with a small :math:`c_i` does nothing for the target but take room
    from others, and its :math:`\gamma_i` then rests on what is usual among the domains.

    ``E`` and the term of the mixture are told apart only by how far the mixtures of the table reach: their sum at a
    mixture of the table is much better known than either. The best mixture does not depend on ``N`` and ``D``:
    `bayescale.fits.optimal_mixture`.

    References
    ----------
    Shukor et al. 2025, arXiv 2507.09404, the additive law.

    Examples
    --------
    >>> law = OptimalMixture()
    >>> theta = dict(E=1.2, a=0.3, b=0.3, alpha=0.35, beta=0.35, c=[3.0, 1.0], gamma=[0.5, 0.5])
    >>> [round(float(law.loss(1e9, 2e10, h, **theta)), 3) for h in ([0.5, 0.5], [0.8, 0.2])]
    [2.3, 2.259]
    """

    name = "optimal-mixture"
    formula = (
        "L(N, D, h) = E + 1/(mean over domains of c (M h)^gamma) + a (N/N0)^-alpha + b (D/D0)^-beta,  M domains, "
        "C = c M^(gamma - 1), A = a N0^alpha, B = b D0^beta"
    )
    citation = "arXiv:2507.09404"
    priors = {
        "E": Prior.parse("LogNormal(log(1.3), 0.6)"),
        "a": Chinchilla.priors["a"],
        "b": Chinchilla.priors["b"],
        "alpha": Chinchilla.priors["alpha"],
        "beta": Chinchilla.priors["beta"],
        "c": Prior.parse("LogNormal(log(1.5), 1.0)"),
        "gamma": Prior.parse("LogNormal(log(0.4), 0.7)"),
    }
    spreads = {"c": "LogNormal(log(0.8), 0.7)", "gamma": "LogNormal(log(0.3), 0.7)"}  # noqa: RUF012
    straight = ("E", "a", "b")
    falls_in = ("N", "D")
    may_be_zero = ("h",)
    either_way = ("h",)

    def loss(
        self, N: Any, D: Any, h: Any, *, E: Any, a: Any, b: Any, alpha: Any, beta: Any, c: Any, gamma: Any
    ) -> Any:
        return E + mixture_term(h, c, gamma) + a * (N / self.N0) ** -alpha + b * (D / self.D0) ** -beta

    def derived(self, *, a: Any, b: Any, alpha: Any, beta: Any, c: Any, gamma: Any, **_: Any) -> dict[str, Any]:
        size = float(max(len(self.domains), 1))
        return {"A": a * self.N0**alpha, "B": b * self.D0**beta, "C": c * size ** (gamma - 1.0)}
