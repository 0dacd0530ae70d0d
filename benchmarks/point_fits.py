"""The Huber fit from 4,500 starts and on 4,000 resamples, against a loop over scipy's L-BFGS-B with exact gradients.

Both minimise the sum of Huber's loss (delta 1e-3) on log loss in the log-sum-exp form. The loop is timed on a fraction
of the work, evenly spread over it, and scaled up; what is scaled is printed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescale.laws.chinchilla import Chinchilla
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.optimisation.starts import hoffmann
from bayescale.procedures.huber import Huber, HuberSettings
from bayescale.runs import Runs
from benchmarks.scipy_loop import DELTA

__all__ = ["against_scipy"]

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


def _ours(runs: Runs, repeats: int) -> tuple[list[float], list[float], Any, Any, Any]:
    """Seconds of the starts and of the resamples in each repeat after the first, and what was found."""
    procedure = Huber(Model(Chinchilla(), Noise("normal")), HuberSettings(delta=DELTA, replicates=REPLICATES))
    problem = procedure._problem(runs, 0)
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats + 1):
        began = time.perf_counter()
        found = procedure.search(problem, 0)
        middle = time.perf_counter()
        ends = procedure.replicate(problem, found)
        for kept, spent in zip(seconds, (middle - began, time.perf_counter() - middle), strict=True):
            kept.append(spent)
    return seconds[0][1:], seconds[1][1:], problem, found, ends


def against_scipy(runs: Runs, repeats: int = 5, some_starts: int = 100, some_replicates: int = 40) -> pd.DataFrame:
    """Both side by side.

    Parameters
    ----------
    runs : Runs
        N, D and loss.
    repeats : int
        Warm repeats of ours, of which the median counts.
    some_starts, some_replicates : int
        How much of the loop is timed.

    Returns
    -------
    pandas.DataFrame
        One row for the starts, the resamples and both: seconds of ours and of the loop (scaled), their ratio, and the
        share of searches of each that reached the best objective.
    """
    first, second, problem, found, ends = _ours(runs, repeats)
    law = Chinchilla(N0=1.0, D0=1.0)
    grid = hoffmann(law, problem.objective.coordinates)
    picked = np.linspace(0, STARTS - 1, some_starts).astype(int)
    counts = np.asarray(problem.table.count)[:, : len(runs)].astype(float)
    loop, values = _loop(runs, grid[picked], np.repeat(counts[:1], some_starts, axis=0))
    best = ends.position[0].copy()
    usual = Chinchilla()
    best[1] += best[3] * np.log(usual.N0)
    best[2] += best[4] * np.log(usual.D0)
    chosen = 1 + np.linspace(0, REPLICATES - 1, some_replicates).astype(int)
    again, resampled = _loop(runs, np.repeat(best[None], some_replicates, axis=0), counts[chosen])
    print(
        f"  scipy: {some_starts} of {STARTS} starts in {loop:.2f} s and {some_replicates} of {REPLICATES} resamples in "
        f"{again:.2f} s, scaled up"
    )
    lowest = min(float(ends.value[0]), values.min())
    lower = np.minimum(ends.value[chosen], resampled)
    scaled = (loop * STARTS / some_starts, again * REPLICATES / some_replicates)
    rows = [
        ("starts", np.median(first), scaled[0], _share(found.values, lowest), _share(values, lowest)),
        ("resamples", np.median(second), scaled[1], _share(ends.value[chosen], lower), _share(resampled, lower)),
        ("both", np.median(np.add(first, second)), sum(scaled), np.nan, np.nan),
    ]
    table = pd.DataFrame(rows, columns=["what", "bayescale", "scipy", "bayescale_at_best", "scipy_at_best"])
    table.insert(3, "ratio", table["scipy"] / table["bayescale"])
    table["objective"] = lowest
    return table


def _share(values: np.ndarray, best: Any) -> float:
    return float((values <= np.asarray(best) * (1.0 + SAME)).mean())
