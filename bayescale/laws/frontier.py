"""The compute-optimal frontier by itself: what IsoFLOP profiles and training envelopes give."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from bayescale.errors import TargetError
from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["Frontier"]


class Frontier(Law):
    r"""The best loss of a budget, and the size that reaches it, each a power law in training compute.

    .. math:: L^*(C) = E + c (C / C_0)^{-\gamma}, \qquad N^*(C) = N_\mathrm{star} (C / C_0)^a,
        \qquad D^*(C) = C / (6 N^*)

    It says nothing of runs off the frontier: a loss is asked for by budget alone. ``N_star`` is the compute-optimal
    number of parameters of the budget ``C0``, ``N_exponent`` is ``a``; ``N_coefficient`` and ``D_coefficient`` are the
    constants that papers print, ``N* = N_coefficient C**N_exponent`` and ``D* = D_coefficient C**D_exponent``. Where
    the table does not say how the loss falls along the frontier, ``E``, ``c`` and ``gamma`` are NaN, the fit's notes
    say so, and forecasts are refused.

    References
    ----------
    Hoffmann et al. 2022, arXiv 2203.15556, Approaches 1 and 2.

    Examples
    --------
    >>> law = Frontier(C0=6e20)
    >>> N, D = law.optimum(6e22, N_star=2e9, N_exponent=0.5)
    >>> float(N), float(D)
    (20000000000.0, 500000000000.0)
    """

    name = "frontier"
    formula = "L*(C) = E + c (C/C0)^-gamma,  N*(C) = N_star (C/C0)^N_exponent,  D* = C / (6 N*)"
    citation = "arXiv:2203.15556"
    priors = {
        "E": Prior.parse("LogNormal(log(1.7), 0.5)"),
        "c": Prior.parse("LogNormal(log(0.5), 1.5)"),
        "gamma": Prior.parse("LogNormal(log(0.15), 0.5)"),
        "N_star": Prior.parse("TruncatedNormal(1e9, 1e9)"),
        "N_exponent": Prior.parse("Normal(0.5, 0.1)"),
    }
    linear = ("E", "c")
    fitted_by = ("isoflop", "envelope")

    def loss(self, C: Any, *, E: Any, c: Any, gamma: Any, N_star: Any, N_exponent: Any) -> Any:
        return E + c * (C / self.C0) ** -gamma

    def derived(self, *, c: Any, gamma: Any, N_star: Any, N_exponent: Any, **_: Any) -> dict[str, Any]:
        N_coefficient = N_star * self.C0**-N_exponent
        return {
            "A": c * self.C0**gamma,
            "D_exponent": 1.0 - N_exponent,
            "N_coefficient": N_coefficient,
            "D_coefficient": 1.0 / (6.0 * N_coefficient),
        }

    @property
    def splits_compute(self) -> bool:
        """True: splitting a budget is what this law is for."""
        return True

    def optimum(self, compute: Any, *, N_star: Any, N_exponent: Any, **_: Any) -> tuple[Any, Any]:
        N = N_star * (compute / self.C0) ** N_exponent
        return N, compute / (6.0 * N)

    def exponents(self, compute: Any, *, N_exponent: Any, **_: Any) -> tuple[Any, Any]:
        return N_exponent, 1.0 - N_exponent

    def check_targets(self, columns: Collection[str], theta: Mapping[str, Any]) -> None:
        """Refuse runs with N or D of their own, and forecasts where the fit gives no loss; see `Law.check_targets`."""
        if {"N", "D"} & set(columns):
            raise TargetError(
                "frontier gives the loss of the compute-optimal run of a budget, not of a run with N and D of its own: "
                "give C alone (the allocation says its N and D), or fit a law of N and D, such as chinchilla"
            )
        if not all(np.isfinite(np.asarray(theta[name])).all() for name in ("E", "c", "gamma")):
            raise TargetError(
                "this fit gives no loss along the frontier (its notes say why); ask it for the allocation, or fit a "
                "law of N and D, such as chinchilla"
            )
