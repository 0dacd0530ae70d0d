"""Forecasts of a table of curves, cross-fitted by family, and how each law does alone.

    python -m benchmarks.curve_families CURVES.csv.gz TASKS.csv
    python -m benchmarks.curves TASKS.csv --family family

TASKS is what `bayescale curves` takes, with the known y of the targets in it. Prints, for each group, the root mean
squared log error of the posterior median of each law with its discrepancy, and of the mixture cross-fitted by family;
its log density and the coverage of its bands, averaged over tasks; and the seconds.
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


LEVELS = {50: ("q250", "q750"), 80: ("q100", "q900"), 90: ("q050", "q950"), 95: ("q025", "q975"), 99: ("q005", "q995")}


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


def mixture(tasks: list, seed: int) -> pd.DataFrame:
    """Scores of the cross-fitted forecast, one row a task; prints how long all forecasts took."""
    began, spent = time.perf_counter(), time.process_time()
    made = forecast_curves(tasks, cross_fit=True, seed=seed).table
    took = time.perf_counter() - began, time.process_time() - spent
    print(f"{len(tasks)} tasks, cross-fitted: {took[0]:.0f} s, {took[1]:.0f} s of the processor")
    truth = np.concatenate([task.truth for task in tasks])
    scores = pd.DataFrame({"mixture": np.log(made["q500"] / truth) ** 2, "log density": made["logp"]})
    for level, (low, high) in LEVELS.items():
        scores[f"{level} %"] = ((made[low] <= truth) & (truth <= made[high])).astype(float)
    found = scores.groupby(made["task"]).mean().loc[[task.name for task in tasks]].reset_index(drop=True)
    return found.assign(mixture=np.sqrt(found["mixture"]))


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
        table = pd.concat([table, mixture(tasks, arguments.seed)], axis=1)
    table["group"] = [task.name.split("|")[0] for task in tasks]
    # as the table is usually scored: curves of language models together
    whole = table["group"].where(table["group"].isin(["IC", "ColPret", "DD"]), "NLP+Nano")
    for groups in (table["group"], whole):
        by = table.drop(columns="group").groupby(groups)
        print(by.mean().assign(tasks=by.size()).round(4).to_string())


if __name__ == "__main__":
    main()
