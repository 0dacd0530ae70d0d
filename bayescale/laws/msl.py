"""The multilingual scaling law of He et al. (2024): loss of a language family by its share of the mixture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayescale.laws._law import Law
from bayescale.laws._shares import check_shares
from bayescale.laws.chinchilla import Chinchilla
from bayescale.prior import Prior

__all__ = ["MSL"]


class MSL(Law):
    r"""Chinchilla times a power of the sampling ratio of one language family.

    .. math:: L(N, D, p) = \left(E + a (N/N_0)^{-\alpha} + b (D/D_0)^{-\beta}\right) p^{-\gamma}

    One law for each family, whose loss is taken to depend on its own ratio ``p`` only, whatever the rest of the
    mixture is; ``gamma`` does not change with ``N`` and ``D``, so that it may come from small models. ``D`` is all
    tokens, of which the family has ``p``. At ``p = 1`` it is Chinchilla, in the same parameters.

    The ratio multiplies the floor too, so the loss grows without bound as ``p`` falls to 0: the law has no room for
    what other languages teach. `bayescale.laws.shares.optimal_shares` gives the ratios that are best for a weighted
    sum of families.

    References
    ----------
    He et al. 2024, arXiv 2410.12883: 23 languages in 5 families.

    Examples
    --------
    >>> law = MSL()
    >>> theta = dict(E=1.5, a=0.3, b=0.3, alpha=0.35, beta=0.35, gamma=0.1)
    >>> [round(float(law.loss(1e9, 2e10, p, **theta)), 3) for p in (1.0, 0.5, 0.1)]
    [2.1, 2.251, 2.644]
    """

    name = "msl"
    formula = "L(N, D, p) = (E + a (N/N0)^-alpha + b (D/D0)^-beta) p^-gamma,  A = a N0^alpha, B = b D0^beta"
    citation = "arXiv:2410.12883"
    priors = dict(Chinchilla.priors) | {"gamma": Prior.parse("HalfNormal(0.2)")}
    linear = ("E", "a", "b")

    @property
    def _alone(self) -> Chinchilla:
        return Chinchilla(self.N0, self.D0, self.C0)

    def loss(self, N: Any, D: Any, p: Any = 1.0, *, E: Any, a: Any, b: Any, alpha: Any, beta: Any, gamma: Any) -> Any:
        return (E + a * (N / self.N0) ** -alpha + b * (D / self.D0) ** -beta) * p**-gamma

    def derived(self, *, gamma: Any, **theta: Any) -> dict[str, Any]:
        return self._alone.derived(**theta)

    def optimum(self, compute: Any, **theta: Any) -> tuple[Any, Any]:
        return self._alone.optimum(compute, **{name: theta[name] for name in ("E", "a", "b", "alpha", "beta")})

    def exponents(self, compute: Any, *, alpha: Any, beta: Any, **_: Any) -> tuple[Any, Any]:
        return beta / (alpha + beta), alpha / (alpha + beta)

    def check_runs(self, columns: Mapping[str, Any]) -> None:
        """Refuse ratios above 1; see `Law.check_runs`."""
        check_shares(columns["p"], self.name)
