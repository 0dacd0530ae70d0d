"""Kaplan's law of parameters and training steps."""

from __future__ import annotations

from typing import Any

from bayescale.laws._law import Law
from bayescale.prior import Prior

__all__ = ["KaplanSteps"]

BATCH = 2.0**19
"""Tokens a batch of the runs behind the law: 512 sequences of 1,024."""


class KaplanSteps(Law):
    r"""What a model of ``N`` parameters has reached after ``S`` steps, with data without limit; no floor.

    .. math:: L(N, S_{\min}) = (N_c / N)^{\alpha_N} + (S_c / S_{\min})^{\alpha_S}

    The column ``S`` is :math:`S_{\min}`, the steps that would have done at a batch far above the critical one. For
    runs at another batch, `bayescale.laws.kaplan_compute.minimum_steps` makes it from the steps taken. ``l_N`` is the
    loss at ``N0`` parameters after infinitely many steps; ``l_S`` is what is added at ``S0`` steps, those that take
    ``D0`` tokens in batches of 2^19 (38,147 unless the reference run was moved). The paper's fit (Table 3):
    alpha_N .077, alpha_S .76, N_c 6.5e13, S_c 2.1e3.

    Checkpoints of one run are not independent runs: fitted as if they were, the intervals are too narrow.

    References
    ----------
    Kaplan et al. 2020, arXiv 2001.08361, Eq. 1.6 and Table 3.

    Examples
    --------
    >>> law = KaplanSteps()
    >>> theta = dict(l_N=2.3474, l_S=0.1104, alpha_N=0.077, alpha_S=0.76)
    >>> {name: f"{value:.1e}" for name, value in law.derived(**theta).items()}
    {'N_c': '6.5e+13', 'S_c': '2.1e+03', 'stop_ratio': '1.1e+00'}
    """

    name = "kaplan-steps"
    formula = "L(N, S) = (N_c/N)^alpha_N + (S_c/S)^alpha_S,  l_N = (N_c/N0)^alpha_N, l_S = (S_c/S0)^alpha_S"
    citation = "arXiv:2001.08361"
    N_convention = "without embeddings"
    priors = {
        "l_N": Prior.parse("LogNormal(log(2.5), 0.5)"),
        "l_S": Prior.parse("LogNormal(log(0.1), 1.5)"),
        "alpha_N": Prior.parse("LogNormal(log(0.08), 0.5)"),
        "alpha_S": Prior.parse("LogNormal(log(0.75), 0.4)"),
    }
    linear = ("l_N", "l_S")

    @property
    def S0(self) -> float:
        """Steps of the reference run."""
        return self.D0 / BATCH

    def loss(self, N: Any, S: Any, *, l_N: Any, l_S: Any, alpha_N: Any, alpha_S: Any) -> Any:
        return l_N * (N / self.N0) ** -alpha_N + l_S * (S / self.S0) ** -alpha_S

    def derived(self, *, l_N: Any, l_S: Any, alpha_N: Any, alpha_S: Any) -> dict[str, Any]:
        """``N_c``, ``S_c``, and ``stop_ratio``: loss over converged loss where compute-efficient training stops."""
        return {
            "N_c": self.N0 * l_N ** (1.0 / alpha_N),
            "S_c": self.S0 * l_S ** (1.0 / alpha_S),
            "stop_ratio": 1.0 + alpha_N / alpha_S,
        }
