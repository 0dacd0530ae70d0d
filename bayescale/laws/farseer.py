"""The Farseer law of Li et al. (2025)."""

from __future__ import annotations

import math
from typing import Any

from bayescale._float64 import jnp
from bayescale.laws._law import Law
from bayescale.laws._positive import log
from bayescale.prior import Prior

__all__ = ["Farseer"]


def _stretched(log_n: Any, power: Any) -> Any:
    """``(n^power - 1) / power``: log n at power 0, and with slope 1 at n = 1 whatever the power."""
    safe = jnp.where(jnp.abs(power) < 1e-9, 1e-9, power)
    return jnp.expm1(safe * log_n) / safe


class Farseer(Law):
    r"""Floor, scale and exponent of the data term all depend on the size of the model, as stretched exponentials.

    .. math:: L(N, D) = e^{a_3 N^{\gamma} + b_3} + e^{a_2 N^{\beta} + b_2} D^{-\exp(a_1 N^{\alpha} + b_1)}

    Written at the reference run, with :math:`h_q(n) = (n^q - 1)/q`, of slope 1 in log n at :math:`n = N/N_0 = 1`:

    .. math:: L = E\,e^{-e\,h_{q_E}} + b\,e^{-d\,h_{q_b}}\, D_0^{A_0 (1 - v h_{q_b})} D^{-A(N)},\qquad
        A(N) = A_0\,e^{-v\,h_{q_A}}

    ``E`` is the loss of ``N0`` parameters on unlimited data and ``e`` how fast its logarithm falls in log N there;
    ``b`` the nats that ``D0`` tokens leave above it at ``N0`` and ``d`` how fast its logarithm falls; ``A_0`` the
    exponent of the data at ``N0`` and ``v`` how fast its logarithm falls. ``q_E``, ``q_b`` and ``q_A`` are the bends
    :math:`\gamma, \beta, \alpha`. There is no floor in N.

    Nine parameters need a grid of sizes and tokens with small noise; a ladder leaves the bends to their priors, and the
    fit says so. Since larger models may have a smaller exponent of the data, one can come out worse than a smaller one
    on data far beyond the table.

    References
    ----------
    Li et al. 2025, arXiv 2506.10972; nine parameters, and parameters counted without embeddings.

    Examples
    --------
    >>> law = Farseer()
    >>> theta = dict(E=1.9, e=0.06, q_E=0.1, b=0.3, d=-0.2, q_b=-0.1, A_0=0.35, v=0.1, q_A=0.1)
    >>> round(float(law.loss(1e9, 2e10, **theta)), 4)
    2.2
    """

    name = "farseer"
    formula = (
        "L(N, D) = exp(a_3 N^q_E + b_3) + exp(a_2 N^q_b + b_2) D^-exp(a_1 N^q_A + b_1);  at N0, D0 the terms are E, b, "
        "e and d the slopes of their logs in log N, A_0 the exponent of D, v the slope of its log"
    )
    citation = "arXiv:2506.10972"
    loss_unit = "as in the table"
    N_convention = "without embeddings"
    priors = {
        "E": Prior.parse("LogNormal(log(2), 0.5)"),
        "e": Prior.parse("LogNormal(log(0.06), 0.5)"),
        "q_E": Prior.parse("Normal(-0.2, 0.2)"),
        "b": Prior.parse("LogNormal(log(0.3), 1.0)"),
        "d": Prior.parse("Normal(0, 0.15)"),
        "q_b": Prior.parse("Normal(0, 0.15)"),
        "A_0": Prior.parse("LogNormal(log(0.35), 0.3)"),
        "v": Prior.parse("Normal(0.05, 0.1)"),
        "q_A": Prior.parse("Normal(0, 0.15)"),
    }
    linear = ("E", "b")
    falls_in = ()

    def loss(
        self, N: Any, D: Any, *, E: Any, e: Any, q_E: Any, b: Any, d: Any, q_b: Any, A_0: Any, v: Any, q_A: Any
    ) -> Any:
        n, stretch = log(N / self.N0), _stretched(log(N / self.N0), q_b)
        power = A_0 * jnp.exp(-v * _stretched(n, q_A))
        # the two large logarithms are those of D0 and of D; at the reference run they cancel
        apart = (A_0 * (1.0 - v * stretch) - power) * math.log(self.D0)
        of_D = jnp.exp(jnp.log(b) - d * stretch + apart - power * log(D / self.D0))
        return E * jnp.exp(-e * _stretched(n, q_E)) + of_D

    def _sizes(self, log_product: Any) -> tuple[Any, Any]:
        # a table says nothing of the stretched exponentials far from it: not more than 1e5, not less than .01 tokens
        # per parameter
        return 0.5 * (log_product - math.log(1e5)), 0.5 * (log_product - math.log(1e-2))

    def derived(
        self, *, E: Any, e: Any, q_E: Any, b: Any, d: Any, q_b: Any, A_0: Any, v: Any, q_A: Any
    ) -> dict[str, Any]:
        """The constants of the paper's form, a_1 to b_3."""
        slope = -d - v * A_0 * math.log(self.D0)
        return {
            "a_1": -v / q_A * self.N0**-q_A,
            "b_1": jnp.log(A_0) + v / q_A,
            "a_2": slope / q_b * self.N0**-q_b,
            "b_2": jnp.log(b) + A_0 * math.log(self.D0) - slope / q_b,
            "a_3": -e / q_E * self.N0**-q_E,
            "b_3": jnp.log(E) + e / q_E,
        }
