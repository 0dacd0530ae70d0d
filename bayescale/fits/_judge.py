"""Verdicts on quantities of a posterior: identified by the table, or resting on the prior."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayescale.allocation import allocate
from bayescale.diagnostics import contraction
from bayescale.errors import TargetError
from bayescale.fits._log_densities import model_of, totals
from bayescale.inference.convergence import convergence

if TYPE_CHECKING:
    from bayescale.fits._fit import Fit

__all__ = ["CONFLICT", "IDENTIFIED", "PINNED", "PRIOR", "UNJUDGED", "Judge"]

IDENTIFIED = "identified"
PRIOR = "prior-dominated"
CONFLICT = "prior-data conflict"
PINNED = "pinned"
UNJUDGED = "not judged"

# Kallioinen et al. 2024: below it, a choice of prior (or a doubt about the likelihood) does not show.
SENSITIVE = 0.05
# An answer of the table at least halves the sd of the prior. Half of a ratio of two parameters of which one is known to
# the last digit and the other not at all would pass at half the variance.
HALVED = 0.75
RIDGE = 0.9
# Chains further apart than this do not tell what the posterior of a quantity is, let alone what it rests on.
FAR_APART = 1.05
# Below it, the tails that power scaling weighs are a handful of draws.
FEWEST_DRAWS = 100
POWERS = (0.99, 1.01)
# Runs times draws whose density is computed: of a longer table, fewer draws, since a command must not wait for it.
MOST_DENSITIES = 40_000_000
FEWEST_KEPT = 1000
PRIOR_DRAWS = 4000
# Shares of 1 and of each other: their contraction on the log scale would depend on which of the two is asked.
SHARES = ("N_exponent", "D_exponent")


class Judge:
    """Judges answers of one posterior.

    Parameters
    ----------
    fit : Fit
        A posterior.
    """

    def __init__(self, fit: Fit) -> None:
        self.fit, self.model = fit, model_of(fit)

    @cached_property
    def prior(self) -> dict[str, np.ndarray]:
        """Draws of the parameters from their priors."""
        return self.model.sample_priors(PRIOR_DRAWS)

    @cached_property
    def _keep(self) -> np.ndarray:
        """Places of the draws that are weighed, (chain, draw): fewer of them for long tables."""
        shape = tuple(self.fit.draws.sizes[name] for name in ("chain", "draw"))
        places = np.arange(np.prod(shape)).reshape(shape)
        kept = max(FEWEST_KEPT, MOST_DENSITIES // len(self.fit.runs))
        return places[:, :: max(1, places.size // kept)]

    @property
    def free(self) -> int:
        """How many parameters of the law are sampled."""
        return sum(not self.model.priors[name].fixed for name in self.model.law.parameters)

    @property
    def short(self) -> str:
        """Why a table of this size identifies nothing; empty where it may."""
        runs = len(self.fit.runs)
        if runs > self.free:
            return ""
        return (
            f"{runs} runs and {self.free} free parameters of {self.model.law.name}: the law goes through every run "
            "whatever the noise, so what is left of each answer is its prior"
        )

    def allocations(self, budgets: np.ndarray, names: tuple[str, ...]) -> list[pd.DataFrame]:
        """A table of the named parts of the compute-optimal run of each budget."""
        after = allocate(self.fit.law, self.fit.theta, budgets)
        try:
            before = allocate(self.fit.law, self.prior, budgets)
        except TargetError:
            # most draws of the priors have no optimum: no variance to compare with
            before = after * np.nan
        return [
            self.table(
                {f"{name} at {budget:.4g} FLOPs": after[name].values[:, place] for name in names},
                {f"{name} at {budget:.4g} FLOPs": before[name].values[:, place] for name in names},
            )
            for place, budget in enumerate(budgets)
        ]

    def table(self, posterior: Mapping[str, np.ndarray], prior: Mapping[str, np.ndarray]) -> pd.DataFrame:
        """Measures and verdicts of quantities given their draws (sample,) after and before the table."""
        chains = {name: draws.reshape(self._keep.shape[0], -1) for name, draws in posterior.items()}
        # chains that stand still, each at its own place, have no variance within
        with np.errstate(all="ignore"):
            rhat = convergence(chains).rhat if self._enough else {}
        moves = {which: self._moves(posterior, weights) for which, weights in self._weights.items()}
        rows = {}
        for name, draws in posterior.items():
            measures = {"contraction": _contraction(name, prior[name], draws)}
            measures |= {which: moved.get(name, np.nan) for which, moved in moves.items()}
            verdict = PINNED if (draws == draws[0]).all() else self._verdict(rhat.get(name, np.inf), **measures)
            rows[name] = measures | {"verdict": verdict}
        return pd.DataFrame.from_dict(rows, orient="index", columns=["contraction", *moves, "verdict"])

    def _verdict(self, rhat: float, contraction: float, prior: float, likelihood: float) -> str:
        if self.short:
            return PRIOR
        if not self._enough:
            return UNJUDGED
        # nearly as wide as the prior is no answer of the table, whether or not the chains have settled
        if contraction < HALVED:
            return PRIOR
        if not rhat <= FAR_APART or np.isnan(prior) or np.isnan(likelihood):
            return UNJUDGED
        if prior >= SENSITIVE:
            return CONFLICT if likelihood >= SENSITIVE else PRIOR
        return IDENTIFIED

    @property
    def _enough(self) -> bool:
        return self._keep.size >= FEWEST_DRAWS

    @cached_property
    def _weights(self) -> dict[str, list[np.ndarray]]:
        """Weights that raise the prior, or the likelihood, to each of two powers; empty for chains that stand still."""
        from arviz_stats.base.array import array_stats

        weights: dict[str, list[np.ndarray]] = {"prior": [], "likelihood": []}
        densities = totals(self.fit, self._keep.ravel()) if self._enough and not self.short else {}
        for which, total in densities.items():
            if not (np.isfinite(total).all() and np.ptp(total) > 0):
                continue
            log_density = total.reshape(self._keep.shape)
            try:
                raised = [array_stats.power_scale_lw(log_density, alpha=power, axis=(0, 1)) for power in POWERS]
            except ValueError:
                # all draws of a tail have one density: chains that hardly move
                continue
            each = [np.exp(log_weight - log_weight.max()) for log_weight in raised]
            weights[which] = [weight / weight.sum() for weight in each]
        return weights

    def _moves(self, posterior: Mapping[str, np.ndarray], weights: list[np.ndarray]) -> dict[str, float]:
        """Power-scaling sensitivity of every quantity whose draws move and are numbers."""
        from arviz_stats.base.array import array_stats

        drawn = {name: draws[self._keep] for name, draws in posterior.items()}
        sound = {name: draws for name, draws in drawn.items() if np.isfinite(draws).all() and np.ptp(draws) > 0}
        if not weights:
            return {}
        lower, upper = weights
        return {
            name: float(array_stats.power_scale_sense(draws, lower, upper, *POWERS, chain_axis=0, draw_axis=1))
            for name, draws in sound.items()
        }

    def ridges(self) -> Iterator[tuple[str, str, float]]:
        """Pairs of sampled parameters of the law whose ranks are correlated beyond .9."""
        names = [name for name in self.model.law.parameters if np.ptp(self.fit.theta[name]) > 0]
        if len(names) < 2:
            return
        ranks = pd.DataFrame({name: self.fit.theta[name] for name in names}).corr("spearman")
        for place, one in enumerate(names):
            for other in names[place + 1 :]:
                if abs(value := float(ranks.loc[one, other])) > RIDGE:
                    yield one, other, value


def _contraction(name: str, prior: np.ndarray, posterior: np.ndarray) -> float:
    before, after = prior[np.isfinite(prior)], posterior[np.isfinite(posterior)]
    if min(before.size, after.size) < 2:
        return float("nan")
    # what is below 0 is compared as it is, not on the log scale
    return contraction(-before, -after) if name.startswith(SHARES) else contraction(before, after)
