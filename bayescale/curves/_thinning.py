"""Curves of any length as rows of one length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bayescale.curves._discrepancy import Rows
from bayescale.curves._tasks import Task

__all__ = ["Origin", "shortened", "thinned"]

POINTS = 48
# a median of many normal values has this times the variance of their mean
MEDIAN = 1.57
# the residuals of a bin's points say at most this much about the noise
MOST_DOF = 60.0
LAST = 4
# the part of a curve that the weights of the laws are judged on, and what has to be left before it
HELD_OUT = 0.3
FEWEST = 3


class Origin(NamedTuple):
    """Where u and log y of each curve are counted from; arrays (curve,)."""

    log_x: np.ndarray
    log_y: np.ndarray


class _Binned(NamedTuple):
    log_x: np.ndarray
    log_y: np.ndarray
    points: np.ndarray
    within: float
    dof: float


def _binned(task: Task) -> _Binned:
    """All points where at most POINTS have different x; else POINTS bins of equal width in log x.

    Several points at one x, or in one bin, become their median (the mean of two); their spread says what the noise is.
    """
    log_x, log_y = np.log(task.x), np.log(task.y)
    places, index = np.unique(log_x, return_inverse=True)
    repeats = len(places) < len(log_x)
    if len(places) > POINTS:
        edges = np.linspace(log_x[0], log_x[-1], POINTS + 1)
        index = np.clip(np.searchsorted(edges, log_x, side="right") - 1, 0, POINTS - 1)
    bins = [np.flatnonzero(index == k) for k in np.unique(index)]
    count = np.array([len(bin_) for bin_ in bins], dtype=np.float64)
    centre = np.array([log_x[bin_].mean() for bin_ in bins])
    middle = np.array([np.median(log_y[bin_]) for bin_ in bins])
    extra = (count - 1).sum()
    if not extra:
        return _Binned(centre, middle, count, 0.0, 0.0)
    if repeats:
        spread = float(np.median([log_y[log_x == at].var(ddof=1) for at in places if (log_x == at).sum() > 1]))
        return _Binned(centre, middle, count, max(spread, 1e-12), min(extra, MOST_DOF))
    second = np.abs(np.diff(log_y, 2)) / np.sqrt(6.0)
    spread = float((np.median(second) / 0.6745) ** 2)
    return _Binned(centre, middle, count, max(spread, 1e-12), min(0.6 * extra, MOST_DOF))


def thinned(tasks: Sequence[Task]) -> tuple[Rows, Origin]:
    """Rows of one length for all curves, and where they are counted from."""
    shape = (len(tasks), POINTS)
    u, log_y, step, used = (np.zeros(shape) for _ in range(4))
    spread = np.ones(shape)
    within, dof, spacing, end, level = (np.zeros(len(tasks)) for _ in range(5))
    for k, task in enumerate(tasks):
        binned = _binned(task)
        size = len(binned.log_x)
        end[k], level[k] = binned.log_x[-1], np.median(binned.log_y[-3:])
        u[k, :size], log_y[k, :size] = binned.log_x - end[k], binned.log_y - level[k]
        step[k, 1:size], used[k, :size] = np.diff(binned.log_x), 1.0
        spread[k, :size] = np.where(binned.points > 2, MEDIAN / binned.points, 1.0 / binned.points)
        within[k], dof[k] = binned.within, binned.dof
        spacing[k] = max(np.diff(binned.log_x)[-LAST:].mean(), 1e-6)
    return Rows(u, log_y, step, spread, used, within, dof, spacing), Origin(end, level)


def shortened(rows: Rows) -> Rows:
    """The curves without their last points, HELD_OUT of them; those too short to lose one stay whole."""
    used = np.array(rows.used)
    for k, size in enumerate(used.sum(axis=1).astype(int)):
        used[k, min(size, max(FEWEST, size - max(1, round(HELD_OUT * size)))) :] = 0.0
    return rows._replace(used=used)
