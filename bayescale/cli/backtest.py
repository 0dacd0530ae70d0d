"""Forecast runs that are known from smaller ones, score the forecasts, and compare them with today's practice."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescale.cli._arguments import (
    add_table,
    at_least,
    column_names,
    folder,
    output_file,
    procedure_settings,
    quantity,
)
from bayescale.cli._output import emit, progress_bar
from bayescale.errors import BayescaleError

if TYPE_CHECKING:
    from bayescale.evaluation import Backtest, Design, Request

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale backtest` takes."""
    add_table(parser)
    parser.add_argument(
        "--by", metavar="COLUMN", help="column that names the data set of each run (default: the table is one)"
    )
    parser.add_argument(
        "--group", metavar="COLUMN",
        help="column that names what data sets share: intervals are over groups, and priors learnt from data leave the "
        "scored group out (default: each data set is its own)",
    )  # fmt: skip
    parser.add_argument(
        "--holdout", default="10,30,100,300", metavar="K,K",
        help="how many times beyond the compute that is learnt from to forecast (default 10,30,100,300)",
    )  # fmt: skip
    parser.add_argument(
        "--protocol", default="holdout", metavar="NAME",
        help="holdout (learn from C <= Cmax/k, forecast C >= Cmax/2), rolling-origin (cuts a factor of k apart) or "
        "leave-group-out (one group of a data set at a time); default holdout",
    )  # fmt: skip
    parser.add_argument(
        "--law", metavar="NAME",
        help="a law with its own priors, see `bayescale laws`, or auto, an average of laws (default: that of the prior "
        "set)",
    )  # fmt: skip
    parser.add_argument(
        "--procedures", default="nuts", metavar="A,B", help="what to score, see `bayescale procedures` (default nuts)"
    )
    parser.add_argument("--prior-set", metavar="NAME", help="priors learnt from other tables (default public)")
    parser.add_argument("--no-baseline", action="store_true", help="leave out the fit of today's practice")
    parser.add_argument("--noise", metavar="NAME", help="of the procedures with a likelihood, as in fit")
    parser.add_argument("--drop-bad", action="store_true", help="leave out rows that cannot be used, and count them")
    parser.add_argument("--replicates", type=at_least(100), help="bootstrap replicates (default 1000)")
    parser.add_argument("--draws", type=at_least(25), help="draws of each chain of nuts (default 1000)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="PROCEDURE.SETTING=VALUE",
        help="any setting of one procedure: --set huber.delta=1e-4",
    )  # fmt: skip
    parser.add_argument(
        "--out", metavar="FILE", help="write quantiles of every forecast here, CSV; of several, the first procedure's"
    )
    parser.add_argument("--plots", metavar="FOLDER", help="write the picture of coverage and width here, PNG and PDF")


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale backtest`: 1 where a fit says not to trust it, 2 where there is nothing to score."""
    from bayescale.cli._cache import use_compilation_cache
    from bayescale.evaluation import HuberBootstrap, backtest, forecasters, needs
    from bayescale.runs import Runs

    request, design = _request(arguments), _design(arguments)
    made = forecasters(request)
    out = output_file(arguments.out, ".csv", "forecasts are written as CSV")
    pictures_to = folder(arguments.plots, "--plots") if arguments.plots else None
    runs = Runs.read(
        arguments.runs,
        columns=column_names(arguments),
        where=arguments.where,
        drop_bad=arguments.drop_bad,
        needs=needs(request),
    )
    for warning in runs.warnings:
        print(f"bayescale backtest: {warning}", file=sys.stderr)
    use_compilation_cache()
    with progress_bar() as progress:
        baseline = None if arguments.no_baseline else HuberBootstrap()
        result = backtest(runs, made, design, baseline=baseline, progress=progress)
    written = _write(result, out)
    pictures = _pictures(result, pictures_to)
    document = result.document() | {"law": _law(request), "prior_set": request.named.name if request.named else None}
    lines = [repr(result), *(f"{name}: {path}" for name, path in written.items()), *pictures]
    emit(document | {"out": written, "plots": pictures}, "\n".join(lines), arguments.json)
    _warn(result)
    return 0 if result.ok else 1


def _law(request: Request) -> str | None:
    return request.named.law if request.law is None and request.named is not None else request.law


def _request(arguments: argparse.Namespace) -> Request:
    from bayescale.evaluation import Request

    return Request(
        law=arguments.law,
        procedures=tuple(arguments.procedures.split(",")),
        prior_set=arguments.prior_set,
        noise=arguments.noise,
        replicates=arguments.replicates,
        draws=arguments.draws,
        settings=procedure_settings(arguments.set, "huber.delta=1e-4"),
    )


def _design(arguments: argparse.Namespace) -> Design:
    from bayescale.evaluation import Design

    try:
        factors = [quantity(text) for text in arguments.holdout.split(",") if text.strip()]
    except argparse.ArgumentTypeError as error:
        raise BayescaleError(f"--holdout {arguments.holdout}: {error}; write factors as 10,30,100,300") from None
    return Design(
        by=arguments.by,
        group=arguments.group,
        holdout=tuple(dict.fromkeys(factors)),
        protocol=arguments.protocol,
        seed=arguments.seed,
    )


def _write(made: Backtest, out: Path | None) -> dict[str, str]:
    """The forecasts of each forecaster: the first under the name given, the others under names of their own."""
    if out is None:
        return {}
    written = {}
    for place, name in enumerate(made.compared):
        path = out if place == 0 else out.with_name(f"{out.stem}.{name}{out.suffix}")
        made.forecasts(name).to_csv(path, index=False, float_format="%.17g")
        written[name] = str(path)
    return written


def _pictures(made: Backtest, target: Path | None) -> list[str]:
    if target is None:
        return []
    from bayescale import plots

    axes = plots.backtest(made.picture)
    return [str(path) for path in plots.save(axes[0].figure, target / "backtest")]


def _warn(made: Backtest) -> None:
    """Say on stderr which forecasts should not be trusted, so that it is seen whatever stdout goes to."""
    untrusted: list[dict[str, Any]] = made.untrusted
    if not untrusted:
        return
    judged = int(made.folds["forecaster"].isin(made.forecasters).sum())
    print(f"bayescale backtest: DO NOT TRUST {len(untrusted)} of {judged} forecasts", file=sys.stderr)
    for one in untrusted:
        k = "" if one["k"] is None else f" at {one['k']}x"
        part = f" ({one['part']})" if one["part"] else ""
        print(f"  ! {one['forecaster']}, {one['dataset']}{k}{part}", file=sys.stderr)
