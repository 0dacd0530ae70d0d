"""Chinchilla between two bounds."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.laws.chinchilla import Chinchilla
from bayescale.prior import Prior

__all__ = ["Bounded"]


class Bounded(Law):
    r"""Chinchilla's two terms, bent so that the loss never exceeds that of guessing.

    .. math:: L(N, D) = E + \frac{T H}{T + H},\qquad T = a (N/N_0)^{-\alpha} + b (D/D_0)^{-\beta}

    ``H`` is the whole drop from the loss of an untrained model, :math:`I = E + H`, to the floor; with ``H`` large this
    is Chinchilla in the same parameters. For a metric, give its error, such as 1 - accuracy: then ``I`` is that of
    guessing. Without runs near the upper bound ``H`` rests on its prior, and the fit says so. The compute-optimal run
    is that of the two terms.

    References
    ----------
    The law M4 of Alabdulmohsin et al. 2022, arXiv 2209.06640, with its exponent alpha at 1, in two variables.

    Examples
    --------
    >>> law = Bounded()
    >>> theta = dict(E=0.2, H=0.55, a=0.1, b=0.1, alpha=0.4, beta=0.4)
    >>> [round(float(law.loss(N, 20 * N, **theta)), 3) for N in (1e3, 1e9, 1e12)]
    [0.744, 0.347, 0.212]
    """

    name = "bounded"
    formula = "L(N, D) = E + T H/(T + H),  T = a (N/N0)^-alpha + b (D/D0)^-beta,  I = E + H"
    citation = "arXiv:2209.06640"
    loss_unit = "as in the table"
    priors = dict(Chinchilla.priors) | {"H": Prior.parse("LogNormal(log(5), 1.0)")}
    linear = ()
    falls_in = ()

    @property
    def _open(self) -> Chinchilla:
        return Chinchilla(self.N0, self.D0, self.C0)

    def loss(self, N: Any, D: Any, *, E: Any, a: Any, b: Any, alpha: Any, beta: Any, H: Any) -> Any:
        return E + H / (1.0 + H / (a * (N / self.N0) ** -alpha + b * (D / self.D0) ** -beta))

    def derived(self, *, E: Any, H: Any, **theta: Any) -> dict[str, Any]:
        return self._open.derived(**theta) | {"I": E + H}

    def optimum(self, compute: Any, **theta: Any) -> tuple[Any, Any]:
        return self._open.optimum(compute, **theta)

    def exponents(self, compute: Any, **theta: Any) -> tuple[Any, Any]:
        return self._open.exponents(compute, **theta)
