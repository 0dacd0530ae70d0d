"""`bayescale fit --targets`: one law, fitted to several columns of a table."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from bayescale.cli._arguments import assignments, column_names, folder, output_file
from bayescale.cli._output import emit, progress_bar
from bayescale.errors import BayescaleError

__all__ = ["run_targets"]


def run_targets(arguments: argparse.Namespace, settings: dict[str, Any]) -> int:
    """Fit every target, print them side by side, write them; 1 where any is doubted."""
    from bayescale.cli._cache import use_compilation_cache
    from bayescale.prior import parse_assignments, read_toml

    share, pool, groups = _asked(arguments)
    _refuse(arguments)
    if share or pool:
        output_file(arguments.out, ".nc", "one fit of all targets is a netCDF file")
    elif arguments.out:
        folder(arguments.out, "--out")
    priors = (read_toml(arguments.priors) if arguments.priors else {}) | parse_assignments(arguments.prior)
    use_compilation_cache()
    from bayescale.targets import Reading, fit_targets

    with progress_bar() as progress:
        made = fit_targets(
            arguments.runs,
            arguments.targets.split(","),
            arguments.law,
            share=share,
            pool=pool,
            reading=Reading(column_names(arguments), arguments.where, arguments.drop_bad),
            procedure=arguments.procedure,
            noise=arguments.noise,
            priors=priors,
            pool_over=groups,
            seed=arguments.seed,
            progress=progress,
            **settings,
        )
    saved = [str(path) for path in made.save(arguments.out)] if arguments.out else []
    written = [f"written: {path}" for path in saved] or ["not saved: add --out to forecast from the fits"]
    emit(_document(made) | {"out": saved}, "\n".join([repr(made), *written]), arguments.json)
    for name, warnings in made.doubts.items():
        for warning in warnings:
            print(f"bayescale fit: {name}: {warning}", file=sys.stderr)
    return 0 if made.ok else 1


def _asked(arguments: argparse.Namespace) -> tuple[list[str], list[str], dict[str, str]]:
    """Parameters that are shared, those pooled over the targets, and those pooled over columns."""
    if not arguments.targets:
        raise BayescaleError("--share is for several targets: name their columns, --targets c4_loss,pile_loss")
    over = [text for text in arguments.pool if "=" not in text]
    groups = assignments([text for text in arguments.pool if "=" in text], "--pool", "alpha,beta=corpus")
    share, pool = (
        [name.strip() for name in ",".join(texts).split(",") if name.strip()] for texts in ([arguments.share], over)
    )
    return share, pool, groups


def _refuse(arguments: argparse.Namespace) -> None:
    for flag in ("prior_set", "reference", "plots", "sensitivity"):
        if getattr(arguments, flag):
            raise BayescaleError(f"--{flag.replace('_', '-')} goes with one target: fit it with --column loss=COLUMN")
    if arguments.runs == "-":
        raise BayescaleError("a table with several targets is read once for each, and standard input once: name a file")


def _document(made: Any) -> dict[str, Any]:
    from bayescale.cli.fit import fit_document

    return {
        "targets": {name: fit_document(fit) for name, fit in made.fits.items()},
        "joint": None if made.joint is None else fit_document(made.joint),
        "diagnostics": {"ok": made.ok, "warnings": {name: list(said) for name, said in made.doubts.items()}},
    }
