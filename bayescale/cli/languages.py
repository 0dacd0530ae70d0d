"""R2 of laws of many languages on runs held out as in the paper of ATLAS: at random, by size, tokens, compute, mixture.

RUNS has one row for each run and each language it was measured on: N, loss, target, tokens[xx], unique[xx].
"""

from __future__ import annotations

import argparse
import sys

from bayescale.cli._arguments import add_table, at_least, column_names, output_file
from bayescale.cli._output import emit, progress_bar

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale languages` takes."""
    add_table(parser)
    parser.add_argument("--drop-bad", action="store_true", help="leave out rows that cannot be used, and count them")
    parser.add_argument(
        "--sources", type=at_least(1), default=3, metavar="K", help="sources with a tau of their own (default 3)"
    )
    parser.add_argument("--out", metavar="FILE.csv", help="write the R2 of every language here")


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale languages`."""
    from bayescale.evaluation.languages import language_splits
    from bayescale.runs import Runs

    out = output_file(arguments.out, ".csv", "scores are written as CSV")
    runs = Runs.read(
        arguments.runs,
        columns=column_names(arguments),
        where=arguments.where,
        drop_bad=arguments.drop_bad,
        needs=("N", "loss"),
    )
    for warning in runs.warnings:
        print(f"bayescale languages: {warning}", file=sys.stderr)
    with progress_bar() as progress:
        made = language_splits(runs, arguments.sources, seed=arguments.seed, progress=progress)
    if out is not None:
        made.by_language.to_csv(out, index=False)
    emit(made.document() | {"n_runs": len(runs), "out": arguments.out}, repr(made), arguments.json)
    return 0
