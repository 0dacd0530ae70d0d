"""Training curves and the points that no other curve undercuts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescale.errors import FitError
from bayescale.procedures._procedure import losses
from bayescale.runs import Runs

__all__ = ["Curves", "hull", "lowest", "read_curves"]

# What a column of run names is usually called.
RUN_NAMES = ("run", "run_name", "run_id", "name", "wandb_name", "wandb_id")


@dataclass(frozen=True)
class Curves:
    """Training curves with several points each.

    Attributes
    ----------
    column : str
        The column that named the runs.
    names : list of str
        Of the runs with two points or more.
    single : int
        How many runs were left out for having one point.
    log_size : array (curve,)
        Log parameters.
    owner : array of int (point,)
        Curve of each point; points are in order of curve and compute.
    log_flops, log_loss : array (point,)
        Log FLOPs and log loss.
    """

    column: str
    names: list[str]
    single: int
    log_size: np.ndarray
    owner: np.ndarray
    log_flops: np.ndarray
    log_loss: np.ndarray

    def on_grid(self, log_C: np.ndarray) -> np.ndarray:
        """Log loss of every curve at these budgets, linear between its points; inf outside them. (curve, budget)."""
        own = [self.owner == curve for curve in range(len(self.names))]
        seen = [(self.log_flops[rows], self.log_loss[rows]) for rows in own]
        return np.stack([np.interp(log_C, x, y, left=np.inf, right=np.inf) for x, y in seen])


def read_curves(runs: Runs, column: str | None) -> Curves:
    """The training curves of a table.

    Parameters
    ----------
    runs : Runs
        With columns N and C, one row a checkpoint.
    column : str, optional
        Column that names the run of each row; without, the first of the usual names that the table has.

    Raises
    ------
    RunsError, FitError
        No column of runs, one point a run, or a run with several N.
    """
    found = _run_column(runs, column)
    named = np.asarray([str(value) for value in runs[found].tolist()])
    C, N, loss = (np.asarray(runs[name], dtype=np.float64) for name in ("C", "N", "loss"))
    losses(runs)
    for name, values in (("C", C), ("N", N)):
        bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if bad.size:
            raise FitError(f"run {bad[0] + 1} of {runs.source}: {name} is {values[bad[0]]:.6g}; expected one above 0")
    names, owner, counts = np.unique(named, return_inverse=True, return_counts=True)
    kept = counts > 1
    if kept.sum() < 2:
        raise FitError(
            f"envelope takes the lowest of several training curves, and {kept.sum()} of the {len(names)} runs of "
            f"{runs.source} (column {found!r}) have more than one point: give checkpoints along each run, or use "
            "isoflop, which takes one point a run"
        )
    chosen = kept[owner]
    order = np.lexsort((C[chosen], owner[chosen]))
    place = np.cumsum(kept)[owner[chosen]][order] - 1
    sizes, points = N[chosen][order], np.log(C[chosen][order])
    first = np.flatnonzero(np.diff(place, prepend=-1))
    _check_curves(names[kept], place, sizes, points, first, runs.source)
    single = int((~kept).sum())
    log_loss = np.log(loss[chosen][order])
    return Curves(found, names[kept].tolist(), single, np.log(sizes[first]), place, points, log_loss)


def _run_column(runs: Runs, column: str | None) -> str:
    if column is not None:
        if column not in runs:
            known = ", ".join(str(name) for name in runs.table.data_vars)
            raise FitError(f"envelope: run={column!r}, but {runs.source} has no such column; it has {known}")
        return column
    usual = [name for name in RUN_NAMES if name in runs]
    if not usual:
        raise FitError(
            f"envelope needs several points along each run and a column that says which run each is of; {runs.source} "
            f"has none called {', '.join(RUN_NAMES)}: name it with run=COLUMN, or use isoflop for one point a run"
        )
    return usual[0]


def _check_curves(
    names: np.ndarray, place: np.ndarray, sizes: np.ndarray, points: np.ndarray, first: np.ndarray, source: str
) -> None:
    several = np.flatnonzero(np.abs(np.log(sizes / sizes[first][place])) > 1e-9)
    if several.size:
        at = int(several[0])
        raise FitError(
            f"run {str(names[place[at]])!r} of {source} has points of N = {sizes[first][place[at]]:.6g} and of "
            f"{sizes[at]:.6g}: one run has one size; name the runs by another column (run=COLUMN)"
        )
    twice = np.flatnonzero((np.diff(points) <= 0) & (np.diff(place) == 0))
    if twice.size:
        at = int(twice[0])
        raise FitError(
            f"run {str(names[place[at]])!r} of {source} has two points at {np.exp(points[at]):.6g} FLOPs: one run "
            "passes each once; name the runs by another column (run=COLUMN), or leave one out"
        )


def lowest(on_grid: np.ndarray, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The curve of least loss at each budget, among those present in each replicate.

    Parameters
    ----------
    on_grid : array (curve, budget)
        Log loss; inf where a curve does not reach.
    present : array of bool (replicate, curve)
        Curves of each replicate.

    Returns
    -------
    winner : array of int (replicate, budget)
        Its curve; -1 where none reaches.
    log_loss : array (replicate, budget)
        NaN where none reaches.
    """
    ranked = np.argsort(on_grid, axis=0, kind="stable")
    budgets = np.arange(on_grid.shape[1])
    winner = np.empty((len(present), on_grid.shape[1]), dtype=np.intp)
    for replicate, curves in enumerate(present):
        winner[replicate] = ranked[np.argmax(curves[ranked], axis=0), budgets]
    log_loss = on_grid[winner, budgets]
    reached = np.isfinite(log_loss)
    return np.where(reached, winner, -1), np.where(reached, log_loss, np.nan)


def hull(log_C: np.ndarray, log_loss: np.ndarray) -> np.ndarray:
    """Indices of the points on the lower convex hull in (log C, log loss) whose loss falls, in order of compute.

    References
    ----------
    McLeish et al. 2025, arXiv 2502.06857.
    """
    chain: list[int] = []
    for point in np.lexsort((log_loss, log_C)).tolist():
        while len(chain) > 1 and _turns_up(log_C, log_loss, chain[-2], chain[-1], point):
            chain.pop()
        if not chain or log_C[point] > log_C[chain[-1]]:
            chain.append(point)
    falls = np.concatenate([[True], np.diff(log_loss[chain]) < 0])
    return np.asarray(chain)[falls]


def _turns_up(x: np.ndarray, y: np.ndarray, first: int, middle: int, last: int) -> bool:
    """Whether the middle point lies on or above the line between the others."""
    return bool((y[middle] - y[first]) * (x[last] - x[first]) >= (y[last] - y[first]) * (x[middle] - x[first]))
