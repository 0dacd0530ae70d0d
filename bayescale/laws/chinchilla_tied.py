"""The Chinchilla law with one exponent for parameters and tokens."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.laws.chinchilla import Chinchilla

__all__ = ["ChinchillaTied"]


class ChinchillaTied(Law):
    r"""Chinchilla with :math:`\alpha = \beta`: parameters and tokens grow alike, :math:`N^* \propto C^{1/2}`.

    .. math:: L(N, D) = E + a (N / N_0)^{-\alpha} + b (D / D_0)^{-\alpha}

    The form that the data-constrained and over-training studies fit. It is a strong assumption: the compute-optimal
    exponent is 1/2 whatever the data say, so its interval has no width.

    References
    ----------
    Muennighoff et al. 2023, arXiv 2305.16264; Gadre et al. 2024, arXiv 2403.08540.

    Examples
    --------
    >>> law = ChinchillaTied()
    >>> law.exponents(1e21, alpha=0.35)
    (0.5, 0.5)
    """

    name = "chinchilla-tied"
    formula = "L(N, D) = E + a (N/N0)^-alpha + b (D/D0)^-alpha,  A = a N0^alpha, B = b D0^alpha"
    citation = "arXiv:2305.16264"
    priors = {name: Chinchilla.priors[name] for name in ("E", "a", "b", "alpha")}
    linear = ("E", "a", "b")

    def loss(self, N: Any, D: Any, *, E: Any, a: Any, b: Any, alpha: Any) -> Any:
        return E + a * (N / self.N0) ** -alpha + b * (D / self.D0) ** -alpha

    @property
    def _untied(self) -> Chinchilla:
        return Chinchilla(self.N0, self.D0, self.C0)

    def derived(self, *, alpha: Any, **theta: Any) -> dict[str, Any]:
        return self._untied.derived(alpha=alpha, beta=alpha, **theta)

    def optimum(self, compute: Any, *, alpha: Any, **theta: Any) -> tuple[Any, Any]:
        return self._untied.optimum(compute, alpha=alpha, beta=alpha, **theta)

    def exponents(self, compute: Any, **theta: Any) -> tuple[Any, Any]:
        return 0.5, 0.5

    def frontier(self, compute: Any, *, alpha: Any, **theta: Any) -> Any:
        return self._untied.frontier(compute, alpha=alpha, beta=alpha, **theta)
