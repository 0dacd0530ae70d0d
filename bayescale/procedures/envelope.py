"""The envelope of training curves: Approach 1 of Hoffmann et al. (2022)."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from bayescale.diagnostics import Diagnostics
from bayescale.errors import FitError
from bayescale.fits import Fit
from bayescale.procedures._envelope_curves import Curves, hull, lowest, read_curves
from bayescale.procedures._frontier_fit import fit_frontier_loss
from bayescale.procedures._frontier_procedure import FrontierProcedure
from bayescale.procedures._procedure import Progress
from bayescale.runs import Runs

__all__ = ["Envelope", "EnvelopeSettings"]

# Budgets at which the loss of the envelope is fitted: it is smooth, and these are enough to fix three numbers.
LOSS_POINTS = 60


@dataclass(frozen=True)
class EnvelopeSettings:
    """Settings of `Envelope`.

    Attributes
    ----------
    run : str, optional
        Column that names the run of each point; without, ``run``, ``run_name``, ``run_id``, ``name``, ``wandb_name``
        or ``wandb_id``, whichever the table has first.
    winners : {"lowest", "hull"}
        The curve of least loss at each of `points` budgets (Hoffmann et al.), or the checkpoints on the lower convex
        hull of log loss against log compute (Gemstones, arXiv 2502.06857).
    points : int
        Budgets, evenly spaced in log FLOPs between the smallest and the largest of the table.
    replicates : int
        Bootstrap replicates, which draw whole runs; 0 for the point estimate alone.

    Raises
    ------
    FitError
        A value that is not one of these.
    """

    run: str | None = None
    winners: str = "lowest"
    points: int = 1500
    replicates: int = 1000

    def __post_init__(self) -> None:
        if self.winners not in ("lowest", "hull"):
            raise FitError(f"envelope: winners={self.winners!r}; expected lowest or hull")
        if self.points < 10 or self.replicates < 0:
            raise FitError(
                f"envelope: points={self.points!r}, replicates={self.replicates!r}; expected points of 10 or more and "
                "replicates of 0 or more"
            )


class Envelope(FrontierProcedure):
    """Lowest loss over training curves at each budget, and power laws in compute through the winners.

    Each curve is interpolated, log loss in log compute, between its own points. The winners' sizes give
    ``N*(C)``, their losses ``L*(C)``. Replicates draw runs, with replacement; points of one run stay together. The
    answer is the law `frontier`.

    Checkpoints of a run stand for runs that ended there: that holds where the learning rate had decayed by then, and
    otherwise the envelope favours small models (arXiv 2203.15556, section 3.1).

    Parameters
    ----------
    model : Model
        The law `frontier`, normal noise.
    settings : EnvelopeSettings, optional
        The column of runs, the number of budgets, replicates.

    References
    ----------
    Hoffmann et al. 2022, arXiv 2203.15556, section 3.1.

    Examples
    --------
    >>> import numpy as np, bayescale
    >>> N, D = (grid.ravel() for grid in np.meshgrid(np.geomspace(1e6, 1e10, 17), np.geomspace(1e6, 1e10, 30)))
    >>> table = {"N": N, "D": D, "loss": 1.7 + 406 / N**0.34 + 411 / D**0.34, "run": N}
    >>> fit = bayescale.fit(table, procedure="envelope", replicates=0)
    >>> round(fit.estimate["N_exponent"], 1)
    0.5
    """

    name = "envelope"
    kind = "bootstrap"
    summary = "lowest loss over training curves at each budget (Approach 1), and power laws through the winners"
    citation = "arXiv:2203.15556"

    Settings = EnvelopeSettings

    def fit(self, runs: Runs, seed: int = 0, progress: Progress | None = None) -> Fit:
        """Find the winners, regress them on compute, and bootstrap both over runs.

        Raises
        ------
        RunsError
            A column is missing, or a loss is not a number above 0.
        FitError
            One point a run, no column of runs, or one size that wins everywhere.
        """
        begun = time.perf_counter()
        settings: EnvelopeSettings = self.settings
        self.kind = "bootstrap" if settings.replicates else "point"
        self.check_columns(runs)
        curves = read_curves(runs, settings.run)
        count = len(curves.names)
        every = np.ones((1, count), dtype=bool)
        drawn = np.random.default_rng(seed).integers(0, count, (settings.replicates, count))
        present = np.zeros((settings.replicates, count), dtype=bool)
        np.put_along_axis(present, drawn, True, axis=1)
        found = self._winners(curves, np.concatenate([every, present]))
        if progress is not None:
            progress("bootstrap", settings.replicates, settings.replicates)
        point, theta, diagnostics = self._answer(curves, found)
        seconds = {"total": time.perf_counter() - begun, "compile": 0.0}
        record = self.record(runs, seed, seconds | {"sample": seconds["total"]}, diagnostics)
        chain = {name: values[None] for name, values in theta.items()}
        return Fit.assemble(record, self.model.law, chain, runs, estimate=point if settings.replicates else None)

    def _winners(self, curves: Curves, present: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log compute over C0 (point,); log size and log loss of the winners (replicate, point), NaN for no winner."""
        reference = np.log(self.model.law.C0)
        if self.settings.winners == "lowest":
            grid = np.linspace(curves.log_flops.min(), curves.log_flops.max(), self.settings.points)
            winner, log_loss = lowest(curves.on_grid(grid), present)
            return grid - reference, np.where(winner < 0, np.nan, curves.log_size[winner]), log_loss
        log_N, log_loss = np.full((2, len(present), curves.log_flops.size), np.nan)
        for replicate, chosen in enumerate(present[:, curves.owner]):
            own = np.flatnonzero(chosen)
            on_hull = own[hull(curves.log_flops[own], curves.log_loss[own])]
            log_N[replicate, on_hull] = curves.log_size[curves.owner[on_hull]]
            log_loss[replicate, on_hull] = curves.log_loss[on_hull]
        ever = np.isfinite(log_N).any(axis=0)
        return curves.log_flops[ever] - reference, log_N[:, ever], log_loss[:, ever]

    def _answer(
        self, curves: Curves, found: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> tuple[dict[str, float], dict[str, np.ndarray], Diagnostics]:
        """Point estimate (the first row of what was found), replicates, and what is to be said about them."""
        log_C, log_N, log_loss = found
        winners = np.unique(log_N[0, np.isfinite(log_N[0])])
        if winners.size < 2:
            raise FitError(
                f"envelope: one size, N = {np.exp(winners[0]):.4g}, has the lowest loss at every budget, so nothing "
                "says how N* grows: add runs of other sizes, or fit a law of N and D"
            )
        silent, loss = self._losses(log_C, log_loss)
        every = self.power_laws(log_C, log_N, None)
        if loss is not None:
            every |= loss
        several = np.nanmax(log_N, axis=1) > np.nanmin(log_N, axis=1)
        point = {name: float(values[0]) for name, values in every.items()}
        kept = several.copy()
        kept[0] = len(kept) == 1
        if not kept.any():
            raise FitError("envelope: in every replicate one size wins everywhere; set replicates=0, or add runs")
        theta = {name: values[kept] for name, values in every.items()}
        notes = [
            f"{len(curves.names)} runs by column {curves.column!r}, {curves.log_flops.size} points; {winners.size} "
            f"sizes win somewhere, N = {np.exp(winners[0]):.4g} to {np.exp(winners[-1]):.4g}.",
            f"{curves.single} runs with one point are left out." if curves.single else "",
            silent or self.share_at_bound(theta),
            f"{(~several).sum()} replicates in which one size wins everywhere are left out." * bool((~several).any()),
        ]
        measures = {"curves": float(len(curves.names)), "winning_sizes": float(winners.size)}
        said = tuple(note for note in notes if note)
        return point, theta, Diagnostics(notes=said, measures=measures)

    def _losses(self, log_C: np.ndarray, log_loss: np.ndarray) -> tuple[str, dict[str, np.ndarray] | None]:
        """Why the loss of the frontier is not given, or its parameters for each replicate."""
        budgets = np.arange(len(log_C))
        if self.settings.winners == "lowest":
            budgets = np.unique(np.linspace(0, len(log_C) - 1, LOSS_POINTS).astype(np.intp))
        log_C, losses = log_C[budgets], np.exp(log_loss[:, budgets])
        seen = np.isfinite(losses[0])
        silent = self.why_no_loss(log_C[seen], losses[0, seen], "winners")
        if silent:
            return silent, None
        found = fit_frontier_loss(log_C, losses)
        return "", {"E": found.E, "c": found.c, "gamma": found.gamma, "sigma": found.sigma}
