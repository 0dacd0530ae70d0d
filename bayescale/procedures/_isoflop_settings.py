"""Settings of the IsoFLOP procedure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bayescale.errors import FitError

__all__ = ["MIN_SIZES", "IsoFLOPSettings"]

# A parabola has three coefficients: one size more, to see how far the runs lie from it.
MIN_SIZES = 4

CHOICES = {"size": ("N", "D"), "method": ("parabola", "akima"), "resample": ("residuals", "rows")}


@dataclass(frozen=True)
class IsoFLOPSettings:
    """Settings of `IsoFLOP`.

    Attributes
    ----------
    budgets : str, optional
        Column whose values name the budgets. Without, runs belong together whose FLOPs lie within `tolerance` of a
        common value; the groups are printed in the notes.
    tolerance : float
        Relative; 0.1 is ten per cent.
    size : {"N", "D"}
        Profiles against parameters, or against tokens as in Llama 3 (arXiv 2407.21783).
    window : int, optional
        How many sizes in a row around the budget's best one the parabola is fitted to; all of them without.
    method : {"parabola", "akima"}
        A parabola of loss in log size, or Akima interpolation of log loss in log size (arXiv 2406.19146).
    interior : bool
        Whether a budget is refused whose minimum does not lie between its smallest and largest size. Without, the
        vertex of a parabola counts wherever it lies, so long as it opens upward.
    weighted : bool
        Whether a budget counts by one over the squared bootstrap sd of its log minimum in the regression.
    min_sd_spacings : float
        The smallest sd of a log minimum that `weighted` believes, in units of the mean distance of neighbouring log
        sizes; a third, as in arXiv 2406.19146.
    seed_noise_nats : float, optional
        Standard deviation of a run's loss between training seeds, nats per token, known from elsewhere. Replicates
        then add normal noise of this size; ``akima`` goes through every point and needs it.
    resample : {"residuals", "rows"}
        Without `seed_noise_nats`: replicates add residuals pooled over the budgets, or draw runs within each budget.
    excess_scatter : bool
        Whether replicates also scatter the minima by what the noise of the losses leaves unexplained of their distance
        from the power law.
    replicates : int
        Bootstrap replicates; 0 for the point estimate alone.

    Raises
    ------
    FitError
        A value that is not one of these, or two that do not go together.
    """

    budgets: str | None = None
    tolerance: float = 0.1
    size: str = "N"
    window: int | None = None
    method: str = "parabola"
    interior: bool = True
    weighted: bool = False
    min_sd_spacings: float = 1.0 / 3.0
    seed_noise_nats: float | None = None
    resample: str = "residuals"
    excess_scatter: bool = True
    replicates: int = 1000

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise FitError(f"isoflop: {name}={getattr(self, name)!r}; expected {' or '.join(choices)}")
        for name, low in (("tolerance", 0.0), ("min_sd_spacings", 0.0), ("seed_noise_nats", 0.0), ("replicates", 0)):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= low):
                raise FitError(f"isoflop: {name}={value!r}; expected a finite number of at least {low:g}")
        if self.window is not None and self.window < 3:
            raise FitError(f"isoflop: window={self.window!r}; a parabola takes three sizes or more")
        self._check_together()

    def _check_together(self) -> None:
        if self.weighted and self.replicates < 2:
            raise FitError("isoflop: weighted takes its weights from the bootstrap: set replicates to 2 or more")
        if self.method == "parabola":
            return
        if not self.interior:
            raise FitError("isoflop: akima interpolates, and has no minimum outside the sizes: leave interior true")
        if self.window is not None:
            raise FitError("isoflop: akima interpolates all sizes of a budget; window is for the parabola")
        if self.replicates and self.seed_noise_nats is None:
            raise FitError(
                "isoflop: akima goes through every point, so no residual says how noisy the losses are: give "
                "seed_noise_nats, the sd of a run's loss between training seeds (0.002 to 0.01 in arXiv 2406.19146), "
                "or replicates=0"
            )
