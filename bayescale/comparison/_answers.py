"""What one procedure says about one table: draws and an estimate of each quantity, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayescale.errors import TargetError
from bayescale.fits import Fit
from bayescale.intervals import quantiles

__all__ = ["QUANTITIES", "Answer", "Quantity", "at_budgets", "quantities_of"]

# N, D and the loss are those of the compute-optimal run of a budget.
QUANTITIES = ("N_exponent", "D_exponent", "N", "D", "E", "loss")
_SPLIT = ("N_exponent", "D_exponent", "N", "D", "loss")


@dataclass(frozen=True)
class Quantity:
    """One quantity under one procedure.

    Attributes
    ----------
    draws : numpy.ndarray or None
        Posterior draws or bootstrap replicates (sample,), a point estimate as one of them; None where the procedure
        does not give the quantity.
    estimate : float or None
        What the whole table gives, where draws are replicates or a point.
    why : str or None
        Why there are no draws.
    """

    draws: np.ndarray | None = None
    estimate: float | None = None
    why: str | None = None

    @classmethod
    def of(cls, draws: np.ndarray, estimate: float | None) -> Quantity:
        """Draws and the estimate beside them; where not one of them is a number, the reason."""
        known = estimate is not None and np.isfinite(estimate)
        if not np.isfinite(draws).any() and not known:
            return cls(why="the table does not determine it")
        return cls(draws, estimate if known else None)

    @property
    def finite(self) -> np.ndarray:
        """The draws that are numbers, (sample,)."""
        return np.empty(0) if self.draws is None else self.draws[np.isfinite(self.draws)]

    @property
    def spread(self) -> bool:
        """Whether there is an interval: more than one draw, and not all of them the same."""
        return self.finite.size > 1 and bool(np.ptp(self.finite) > 0)

    @property
    def value(self) -> float | None:
        """The number to quote: the estimate, or else the median of the draws."""
        if self.estimate is not None and np.isfinite(self.estimate):
            return float(self.estimate)
        return float(np.median(self.finite)) if self.finite.size else None

    def document(self) -> dict[str, float | None] | None:
        """The estimate and the usual quantiles under the usual names; None where there are no draws."""
        if self.value is None:
            return None
        drawn = self.finite if self.finite.size else [self.value]
        return {"estimate": self.estimate} | quantiles(drawn)


@dataclass(frozen=True)
class Answer:
    """One procedure on one table.

    Attributes
    ----------
    procedure, kind : str
        Its name, and what its draws are.
    fit : Fit or None
        None where the procedure refused the table.
    quantities : mapping of str to Quantity
        ``N_exponent, D_exponent, N, D, E, loss`` at the first budget.
    allocations : tuple of mapping
        ``N, D, loss`` at every budget.
    heldout : mapping or None
        Scores on the held-out runs; see `bayescale.comparison._heldout.score`.
    seconds : float or None
        Of the whole fit.
    warnings, notes : tuple of str
        Reasons not to trust the fit, or not to have one; what else there is to know.
    """

    procedure: str
    kind: str
    fit: Fit | None
    quantities: Mapping[str, Quantity]
    allocations: tuple[Mapping[str, Any], ...] = ()
    heldout: Mapping[str, Any] | None = None
    seconds: float | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def refused(self) -> bool:
        """Whether there is no fit: the procedure does not apply to the table."""
        return self.fit is None

    def document(self) -> dict[str, Any]:
        """Plain values for JSON: one row of the command line's document."""
        law = None if self.fit is None else self.fit.law.name
        row: dict[str, Any] = {"procedure": self.procedure, "kind": self.kind, "law": law, "refused": self.refused}
        row |= {name: quantity.document() for name, quantity in self.quantities.items()}
        return row | {
            "allocations": [dict(allocation) for allocation in self.allocations],
            "heldout": None if self.heldout is None else dict(self.heldout),
            "seconds": self.seconds,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }


def quantities_of(fit: Fit, optimum: Mapping[str, Quantity] | None) -> dict[str, Quantity]:
    """Every quantity of a fit, given those of its optimum at the budget that is compared."""
    found = {name: _drawn(fit, name) for name in ("N_exponent", "D_exponent", "E")}
    if optimum is None:
        optimum = dict.fromkeys(("N", "D", "loss"), Quantity(why="no budget was given, and the table has no FLOPs"))
    both = found | dict(optimum)
    return {name: both[name] for name in QUANTITIES}


def at_budgets(fit: Fit, flops: Sequence[float]) -> list[dict[str, Quantity]]:
    """Optimum, exponents and loss of a fit at each budget."""
    estimated = fit.at_estimate if fit.estimate is not None else None
    try:
        made = fit.allocation(flops)
        point = None if estimated is None else estimated.allocation(flops)
    except TargetError as error:
        return [_without_split(fit, estimated, budget, str(error)) for budget in flops]
    return [
        {
            name: Quantity.of(
                made[name].values[:, place], None if point is None else float(point[name].values[0, place])
            )
            for name in _SPLIT
            if name in made
        }
        for place in range(len(flops))
    ]


def _without_split(fit: Fit, estimated: Fit | None, budget: float, why: str) -> dict[str, Quantity]:
    """The loss at a budget of a law that does not split it, such as one of compute alone."""
    found = {name: Quantity(why=why) for name in ("N", "D", "loss")}
    try:
        loss = fit.path([budget])["mean_loss"].values[:, 0]
        estimate = None if estimated is None else float(estimated.path([budget])["mean_loss"].values[0, 0])
    except TargetError:
        return found
    return found | {"loss": Quantity.of(loss, estimate)}


def _drawn(fit: Fit, name: str) -> Quantity:
    if name not in fit.draws:
        return Quantity(why=f"{fit.law.name} has no {name}")
    return Quantity.of(fit.draws[name].values.ravel(), None if fit.estimate is None else fit.estimate[name])
