"""What an answer rests on: the table, the prior, or both in conflict.

Three measures of each quantity. *Contraction*, ``1 - posterior variance / prior variance``: how much the table added.
*Power-scaling sensitivity* to the prior and to the likelihood: how far the posterior of the quantity moves when one of
them is raised to a power just off 1. Convergence says none of it: chains may agree on a posterior that is the prior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayescale.fits._judge import HALVED, PRIOR, UNJUDGED, Judge
from bayescale.fits._labels import with_derived
from bayescale.fits._log_densities import has_prior
from bayescale.forecast import forecast, forecast_path

if TYPE_CHECKING:
    from bayescale.fits._fit import Fit

__all__ = ["Sensitivity", "allocation_verdicts", "forecast_verdicts", "of_groups", "sensitivity"]

ALLOCATED = ("N", "D", "D_per_N", "loss", "N_exponent", "D_exponent")


@dataclass(frozen=True)
class Sensitivity:
    """What each answer of a posterior rests on.

    Attributes
    ----------
    table : pandas.DataFrame
        One row a quantity: ``contraction`` (of the variance, on the log scale for quantities above 0), power-scaling
        sensitivity to the ``prior`` and to the ``likelihood``, and the ``verdict``: ``identified``,
        ``prior-dominated`` (the table less than halves the prior's sd, or the prior still moves the answer and the
        table hardly does), ``prior-data conflict`` (both move it: they disagree), ``pinned``, or ``not judged`` (the
        chains disagree, or there are too few draws).
    ridges : tuple of (str, str, float)
        Pairs of parameters of the law that the table tells apart badly, with their rank correlation.
    short : str
        Why nothing can be identified, where there are no more runs than free parameters; empty otherwise.

    References
    ----------
    Kallioinen et al. 2024, DOI 10.1007/s11222-023-10366-5, whose threshold of 0.05 is kept.
    """

    table: pd.DataFrame
    ridges: tuple[tuple[str, str, float], ...] = ()
    short: str = ""

    @property
    def verdicts(self) -> dict[str, str]:
        """The verdict on each quantity."""
        return {str(name): str(verdict) for name, verdict in self.table["verdict"].items()}

    def document(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        rows = [
            {"quantity": str(name)} | row
            for name, row in zip(self.table.index, self.table.to_dict("records"), strict=True)
        ]
        ridges = [{"parameters": [one, other], "correlation": value} for one, other, value in self.ridges]
        return {"quantities": rows, "ridges": ridges, "short": self.short}

    def __repr__(self) -> str:
        lines = [self.table.to_string(float_format=lambda value: f"{value:.3g}")]
        lines += [
            f"ridge: {one} and {other} (rank correlation {value:.2f}): the table knows a combination of the two better "
            "than either"
            for one, other, value in self.ridges
        ]
        return "\n".join([*lines, *([self.short] if self.short else [])])


def sensitivity(fit: Fit, budgets: Any = ()) -> Sensitivity:
    """What the parameters and derived quantities of a posterior rest on, and its compute-optimal runs.

    Parameters
    ----------
    fit : Fit
        A posterior.
    budgets : array_like (budget,)
        Training FLOPs; ``N``, ``D`` and ``loss`` of their compute-optimal runs are judged too.

    Raises
    ------
    FitError
        The fit is no posterior.
    TargetError
        The law does not split a budget.
    """
    judge = Judge(fit)
    shown = [str(name) for name in fit.draws.data_vars if name not in judge.model.nuisance]
    posterior = {name: fit.draws[name].values.ravel() for name in shown}
    one_chain = {name: np.asarray(values)[None] for name, values in judge.prior.items()}
    prior = {name: np.ravel(values) for name, values in with_derived(fit.law, one_chain, {}).items()}
    table = judge.table(posterior, prior)
    asked = np.atleast_1d(np.asarray(budgets, dtype=np.float64))
    if asked.size:
        table = pd.concat([table, *judge.allocations(asked, ("N", "D", "loss"))])
    return Sensitivity(table, tuple(judge.ridges()), judge.short)


def of_groups(fit: Fit) -> Sensitivity:
    """What the parameters of a posterior with groups rest on, as far as contraction tells.

    A prior that groups learn from each other cannot be raised to a power apart from what it learnt, so nothing is
    called identified here; what the table less than halves the prior's sd of is prior-dominated, as everywhere. That
    prior is the one before the table: of a group's value it holds what is unknown of level and spread.
    """
    rows = {
        name: {"contraction": share, "prior": np.nan, "likelihood": np.nan, "verdict": UNJUDGED}
        | ({"verdict": PRIOR} if share < HALVED else {})
        for name, share in fit.diagnostics.contraction.items()
    }
    return Sensitivity(pd.DataFrame.from_dict(rows, orient="index"))


def allocation_verdicts(fit: Fit, budgets: Any) -> list[dict[str, str]]:
    """The verdict on what `Fit.allocation` gives at each budget, by its name; empty for draws with no prior behind."""
    asked = np.atleast_1d(np.asarray(budgets, dtype=np.float64))
    if not has_prior(fit):
        return [{} for _ in asked]
    made = Judge(fit).allocations(asked, ALLOCATED)
    return [dict(zip(ALLOCATED, map(str, table["verdict"]), strict=True)) for table in made]


def forecast_verdicts(fit: Fit, targets: Mapping[str, Any]) -> list[str | None]:
    """The verdict on the law's loss of each run that `Fit.forecast` would give; None for draws with no prior behind."""
    size = len(np.atleast_1d(next(iter(targets.values()))))
    if not has_prior(fit):
        return [None] * size
    judge, law = Judge(fit), fit.law
    along = law.splits_compute and set(targets) == {"C"}

    def losses(theta: Mapping[str, np.ndarray]) -> np.ndarray:
        made = (
            forecast_path(law, None, theta, targets["C"], None) if along else forecast(law, None, theta, targets, None)
        )
        return made["mean_loss"].values.T

    found = dict(enumerate(losses(fit.theta)))
    before = dict(enumerate(losses(judge.prior)))
    table = judge.table({str(k): v for k, v in found.items()}, {str(k): v for k, v in before.items()})
    return [str(verdict) for verdict in table["verdict"]]
