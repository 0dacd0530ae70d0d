"""The posterior of two learning curves, one monolingual and one bilingual, with the errors that checkpoints share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Curve", "Curves", "TwoCurves"]

# Priors, as mean and sd; a curve's at its reference tokens (d of one language, 2 d of two).
SHARE = (0.0, 1.5)  # logit of the part of the loss that more data could remove
LOG_POWER = (np.log(0.35), 0.6)
# How far the bilingual curve may be from the monolingual one.
LOSS_APART, SHARE_APART, LOG_POWER_APART = 0.3, 0.5, 0.4
LOG_SIGMA = (np.log(0.003), 1.0)  # scatter of a checkpoint, relative
CARRY = (0.5, 1.0)  # logit of the correlation of neighbouring checkpoints
LOG_OMEGA = (np.log(0.003), 1.0)  # scatter of a whole run, relative


@dataclass(frozen=True)
class Curve:
    """One run: log tokens relative to the curve's reference, and log loss, both (checkpoint,), by rising tokens."""

    log_tokens: np.ndarray
    log_loss: np.ndarray


@dataclass(frozen=True)
class Curves:
    """Runs of one kind of training, repeated over seeds."""

    runs: Sequence[Curve]


class TwoCurves:
    r"""Log posterior of the parameters of both curves.

    Each is :math:`L(D) = L_r [1 - x + x (D/D_r)^{-\beta}]` with a loss :math:`L_r` at the reference tokens and the
    share ``x`` of it that data can remove. On log loss, a run is off its curve by a constant of sd ``omega`` and, at
    each checkpoint, by an AR(1) error of sd ``sigma``; the constants are integrated out. The bilingual curve has its
    own loss, share and power, which differ little from the monolingual ones a priori.

    Coordinates: log loss of both at their references, log of the log-slopes there (``x beta``), logit of the shares,
    log sigma, logit of the correlation, and log omega unless it is known. Data pin the first four.

    Parameters
    ----------
    alone, paired : Curves
        Monolingual and bilingual runs.
    omega : float, optional
        Scatter of a run where it is known, relative; sampled without.
    """

    def __init__(self, alone: Curves, paired: Curves, omega: float | None = None) -> None:
        self.kinds, self.omega = (alone, paired), omega
        self.dim = 8 if omega is not None else 9

    def start(self) -> np.ndarray:
        """A point from which the mode can be reached."""
        at = [np.mean([np.interp(0.0, run.log_tokens, run.log_loss) for run in kind.runs]) for kind in self.kinds]
        return np.array([*at, np.log(0.07), np.log(0.07), 0.0, 0.0, LOG_SIGMA[0], CARRY[0], LOG_OMEGA[0]])[: self.dim]

    def log_density(self, at: np.ndarray) -> np.ndarray:
        """Log posterior density of points (point, dim)."""
        with np.errstate(all="ignore"):
            total = self._log_prior(at)
            sigma, carry, omega = self.noise(at)
            for kind, runs in enumerate(self.kinds):
                for run in runs.runs:
                    off = run.log_loss - self._log_loss(at, kind, run.log_tokens)
                    total = total + _log_likelihood(off, sigma, carry, omega)
        return np.where(np.isfinite(total), total, -np.inf)

    def noise(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """sigma, correlation of neighbouring checkpoints and omega, each (point,)."""
        omega = np.exp(at[:, 8]) if self.omega is None else np.full(len(at), self.omega)
        return np.exp(at[:, 6]), _logistic(at[:, 7]), omega

    @staticmethod
    def share_and_power(at: np.ndarray, kind: int) -> tuple[np.ndarray, np.ndarray]:
        """``x`` and ``beta`` of one curve, each (point,)."""
        share = _logistic(at[:, 4 + kind])
        return share, np.exp(at[:, 2 + kind]) / share

    def _log_loss(self, at: np.ndarray, kind: int, log_tokens: np.ndarray) -> np.ndarray:
        share, power = self.share_and_power(at, kind)
        # 1 + x (t^-beta - 1): as written, so that it keeps its digits near the reference
        return at[:, kind, None] + np.log1p(share[:, None] * np.expm1(-power[:, None] * log_tokens))

    def _log_prior(self, at: np.ndarray) -> np.ndarray:
        log_power = [at[:, 2 + kind] + np.log1p(np.exp(-at[:, 4 + kind])) for kind in (0, 1)]
        terms = [
            (at[:, 1] - at[:, 0]) / LOSS_APART,
            (at[:, 4] - SHARE[0]) / SHARE[1],
            (log_power[0] - LOG_POWER[0]) / LOG_POWER[1],
            (at[:, 5] - at[:, 4]) / SHARE_APART,
            (log_power[1] - log_power[0]) / LOG_POWER_APART,
            (at[:, 6] - LOG_SIGMA[0]) / LOG_SIGMA[1],
            (at[:, 7] - CARRY[0]) / CARRY[1],
        ]
        if self.omega is None:
            terms.append((at[:, 8] - LOG_OMEGA[0]) / LOG_OMEGA[1])
        return -0.5 * sum(term**2 for term in terms)


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def _log_likelihood(off: np.ndarray, sigma: np.ndarray, carry: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Of one run's residuals (point, checkpoint): AR(1) errors and a constant of the run, the latter integrated out."""
    count = off.shape[1]
    fresh = 1.0 - carry**2
    steps = (off[:, 1:] - carry[:, None] * off[:, :-1]) / np.sqrt(fresh)[:, None]
    # the constant as it looks after the errors were made independent
    ones = np.sqrt((1.0 - carry) / (1.0 + carry))
    squares = off[:, 0] ** 2 + (steps**2).sum(axis=1)
    along = off[:, 0] + ones * steps.sum(axis=1)
    length = 1.0 + (count - 1) * ones**2
    both = sigma**2 + omega**2 * length
    logs = (count - 1) * (np.log(sigma) + 0.5 * np.log(fresh)) + 0.5 * np.log(both)
    return -logs - 0.5 * (squares - omega**2 * along**2 / both) / sigma**2
