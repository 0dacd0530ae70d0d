"""Kaplan's joint law of parameters and data."""

from __future__ import annotations

from typing import Any

from bayescale._float64 import jnp
from bayescale.laws._law import Law
from bayescale.laws._positive import log
from bayescale.prior import Prior

__all__ = ["Kaplan"]


class Kaplan(Law):
    r"""Power laws in parameters and in data, joined so that the scarcer one decides; no floor.

    .. math:: L(N, D) = \left[(N_c / N)^{\alpha_N / \alpha_D} + D_c / D\right]^{\alpha_D}
        = \left[L_N^{1/\alpha_D} + L_D^{1/\alpha_D}\right]^{\alpha_D},\qquad
        L_N = l_N (N/N_0)^{-\alpha_N},\quad L_D = l_D (D/D_0)^{-\alpha_D}

    ``l_N`` is the loss at ``N0`` parameters with unlimited data, ``l_D`` that at ``D0`` tokens with an unlimited model.
    The paper's joint fit (Table 2): alpha_N .076, alpha_D .103, N_c 6.4e13, D_c 1.8e13; its two laws of one variable
    have alpha_D .095 and other constants, and are not this one at its edges.

    In the paper ``D`` is the size of a data set that a large model may visit often. The compute-optimal split given
    here takes it for the tokens processed in one epoch; the paper's own is that of
    `bayescale.laws.kaplan_compute.EfficientFrontier`.

    References
    ----------
    Kaplan et al. 2020, arXiv 2001.08361, Eq. 1.5 and Table 2.

    Examples
    --------
    >>> law = Kaplan()
    >>> theta = dict(l_N=2.319, l_D=2.015, alpha_N=0.076, alpha_D=0.103)
    >>> round(float(law.loss(1e9, 2e10, **theta)), 3)
    2.374
    >>> {name: f"{value:.1e}" for name, value in law.derived(**theta).items() if name.endswith("_c")}
    {'N_c': '6.4e+13', 'D_c': '1.8e+13'}
    """

    name = "kaplan"
    formula = "L(N, D) = [(N_c/N)^(alpha_N/alpha_D) + D_c/D]^alpha_D,  l_N = (N_c/N0)^alpha_N, l_D = (D_c/D0)^alpha_D"
    citation = "arXiv:2001.08361"
    N_convention = "without embeddings"
    # narrow: with alpha_D much below .05 the scarcer of the two decides alone, to the last digit of float64
    priors = {
        "l_N": Prior.parse("LogNormal(log(2.3), 0.3)"),
        "l_D": Prior.parse("LogNormal(log(2.3), 0.3)"),
        "alpha_N": Prior.parse("LogNormal(log(0.08), 0.3)"),
        "alpha_D": Prior.parse("LogNormal(log(0.1), 0.3)"),
    }

    def loss(self, N: Any, D: Any, *, l_N: Any, l_D: Any, alpha_N: Any, alpha_D: Any) -> Any:
        of_N = jnp.log(l_N) - alpha_N * log(N / self.N0)
        of_D = jnp.log(l_D) - alpha_D * log(D / self.D0)
        # 1 / alpha_D is 10 or more: the sum of such powers is safe only on the log scale
        return jnp.exp(alpha_D * jnp.logaddexp(of_N / alpha_D, of_D / alpha_D))

    def derived(self, *, l_N: Any, l_D: Any, alpha_N: Any, alpha_D: Any) -> dict[str, Any]:
        share = alpha_D / (alpha_N + alpha_D)
        return {
            "N_c": self.N0 * l_N ** (1.0 / alpha_N),
            "D_c": self.D0 * l_D ** (1.0 / alpha_D),
            "N_exponent": share,
            "D_exponent": 1.0 - share,
        }

    def optimum(self, compute: Any, *, l_N: Any, l_D: Any, alpha_N: Any, alpha_D: Any) -> tuple[Any, Any]:
        # where alpha_N / alpha_D of the first term of the bracket is the second: both on the log scale, N over N0
        power = alpha_N / alpha_D
        budget = jnp.log(compute / (6.0 * self.N0 * self.D0))
        log_N = (budget + jnp.log(power) + (jnp.log(l_N) - jnp.log(l_D)) / alpha_D) / (1.0 + power)
        return self.N0 * jnp.exp(log_N), self.D0 * jnp.exp(budget - log_N)

    def exponents(self, compute: Any, *, alpha_N: Any, alpha_D: Any, **_: Any) -> tuple[Any, Any]:
        return alpha_D / (alpha_N + alpha_D), alpha_N / (alpha_N + alpha_D)
