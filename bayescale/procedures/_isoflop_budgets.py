"""Which runs spent the same compute: the budgets of an IsoFLOP design."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescale.errors import FitError
from bayescale.procedures._procedure import losses
from bayescale.runs import Runs

__all__ = ["SAME_SIZE", "Budget", "cells", "read_budgets"]

# Sizes of one architecture that were computed in two ways agree to rounding.
SAME_SIZE = 1e-9


@dataclass(frozen=True)
class Budget:
    """The runs of one budget, in order of size.

    Attributes
    ----------
    C : float
        Geometric mean of their FLOPs.
    spread : float
        Largest relative distance of a run's FLOPs from it.
    log_size : array (run,)
        Log of parameters or of tokens.
    loss : array (run,)
        Nats per token.
    cell : array of int (run,)
        Which of the distinct sizes each run has, counted from 0: seeds of one configuration share a cell.
    """

    C: float
    spread: float
    log_size: np.ndarray
    loss: np.ndarray
    cell: np.ndarray

    @property
    def n_sizes(self) -> int:
        """Number of distinct sizes."""
        return int(self.cell[-1]) + 1

    @property
    def sizes(self) -> tuple[float, float]:
        """Smallest and largest size."""
        return float(np.exp(self.log_size[0])), float(np.exp(self.log_size[-1]))

    @property
    def spacing(self) -> float:
        """Mean distance of neighbouring log sizes."""
        return float(self.log_size[-1] - self.log_size[0]) / max(self.n_sizes - 1, 1)

    def __str__(self) -> str:
        return f"{self.C:.3g} FLOPs"


def read_budgets(runs: Runs, size: str, column: str | None, tolerance: float) -> list[Budget]:
    """The budgets of a table in order of compute.

    Parameters
    ----------
    runs : Runs
        With columns N, D and C.
    size : {"N", "D"}
        What the profiles are drawn against.
    column : str, optional
        Column whose values name the budgets; without, runs whose FLOPs lie within `tolerance` of a common value.
    tolerance : float
        Relative; 0.1 is ten per cent.

    Raises
    ------
    RunsError, FitError
        A column is missing, or a value is not a number above 0.
    """
    C, sizes = (_positive(runs, name) for name in ("C", size))
    loss = losses(runs)
    labels = _cluster(np.log(C), np.log1p(tolerance)) if column is None else _by_column(runs, column)
    budgets = [_budget(C[rows], sizes[rows], loss[rows]) for rows in labels]
    return sorted(budgets, key=lambda budget: budget.C)


def _positive(runs: Runs, name: str) -> np.ndarray:
    values = np.asarray(runs[name], dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if bad.size:
        raise FitError(
            f"run {bad[0] + 1} of {runs.source}: {name} is {values[bad[0]]:.6g}; isoflop needs finite values above 0"
        )
    return values


def _by_column(runs: Runs, column: str) -> list[np.ndarray]:
    named = [str(value) for value in runs[column].tolist()]
    return [np.flatnonzero(np.asarray(named) == name) for name in dict.fromkeys(named)]


def _cluster(log_C: np.ndarray, half_width: float) -> list[np.ndarray]:
    """Rows of each group: the interval of twice `half_width` that holds the most runs first, then of those left."""
    left = np.argsort(log_C, kind="stable")
    groups = []
    while left.size:
        values = log_C[left]
        # equal FLOPs that were computed in two ways differ by rounding
        ends = np.searchsorted(values, values + 2.0 * half_width + 1e-9, side="right")
        start = int(np.argmax(ends - np.arange(left.size)))
        groups.append(left[start : ends[start]])
        left = np.delete(left, np.s_[start : ends[start]])
    return groups


def cells(log_size: np.ndarray, apart: float) -> np.ndarray:
    """Number the distinct sizes of sorted runs from 0: a new one wherever the step is larger than `apart`."""
    return np.concatenate([[0], np.cumsum(np.diff(log_size) > apart)])


def _budget(C: np.ndarray, sizes: np.ndarray, loss: np.ndarray) -> Budget:
    order = np.argsort(sizes, kind="stable")
    log_size, log_C = np.log(sizes[order]), np.log(C)
    spread = float(np.expm1(np.abs(log_C - log_C.mean()).max()))
    return Budget(float(np.exp(log_C.mean())), spread, log_size, loss[order], cells(log_size, SAME_SIZE))
