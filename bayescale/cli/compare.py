"""Fit one table by several procedures, side by side, and say whether any two disagree beyond their uncertainties."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescale.cli._arguments import (
    add_table,
    assignments,
    at_least,
    column_names,
    folder,
    procedure_settings,
    quantity,
)
from bayescale.cli._output import emit, progress_bar

if TYPE_CHECKING:
    from bayescale.comparison import Comparison

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale compare` takes."""
    add_table(parser)
    parser.add_argument("--law", default="chinchilla", metavar="NAME", help="see `bayescale laws` (default chinchilla)")
    parser.add_argument(
        "--procedures", metavar="A,B,C", help="which to compare, see `bayescale procedures` (default: all of them)"
    )
    parser.add_argument(
        "--flops", nargs="+", type=quantity, metavar="C",
        help="training FLOPs of N*, D* and loss, e.g. 1e24; the first is the one that is compared (default: ten times "
        "the largest of the table)",
    )  # fmt: skip
    parser.add_argument(
        "--holdout", type=quantity, metavar="FACTOR",
        help="also fit the runs with C <= Cmax/FACTOR alone, and score the forecasts of those with C >= Cmax/2",
    )  # fmt: skip
    parser.add_argument("--noise", metavar="NAME", help="of the procedures with a likelihood, as in fit")
    parser.add_argument("--drop-bad", action="store_true", help="leave out rows that cannot be used, and count them")
    parser.add_argument("--replicates", type=at_least(0), help="bootstrap replicates (default 1000; 0: points alone)")
    parser.add_argument("--draws", type=at_least(4), help="draws of each chain of nuts (default 1000)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="PROCEDURE.SETTING=VALUE",
        help="any setting of one procedure: --set isoflop.window=5",
    )  # fmt: skip
    parser.add_argument(
        "--sensitivity", action="store_true",
        help="how the point answers move with the highest losses, each run, the Huber delta, the parabola's window, "
        "and how N and C are counted",
    )  # fmt: skip
    parser.add_argument(
        "--alternative", action="append", default=[], metavar="NAME=COLUMN",
        help="for --sensitivity, another column that could be N, D or C: N=params_no_embed",
    )  # fmt: skip
    parser.add_argument(
        "--paired", type=at_least(0), metavar="COUNT",
        help="common tables to which fast procedures are refitted, so that the verdict judges differences in which "
        "shared errors cancel (default 100; 0: spreads are taken as independent)",
    )  # fmt: skip
    parser.add_argument("--plots", metavar="FOLDER", help="write the picture of the intervals here, PNG and PDF")


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale compare`: 1 where a fit says not to trust it, 2 where nothing can be fitted."""
    from bayescale.cli._cache import use_compilation_cache
    from bayescale.comparison import columns_needed, compare
    from bayescale.runs import Runs

    procedures = None if arguments.procedures is None else arguments.procedures.split(",")
    plan = _plan(arguments)
    pictures_to = folder(arguments.plots, "--plots") if arguments.plots else None
    runs = Runs.read(
        arguments.runs,
        columns=column_names(arguments),
        where=arguments.where,
        drop_bad=arguments.drop_bad,
        needs=columns_needed(arguments.law, procedures, arguments.noise),
    )
    for warning in runs.warnings:
        print(f"bayescale compare: {warning}", file=sys.stderr)
    use_compilation_cache()
    with progress_bar() as progress:
        made = compare(
            runs,
            arguments.law,
            procedures,
            flops=arguments.flops,
            holdout=arguments.holdout,
            seed=arguments.seed,
            progress=progress,
            **plan,
        )
    pictures = _pictures(made, pictures_to)
    emit(made.document() | {"plots": pictures}, "\n".join([repr(made), *pictures]), arguments.json)
    for name in made.untrusted:
        print(f"bayescale compare: DO NOT TRUST THE FIT OF {name}", file=sys.stderr)
        for warning in made.fits[name].diagnostics.warnings:
            print(f"  ! {warning}", file=sys.stderr)
    return 0 if made.ok else 1


def _plan(arguments: argparse.Namespace) -> dict[str, Any]:
    """What compare takes beside its own arguments."""
    return {
        "noise": arguments.noise,
        "replicates": arguments.replicates,
        "draws": arguments.draws,
        "settings": procedure_settings(arguments.set, "isoflop.window=5"),
        "sensitivity": arguments.sensitivity,
        "alternatives": assignments(arguments.alternative, "--alternative", "N=params_no_embed"),
    } | ({} if arguments.paired is None else {"paired": arguments.paired})


def _pictures(made: Comparison, target: Path | None) -> list[str]:
    if target is None:
        return []
    from bayescale import plots

    axes = plots.procedure_intervals(made.intervals)
    return [str(path) for path in plots.save(axes[0].figure, target / "procedures")]
