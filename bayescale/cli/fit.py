"""Fit a scaling law to a table of training runs, and print the posterior with its diagnostics."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from bayescale.cli._arguments import add_table, assignments, at_least, column_names, folder, output_file
from bayescale.cli._output import emit, progress_bar, status, warn

if TYPE_CHECKING:
    from bayescale.fits import Fit

__all__ = ["add_arguments", "fit_document", "run"]

PARAMETER_KEYS = ("estimate", "mean", "sd", "q05", "q25", "median", "q75", "q95", "rhat", "ess_bulk", "ess_tail")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale fit` takes."""
    add_table(parser)
    parser.add_argument(
        "--law", metavar="NAME", help='see `bayescale laws`; settings in brackets, "atlas(k=5)" (default chinchilla)'
    )
    parser.add_argument("--procedure", default="nuts", metavar="NAME", help="see `bayescale procedures` (default nuts)")
    parser.add_argument(
        "--noise",
        metavar="NAME",
        help='student-t (default of nuts), normal or laplace, with the columns its sd depends on: "student-t(D)"',
    )
    parser.add_argument(
        "--prior", action="append", default=[], metavar="NAME=PRIOR", help='"E=LogNormal(0.6,0.2)"; a number pins'
    )
    parser.add_argument(
        "--priors", metavar="FILE.toml", help="a TOML file with a [priors] table; --prior goes before it"
    )
    parser.add_argument(
        "--prior-set",
        metavar="NAME",
        help="priors and a discrepancy learnt from other families of runs, see `bayescale prior-set`: forecasts that "
        "allow for what the law is wrong by",
    )
    parser.add_argument(
        "--pool",
        action="append",
        default=[],
        metavar="NAMES=COLUMN",
        help='partial pooling: these parameters differ by a column of the table, "alpha,beta=corpus"; with --targets, '
        '"alpha,beta" over the targets',
    )
    parser.add_argument(
        "--targets", metavar="COLUMNS", help='fit each of these columns as the loss: c4_loss,pile_loss,"acc (accuracy)"'
    )
    parser.add_argument(
        "--share", default="", metavar="NAMES", help="parameters that are the same for all targets: alpha,beta"
    )
    parser.add_argument("--drop-bad", action="store_true", help="leave out rows that cannot be used, and count them")
    parser.add_argument(
        "--reference", metavar="N=..,D=..", help="reference run of the scale parameters (default: N=1e9,D=2e10)"
    )
    parser.add_argument("--draws", type=at_least(4), help="draws of each chain of nuts (default 1000)")
    parser.add_argument("--chains", type=at_least(1), help="chains of nuts (default 4)")
    parser.add_argument("--warmup", type=at_least(1), help="warm-up steps of each chain of nuts")
    parser.add_argument("--target-accept", type=float, help="of the step-size adaptation of nuts")
    parser.add_argument(
        "--replicates", type=at_least(0), help="bootstrap replicates, where the procedure has them (default 1000)"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SETTING=VALUE",
        help="any other setting of the procedure, see `bayescale procedures`: --set delta=1e-4",
    )
    parser.add_argument(
        "--sensitivity",
        action="store_true",
        help="print what each answer rests on, the table or the prior: contraction, power-scaling sensitivity, ridges",
    )
    parser.add_argument(
        "--out", metavar="FIT.nc", help="write the fit here, for forecast and allocate; a folder for --targets"
    )
    parser.add_argument("--plots", metavar="FOLDER", help="write pictures of the fit here, PNG and PDF")


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale fit`."""
    if arguments.targets or arguments.share:
        from bayescale.cli._targets import run_targets

        return run_targets(arguments, _settings(arguments))
    from bayescale.cli._cache import use_compilation_cache
    from bayescale.prior import parse_assignments, read_toml

    settings = _settings(arguments)
    priors = (read_toml(arguments.priors) if arguments.priors else {}) | parse_assignments(arguments.prior)
    output_file(arguments.out, ".nc", "a fit is a netCDF file")
    pictures_to = folder(arguments.plots, "--plots") if arguments.plots else None
    law, runs = _law_and_runs(arguments)
    for warning in runs.warnings:
        print(f"bayescale fit: {warning}", file=sys.stderr)
    use_compilation_cache()
    from bayescale.procedures import fit

    with progress_bar() as progress:
        fitted = fit(
            runs,
            law,
            arguments.procedure,
            noise=arguments.noise,
            priors=priors,
            prior_set=arguments.prior_set,
            pool=assignments(arguments.pool, "--pool", "alpha,beta=corpus"),
            seed=arguments.seed,
            progress=progress,
            **settings,
        )
    saved = str(fitted.save(arguments.out)) if arguments.out else None
    pictures: list[str] = []
    if pictures_to is not None:
        from bayescale.cli._pictures import draw

        pictures = [str(path) for path in draw(fitted, pictures_to)]
    asked = [""] + [_sensitivity(fitted)] * arguments.sensitivity
    lines = [repr(fitted), *asked, f"written: {saved}" if saved else "not saved: add --out fit.nc to forecast from it"]
    emit(fit_document(fitted) | {"out": saved, "plots": pictures}, "\n".join([*lines, *pictures]), arguments.json)
    warn(fitted, "fit")
    return status(fitted)


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings that were given, by their own flags or by --set."""
    named = ("draws", "chains", "warmup", "target_accept", "replicates")
    flags = {name: getattr(arguments, name) for name in named if getattr(arguments, name) is not None}
    return flags | assignments(arguments.set, "--set", "delta=1e-4")


def _law_and_runs(arguments: argparse.Namespace) -> tuple[Any, Any]:
    from bayescale.cli._arguments import quantity
    from bayescale.laws import parse
    from bayescale.noise import Noise
    from bayescale.prior_sets import load
    from bayescale.procedures import get as get_procedure
    from bayescale.procedures import reference_for
    from bayescale.runs import Runs

    procedure = get_procedure(arguments.procedure)
    named = None if arguments.prior_set is None else load(arguments.prior_set)
    law = parse(arguments.law or (named.law if named else procedure.default_law))
    noise = Noise.parse(arguments.noise or (named.noise if named else procedure.default_noise))
    needs = tuple(dict.fromkeys((*law.needs, *noise.columns, *procedure.needs, *(("C",) if named else ()), "loss")))
    runs = Runs.read(
        arguments.runs,
        columns=column_names(arguments),
        where=arguments.where,
        drop_bad=arguments.drop_bad,
        needs=needs,
    )
    if named is not None:
        return law, _without_reference(arguments, runs)
    if arguments.reference is None:
        return reference_for(law, runs), runs
    given = assignments(arguments.reference.split(","), "--reference", "N=1e9,D=2e10")
    unknown = [name for name in given if name not in law.reference_run]
    if unknown:
        from bayescale.errors import LawError

        raise LawError(f"--reference names {unknown[0]!r}; a reference run has N, D and C")
    return law.at(**{name: _positive(quantity, name, text) for name, text in given.items()}), runs


def _without_reference(arguments: argparse.Namespace, runs: Any) -> Any:
    from bayescale.errors import LawError

    if arguments.reference is not None:
        raise LawError("--reference goes with no prior set: its law stands at the top of the table's ladder")
    return runs


def _positive(parse: Any, name: str, text: str) -> float:
    from bayescale.errors import LawError

    try:
        return float(parse(text))
    except argparse.ArgumentTypeError as error:
        raise LawError(f"--reference {name}: {error}") from None


def _sensitivity(fitted: Fit) -> str:
    if fitted.rests_on is None:
        return f"sensitivity: {fitted.kind} draws have no prior behind them\n"
    return f"what each answer rests on (power-scaling sensitivity from .05 on counts):\n{fitted.rests_on!r}\n"


def fit_document(fitted: Fit) -> dict[str, Any]:
    """A fit as the JSON document of the command line."""
    summary = fitted.summary()
    diagnostics = fitted.diagnostics.document()
    return {
        "law": fitted.law.name,
        "formula": fitted.law.formula,
        "reference_run": fitted.law.reference_run,
        "procedure": fitted.record.procedure,
        "kind": fitted.kind,
        "noise": None if fitted.model is None else str(fitted.model.noise),
        "priors": None if fitted.record.model is None else fitted.record.model["priors"],
        "prior_predictive": fitted.record.prior_predictive,
        "seed": fitted.record.seed,
        "n_runs": fitted.record.table["n_runs"],
        "n_dropped": fitted.record.table["n_dropped"],
        "table": fitted.record.table,
        "parameters": {str(name): {key: row.get(key) for key in PARAMETER_KEYS} for name, row in summary.iterrows()},
        "diagnostics": diagnostics,
        "sensitivity": None if fitted.rests_on is None else fitted.rests_on.document(),
        "seconds": fitted.record.seconds,
        "versions": fitted.record.versions,
    }
