"""Chinchilla with an outer exponent: the coupled law."""

from __future__ import annotations

import math
from typing import Any

from bayescale._float64 import jnp
from bayescale.laws._law import Law
from bayescale.laws._positive import log
from bayescale.prior import Prior

__all__ = ["Kappa"]


class Kappa(Law):
    r"""The two power laws of Chinchilla, coupled by one exponent around their sum.

    .. math:: L(N, D) = E + \left(A N^{-\alpha} + B D^{-\beta}\right)^{\kappa}

    With :math:`\kappa = 1` this is Chinchilla, in which the sharpness of an IsoFLOP curve fixes how fast its minimum
    moves with the budget. Below 1 the curves may be sharper than that, as they are in public tables; a law without it
    then finds its floor too high and forecasts too pessimistic.

    It is written at the reference budget ``C0``, in quantities that can be judged and that tables determine almost
    independently of each other. With :math:`N^*_0, D^*_0` the compute-optimal run of ``C0`` and :math:`a` the exponent
    in :math:`N^*(C) \propto C^a`,

    .. math:: L(N, D) = E + R \left[a (N / N^*_0)^{-\alpha} + (1 - a) (D / D^*_0)^{-\beta}\right]^{\kappa},\qquad
        \alpha = \frac{\gamma}{\kappa a},\quad \beta = \frac{\gamma}{\kappa (1 - a)}

    so that the loss along the compute-optimal path is :math:`L^*(C) = E + R (C / C_0)^{-\gamma}`. ``R`` is the nats
    above the floor of the best run of ``C0``, ``M`` its tokens per parameter, and ``N_exponent`` is :math:`a`.

    Runs near the compute-optimal path say nothing of ``kappa``: it then rests on its prior, and the fit says so.

    References
    ----------
    Videau et al. 2026, arXiv 2608.07222 ("Skaling"), where kappa is 0.3 to 0.9; at kappa = 1 Hoffmann et al. 2022,
    arXiv 2203.15556, Eq. 2.

    Examples
    --------
    >>> law = Kappa()
    >>> theta = dict(E=1.8, R=0.6, M=20.0, N_exponent=0.5, gamma=0.15, kappa=0.6)
    >>> round(float(law.loss(1e9, 2e10, **theta)), 4)
    2.4
    >>> round(law.derived(**theta)["alpha"], 4)
    0.5
    """

    name = "kappa"
    formula = (
        "L(N, D) = E + (A N^-alpha + B D^-beta)^kappa;  at C0 the best run has loss E + R and M tokens per parameter, "
        "N* ~ C^N_exponent, L* = E + R (C/C0)^-gamma"
    )
    citation = "arXiv:2608.07222"
    priors = {
        "E": Prior.parse("LogNormal(log(1.7), 0.5)"),
        "R": Prior.parse("LogNormal(log(0.6), 1.0)"),
        "M": Prior.parse("LogNormal(log(20), 1.0)"),
        "N_exponent": Prior.parse("Beta(15, 15)"),
        "gamma": Prior.parse("LogNormal(log(0.155), 0.35)"),
        "kappa": Prior.parse("LogNormal(log(0.6), 0.3)"),
    }
    linear = ("E", "R")

    def loss(self, N: Any, D: Any, *, E: Any, R: Any, M: Any, N_exponent: Any, gamma: Any, kappa: Any) -> Any:
        alpha, beta = self._inner(N_exponent, gamma, kappa)
        N_usual, D_usual, off = self._usual(M)
        shift = 0.5 * jnp.log(off)
        # at small kappa the inner exponents are large, and the terms themselves would overflow
        of_N = jnp.log(N_exponent) - alpha * (log(N / N_usual) + shift)
        of_D = jnp.log1p(-N_exponent) - beta * (log(D / D_usual) - shift)
        return E + R * jnp.exp(kappa * jnp.logaddexp(of_N, of_D))

    def at_usual_scale(self) -> tuple[Law, dict[str, float]]:
        usual = type(self)()
        # M is a ratio of tokens to parameters: it stays what it is only if that of the reference run does
        if not (math.isclose(self.D0 / self.N0, usual.D0 / usual.N0) and math.isclose(self.C0, 6 * self.N0 * self.D0)):
            return self, {}
        return usual, {"N": usual.N0 / self.N0, "D": usual.D0 / self.D0}

    def _usual(self, M: Any) -> tuple[float, float, Any]:
        """The run of C0 with as many tokens per parameter as the reference run, and by what factor M is off that."""
        usual = self.D0 / self.N0
        N = (self.C0 / (6.0 * usual)) ** 0.5
        return N, N * usual, M / usual

    @staticmethod
    def _inner(N_exponent: Any, gamma: Any, kappa: Any) -> tuple[Any, Any]:
        """Exponents of the two terms, alpha and beta."""
        return gamma / (kappa * N_exponent), gamma / (kappa * (1.0 - N_exponent))

    def derived(self, *, R: Any, M: Any, N_exponent: Any, gamma: Any, kappa: Any, **_: Any) -> dict[str, Any]:
        alpha, beta = self._inner(N_exponent, gamma, kappa)
        N_usual, D_usual, off = self._usual(M)
        # by logarithms: where kappa is small one factor is zero and another beyond all numbers
        log_scale = jnp.log(R) / kappa
        log_N, log_D = jnp.log(N_usual) - 0.5 * jnp.log(off), jnp.log(D_usual) + 0.5 * jnp.log(off)
        return {
            "alpha": alpha,
            "beta": beta,
            "A": jnp.exp(log_scale + jnp.log(N_exponent) + alpha * log_N),
            "B": jnp.exp(log_scale + jnp.log1p(-N_exponent) + beta * log_D),
            "D_exponent": 1.0 - N_exponent,
        }

    def optimum(self, compute: Any, *, M: Any, N_exponent: Any, **_: Any) -> tuple[Any, Any]:
        N_usual, D_usual, off = self._usual(M)
        growth = compute / self.C0
        return N_usual * off**-0.5 * growth**N_exponent, D_usual * off**0.5 * growth ** (1.0 - N_exponent)

    def exponents(self, compute: Any, *, N_exponent: Any, **_: Any) -> tuple[Any, Any]:
        return N_exponent, 1.0 - N_exponent

    def frontier(self, compute: Any, *, E: Any, R: Any, gamma: Any, **_: Any) -> Any:
        return E + R * (compute / self.C0) ** -gamma
