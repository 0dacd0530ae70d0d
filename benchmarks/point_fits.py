"""The Huber fit from 4,500 starts and on 4,000 resamples, against a loop over scipy's L-BFGS-B with exact gradients.

Both minimise the sum of Huber's loss (delta 1e-3) on log loss in the log-sum-exp form, and both are given the same
4,500 starts. Ours merges those that share their exponents into one search (docs/point-fits.md), which is most of the
gain on that half of the work: the last two rows are ours without any merging. Both take turns, so that other work on
the machine slows both; the loop is timed on a fraction of the work, evenly spread over it, and scaled up, and what is
scaled is printed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescale.laws.chinchilla import Chinchilla
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.optimisation.newton import Ends
from bayescale.optimisation.starts import hoffmann
from bayescale.procedures._point_fit import Found, Problem
from bayescale.procedures.huber import Huber, HuberSettings
from bayescale.runs import Runs
from benchmarks.scipy_loop import DELTA

__all__ = ["against_scipy"]

MODEL = Model(Chinchilla(), Noise("normal"))
STARTS, REPLICATES = 4500, 4000
# The same objective: within a millionth of the best.
SAME = 1e-6


def _loop(runs: Runs, starts: np.ndarray, counts: np.ndarray) -> tuple[float, np.ndarray]:
    """Seconds, and the objective of each, in a process whose BLAS has one thread.

    With more, scipy's L-BFGS-B spends most of its time waking threads for products of vectors of five numbers.
    """
    environment = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        work, done = Path(folder) / "work.npz", Path(folder) / "done.npz"
        np.savez(work, N=runs["N"], D=runs["D"], loss=runs["loss"], starts=starts, counts=counts)
        command = [sys.executable, "-m", "benchmarks.scipy_loop", str(work), str(done)]
        subprocess.run(command, env=environment, check=True)
        with np.load(done) as found:
            return float(found["seconds"]), found["values"]


@dataclass(frozen=True)
class _Turn:
    """Seconds of one repeat, and what was found."""

    starts: float
    unmerged: float
    resamples: float
    found: Found
    every: Found
    ends: Ends


def _ours(problem: Problem) -> _Turn:
    """The starts with merging and without, and the resamples from what the former found."""
    settings = HuberSettings(delta=DELTA, replicates=REPLICATES)
    merging, following = (Huber(MODEL, replace(settings, merge=merge)) for merge in (True, False))
    marks = [time.perf_counter()]
    found = merging.search(problem, 0)
    marks.append(time.perf_counter())
    ends = merging.replicate(problem, found)
    marks.append(time.perf_counter())
    every = following.search(problem, 0)
    marks.append(time.perf_counter())
    starts, resamples, unmerged = np.diff(marks)
    return _Turn(starts, unmerged, resamples, found, every, ends)


def _in_raw_units(position: np.ndarray) -> np.ndarray:
    """Coordinates at N0 = 1e9 and D0 = 2e10 as those of scipy's loop, which has A and B of one parameter and token."""
    E, a, b, alpha, beta = position
    return np.array([E, a + alpha * np.log(MODEL.law.N0), b + beta * np.log(MODEL.law.D0), alpha, beta])


def against_scipy(runs: Runs, repeats: int = 5, some_starts: int = 100, some_replicates: int = 40) -> pd.DataFrame:
    """Both side by side.

    Parameters
    ----------
    runs : Runs
        N, D and loss.
    repeats : int
        Turns of both, ours warm; medians count.
    some_starts, some_replicates : int
        How much of the loop is timed in each turn; other ones in each.

    Returns
    -------
    pandas.DataFrame
        One row for the starts, the resamples and both, and two without merging: seconds of ours and of the loop
        (scaled), their ratio, the number of searches, and the share of starts or resamples of each that reached the
        best objective.
    """
    problem = Huber(MODEL, HuberSettings(delta=DELTA, replicates=REPLICATES))._problem(runs, 0)
    best = _ours(problem).ends
    grid = hoffmann(Chinchilla(N0=1.0, D0=1.0), problem.objective.coordinates)
    warm = np.repeat(_in_raw_units(best.position[0])[None], some_replicates, axis=0)
    counts = np.asarray(problem.table.count)[:, : len(runs)].astype(float)
    turns, loops, values, lower = [], [], [], []
    for turn in range(repeats):
        picked = _spread(STARTS, some_starts, turn, repeats)
        chosen = 1 + _spread(REPLICATES, some_replicates, turn, repeats)
        turns.append(_ours(problem))
        first, reached = _loop(runs, grid[picked], np.repeat(counts[:1], some_starts, axis=0))
        second, again = _loop(runs, warm, counts[chosen])
        loops.append((first * STARTS / some_starts, second * REPLICATES / some_replicates))
        values.append(reached)
        lower.append((best.value[chosen], again))
        print(
            f"  turn {turn + 1}: scipy {some_starts} starts in {first:.2f} s, {some_replicates} resamples in "
            f"{second:.2f} s (scaled {loops[-1][0]:.1f} s and {loops[-1][1]:.1f} s); ours {turns[-1].starts:.3f} s and "
            f"{turns[-1].resamples:.3f} s, without merging {turns[-1].unmerged:.2f} s; "
            f"{sum(loops[-1]) / (turns[-1].starts + turns[-1].resamples):.0f} times"
        )
    return _table(turns, np.array(loops), np.concatenate(values), np.concatenate(lower, axis=1))


def _spread(total: int, some: int, turn: int, turns: int) -> np.ndarray:
    """Evenly spread over all of the work, and others in each turn."""
    return (np.arange(some) * total // some + turn * total // (some * turns)) % total


def _table(turns: list[_Turn], loops: np.ndarray, values: np.ndarray, resampled: np.ndarray) -> pd.DataFrame:
    last, (ours, theirs) = turns[-1], resampled
    lowest, lower = min(float(last.ends.value[0]), values.min()), np.minimum(ours, theirs)
    seconds = {name: np.array([getattr(turn, name) for turn in turns]) for name in ("starts", "unmerged", "resamples")}
    at_best = (_share(last.found.values, lowest), _share(values, lowest))
    every = (_share(last.every.values, lowest), at_best[1])
    again = (_share(ours, lower), _share(theirs, lower))
    neither, resamples = (np.nan, np.nan), len(last.ends.value) - 1
    whole, sums = loops.sum(axis=1), seconds["resamples"]
    rows = [
        ("starts", seconds["starts"], loops[:, 0], last.found.searched, *at_best),
        ("resamples", sums, loops[:, 1], resamples, *again),
        ("both", seconds["starts"] + sums, whole, last.found.searched + resamples, *neither),
        ("starts, none merged", seconds["unmerged"], loops[:, 0], last.every.searched, *every),
        ("both, none merged", seconds["unmerged"] + sums, whole, last.every.searched + resamples, *neither),
    ]
    names = ["what", "bayescale", "scipy", "searches", "bayescale_at_best", "scipy_at_best"]
    table = pd.DataFrame([(row[0], np.median(row[1]), np.median(row[2]), *row[3:]) for row in rows], columns=names)
    table.insert(3, "ratio", table["scipy"] / table["bayescale"])
    spread = [[edge(row[2] / row[1]) for edge in (np.min, np.max)] for row in rows]
    table.insert(4, "ratio_least", [low for low, _ in spread])
    table.insert(5, "ratio_most", [high for _, high in spread])
    table["objective"] = lowest
    return table


def _share(values: np.ndarray, best: Any) -> float:
    return float((values <= np.asarray(best) * (1.0 + SAME)).mean())
