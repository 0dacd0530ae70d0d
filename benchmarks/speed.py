"""Side by side: warm effective samples per second, a second table, agreement of the posteriors, whole processes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from bayescale import Runs
from benchmarks import cold, tables, warm
from benchmarks.measured import disagreement

__all__ = ["agreement", "cold_processes", "side_by_side", "table_of"]


def side_by_side(runs: Runs, draws: int, repeats: int) -> tuple[list[warm.Line], int]:
    """Every method on one table, 4 chains; and how many functions a fit to a second table traced."""
    lines = []
    for line in warm.ours_and_nutpie(runs, 4, draws, repeats):
        lines.append(_told(line))
    second, traced = warm.second_table(tables.without_highest(runs), 4, draws)
    lines.append(_told(second))
    print(f"  functions traced for the second table: {traced}")
    for line in warm.numpyro(runs, 4, draws):
        lines.append(_told(line))
    return lines, traced


def _told(line: warm.Line) -> warm.Line:
    print(
        f"  {line.method}, {line.state}: {line.run.seconds:.2f} s, {line.compile:.1f} s compiling, min ESS "
        f"{line.run.min_ess:.0f}, {line.run.ess_per_second:.1f}/s",
        flush=True,
    )
    return line


def table_of(lines: list[warm.Line]) -> pd.DataFrame:
    """One row a run."""
    return pd.DataFrame([_row(line) for line in lines])


def _row(line: warm.Line) -> dict[str, Any]:
    found = line.run.convergence
    return {
        "method": line.method,
        "state": line.state,
        "repeat": line.repeat,
        "seconds": line.run.seconds,
        "whole_seconds": line.run.whole,
        "compile_seconds": line.compile,
        "min_ess_bulk": min(found.ess_bulk.values()),
        "min_ess_tail": min(found.ess_tail.values()),
        "min_ess_per_second": line.run.ess_per_second,
        "max_rhat": found.max_rhat,
        "leapfrogs_per_draw": line.run.leapfrogs,
    }


def agreement(lines: list[warm.Line]) -> pd.DataFrame:
    """Largest difference of posterior means to our first run, of every run on the same table."""
    ours = next(line for line in lines if line.method == warm.OURS)
    rows = []
    for line in lines:
        if line is ours or line.state == "second table":
            continue
        gap, explained = disagreement(ours.run, line.run)
        rows.append(
            {"method": line.method, "state": line.state, "repeat": line.repeat, "sd": gap, "monte_carlo": explained}
        )
    return pd.DataFrame(rows)


def cold_processes(runs: Runs, repeats: int) -> pd.DataFrame:
    """Wall seconds of whole processes, one row each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = tables.write(runs, folder / "runs.csv")
        rows = list(cold.processes(path, folder, repeats))
    return pd.DataFrame(rows, columns=["process", "repeat", "seconds"])
