"""Forecasts of many curves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from bayescale._float64 import jax
from bayescale.curves._bands import Progress, distances, sample_bands
from bayescale.curves._calibration import Bands, Calibration, Components, components
from bayescale.curves._learning import learn
from bayescale.curves._prior_set import CurvePriors
from bayescale.curves._shapes import SHAPES
from bayescale.curves._table import forecast_rows
from bayescale.curves._tasks import Task, families
from bayescale.curves._thinning import Origin, thinned
from bayescale.curves._trust import Evidence, doubts
from bayescale.errors import TargetError

__all__ = ["CurveForecasts", "forecast_curves"]

FEWEST_FAMILIES = 2


@dataclass(frozen=True)
class CurveForecasts:
    """Forecasts of curves.

    Attributes
    ----------
    table : DataFrame
        ``row``, ``task``, ``x``, quantiles ``q005`` to ``q995`` of a new point, and ``logp``: the log density of y over
        its unit, NaN where y is not known.
    weights : DataFrame
        Task by law.
    doubts : dict of str to list of str
        Why the forecast of a task should not be trusted.
    priors : CurvePriors
        The set that was used; where one was learnt, the one learnt from all families.
    seconds : float
        Wall clock.
    """

    table: pd.DataFrame = field(repr=False)
    weights: pd.DataFrame = field(repr=False)
    doubts: dict[str, list[str]]
    priors: CurvePriors
    seconds: float

    def document(self) -> dict[str, Any]:
        """What `bayescale curves --json` prints."""
        return {
            "n_tasks": len(self.weights),
            "n_forecasts": len(self.table),
            "seconds": self.seconds,
            "prior_set": self.priors.name,
            "laws": {name: float(weight) for name, weight in self.weights.mean().items()},
            "untrusted": self.doubts,
        }

    def __repr__(self) -> str:
        shown = self.table[["task", "x", "q050", "q500", "q950"]]
        head = f"{len(self.weights)} curves, {len(shown)} forecasts, {self.seconds:.1f} s, prior set {self.priors.name}"
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in self.weights.mean().items())
        more = f"\n... {len(shown) - 20} more; --out writes them all" if len(shown) > 20 else ""
        return f"{head}\nmean weights: {weights}\n{shown.head(20).to_string(index=False)}{more}"


def forecast_curves(
    tasks: Sequence[Task],
    priors: CurvePriors | None = None,
    *,
    cross_fit: bool = False,
    learn_all: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> CurveForecasts:
    """Forecast the targets of every curve by an average of laws.

    Parameters
    ----------
    tasks : sequence of Task
        From `read_tasks`.
    priors : CurvePriors, optional
        The published set by default.
    cross_fit : bool
        Forecast each family by a calibration learnt from the known targets of the others.
    learn_all : bool
        Learn a calibration from all known targets; used for the forecasts too unless `cross_fit` is set.
    seed : int
        The same seed, table and versions give the same numbers.
    progress : callable, optional
        Called with (label, laws done, laws in all).

    Raises
    ------
    TargetError
        There is nothing to learn from: no target is known, or cross-fitting is asked of one family.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayescale.curves import forecast_curves, read_tasks
    >>> table = pd.DataFrame({"x": [1, 2, 4, 8, 16, 32], "y": [2.0, 1.62, 1.37, 1.22, 1.13, None]})
    >>> made = forecast_curves(read_tasks(table))
    >>> bool(0.95 < made.table.q500[0] < 1.13)
    True
    """
    began = time.perf_counter()
    priors, tasks = CurvePriors.published() if priors is None else priors, list(tasks)
    _refuse_nothing(tasks, cross_fit, learn_all)
    rows, origin = thinned(tasks)
    at = distances(tasks, origin)
    bands, effective = sample_bands(tasks, rows, at, priors.discrepancy, seed, progress)
    calibrations = [priors.calibration] * len(tasks)
    if cross_fit or learn_all:
        calibrations, priors = _learnt(tasks, bands, at, origin, priors, cross_fit)
    parts, weights = [], np.zeros((len(tasks), len(SHAPES)))
    for place, task in enumerate(tasks):
        mixture = _one(bands, place, calibrations[place])
        weights[place] = np.exp(np.asarray(mixture.log_weight)).reshape(len(SHAPES), -1).sum(axis=1)
        start = (float(origin.log_x[place]), float(origin.log_y[place]))
        parts.append(forecast_rows(task, mixture, at[place], start, priors.discrepancy.dof))
    return CurveForecasts(
        pd.concat(parts, ignore_index=True),
        pd.DataFrame(weights, columns=list(SHAPES), index=[task.name for task in tasks]),
        doubts(tasks, Evidence(weights, effective)),
        priors,
        time.perf_counter() - began,
    )


def _refuse_nothing(tasks: Sequence[Task], cross_fit: bool, learn_all: bool) -> None:
    if not (cross_fit or learn_all):
        return
    taught = {task.family for task in tasks if np.isfinite(task.truth).any()}
    needed = FEWEST_FAMILIES if cross_fit else 1
    if len(taught) < needed:
        raise TargetError(
            f"{len(taught)} families of curves have a target with a known y; learning needs at least {needed}. Give "
            "the table a column split (ctx, tgt) with y in the rows of tgt, or leave --cross-fit and --learn out"
        )


def _one(bands: Bands, place: int, calibration: Calibration) -> Components:
    """The mixture of one curve."""
    mixture = _components(jax.tree.map(lambda array: array[place : place + 1], bands), calibration.flat())
    return jax.tree.map(lambda array: array[0], mixture)


@jax.jit
def _components(bands: Bands, flat: np.ndarray) -> Components:
    return components(bands, Calibration.of(flat))


def _learnt(
    tasks: list[Task], bands: Bands, at: np.ndarray, origin: Origin, priors: CurvePriors, cross_fit: bool
) -> tuple[list[Calibration], CurvePriors]:
    """For each task, the calibration learnt from all or without its family; and the prior set learnt from all."""
    dof = priors.discrepancy.dof
    log_y = np.stack([_seen(task, at[place], origin, place) for place, task in enumerate(tasks)])
    # a third of the draws: the calibration has two dozen numbers
    thin = bands._replace(
        location=bands.location[:, :, ::3], variance=bands.variance[:, :, ::3], sigma=bands.sigma[:, :, ::3]
    )
    everyone = learn(thin, log_y, np.ones(len(tasks)), dof)
    found = [everyone] * len(tasks)
    kinds = families(tasks)
    for places in kinds.values() if cross_fit else ():
        counted = np.ones(len(tasks))
        counted[places] = 0.0
        calibration = learn(thin, log_y, counted, dof, everyone)
        for place in places:
            found[place] = calibration
    return found, replace(priors, name="learnt", learnt_from=tuple(sorted(kinds)), calibration=everyone)


def _seen(task: Task, at: np.ndarray, origin: Origin, place: int) -> np.ndarray:
    """Log y of the known target nearest to each distance; NaN for a repeated distance, and where nothing is known."""
    known = np.isfinite(task.truth)
    log_y = np.full(len(at), np.nan)
    if known.any():
        u = np.log(task.at[known]) - origin.log_x[place]
        nearest = np.abs(u[:, None] - at).argmin(axis=0)
        log_y = np.log(task.truth[known])[nearest] - origin.log_y[place]
        log_y[np.concatenate([[False], np.diff(at) <= 0])] = np.nan
    return log_y
