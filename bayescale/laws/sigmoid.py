"""The error on a task, a sigmoid of the negative log-likelihood of its right answers."""

from __future__ import annotations

from typing import Any

from bayescale._float64 import jax
from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["Sigmoid"]


class Sigmoid(Law):
    r"""How the error, 1 - accuracy, falls as the right answers become likely.

    .. math:: 1 - \mathrm{acc}(\ell) = (1 - g)\left[u + (1 - u)\,s\!\left(\frac{\ell - m}{w}\right)\right],\qquad
              s(x) = \frac{1}{1 + e^{-x}}

    The second stage of a downstream forecast (`bayescale.downstream`). ``g`` is the accuracy of guessing (a quarter
    with four options: pin it, ``--prior g=0.25``), ``u`` the share of what is above guessing that is never reached,
    ``m`` the negative log-likelihood half-way between the two, and ``w`` how fast one goes into the other. The column
    ``nll`` is in the unit of the table; the loss column holds the error (``--column "loss=acc (accuracy)"``).

    Runs that are all near guessing say nothing of ``m`` and ``w``, and no runs near the top leave ``u`` to its prior.

    References
    ----------
    Llama Team 2024, arXiv 2407.21783, Sec. 3.2.1; Bhagia et al. 2024, arXiv 2412.04403, Eq. 3.

    Examples
    --------
    >>> theta = dict(g=0.25, u=0.0, m=0.8, w=0.1)
    >>> [round(1.0 - float(Sigmoid().loss(nll, **theta)), 3) for nll in (2.0, 0.8, 0.3)]
    [0.25, 0.625, 0.995]
    """

    name = "sigmoid"
    formula = "1 - acc(nll) = (1 - g) (u + (1 - u)/(1 + exp(-(nll - m)/w)))"
    citation = "arXiv:2407.21783"
    loss_unit = "error, 1 - accuracy"
    priors = {
        "g": Prior.parse("Beta(2, 5)"),
        "u": Prior.parse("Beta(2, 30)"),
        "m": Prior.parse("LogNormal(log(0.8), 0.7)"),
        "w": Prior.parse("LogNormal(log(0.15), 0.7)"),
    }
    linear = ()
    falls_in = ()
    rises_in = ("nll",)

    def loss(self, nll: Any, *, g: Any, u: Any, m: Any, w: Any) -> Any:
        return (1.0 - g) * (u + (1.0 - u) * jax.nn.sigmoid((nll - m) / w))

    def derived(self, *, g: Any, u: Any, **_: Any) -> dict[str, Any]:
        """``ceiling``: the accuracy that is approached."""
        return {"ceiling": g + (1.0 - g) * (1.0 - u)}
