"""ATLAS on simulated runs of its paper's design, with truths drawn from the prior: time, convergence, coverage.

``python -m benchmarks.atlas --languages 10 --tables 4`` fits four tables and prints one line each and the coverage of
all; ``--rows mono`` (or ``bilingual``, ``fresh``) keeps those runs only, to see what a design leaves open. ``--law``,
``--noise`` and ``--prior`` change what is simulated and fitted alike; ``--run-sd`` what is simulated alone.
``--splits`` scores laws on held-out runs of each table in place of the fit, as `bayescale languages` does.
``--rows-out FILE`` writes one row for each value of a parameter, as tables are fitted, and continues a file: tables in
it are not fitted again. ``--only-summary`` prints the coverage of what is there. Exit status 1: some table of
this run was not converged, and said so.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescale.evaluation.languages import language_splits
from bayescale.fits import Fit
from bayescale.lab import MultilingualDesign, SimulatedRuns, simulate_runs
from bayescale.laws import parse
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.prior import parse_assignments
from bayescale.procedures import NUTS
from bayescale.runs import Runs

SIGMA = 0.005
# What the study asks of a table with four chains.
MAX_RHAT, MIN_ESS = 1.01, 400


def model_of(law: str, noise: str, priors: Sequence[str] = ()) -> Model:
    """The model that is simulated from and fitted."""
    made = Model(parse(law), Noise.parse(noise)).with_priors(sigma=f"LogNormal(log({SIGMA}), 1.0)")
    return made.with_priors(**parse_assignments(priors))


def chosen(frame: pd.DataFrame, rows: str) -> pd.DataFrame:
    """The rows of a design that a study keeps."""
    tokens = frame[[name for name in frame if str(name).startswith("tokens[")]].to_numpy()
    languages = (tokens > 0).sum(axis=1)
    unique = frame[[name for name in frame if str(name).startswith("unique[")]].to_numpy()
    masks = {
        "all": np.ones(len(frame), dtype=bool),
        "mono": languages == 1,
        "bilingual": languages == 2,
        "fresh": (tokens <= unique).all(axis=1),
    }
    return frame[masks[rows]].reset_index(drop=True)


def scored(fit: Fit, made: SimulatedRuns, table: int, seconds: float) -> list[dict[str, Any]]:
    """One row for each value of a parameter: its truth, and the central 90 % of its posterior."""
    found, rows = fit.diagnostics, []
    about = {"rhat": found.max_rhat, "ess": found.min_ess, "divergences": found.divergences, "ok": found.ok}
    for name in made.model.law.parameters:
        low, high = (np.atleast_1d(ends) for ends in np.quantile(fit.theta[name], [0.05, 0.95], axis=0))
        for value, truth in enumerate(np.atleast_1d(made.truth[name])):
            inside = bool(low[value] <= truth <= high[value])
            where = {"table": table, "parameter": name, "value": value, "truth": truth}
            rows.append(
                where | {"low": low[value], "high": high[value], "covered": inside} | about | {"seconds": seconds}
            )
    return rows


def coverage(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each parameter: how many values, the share inside their 90 % intervals, and standard errors of that share.

    ``se`` takes the values for independent; ``se_tables`` takes tables for independent, and values of one for alike.
    """
    groups = rows.groupby("parameter", sort=False)["covered"]
    found = pd.DataFrame({"values": groups.size(), "covered": groups.mean()})
    found["se"] = np.sqrt(0.9 * 0.1 / found["values"])
    by_table = rows.groupby(["parameter", "table"], sort=False)["covered"].mean().groupby("parameter", sort=False)
    found["se_tables"] = by_table.std() / np.sqrt(by_table.size())
    return found


def summarise(rows: pd.DataFrame) -> None:
    """Print the coverage of all tables, and of those that were found converged."""
    tables = rows.drop_duplicates("table")
    print(
        f"{len(tables)} tables, {int(tables['ok'].sum())} ok, R-hat at most {tables['rhat'].max():.4f}, least ESS ",
        end="",
    )
    print(
        f"{tables['ess'].min():.0f}, {int((tables['divergences'] > 0).sum())} with divergences, median seconds ", end=""
    )
    print(f"{tables['seconds'].median():.0f}\n{coverage(rows).to_string(float_format='%.3f')}", flush=True)


def parsed() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--languages", type=int, default=10)
    parser.add_argument("--tables", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="seed of the first table")
    parser.add_argument("--rows", default="all", choices=["all", "mono", "bilingual", "fresh"])
    parser.add_argument("--law", default="atlas")
    parser.add_argument("--noise", default="normal")
    parser.add_argument("--prior", action="append", default=[])
    parser.add_argument("--run-sd", type=float, default=0.0)
    parser.add_argument("--splits", action="store_true")
    parser.add_argument("--rows-out", type=Path, help="write and continue a table of all values (CSV)")
    parser.add_argument("--only-summary", action="store_true", help="summarise the rows in --rows-out")
    arguments = parser.parse_args()
    if arguments.only_summary and not (arguments.rows_out and arguments.rows_out.exists()):
        parser.error("--only-summary needs --rows-out FILE, a file that is there")
    return arguments


def fitted(model: Model, made: SimulatedRuns, runs: Runs, seed: int) -> tuple[list[dict[str, Any]], bool]:
    """Fit one table and print how it went; its rows, and whether it converged."""
    cpu, wall = time.process_time(), time.perf_counter()
    fit = NUTS(model).fit(runs, seed=seed)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    found, stats = fit.diagnostics, fit.tree["sample_stats"]
    print(
        f"table {seed}: {len(runs)} rows, CPU {cpu:.0f} s, wall {wall:.0f} s "
        f"(compiling {fit.record.seconds['compile']:.0f}), {float(stats['n_steps'].mean()):.1f} leapfrogs, "
        f"R-hat {found.max_rhat:.4f}, ESS {found.min_ess:.0f}, divergences {found.divergences}, ok {found.ok}",
        flush=True,
    )
    for sentence in (*found.warnings, *found.notes):
        print(f"  - {sentence[:300]}", flush=True)
    converged = found.max_rhat <= MAX_RHAT and found.min_ess >= MIN_ESS and not found.divergences
    return scored(fit, made, seed, wall), converged


def main() -> None:
    """Simulate, fit and print."""
    arguments = parsed()
    into = arguments.rows_out
    rows = pd.read_csv(into) if into is not None and into.exists() else pd.DataFrame(columns=["table"])
    if arguments.only_summary:
        return summarise(rows)
    model = model_of(arguments.law, arguments.noise, arguments.prior)
    wide = arguments.languages > 20
    design = MultilingualDesign(languages=arguments.languages, unimax=50 if wide else 84).frame()
    design = chosen(design, arguments.rows)
    sound = True
    for seed in range(arguments.first, arguments.first + arguments.tables):
        if seed in set(rows["table"]):
            continue
        made = simulate_runs(model, design, {"sigma": SIGMA}, seed=seed, run_sd=arguments.run_sd)
        runs = Runs.from_arrays(**{str(name): made.frame[name].to_numpy() for name in made.frame})
        if arguments.splits:
            print(f"table {seed}: {len(runs)} rows\n{language_splits(runs, seed=seed)!r}", flush=True)
            continue
        new, converged = fitted(model, made, runs, seed)
        sound &= converged
        rows = pd.DataFrame(new) if rows.empty else pd.concat([rows, pd.DataFrame(new)], ignore_index=True)
        if into is not None:
            rows.to_csv(into, index=False)  # what there is, should it be stopped
    if not rows.empty:
        summarise(rows)
    sys.exit(0 if sound else 1)


if __name__ == "__main__":
    main()
