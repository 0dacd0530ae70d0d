"""Learning and scaling curves of one variable, forecast beyond their last points by an average of laws.

TASKS is a CSV with the columns task, x and y: a row with an empty y is forecast. With a column split, rows that say ctx
are the context and rows that say tgt are forecast, and their y, where there is one, is scored. Optional columns: row,
group, y_scale.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from bayescale.cli._arguments import output_file
from bayescale.cli._output import emit, progress_bar

if TYPE_CHECKING:
    from bayescale.curves import CurveForecasts

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale curves` takes."""
    parser.add_argument("tasks", metavar="TASKS", help="table of curves: CSV, also compressed; - for stdin")
    parser.add_argument("--out", metavar="PRED.csv", help="write a row for each forecast: quantiles q005 to q995, logp")
    parser.add_argument(
        "--prior-set", metavar="FILE", help="prior set that --learn wrote (default: the one that comes with bayescale)"
    )
    parser.add_argument(
        "--learn", metavar="FILE", help="learn a prior set from the targets that TASKS gives, and write it here"
    )
    parser.add_argument(
        "--cross-fit", action="store_true",
        help="forecast every family by a prior set learnt from the targets of the other families in TASKS",
    )  # fmt: skip
    parser.add_argument("--family", metavar="COLUMN", help="the column of families (default: group)")


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale curves`: 1 where a forecast should not be trusted."""
    from bayescale.cli._cache import use_compilation_cache
    from bayescale.curves import CurvePriors, forecast_curves, read_tasks

    output_file(arguments.out, ".csv", "forecasts are written as CSV")
    output_file(arguments.learn, ".json", "a prior set of curves is a JSON file", "--learn")
    priors = CurvePriors.load(arguments.prior_set) if arguments.prior_set else CurvePriors.published()
    tasks = read_tasks(arguments.tasks, arguments.family)
    use_compilation_cache()
    with progress_bar() as progress:
        made = forecast_curves(
            tasks,
            priors,
            cross_fit=arguments.cross_fit,
            learn_all=bool(arguments.learn),
            seed=arguments.seed,
            progress=progress,
        )
    if arguments.out:
        made.table.drop(columns=["task", "x"]).to_csv(arguments.out, index=False)
    if arguments.learn:
        made.priors.save(arguments.learn)
    emit(made.document() | {"out": arguments.out, "learnt": arguments.learn}, repr(made), arguments.json)
    _warn(made)
    return 1 if made.doubts else 0


def _warn(made: CurveForecasts) -> None:
    """Say on stderr which forecasts should not be trusted."""
    if made.doubts:
        print(f"bayescale curves: DO NOT TRUST {len(made.doubts)} OF {len(made.weights)} FORECASTS", file=sys.stderr)
    for name, sentences in made.doubts.items():
        for sentence in sentences:
            print(f"  ! {name}: {sentence}", file=sys.stderr)
