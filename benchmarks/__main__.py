"""``python -m benchmarks``: everything, in one run."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

SECTIONS = ("warm", "cold", "growth", "point-fits")
HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "shared" / "data" / "epoch2024_chinchilla_svg_extracted.csv"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--table", type=Path, default=os.environ.get("BAYESCALE_BENCH_TABLE", TABLE), help="the runs to fit"
    )
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS, help="sections to run")
    parser.add_argument("--repeats", type=int, default=5, help="warm runs and cold processes of each kind (default 5)")
    parser.add_argument("--draws", type=int, default=1000, help="draws a chain in the side by side (default 1000)")
    parser.add_argument("--most-rows", type=int, default=1_000_000, help="end of the growth in rows (default 1000000)")
    parser.add_argument("--most-chains", type=int, default=1024, help="end of the growth in chains (default 1024)")
    parser.add_argument("--limit", type=float, default=1200, help="seconds for one point of the growth (default 1200)")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder for the results")
    return parser.parse_args()


def _missing(sections: Sequence[str]) -> list[str]:
    needed = ("numpyro", "matplotlib") + (("pymc", "nutpie") if {"warm", "cold"} & set(sections) else ())
    return [name for name in needed if importlib.util.find_spec(name) is None]


def _title(text: str) -> None:
    print(f"\n{text}", flush=True)


def _speed(arguments: argparse.Namespace) -> bool:
    """Side by side; returns whether all posteriors agree."""
    from benchmarks import speed, tables, targets
    from benchmarks.warm import Line

    runs = tables.load(Path(arguments.table))
    lines: list[Line] = []
    traced, processes, agree = 0, pd.DataFrame(), True
    if "warm" in arguments.only:
        _title(f"one process, {len(runs)} runs, 4 chains x {arguments.draws} draws")
        lines, traced = speed.side_by_side(runs, arguments.draws, arguments.repeats)
        speed.table_of(lines).to_csv(arguments.out / "warm.csv", index=False, float_format="%.6g")
        gaps = speed.agreement(lines)
        gaps.to_csv(arguments.out / "agreement.csv", index=False, float_format="%.4g")
        agree = bool(gaps["monte_carlo"].all())
        verdict = "all within Monte Carlo error" if agree else "THE POSTERIORS DIFFER: the speeds below mean nothing"
        print(f"  posterior means differ by at most {gaps['sd'].max():.3f} posterior sd; {verdict}")
    if "cold" in arguments.only:
        _title("whole processes, in turn")
        processes = speed.cold_processes(runs, arguments.repeats)
        processes.to_csv(arguments.out / "cold.csv", index=False, float_format="%.4g")
        print(processes[processes["repeat"] > 0].groupby("process")["seconds"].agg(["median", "min", "max"]).round(1))
    found = targets.ratios(lines, traced, processes)
    if not found.empty:
        found.to_csv(arguments.out / "ratios.csv", index=False, float_format="%.4g")
        _title("ratios of medians, ours over theirs")
        print(found.to_string(index=False, float_format=lambda value: f"{value:.3g}"))
    return agree


def _growth(arguments: argparse.Namespace) -> None:
    from benchmarks import growth, picture

    _title("growth with rows: 4 chains x 1000 draws; x 100 draws from 100,000 rows on")
    rows = pd.DataFrame(growth.by_rows([r for r in growth.ROWS if r <= arguments.most_rows], arguments.limit))
    _title(f"growth with chains: {growth.TABLE} rows, 250 draws a chain")
    chains = pd.DataFrame(growth.by_chains([c for c in growth.CHAINS if c <= arguments.most_chains], arguments.limit))
    rows.to_csv(arguments.out / "rows.csv", index=False, float_format="%.6g")
    chains.to_csv(arguments.out / "chains.csv", index=False, float_format="%.6g")
    if not rows.empty and rows["rows"].max() >= 1_000_000:
        print(f"  a million rows: {rows['memory'].iloc[-1]:.2f} GB at most (target: under 4 GB)")
    print(f"  {picture.draw(rows, chains, arguments.out / 'growth.png')}")


def _point_fits(arguments: argparse.Namespace) -> None:
    from benchmarks import point_fits, tables

    runs = tables.without_highest(tables.load(Path(arguments.table)))
    _title(f"Huber fit of {len(runs)} runs: 4,500 starts and 4,000 resamples, against a loop over scipy")
    found = point_fits.against_scipy(runs, arguments.repeats)
    found.to_csv(arguments.out / "point_fits.csv", index=False, float_format="%.6g")
    print(found.to_string(index=False, float_format=lambda value: f"{value:.6g}"))


def main() -> int:
    """Run what was asked for; 0 done, 1 the methods' posteriors differ, 2 something is not installed."""
    arguments = _arguments()
    missing = _missing(arguments.only)
    if missing:
        print(f"the benchmarks need {', '.join(missing)}: `make bench` installs them, or pip install -e '.[bench]'")
        return 2
    from benchmarks import machine

    arguments.out.mkdir(parents=True, exist_ok=True)
    described = machine.describe()
    print("\n".join(f"{name}: {value}" for name, value in described.items()))
    pd.Series(described).to_csv(arguments.out / "machine.csv", header=["value"], index_label="what")
    agree = True
    if {"warm", "cold"} & set(arguments.only):
        agree = _speed(arguments)
    if "growth" in arguments.only:
        _growth(arguments)
    if "point-fits" in arguments.only:
        _point_fits(arguments)
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
