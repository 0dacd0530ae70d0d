"""The data-constrained law of Muennighoff et al. (2023)."""

from __future__ import annotations

import math
from typing import Any

from bayescale._float64 import jnp
from bayescale.laws._law import Law
from bayescale.laws._repetition import effective
from bayescale.laws.chinchilla import Chinchilla
from bayescale.prior import Prior

__all__ = ["DataConstrained"]


class DataConstrained(Law):
    r"""Chinchilla of effective parameters and tokens: what is repeated, or in excess of the data, is worth less.

    .. math:: L(N, D, U) = E + a (N'/N_0)^{-\alpha} + b (D'/D_0)^{-\beta},\quad
        D' = U_D + U_D R_D^* (1 - e^{-R_D / R_D^*}),\quad N' = U_N + U_N R_N^* (1 - e^{-R_N / R_N^*})

    with :math:`U_D = \min(U, D)` unique tokens, :math:`R_D = D / U_D - 1` repetitions, :math:`U_N` the parameters that
    are compute-optimal for :math:`U_D` tokens (at most ``N``), and :math:`R_N = N / U_N - 1`. The parameters are
    ``lambda_D`` :math:`= 1/R_D^*`, by which each repetition is worth less than the one before, and ``lambda_N``
    likewise; ``R_D`` and ``R_N`` of a fit are :math:`R_D^*, R_N^*`, how many fresh passes infinitely many repetitions
    are worth. The tables bound :math:`R_D^*` from below only, which is an ordinary posterior in its reciprocal and a
    tail without end in itself.

    One call fits all seven parameters jointly. The paper's two stages are the same call with the five of the first
    stage pinned by ``priors``. The law says that repetition can never hurt; rows where it does are not described.

    ``lambda_D`` needs runs of many epochs: on the 182 published ones any :math:`R_D^*` from about 12 upwards fits, and
    :math:`R_N^*` trades with it. A fit whose posterior of either is the prior says so.

    Without ``U`` the data are unlimited. `optimum` takes ``U=`` for a budget spent on limited data.

    References
    ----------
    Muennighoff et al. 2023, arXiv 2305.16264, Eqs. 5-7 and App. A; two-stage fit with alpha = beta, R_D* 15.39,
    R_N* 5.31.

    Examples
    --------
    >>> law = DataConstrained()
    >>> theta = dict(E=1.869, a=0.349, b=0.346, alpha=0.353, beta=0.353, lambda_D=0.065, lambda_N=0.188)
    >>> [round(float(law.loss(1e9, 2e10, U, **theta)), 2) for U in (2e10, 5e9, 5e8)]
    [2.56, 2.6, 3.02]
    """

    name = "data-constrained"
    formula = (
        "L(N, D, U) = E + a (N'/N0)^-alpha + b (D'/D0)^-beta,  "
        "D' = U_D (1 + (1 - exp(-lambda_D (D/U_D - 1))) / lambda_D), "
        "N' = U_N (1 + (1 - exp(-lambda_N (N/U_N - 1))) / lambda_N), U_D = min(U, D), U_N = min(N*(U_D), N)"
    )
    citation = "arXiv:2305.16264"
    priors = {name: Chinchilla.priors[name] for name in ("E", "a", "b", "alpha", "beta")} | {
        "lambda_D": Prior.parse("LogNormal(log(0.1), 0.8)"),
        "lambda_N": Prior.parse("LogNormal(log(0.2), 1.0)"),
    }
    linear = ()
    falls_in = ()

    def loss(
        self,
        N: Any,
        D: Any,
        U: Any = math.inf,
        *,
        E: Any,
        a: Any,
        b: Any,
        alpha: Any,
        beta: Any,
        lambda_D: Any,
        lambda_N: Any,
    ) -> Any:
        unique = jnp.minimum(jnp.asarray(D), jnp.asarray(U))
        fresh = effective(jnp.asarray(D), unique, 1.0 / lambda_D)
        filled = self._filled_by(unique, a, b, alpha, beta)
        size = effective(jnp.asarray(N), filled, 1.0 / lambda_N)
        return E + a * (size / self.N0) ** -alpha + b * (fresh / self.D0) ** -beta

    def _filled_by(self, tokens: Any, a: Any, b: Any, alpha: Any, beta: Any) -> Any:
        """Parameters that are compute-optimal for a number of tokens seen once."""
        log_ratio = jnp.log(alpha * a) - jnp.log(beta * b) + beta * jnp.log(tokens / self.D0)
        return self.N0 * jnp.exp(log_ratio / alpha)

    def derived(
        self, *, a: Any, b: Any, alpha: Any, beta: Any, lambda_D: Any, lambda_N: Any, **_: Any
    ) -> dict[str, Any]:
        """Chinchilla's, ``R_D`` and ``R_N``, and what one more repetition loses of its worth."""
        R_D, R_N = 1.0 / lambda_D, 1.0 / lambda_N
        return self._fresh.derived(a=a, b=b, alpha=alpha, beta=beta) | {
            "R_D": R_D,
            "R_N": R_N,
            "repeat_loss_D": 1.0 / (1.0 + R_D),
            "repeat_loss_N": 1.0 / (1.0 + R_N),
        }

    @property
    def _fresh(self) -> Chinchilla:
        return Chinchilla(self.N0, self.D0, self.C0)
