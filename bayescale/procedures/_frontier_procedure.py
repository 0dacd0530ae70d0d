"""What the procedures share that give the compute-optimal frontier and no law of N and D."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bayescale.errors import FitError, RunsError
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.procedures._frontier_fit import GAMMAS, MIN_LOSSES, fit_frontier_loss, regress
from bayescale.procedures._procedure import Procedure
from bayescale.runs import Runs

__all__ = ["FrontierProcedure"]


class FrontierProcedure(Procedure):
    """A procedure that gives the law `frontier`: N*, D* and loss of a budget, nothing off the frontier."""

    default_law: ClassVar[str] = "frontier"
    needs: ClassVar[tuple[str, ...]] = ("N",)

    def __init__(self, model: Model, settings: Any = None) -> None:
        super().__init__(model, settings)
        if model.law.name != self.default_law:
            raise FitError(
                f"{self.name} finds the best run of each budget and fits no law of loss in N and D, so it cannot fit "
                f"{model.law.name}: leave the law out (it gives {self.default_law}), or fit {model.law.name} with "
                "another procedure"
            )
        if model.noise != Noise("normal"):
            raise FitError(
                f"{self.name} knows one sd of log loss around the frontier, and cannot fit {model.noise} noise: leave "
                "the noise out"
            )

    def check_columns(self, runs: Runs) -> None:
        """Refuse a table without N, D and C.

        Raises
        ------
        RunsError
            It names the one that is missing.
        """
        missing = [name for name in ("N", "D", "C") if name not in runs]
        if missing:
            raise RunsError(
                f"{self.name} needs the columns N, D and C (two are enough); {runs.source} has no {missing[0]}"
            )

    def power_laws(
        self, log_C: np.ndarray, log_N: np.ndarray, losses: np.ndarray | None, weight: np.ndarray | None = None
    ) -> dict[str, np.ndarray]:
        """Parameters of the frontier, one value a replicate.

        Parameters
        ----------
        log_C : array (budget,)
            Log of compute over ``C0``.
        log_N : array (replicate, budget)
            Log of the compute-optimal parameters; NaN is left out.
        losses : array (replicate, budget), optional
            Nats per token; without, the parameters of the loss are NaN.
        weight : array (budget,), optional
            Of each budget in the regression of N*.
        """
        intercept, slope = regress(log_C, log_N, weight)
        unknown = np.full(len(slope), np.nan)
        theta = dict.fromkeys(("E", "c", "gamma"), unknown)
        theta |= {"N_star": np.exp(intercept), "N_exponent": slope, "sigma": unknown}
        if losses is not None:
            found = fit_frontier_loss(log_C, losses)
            theta |= {"E": found.E, "c": found.c, "gamma": found.gamma, "sigma": found.sigma}
        return theta

    @staticmethod
    def why_no_loss(log_C: np.ndarray, losses: np.ndarray, what: str) -> str:
        """A sentence where the losses do not say what the frontier's loss is; empty where they do.

        Parameters
        ----------
        log_C, losses : array (budget,)
            Log of compute over ``C0``; nats per token.
        what : str
            What the losses are of, in the plural.
        """
        so = "so the loss along the frontier (E, c, gamma, sigma) is not given, and forecasts are refused"
        if len(losses) < MIN_LOSSES:
            return f"{len(losses)} {what} do not fix a floor, a coefficient and an exponent, {so}."
        if not fit_frontier_loss(log_C, losses[None]).identified[0]:
            return f"the losses of the {len(losses)} {what} show no levelling off towards a floor above 0, {so}."
        return ""

    @staticmethod
    def share_at_bound(theta: dict[str, np.ndarray]) -> str:
        """A sentence where replicates of the loss sit at a bound of the search; empty where none do."""
        low, high = GAMMAS[0] * 1.001, GAMMAS[-1] * 0.999
        stuck = (theta["E"] <= 0) | (theta["c"] <= 0) | (theta["gamma"] <= low) | (theta["gamma"] >= high)
        if len(stuck) < 2 or not stuck.any():
            return ""
        return (
            f"{stuck.mean():.1%} of the replicates show no levelling off (E is 0, or gamma at a bound of "
            f"{GAMMAS[0]:g} to {GAMMAS[-1]:g}): the table hardly says what the floor is."
        )
