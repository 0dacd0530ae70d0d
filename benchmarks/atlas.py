"""ATLAS on simulated runs of its paper's design, with truths drawn from the prior: time, convergence, coverage.

``python -m benchmarks.atlas --languages 10 --tables 4`` fits four tables and prints one line each and the coverage of
all; ``--rows mono`` (or ``bilingual``, ``fresh``) keeps those runs only, to see what a design leaves open. ``--law``,
``--noise`` and ``--prior`` change what is simulated and fitted alike; ``--run-sd`` what is simulated alone.
``--splits`` scores laws on held-out runs of each table in place of the fit, as `bayescale languages` does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

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


def covered(fit: Fit, made: SimulatedRuns) -> dict[str, list[bool]]:
    """Whether the central 90 % of the posterior hold the truth, value by value."""
    found = {}
    for name in made.model.law.parameters:
        low, high = np.quantile(fit.theta[name], [0.05, 0.95], axis=0)
        found[name] = np.atleast_1d((made.truth[name] >= low) & (made.truth[name] <= high)).tolist()
    return found


def main() -> None:
    """Simulate, fit and print."""
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
    arguments = parser.parse_args()
    model = model_of(arguments.law, arguments.noise, arguments.prior)
    wide = arguments.languages > 20
    design = MultilingualDesign(languages=arguments.languages, unimax=50 if wide else 84).frame()
    design = chosen(design, arguments.rows)
    hits: dict[str, list[bool]] = {name: [] for name in model.law.parameters}
    for seed in range(arguments.first, arguments.first + arguments.tables):
        made = simulate_runs(model, design, {"sigma": SIGMA}, seed=seed, run_sd=arguments.run_sd)
        runs = Runs.from_arrays(**{str(name): made.frame[name].to_numpy() for name in made.frame})
        if arguments.splits:
            print(f"table {seed}: {len(runs)} rows\n{language_splits(runs, seed=seed)!r}", flush=True)
            continue
        cpu, wall = time.process_time(), time.perf_counter()
        fit = NUTS(model).fit(runs, seed=seed)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        found, stats = fit.diagnostics, fit.tree["sample_stats"]
        for name, inside in covered(fit, made).items():
            hits[name] += inside
        compiling = fit.record.seconds["compile"]
        print(
            f"table {seed}: {len(runs)} rows, CPU {cpu:.0f} s, wall {wall:.0f} s (compiling {compiling:.0f}), "
            f"{float(stats['n_steps'].mean()):.1f} leapfrogs, R-hat {found.max_rhat:.4f}, ESS {found.min_ess:.0f}, "
            f"divergences {found.divergences}, ok {found.ok}",
            flush=True,
        )
        for sentence in (*found.warnings, *found.notes):
            print(f"  - {sentence[:300]}", flush=True)
        running = {name: f"{np.mean(values):.2f} of {len(values)}" for name, values in hits.items()}
        print(f"  90 % intervals cover, so far: {running}", flush=True)


if __name__ == "__main__":
    main()
