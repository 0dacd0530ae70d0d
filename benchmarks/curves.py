"""Forecasts of a table of curves, cross-fitted by family, and how each law does alone.

    python -m benchmarks.curves TASKS.csv.gz --family family

TASKS is what `bayescale curves` takes, with the known y of the targets in it. Prints, for each family, the root mean
squared log error of the posterior median of each law with its discrepancy, and of the mixture; and the seconds.
``--bare`` leaves the discrepancy and the mixture out: each law with the noise of points alone, as it is fitted to be
compared with least squares.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
import pandas as pd

from bayescale.cli._cache import use_compilation_cache
from bayescale.curves import CurvePriors, Discrepancy, forecast_curves, read_tasks
from bayescale.curves._bands import distances, sample_bands
from bayescale.curves._shapes import SHAPES
from bayescale.curves._thinning import thinned

# far below the last digit of any curve: with such scales a residual has neither slope nor errors in common
NOTHING = 1e-5
BARE = replace(Discrepancy(), slope=(NOTHING, 0.05), shared=(NOTHING, 0.05), start=NOTHING)


def laws_alone(tasks: list, discrepancy: Discrepancy, seed: int) -> pd.DataFrame:
    """Task by law: root mean squared log error of the posterior median."""
    rows, origin = thinned(tasks)
    at = distances(tasks, origin)
    bands, _ = sample_bands(tasks, rows, at, discrepancy, seed, None)
    found = []
    for place, task in enumerate(tasks):
        grid, first = np.unique(at[place], return_index=True)
        u, log_y = np.log(task.at) - origin.log_x[place], np.log(task.truth) - origin.log_y[place]
        medians = [np.interp(u, grid, np.median(law, axis=0)[first]) for law in bands.location[place]]
        found.append([np.sqrt(np.nanmean((median - log_y) ** 2)) for median in medians])
    return pd.DataFrame(found, columns=list(SHAPES))


def mixture(tasks: list, seed: int) -> np.ndarray:
    """Root mean squared log error (task,) of the cross-fitted forecast; prints how long all forecasts took."""
    began = time.perf_counter()
    made = forecast_curves(tasks, cross_fit=True, seed=seed)
    print(f"{len(tasks)} tasks, cross-fitted: {time.perf_counter() - began:.0f} s")
    truth = np.concatenate([task.truth for task in tasks])
    squared = np.log(made.table.q500 / truth) ** 2
    return np.sqrt(squared.groupby(made.table.task).mean().loc[[task.name for task in tasks]].to_numpy())


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks")
    parser.add_argument("--family")
    parser.add_argument("--bare", action="store_true", help="laws with the noise of points alone")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    use_compilation_cache()
    tasks = read_tasks(arguments.tasks, arguments.family)
    if arguments.bare:
        table = laws_alone(tasks, BARE, arguments.seed)
    else:
        table = laws_alone(tasks, CurvePriors.published().discrepancy, arguments.seed)
        table["mixture"] = mixture(tasks, arguments.seed)
    table["family"] = [task.family for task in tasks]
    print(table.groupby("family").mean().assign(tasks=table.groupby("family").size()).round(4).to_string())


if __name__ == "__main__":
    main()
