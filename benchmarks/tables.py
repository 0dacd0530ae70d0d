"""The tables of runs that are fitted: the Epoch Chinchilla table where it is at hand, simulated ones otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bayescale import Model, Runs
from bayescale.laws import get

__all__ = ["COLUMNS", "TRUTH", "load", "model", "simulate", "without_highest", "write"]

COLUMNS = {"N": "Model Size", "C": "Training FLOP"}
# Near the posterior medians of the Epoch table, so that a simulated table is about as hard.
TRUTH = {"E": 1.8, "a": 0.36, "b": 0.36, "alpha": 0.34, "beta": 0.36, "sigma": 0.0037, "nu": 1.6}
ROWS = 245


def model() -> Model:
    """What every method fits: the Chinchilla law at N0 = 1e9, D0 = 2e10, Student-t noise on log loss, our priors."""
    return Model(get("chinchilla")())


def simulate(rows: int, seed: int = 0) -> Runs:
    """Runs from the law itself, over the sizes and budgets of the Chinchilla paper.

    Parameters
    ----------
    rows : int
        Runs to simulate.
    seed : int
        Seed of sizes, budgets and noise.
    """
    generator = np.random.default_rng(seed)
    N = np.exp(generator.uniform(np.log(5e7), np.log(1.5e10), rows))
    D = np.exp(generator.uniform(np.log(2e9), np.log(3e11), rows))
    law = get("chinchilla")()
    mean = np.asarray(law.loss(N, D, **{name: TRUTH[name] for name in law.parameters}))
    loss = mean * np.exp(TRUTH["sigma"] * generator.standard_t(TRUTH["nu"], rows))
    return Runs.from_arrays(N=N, D=D, loss=loss, source=f"{rows} simulated runs")


def load(path: Path) -> Runs:
    """The table at `path`, or a simulated one of the same size, said in a sentence."""
    if path.is_file():
        header = path.open().readline()
        return Runs.read(path, columns={name: column for name, column in COLUMNS.items() if column in header})
    print(
        f"{path} is not there: every method is measured on {ROWS} runs simulated from the Chinchilla law over the same "
        "sizes instead (name a table with --table or BAYESCALE_BENCH_TABLE)."
    )
    return simulate(ROWS)


def without_highest(runs: Runs, count: int = 5) -> Runs:
    """A second table of similar size: the same without its highest losses."""
    kept = np.argsort(runs["loss"])[: len(runs) - count]
    return Runs.from_arrays(
        **{name: runs[name][kept] for name in ("N", "D", "loss")}, source="without the highest losses"
    )


def write(runs: Runs, path: Path) -> Path:
    """The columns N, D and loss as CSV, which every cold process reads."""
    columns = np.column_stack([runs[name] for name in ("N", "D", "loss")])
    np.savetxt(path, columns, delimiter=",", header="N,D,loss", comments="", fmt="%.17g")
    return path
