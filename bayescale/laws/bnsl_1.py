"""A broken neural scaling law with one break."""

from __future__ import annotations

from typing import Any

from bayescale._float64 import jnp
from bayescale.laws._breaks import log_break
from bayescale.laws._law import Law
from bayescale.laws._positive import log
from bayescale.prior import Prior

__all__ = ["BNSL1"]


class BNSL1(Law):
    r"""A floor and a power law whose slope changes once, smoothly.

    .. math:: y(x) = a + b x^{-c_0} \left(1 + (x/d_1)^{1/f_1}\right)^{-c_1 f_1}

    in the column ``D``. ``E`` is the floor a, ``r`` the error above it at ``D0``; ``s_0`` and ``s_1`` are the slopes
    before and after the break, so :math:`c_0` = s_0 and :math:`c_1` = s_1 - s_0; ``k_1`` places the break,
    :math:`d_1` = k_1 D0, and ``f_1`` is its width: :math:`1/f_1` e-folds of ``D`` end it. Both slopes are positive: a
    curve that rises again (double descent) is not in this family. A break outside the range of the table is not
    identified: ``s_1`` or ``s_0``, ``k_1`` and ``f_1`` then rest on their priors.

    References
    ----------
    Caballero et al. 2023, arXiv 2210.14891, Eq. 1.

    Examples
    --------
    >>> law = BNSL1().at(D=1e3)
    >>> theta = dict(E=0.0, r=1.0, s_0=0.1, s_1=2.0, k_1=1.0, f_1=0.1)
    >>> [f"{float(law.loss(D, **theta)):.3g}" for D in (1e1, 1e3, 1e5)]
    ['1.81', '1', '0.000114']
    """

    name = "bnsl-1"
    formula = "L(D) = E + r x^-s_0 ((1 + (x/k_1)^(1/f_1)) / (1 + k_1^(-1/f_1)))^(-(s_1 - s_0) f_1),  x = D/D0"
    citation = "arXiv:2210.14891"
    loss_unit = "as in the table"
    priors = {
        "E": Prior.parse("LogNormal(log(0.3), 1.5)"),
        "r": Prior.parse("LogNormal(log(0.7), 1.5)"),
        "s_0": Prior.parse("LogNormal(log(0.2), 1.0)"),
        "s_1": Prior.parse("LogNormal(log(0.5), 1.2)"),
        "k_1": Prior.parse("LogNormal(log(1), 1.5)"),
        "f_1": Prior.parse("Beta(1, 2)"),
    }
    linear = ("E", "r")
    falls_in = ()

    def loss(self, D: Any, *, E: Any, r: Any, s_0: Any, s_1: Any, k_1: Any, f_1: Any) -> Any:
        x = log(D / self.D0)
        return E + r * jnp.exp(log_break(x, jnp.log(k_1), s_1 - s_0, f_1) - s_0 * x)

    def derived(self, *, r: Any, s_0: Any, s_1: Any, k_1: Any, f_1: Any, **_: Any) -> dict[str, Any]:
        """The constants that the paper prints; its f_1 is ours."""
        change = s_1 - s_0
        log_b = jnp.log(r) + s_0 * jnp.log(self.D0) + change * f_1 * jnp.logaddexp(0.0, -jnp.log(k_1) / f_1)
        return {"c_0": s_0, "c_1": change, "d_1": k_1 * self.D0, "b": jnp.exp(log_b)}
