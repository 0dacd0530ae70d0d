"""IsoFLOP profiles: Approach 2 of Hoffmann et al. (2022), and the variants of Porian et al. and of Llama 3."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from bayescale.diagnostics import Diagnostics
from bayescale.errors import FitError
from bayescale.fits import Fit
from bayescale.procedures._frontier_procedure import FrontierProcedure
from bayescale.procedures._isoflop_bootstrap import excess_sd, log_sds, point_minimum, replicates
from bayescale.procedures._isoflop_budgets import SAME_SIZE, Budget, cells, read_budgets
from bayescale.procedures._isoflop_messages import describe, no_minimum, scatter_notes, too_few
from bayescale.procedures._isoflop_minima import APART, Minima
from bayescale.procedures._isoflop_optima import OptimaFit, regress_optima
from bayescale.procedures._isoflop_settings import MIN_SIZES, IsoFLOPSettings
from bayescale.procedures._procedure import Progress
from bayescale.runs import Runs

__all__ = ["IsoFLOP", "IsoFLOPSettings", "OptimaFit", "regress_optima"]


class IsoFLOP(FrontierProcedure):
    """The size of least loss at each budget, and power laws in compute through those minima.

    Groups the runs by budget, finds the minimum of loss against log size in each, and regresses the log minima on log
    compute; the losses at the minima give ``L*(C) = E + c (C/C0)**-gamma``. Bootstrap replicates carry the noise of
    the losses through all of that. The answer is the law `frontier`.

    Parameters
    ----------
    model : Model
        The law `frontier`, normal noise.
    settings : IsoFLOPSettings, optional
        How budgets are grouped, which points the parabola sees, and the rest.

    References
    ----------
    Hoffmann et al. 2022, arXiv 2203.15556, section 3.2; Porian et al. 2024, arXiv 2406.19146; Llama 3, arXiv
    2407.21783, section 3.2.1.

    Examples
    --------
    >>> import bayescale
    >>> toy = bayescale.datasets.load("toy", where="sweep == 'isoflop'")
    >>> fit = bayescale.fit(toy, procedure="isoflop", window=5)
    >>> fit.kind, fit.law.name, 0.3 < fit.estimate["N_exponent"] < 0.7
    ('bootstrap', 'frontier', True)
    """

    name = "isoflop"
    kind = "bootstrap"
    summary = "the size of least loss at each budget (Approach 2), and power laws through those minima"
    citation = "arXiv:2203.15556"

    Settings = IsoFLOPSettings

    def fit(self, runs: Runs, seed: int = 0, progress: Progress | None = None) -> Fit:
        """Find the minima, regress them on compute, and bootstrap both.

        Raises
        ------
        RunsError
            A column is missing, or a loss is not a number above 0.
        FitError
            Fewer than two budgets with an interior minimum.
        """
        begun = time.perf_counter()
        settings: IsoFLOPSettings = self.settings
        self.kind = "bootstrap" if settings.replicates else "point"
        self.check_columns(runs)
        budgets = read_budgets(runs, settings.size, settings.budgets, settings.tolerance)
        usable, minima, refused = _usable(budgets, settings)
        if len(usable) < 2:
            raise FitError(too_few(runs, budgets, len(usable), refused, settings))
        generator = np.random.default_rng(seed)
        drawn = replicates(usable, settings, generator) if settings.replicates else []
        if progress is not None:
            progress("bootstrap", settings.replicates, settings.replicates)
        estimate, theta, diagnostics = self._answer((budgets, usable, refused), minima, drawn, generator)
        seconds = {"total": time.perf_counter() - begun, "compile": 0.0}
        record = self.record(runs, seed, seconds | {"sample": seconds["total"]}, diagnostics)
        chain = {name: values[None] for name, values in theta.items()}
        return Fit.assemble(record, self.model.law, chain, runs, estimate=estimate if drawn else None)

    def _answer(
        self,
        found: tuple[Sequence[Budget], Sequence[Budget], Sequence[str]],
        minima: Sequence[Minima],
        drawn: Sequence[Minima],
        generator: np.random.Generator,
    ) -> tuple[dict[str, float], dict[str, np.ndarray], Diagnostics]:
        """Point estimate, replicates and what is to be said about them."""
        budgets, usable, refused = found
        log_C = np.log([budget.C for budget in usable]) - np.log(self.model.law.C0)
        sd = log_sds(usable, drawn) if drawn else np.full(len(usable), np.nan)
        weight = self._weights(usable, sd)
        silent = self.why_no_loss(log_C, np.concatenate([m.loss for m in minima]), "minima")
        point = self._theta(log_C, minima, weight, not silent)
        excess, scatter = excess_sd(log_C, np.concatenate([m.log_size for m in minima]), sd)
        if self.settings.excess_scatter and excess > 0:
            drawn = [m._replace(log_size=generator.normal(m.log_size, excess)) for m in drawn]
        theta = self._theta(log_C, drawn, weight, not silent) if drawn else point
        whole = np.isfinite(theta["N_exponent"]) & (bool(silent) | np.isfinite(theta["gamma"]))
        if whole.sum() < min(2, whole.size):
            raise FitError(
                "isoflop: no bootstrap replicate keeps two budgets with an interior minimum: the minima are lost in "
                "the noise; add runs on both sides of them, or set replicates=0"
            )
        theta = {name: values[whole] for name, values in theta.items()}
        warnings, notes = describe(budgets, usable, minima, drawn, refused)
        notes += scatter_notes(scatter, excess, self.settings.excess_scatter)
        if not whole.all():
            notes.append(f"{(~whole).sum()} of {whole.size} replicates kept too few budgets and are left out.")
        notes.append(silent or self.share_at_bound(theta))
        measures = {"budgets": float(len(usable)), "scatter_of_minima": scatter, "excess_scatter": excess}
        measures = {name: value for name, value in measures.items() if np.isfinite(value)}
        said = tuple(note for note in notes if note)
        return (
            {name: float(values[0]) for name, values in point.items()},
            theta,
            Diagnostics(warnings=tuple(warnings), notes=said, measures=measures),
        )

    def _weights(self, usable: Sequence[Budget], sd: np.ndarray) -> np.ndarray | None:
        if not self.settings.weighted:
            return None
        floor = self.settings.min_sd_spacings * np.asarray([budget.spacing for budget in usable])
        believed = np.maximum(sd, floor)
        if not (believed > 0).all():
            raise FitError(
                "isoflop: weighted, but the minima do not move between replicates, so that every weight is infinite: "
                "set min_sd_spacings above 0, or weighted=false"
            )
        return believed**-2.0

    def _theta(
        self, log_C: np.ndarray, minima: Sequence[Minima], weight: np.ndarray | None, with_loss: bool
    ) -> Mapping[str, np.ndarray]:
        log_size = np.stack([m.log_size for m in minima], axis=1)
        if self.settings.size == "D":
            log_size = log_C + np.log(self.model.law.C0 / 6.0) - log_size
        losses = np.stack([m.loss for m in minima], axis=1) if with_loss else None
        return self.power_laws(log_C, log_size, losses, weight)


def _usable(budgets: Sequence[Budget], settings: IsoFLOPSettings) -> tuple[list[Budget], list[Minima], list[str]]:
    """The budgets with an interior minimum, those minima, and why each of the others is refused."""
    apart = APART if settings.method == "akima" else SAME_SIZE
    enough = [cells(budget.log_size, apart)[-1] + 1 >= MIN_SIZES for budget in budgets]
    few = [budget for budget, many in zip(budgets, enough, strict=True) if not many]
    usable, minima, refused = [], [], []
    if few:
        names = ", ".join(str(budget) for budget in few[:5]) + (", ..." if len(few) > 5 else "")
        runs = sum(budget.loss.size for budget in few)
        refused.append(f"{names}: fewer than {MIN_SIZES} sizes ({runs} run{'s' * (runs > 1)} in all)")
    for budget, many in zip(budgets, enough, strict=True):
        if not many:
            continue
        found = point_minimum(budget, settings)
        if np.isfinite(found.log_size[0]):
            usable.append(budget)
            minima.append(found)
        else:
            refused.append(f"{budget}: {no_minimum(budget, found, settings)}")
    return usable, minima, refused
