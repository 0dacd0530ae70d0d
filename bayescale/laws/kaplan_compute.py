"""What Kaplan et al. (2020) conclude from their laws: critical batch, least steps and compute, the efficient frontier.

Every function takes numbers or arrays of posterior draws, and broadcasts. Equation numbers are those of
arXiv 2001.08361.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "EfficientFrontier",
    "critical_batch",
    "crossing",
    "data_against_overfitting",
    "minimum_compute",
    "minimum_steps",
    "overfitting",
    "steps_to_stop",
]


def critical_batch(loss: Any, B_star: Any = 2.1e8, alpha_B: Any = 0.21) -> Any:
    """Critical batch size [tokens] at a loss [nats per token], ``B* / L**(1 / alpha_B)`` (Eq. 5.3 and Table 3).

    Below it, twice the batch halves the steps; above it, more steps are saved at the price of more tokens.

    Examples
    --------
    >>> f"{critical_batch(3.0):.2g}"
    '1.1e+06'
    """
    return B_star / loss ** (1.0 / alpha_B)


def minimum_steps(S: Any, B: Any, B_crit: Any) -> Any:
    """Steps that would reach the same loss at a batch far above the critical one (Eq. 5.4); the ``S`` of kaplan-steps.

    Examples
    --------
    >>> minimum_steps(1000.0, B=5e5, B_crit=5e5)
    500.0
    """
    return S / (1.0 + B_crit / B)


def minimum_compute(C: Any, B: Any, B_crit: Any) -> Any:
    """FLOPs that would reach the same loss at a batch far below the critical one (Eq. 5.5).

    Examples
    --------
    >>> minimum_compute(1e20, B=5e5, B_crit=5e5)
    5e+19
    """
    return C / (1.0 + B / B_crit)


def overfitting(N: Any, D: Any, *, N_c: Any, D_c: Any, alpha_N: Any, alpha_D: Any) -> Any:
    """By what fraction finite data raise the loss of a model, ``L(N, D) / L(N, inf) - 1`` (Eq. 4.3).

    Examples
    --------
    >>> round(overfitting(1e9, 2e10, N_c=6.4e13, D_c=1.8e13, alpha_N=0.076, alpha_D=0.103), 3)
    0.024
    """
    return (1.0 + (N / N_c) ** (alpha_N / alpha_D) * D_c / D) ** alpha_D - 1.0


def data_against_overfitting(
    N: Any, *, N_c: Any, D_c: Any, alpha_N: Any, alpha_D: Any, excess: float = 0.02
) -> tuple[Any, Any]:
    """The data that keep `overfitting` at `excess`, and the power of `N` with which they grow (Eq. 4.4).

    Returns
    -------
    D : tokens
        For models of `N` parameters.
    power : float
        Exponent of `D` in `N`, ``alpha_N / alpha_D``.

    Examples
    --------
    >>> D, power = data_against_overfitting(1e9, N_c=6.4e13, D_c=1.8e13, alpha_N=0.076, alpha_D=0.103)
    >>> f"{D:.2g} {power:.2f}"
    '2.4e+10 0.74'
    """
    power = alpha_N / alpha_D
    return D_c * (N / N_c) ** power / ((1.0 + excess) ** (1.0 / alpha_D) - 1.0), power


def steps_to_stop(loss: Any, loss_of_unlimited_data: Any, *, S_c: Any, alpha_S: Any) -> Any:
    """Least steps after which a run limited by its data should stop (Eq. 5.7).

    Parameters
    ----------
    loss, loss_of_unlimited_data : float
        L(N, D) and L(N, infinity) of the joint law, nats per token.
    S_c, alpha_S : float
        Of kaplan-steps.
    """
    return S_c / (loss - loss_of_unlimited_data) ** (1.0 / alpha_S)


@dataclass(frozen=True)
class EfficientFrontier:
    """Training that spends its compute best when the batch is the critical one throughout (Appendix B).

    Follows from L(N, S_min) and B_crit(L) with ``C_min = 6 N B_crit S_min``.

    Parameters
    ----------
    N_c, S_c, alpha_N, alpha_S : float or array
        Of kaplan-steps; parameters and steps.
    B_star, alpha_B : float or array
        Of `critical_batch`; tokens.

    Examples
    --------
    >>> frontier = EfficientFrontier(N_c=6.5e13, S_c=2.1e3, alpha_N=0.077, alpha_S=0.76)
    >>> round(frontier.alpha_C, 3), round(frontier.N_exponent, 2), round(frontier.stop_ratio, 2)
    (0.052, 0.68, 1.1)
    """

    N_c: Any
    S_c: Any
    alpha_N: Any  # noqa: N815
    alpha_S: Any  # noqa: N815
    B_star: Any = 2.1e8
    alpha_B: Any = 0.21  # noqa: N815

    @property
    def alpha_C(self) -> Any:
        """Exponent of the loss in C_min."""
        return 1.0 / (1.0 / self.alpha_S + 1.0 / self.alpha_B + 1.0 / self.alpha_N)

    @property
    def N_exponent(self) -> Any:
        """N ~ C_min^N_exponent."""
        return self.alpha_C / self.alpha_N

    @property
    def B_exponent(self) -> Any:
        """B ~ C_min^B_exponent."""
        return self.alpha_C / self.alpha_B

    @property
    def S_exponent(self) -> Any:
        """S_min ~ C_min^S_exponent; the three add up to 1."""
        return self.alpha_C / self.alpha_S

    @property
    def stop_ratio(self) -> Any:
        """Loss over converged loss at which to stop: about 1.10, so ten per cent above convergence."""
        return 1.0 + self.alpha_N / self.alpha_S

    @property
    def C_c(self) -> Any:
        """Scale of the loss, L = (C_c / C_min)^alpha_C [FLOPs]."""
        ratio = self.alpha_N / self.alpha_S
        powers = self.stop_ratio ** (1.0 / self.alpha_S + 1.0 / self.alpha_N) * ratio ** (-1.0 / self.alpha_S)
        return 6.0 * self.N_c * self.B_star * self.S_c * powers

    def loss(self, compute: Any) -> Any:
        """L(C_min) [nats per token] of a budget in FLOPs."""
        return (self.C_c / compute) ** self.alpha_C

    def N(self, compute: Any) -> Any:
        """Parameters of the best model of a budget C_min [FLOPs]."""
        return self.N_c * (compute / self.C_c) ** self.N_exponent * self.stop_ratio ** (1.0 / self.alpha_N)

    def compute_off_size(self, ratio: Any) -> Any:
        """Compute to the same loss with a model `ratio` times the best size, over the least (Appendix B)."""
        gap = 1.0 + self.alpha_S / self.alpha_N * (1.0 - ratio**-self.alpha_N)
        return ratio * gap ** (-1.0 / self.alpha_S)


def crossing(*, C_c: Any, alpha_C: Any, D_c: Any, alpha_D: Any, D_scale: Any, D_exponent: Any) -> tuple[Any, Any, Any]:
    """Where the law of compute would beat the law of the data that this compute can process (Sec. 6.3).

    ``L(C) = (C_c / C)**alpha_C`` falls faster than ``L(D(C)) = (D_c / D)**alpha_D`` with ``D = D_scale C**D_exponent``,
    and cannot go below it: the laws must fail before.

    Parameters
    ----------
    C_c, alpha_C : float or array
        Of kaplan-C on C_min, in any unit of compute.
    D_c, alpha_D : float or array
        Of kaplan-D; tokens.
    D_scale, D_exponent : float or array
        Tokens processed by compute-efficient training; the paper's fit is 2e10 C^.27, with C in PF-days.

    Returns
    -------
    C, D, loss : float or array
        Compute (in the unit of `C_c`), tokens, and nats per token at the crossing.

    Examples
    --------
    >>> C, D, loss = crossing(C_c=3.1e8, alpha_C=0.050, D_c=5.4e13, alpha_D=0.095, D_scale=2e10, D_exponent=0.27)
    >>> f"{C:.1e} {D:.1e} {loss:.2f}"
    '1.1e+04 2.5e+11 1.67'
    """
    power = alpha_C - alpha_D * D_exponent
    C = (C_c**alpha_C * (D_scale / D_c) ** alpha_D) ** (1.0 / power)
    return C, D_scale * C**D_exponent, (C_c / C) ** alpha_C
