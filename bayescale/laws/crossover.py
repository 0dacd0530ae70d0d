"""Where training from scratch overtakes finetuning a multilingual model."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["Crossover"]


class Crossover(Law):
    r"""Training compute from which a model trained from scratch beats one finetuned from a multilingual checkpoint.

    .. math:: C(N) = c N^{k} = 6 N_0^2 M (N/N_0)^{k}

    A power law in parameters whose value is compute, not a loss: the table has one row for each crossing that was
    measured, with ``N`` and, in the place of the loss, the FLOPs there (``--column loss=crossing_flops``). Below them
    finetuning is the better use of the compute. ``M`` is the tokens per parameter of a crossing at ``N0`` parameters,
    ``k - 1`` (``D_power``) the power of N by which its tokens grow, and ``c`` the constant that is printed.

    Crossings of different languages scatter by tens of per cent around one line: ``sigma`` is that scatter, and
    ``k`` is as well known as the sizes are spread. Crossings at one size leave ``k`` to its prior, and the fit says so.

    References
    ----------
    Longpre et al. 2025, arXiv 2510.22037, Sec. 6; C = 1113708 N^1.65 in the text, 10283128 N^1.54 in the legend of
    Fig. 7. The constant of one with the power of the other is off by a factor of 10.

    Examples
    --------
    >>> law = Crossover()
    >>> theta = dict(M=131.3, k=1.65)
    >>> f"{float(law.loss(2e9, **theta)):.2g} FLOPs, c = {law.derived(**theta)['c']:.3g}"
    '2.5e+21 FLOPs, c = 1.11e+06'
    """

    name = "crossover"
    formula = "C(N) = c N^k,  c = 6 M N0^(2-k);  M tokens per parameter at N0; the loss column holds C"
    citation = "arXiv:2510.22037"
    loss_unit = "training FLOPs"
    N_convention = "with embeddings"
    priors = {
        "M": Prior.parse("LogNormal(log(100), 1.5)"),
        "k": Prior.parse("LogNormal(log(1.6), 0.25)"),
    }
    linear = ()
    falls_in = ()
    rises_in = ("N",)

    def loss(self, N: Any, *, M: Any, k: Any) -> Any:
        return 6.0 * self.N0**2 * M * (N / self.N0) ** k

    def derived(self, *, M: Any, k: Any) -> dict[str, Any]:
        return {"c": 6.0 * M * self.N0 ** (2.0 - k), "D_power": k - 1.0}
