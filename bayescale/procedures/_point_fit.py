"""What the procedures share that minimise an objective: the table, its resamples, the noise, the record of the fit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayescale.diagnostics import Diagnostics
from bayescale.errors import FitError
from bayescale.fits import Fit
from bayescale.inference.compile_time import compile_seconds
from bayescale.model import Model
from bayescale.optimisation.leverage import leverage_free
from bayescale.optimisation.newton import Ends
from bayescale.optimisation.regression import STAGES, Cost, Regression, Resampled, resampled
from bayescale.optimisation.resampling import RESAMPLES, groups_of, resample_counts, resample_signs
from bayescale.optimisation.search import gradient_norms, log_losses, search_all
from bayescale.procedures._point_warnings import identified, parameter_warnings, search_warnings, spread_warnings
from bayescale.procedures._procedure import Procedure, Progress, losses
from bayescale.runs import Runs

__all__ = ["LAST", "Found", "PointFit", "Problem", "rivals"]

# Two objectives that differ by less than this fraction are one optimum.
SAME = 1e-9
# And by more than this, two.
DIFFERENT = 1e-6
# Half the sum of squares that rounding leaves of a table without noise.
TINY = 1e-24
# A second optimum with an objective up to this many times the best one's may be the best of a resample.
RIVAL = 1.5
APART = 1e-2
LAST = range(STAGES)[-1:]


@dataclass(frozen=True)
class Problem:
    """A table and its resamples, ready for an objective.

    Attributes
    ----------
    objective : Regression
        All parameters.
    table : Resampled
        The table itself is resample 0.
    groups : array of int (run,)
        The independent group that each run belongs to.
    replicates : int
    """

    objective: Regression
    table: Resampled
    groups: np.ndarray
    replicates: int

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.groups)

    @property
    def dim(self) -> int:
        """Number of parameters."""
        return len(self.objective.coordinates.names)


@dataclass(frozen=True)
class Found:
    """What the search of the table itself found.

    Attributes
    ----------
    positions : array (optimum, dim)
        The best end, and its rivals.
    values : array (start,)
        The objective each start ended with.
    searched : int
        How many searches that were: starts that are known to end alike share one.
    """

    positions: np.ndarray
    values: np.ndarray
    searched: int


class PointFit(Procedure):
    """A procedure that minimises an objective, on the table and on its bootstrap resamples."""

    def __init__(self, model: Model, settings: Any = None) -> None:
        super().__init__(model, settings)
        if str(model.noise) != "normal":
            raise FitError(
                f"{self.name} has no likelihood: new runs scatter by the sd of the residuals of log loss, which is "
                f"noise 'normal'; leave {str(model.noise)!r} out, or fit with nuts"
            )
        self._check(self.settings)
        self.kind = "bootstrap" if self.settings.replicates else "point"

    def _check(self, settings: Any) -> None:
        if settings.resample not in RESAMPLES:
            raise FitError(f"{self.name}: resample is one of {', '.join(RESAMPLES)}; got {settings.resample!r}")
        if settings.replicates < 0 or settings.replicates == 1:
            raise FitError(f"{self.name}: replicates={settings.replicates}; expected 2 or more, or 0 for a point")
        if settings.resample == "clusters" and settings.cluster is None:
            raise FitError(f"{self.name}: resample='clusters' draws whole groups of runs; name their column: cluster=")
        if not settings.tolerance > 0:
            raise FitError(f"{self.name}: tolerance={settings.tolerance}; expected a number above 0, such as 1e-8")

    def objective(self) -> Regression:
        """The objective in all parameters of the law."""
        raise NotImplementedError

    def search(self, problem: Problem, seed: int) -> Found:
        """Optima of the table itself."""
        raise NotImplementedError

    def precision(self, runs: Runs, loss: np.ndarray) -> np.ndarray:
        """What residuals are multiplied with, (run,)."""
        return np.ones_like(loss)

    def target(self, loss: np.ndarray) -> np.ndarray:
        """What the objective compares the law with, (run,): log loss or loss."""
        return np.log(loss) if self.objective().on_log else loss

    def measured(self, value: float) -> float:
        """The objective as it is reported."""
        return value

    def costs(self) -> tuple[Cost, ...]:
        """What a residual costs in each stage of the search."""
        raise NotImplementedError

    def replicate(self, problem: Problem, found: Found) -> Ends:
        """Optima of the table and of every resample, from the best optima of the table."""
        tasks = problem.replicates + 1
        many = len(found.positions)
        starts = np.repeat(found.positions, tasks, axis=0)
        which = np.tile(np.arange(tasks), many)
        ends = self.solve(problem, starts, which)
        best = np.nanargmin(np.where(np.isfinite(ends.value), ends.value, np.inf).reshape(many, tasks), axis=0)
        return Ends(*(values.reshape(many, tasks, *values.shape[1:])[best, np.arange(tasks)] for values in ends))

    def solve(self, problem: Problem, starts: np.ndarray, which: np.ndarray) -> Ends:
        """Minimise the objective from starts (task, dim) that are near an optimum; `which` resample each fits."""
        return search_all(problem.objective, problem.table, starts, which, stages=LAST, refine=True)

    def fit(self, runs: Runs, seed: int = 0, progress: Progress | None = None) -> Fit:
        """Minimise the objective on the table and on its resamples.

        Raises
        ------
        RunsError
            The table lacks a column that the law reads, or a loss is not a number above 0.
        FitError
            The table cannot identify the parameters, a setting cannot be used, or no start has a finite objective.
        """
        began = time.perf_counter()
        report = progress or (lambda label, done, total: None)
        with compile_seconds() as compiled:
            problem = self._problem(runs, seed)
            report(f"{self.name}: searching", 0, 2)
            found = self.search(problem, seed)
            report(f"{self.name}: resampling" if problem.replicates else f"{self.name}: refining", 1, 2)
            problem = self._with_residuals(problem, found, seed)
            ends = self.replicate(problem, found)
            fitted = self._assemble(problem, found, ends)
            report(f"{self.name}: done", 2, 2)
        total = time.perf_counter() - began
        seconds = {"total": total, "compile": compiled.seconds, "sample": max(total - compiled.seconds, 0.0)}
        theta, estimate, diagnostics = fitted
        record = self.record(runs, seed, seconds, diagnostics)
        return Fit.assemble(record, self.model.law, theta, runs, estimate=estimate)

    def _problem(self, runs: Runs, seed: int) -> Problem:
        data = self.model.data(runs)
        columns = {name: data[name] for name in self.model.law.inputs}
        loss, objective, replicates = losses(runs), self.objective(), self.settings.replicates
        cluster = self.settings.cluster
        groups = np.arange(len(runs)) if cluster is None else groups_of(runs[cluster])
        identified(self.name, objective, columns, groups if self.settings.resample == "clusters" else None)
        count = np.ones((replicates + 1, len(loss)), dtype=np.uint16)
        if self.settings.resample != "wild" and replicates:
            count[1:] = resample_counts(groups, replicates, np.random.default_rng([seed, 1]))
        table = resampled(columns, self.target(loss), self.precision(runs, loss), count, self.costs())
        return Problem(objective, table, groups, replicates)

    def _with_residuals(self, problem: Problem, found: Found, seed: int) -> Problem:
        """For a wild bootstrap: observed values are fitted values plus residuals whose signs are drawn.

        The residuals are those of HC3, as if no run had taken part in the fit; the table itself keeps its own.
        """
        if self.settings.resample != "wild" or not problem.replicates:
            return problem
        best, runs = found.positions[0], problem.runs
        fitted = log_losses(problem.objective, problem.table, best[None])[0]
        fitted = fitted if problem.objective.on_log else np.exp(fitted)
        residual = (np.asarray(problem.table.centre) - fitted)[:runs]
        drawn = leverage_free(problem.objective, problem.table, best, residual, problem.groups)
        drawn = np.where(drawn == 0.0, residual, drawn)
        signs, spread = np.ones((problem.replicates + 1, len(fitted))), np.zeros(len(fitted))
        spread[:runs] = drawn
        signs[0, :runs] = np.divide(residual, drawn, out=np.ones(runs), where=drawn != 0.0)
        signs[1:, :runs] = resample_signs(problem.groups, problem.replicates, np.random.default_rng([seed, 2]))
        return replace(problem, table=problem.table._replace(centre=fitted, spread=spread, sign=signs))

    def _sigma(self, problem: Problem, positions: np.ndarray) -> np.ndarray:
        """Standard deviation (task,) of the residuals of log loss in each resample."""
        table = problem.table
        sign = np.resize(table.sign, table.count.shape).astype(float)
        observed = table.centre + sign * table.spread
        observed = observed if problem.objective.on_log else np.log(observed)
        residual = observed - log_losses(problem.objective, table, positions)
        return np.sqrt((table.count * np.square(residual)).sum(1) / (problem.runs - problem.dim))

    def _assemble(
        self, problem: Problem, found: Found, ends: Ends
    ) -> tuple[dict[str, np.ndarray], dict[str, float], Diagnostics]:
        """Draws, estimate and diagnostics."""
        law, coordinates = self.model.law, problem.objective.coordinates
        theta = np.asarray(coordinates.natural(ends.position.T))
        drawn = dict(zip(coordinates.names, theta, strict=True))
        drawn |= {name: np.full(theta.shape[1], value) for name, value in coordinates.pinned}
        drawn = {name: drawn[name] for name in law.parameters} | {"sigma": self._sigma(problem, ends.position)}
        estimate = {name: float(values[0]) for name, values in drawn.items()}
        draws = {name: values[None, 1:] if problem.replicates else values[None, :1] for name, values in drawn.items()}
        norms = gradient_norms(problem.objective, problem.table, np.arange(len(theta.T)), ends.position)
        settled = ends.converged & (norms <= self.settings.tolerance)
        reached = found.values <= ends.value[0] * (1.0 + SAME) + TINY
        others = found.values[np.isfinite(found.values) & (found.values > ends.value[0] * (1.0 + DIFFERENT) + TINY)]
        measures = {
            "objective": self.measured(float(ends.value[0])),
            "gradient_norm": float(norms[0]),
            "starts": float(len(found.values)),
            "starts_searched": float(found.searched),
            "starts_at_best": float(reached.sum()),
        }
        if others.size:
            measures["start_gap"] = float(others.min() / (ends.value[0] + TINY) - 1.0)
        if problem.replicates:
            measures["replicates_not_converged"] = float((~settled[1:]).sum())
        warnings = [
            *search_warnings(self.name, measures, bool(settled[0]), self.settings.tolerance, problem.replicates),
            *parameter_warnings(problem.objective, problem.table, estimate),
            *spread_warnings(problem.objective, estimate, draws if problem.replicates else {}),
            *self.warn(problem, estimate, float(ends.value[0])),
        ]
        return draws, estimate, Diagnostics(warnings=tuple(warnings), measures=measures)

    def warn(self, problem: Problem, estimate: Mapping[str, float], value: float) -> list[str]:
        """What else is to be said of a fit with this objective."""
        return []


def rivals(ends: Ends) -> np.ndarray:
    """The best end of a search, and the best of those that are another optimum nearly as good, (optimum, dim).

    Raises
    ------
    FitError
        No start has a finite objective.
    """
    order = np.argsort(np.where(np.isfinite(ends.value), ends.value, np.inf))
    best = order[0]
    if not np.isfinite(ends.value[best]):
        raise FitError("no start has a finite objective: check that the inputs of the law are in its units")
    near = ends.value <= RIVAL * ends.value[best]
    # the logarithm of a parameter that was driven to 0 may be minus infinity
    places = np.where(np.isfinite(ends.position), ends.position, -1e3)
    far = np.abs(places - places[best]).max(axis=1) > APART
    higher = ends.value > ends.value[best] * (1.0 + DIFFERENT) + TINY
    other = [k for k in order if near[k] and far[k] and higher[k] and ends.converged[k]]
    return ends.position[[best, *other[:1]]]
