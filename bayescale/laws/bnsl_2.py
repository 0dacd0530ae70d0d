"""A broken neural scaling law with two breaks."""

from __future__ import annotations

from typing import Any

from bayescale._float64 import jnp
from bayescale.laws._breaks import log_break
from bayescale.laws._law import Law
from bayescale.laws._positive import log
from bayescale.laws.bnsl_1 import BNSL1
from bayescale.prior import Prior

__all__ = ["BNSL2"]


class BNSL2(Law):
    r"""A floor and a power law whose slope changes twice, smoothly.

    .. math:: y(x) = a + b x^{-c_0} \left(1 + (x/d_1)^{1/f_1}\right)^{-c_1 f_1}
        \left(1 + (x/d_2)^{1/f_2}\right)^{-c_2 f_2}

    As ``bnsl-1``, with a third slope ``s_2`` and a second break ``g`` e-folds above the first,
    :math:`d_2 = d_1 e^{g}`: the breaks are ordered, so that they cannot change places. Nine parameters need a curve of
    tens of points that shows both breaks; otherwise several rest on their priors, and the fit says so.

    References
    ----------
    Caballero et al. 2023, arXiv 2210.14891, Eq. 1.

    Examples
    --------
    >>> law = BNSL2().at(D=1e3)
    >>> theta = dict(E=0.0, r=1.0, s_0=0.1, s_1=2.0, s_2=0.1, k_1=1.0, g=4.6, f_1=0.1, f_2=0.1)
    >>> [f"{float(law.loss(D, **theta)):.3g}" for D in (1e1, 1e3, 1e5, 1e7)]
    ['1.81', '1', '0.000131', '7.27e-05']
    """

    name = "bnsl-2"
    formula = (
        "L(D) = E + r x^-s_0 B_1 B_2,  B_i = ((1 + (x/k_i)^(1/f_i)) / (1 + k_i^(-1/f_i)))^(-(s_i - s_(i-1)) f_i), "
        "x = D/D0: slopes s_0, s_1, s_2, breaks k_1 and k_2 = k_1 exp(g), widths f_1, f_2"
    )
    citation = "arXiv:2210.14891"
    loss_unit = "as in the table"
    priors = dict(BNSL1.priors) | {
        "s_2": Prior.parse("LogNormal(log(0.5), 1.2)"),
        "g": Prior.parse("LogNormal(log(3), 0.7)"),
        "f_2": Prior.parse("Beta(1, 2)"),
    }
    linear = ("E", "r")
    falls_in = ()

    def loss(
        self, D: Any, *, E: Any, r: Any, s_0: Any, s_1: Any, s_2: Any, k_1: Any, g: Any, f_1: Any, f_2: Any
    ) -> Any:
        x, first = log(D / self.D0), jnp.log(k_1)
        breaks = log_break(x, first, s_1 - s_0, f_1) + log_break(x, first + g, s_2 - s_1, f_2)
        return E + r * jnp.exp(breaks - s_0 * x)

    def derived(
        self, *, r: Any, s_0: Any, s_1: Any, s_2: Any, k_1: Any, g: Any, f_1: Any, f_2: Any, **_: Any
    ) -> dict[str, Any]:
        """The constants that the paper prints; its f_1 and f_2 are ours."""
        first, at_reference = jnp.log(k_1), 0.0
        for place, change, width in ((first, s_1 - s_0, f_1), (first + g, s_2 - s_1, f_2)):
            at_reference = at_reference + change * width * jnp.logaddexp(0.0, -place / width)
        return {
            "c_0": s_0,
            "c_1": s_1 - s_0,
            "c_2": s_2 - s_1,
            "d_1": k_1 * self.D0,
            "d_2": k_1 * jnp.exp(g) * self.D0,
            "b": jnp.exp(jnp.log(r) + s_0 * jnp.log(self.D0) + at_reference),
        }
