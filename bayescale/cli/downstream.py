"""Forecast accuracy on a downstream task in two stages: compute to likelihood, likelihood to accuracy.

bayescale downstream runs.csv --nll task_nll --accuracy task_acc --chance 0.25 --at C=1e24
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from bayescale.cli._arguments import add_table, assignments, at_least, column_names, folder, quantity
from bayescale.cli._output import emit, progress_bar

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale downstream` takes."""
    add_table(parser)
    parser.add_argument("--nll", required=True, metavar="COLUMN", help="negative log-likelihood of the right answers")
    parser.add_argument("--accuracy", required=True, metavar="COLUMN", help='a fraction, or "acc (accuracy %%)"')
    parser.add_argument("--chance", type=float, help="accuracy of guessing, such as 0.25 (estimated by default)")
    parser.add_argument("--ceiling", type=float, help="accuracy that is approached, such as 1 (estimated by default)")
    parser.add_argument("--law", default="log-linear", metavar="NAME", help="of the first stage (default log-linear)")
    parser.add_argument("--noise", metavar="NAME", help="of both stages, as in `bayescale fit`")
    parser.add_argument(
        "--accuracy-where", metavar="EXPRESSION", help="rows of the second stage, if others than --where"
    )
    parser.add_argument(
        "--at", action="append", nargs="+", default=[], metavar="C=..", help="runs to forecast: C=1e24 or N=70B,D=1.4T"
    )
    parser.add_argument("--draws", type=at_least(4), help="draws of each chain of nuts (default 1000)")
    parser.add_argument("--out", metavar="FOLDER", help="write both fits here")


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale downstream`."""
    from bayescale.cli._cache import use_compilation_cache

    targets = _targets(arguments)
    if arguments.out:
        folder(arguments.out, "--out")
    use_compilation_cache()
    from bayescale.downstream import fit_chain

    settings = {} if arguments.draws is None else {"draws": arguments.draws}
    with progress_bar() as progress:
        chain = fit_chain(
            arguments.runs,
            arguments.nll,
            arguments.accuracy,
            law=arguments.law,
            chance=arguments.chance,
            ceiling=arguments.ceiling,
            columns=column_names(arguments),
            where=arguments.where,
            accuracy_where=arguments.accuracy_where or arguments.where,
            noise=arguments.noise,
            seed=arguments.seed,
            progress=progress,
            **settings,
        )
    rows = [_row(chain, target, arguments.seed) for target in targets]
    saved = [str(path) for path in chain.save(arguments.out)] if arguments.out else []
    text = "\n".join([repr(chain), "", *map(_line, rows), *(f"written: {path}" for path in saved)])
    emit(_document(chain, rows) | {"out": saved}, text, arguments.json)
    for stage, warnings in chain.doubts.items():
        for warning in warnings:
            print(f"bayescale downstream: {stage}: {warning}", file=sys.stderr)
    return 0 if chain.ok else 1


def _targets(arguments: argparse.Namespace) -> list[dict[str, float]]:
    from bayescale.errors import TargetError

    given = [assignments(text.split(","), "--at", "C=1e24") for group in arguments.at for text in group]
    try:
        return [{name: float(quantity(value)) for name, value in one.items()} for one in given]
    except argparse.ArgumentTypeError as error:
        raise TargetError(f"--at: {error}") from None


def _row(chain: Any, target: dict[str, float], seed: int) -> dict[str, Any]:
    from bayescale.intervals import quantiles

    made = chain.forecast({name: [value] for name, value in target.items()}, seed=seed)
    return {
        "inputs": target,
        **{name: quantiles(made[name].values[:, 0]) for name in ("nll", "accuracy", "new_run_accuracy")},
        "extrapolation": {"flops_ratio": float(made["flops_ratio"][0]), "nll_beyond": float(made["nll_beyond"][0])},
    }


def _line(row: dict[str, Any]) -> str:
    at = ", ".join(f"{name} = {value:.4g}" for name, value in row["inputs"].items())
    reach, lines = row["extrapolation"], []
    lines.append(f"{at}: {reach['flops_ratio']:.3g} times the largest FLOPs of the table")
    if reach["nll_beyond"] > 0:
        share = f"{reach['nll_beyond']:.0%} of their range"
        lines.append(f"  ! the likelihood lies beyond that of every run behind the sigmoid, by {share}")
    for name, title in (("nll", "likelihood"), ("accuracy", "accuracy"), ("new_run_accuracy", "a new run")):
        band = row[name]
        lines.append(f"  {title:<11}{band['median']:.4f}, 90 % [{band['q05']:.4f}, {band['q95']:.4f}]")
    return "\n".join(lines)


def _document(chain: Any, rows: list[dict[str, Any]]) -> dict[str, Any]:
    from bayescale.cli.fit import fit_document

    return {
        "stages": {"nll": fit_document(chain.nll), "accuracy": fit_document(chain.accuracy)},
        "forecasts": rows,
        "diagnostics": {"ok": chain.ok, "warnings": {name: list(said) for name, said in chain.doubts.items()}},
    }
