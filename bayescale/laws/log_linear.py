"""A loss that falls in a straight line with the logarithm of compute."""

from __future__ import annotations

from typing import Any

from bayescale._float64 import jnp
from bayescale.laws._law import Law
from bayescale.laws._positive import log
from bayescale.prior import Prior

__all__ = ["LogLinear"]

BEND = 5e-3


class LogLinear(Law):
    r"""The negative log-likelihood of the right answers of a task, against training FLOPs; no floor.

    .. math:: L(C) = \ell - k \ln(C/C_0)

    The first stage of a downstream forecast (`bayescale.downstream`): per character or byte of the right answer, over
    the few decades of compute of a scaling study, a line is what is seen. A line ends below zero and a likelihood does
    not, so it is bent there, as :math:`(x + \sqrt{x^2 + 4 s^2})/2` with s = .005; above .25 nats that is less than
    .0001 nats.

    References
    ----------
    Llama Team 2024, arXiv 2407.21783, Sec. 3.2.1.

    Examples
    --------
    >>> law = LogLinear(C0=1e21)
    >>> [round(float(law.loss(C, l=0.7, k=0.03)), 2) for C in (1e20, 1e21, 1e22)]
    [0.77, 0.7, 0.63]
    """

    name = "log-linear"
    formula = "L(C) = l - k ln(C/C0)"
    citation = "arXiv:2407.21783"
    loss_unit = "as in the table"
    priors = {
        "l": Prior.parse("LogNormal(log(0.8), 0.7)"),
        "k": Prior.parse("LogNormal(log(0.05), 1.0)"),
    }
    linear = ()

    def loss(self, C: Any, *, l: Any, k: Any) -> Any:  # noqa: E741  (the level, on paper an ell)
        line = l - k * log(C / self.C0)
        above = 0.5 * (jnp.abs(line) + jnp.sqrt(line * line + 4.0 * BEND**2))
        # far below zero the sum of the two would be the difference of equal numbers
        return jnp.where(line > 0, above, BEND**2 / above)
