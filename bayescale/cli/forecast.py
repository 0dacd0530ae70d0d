"""Forecast the loss of runs that have not been trained: of the law itself, and of one new run with its noise."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bayescale.cli._arguments import assignments, quantity
from bayescale.cli._output import emit, label, status, warn

if TYPE_CHECKING:
    import xarray as xr

    from bayescale.fits import Fit

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale forecast` takes."""
    parser.add_argument("fit", metavar="FIT", help="a fit written by `bayescale fit --out`")
    targets = parser.add_mutually_exclusive_group(required=True)
    targets.add_argument(
        "--at",
        action="append",
        nargs="+",
        metavar="N=70B,D=1.4T",
        help="one run each; C=1e24 alone is the compute-optimal run of a budget",
    )
    targets.add_argument("--runs", metavar="TARGETS", help="a table of runs without (or with) losses")
    parser.add_argument("--column", action="append", default=[], metavar="NAME=COLUMN", help="for --runs, as in fit")


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale forecast`."""
    from bayescale.cli._cache import use_compilation_cache
    from bayescale.fits import Fit

    use_compilation_cache()
    fitted = Fit.load(arguments.fit)
    made = [fitted.forecast(targets, seed=arguments.seed) for targets in _targets(arguments, fitted)]
    ladder = _ladder(fitted)
    rows = [
        row | {"verdict": verdict}
        for dataset in made
        for row, verdict in zip(_rows(dataset, ladder), _verdicts(fitted, dataset), strict=True)
    ]
    document = {
        "law": fitted.law.name,
        "kind": fitted.kind,
        "forecasts": rows,
        "diagnostics": {"ok": fitted.diagnostics.ok, "warnings": list(fitted.diagnostics.warnings)},
    }
    emit(document, _text(rows), arguments.json)
    warn(fitted, "forecast")
    return status(fitted)


def _targets(arguments: argparse.Namespace, fitted: Any) -> list[Any]:
    from bayescale.cli._arguments import column_names
    from bayescale.errors import TargetError

    needs = fitted.law.needs if fitted.model is None else fitted.model.needs
    labels = () if fitted.model is None else tuple(column for groups in fitted.model.groups for column in groups.over)
    if arguments.runs is not None:
        from bayescale.runs import Runs

        return [Runs.read(arguments.runs, columns=column_names(arguments), needs=list(needs))]
    targets = []
    for text in [text for group in arguments.at for text in group]:
        given = assignments(text.split(","), "--at", "N=70B,D=1.4T")
        known = ("N", "D", "C", *needs, *labels, *fitted.law.table_columns(given))
        unknown = [name for name in given if name not in known]
        if unknown:
            raise TargetError(f"--at {text}: this fit knows no {unknown[0]}; it reads {', '.join((*needs, *labels))}")
        try:
            wide = fitted.law.table_columns(given)
            target = {
                name: value if name in labels or (name in wide and value.strip() == "0") else quantity(value)
                for name, value in given.items()
            }
        except argparse.ArgumentTypeError as error:
            raise TargetError(f"--at {text}: {error}") from None
        _agree(text, target)
        targets.append({name: [value] for name, value in target.items()})
    return targets


def _agree(text: str, target: Mapping[str, Any]) -> None:
    from bayescale.errors import TargetError

    if {"N", "D", "C"} <= target.keys():
        flops = 6.0 * target["N"] * target["D"]
        # what people type is rounded to two or three digits
        if abs(target["C"] / flops - 1.0) > 0.05:
            raise TargetError(
                f"--at {text}: 6 N D is {flops:.3g} FLOPs, not {target['C']:.3g}; leave one of the three out"
            )


def _inputs(dataset: xr.Dataset) -> list[str]:
    return [str(name) for name in dataset.coords if name not in ("run", "flops_ratio", "inside")]


def _verdicts(fitted: Fit, dataset: xr.Dataset) -> list[str | None]:
    """What the law's loss of each run rests on."""
    from bayescale.fits import forecast_verdicts

    return forecast_verdicts(fitted, {name: dataset[name].values for name in _inputs(dataset) if name != "loss"})


def _ladder(fitted: Fit) -> float:
    """How many times the smallest training compute of the table its largest is; infinite where there is none."""
    if "C" not in fitted.runs:
        return math.inf
    return float(fitted.runs["C"].max() / fitted.runs["C"].min())


def _rows(dataset: xr.Dataset, ladder: float) -> list[dict[str, Any]]:
    from bayescale.intervals import quantiles

    rows = []
    for place in range(dataset.sizes["run"]):
        one = dataset.isel(run=place)
        new = one["new_run_loss"].values
        values = {name: one[name].item() for name in _inputs(dataset)}
        inputs = {name: value if isinstance(value, str) else float(value) for name, value in values.items()}
        none = dict.fromkeys(quantiles([0.0, 1.0]))
        rows.append(
            {
                "inputs": inputs,
                "mean_loss": quantiles(one["mean_loss"].values),
                "new_run_loss": none if (new != new).any() else quantiles(new),
                "extrapolation": {
                    "flops_ratio": float(one["flops_ratio"]),
                    "inside": bool(one["inside"]),
                    "longer_than_ladder": bool(one["flops_ratio"] > ladder),
                },
            }
        )
    return rows


def _text(rows: list[dict[str, Any]]) -> str:
    from bayescale.compute import format_quantity

    lines = []
    for row in rows:
        inputs = ", ".join(
            f"{name} = {value if isinstance(value, str) else format_quantity(value)}"
            for name, value in row["inputs"].items()
        )
        reach = row["extrapolation"]
        where = "inside the table" if reach["inside"] else "outside the table"
        lines.append(f"{inputs}: {where}, {reach['flops_ratio']:.3g} times its largest FLOPs")
        if reach["longer_than_ladder"]:
            lines.append("  ! further beyond the table than the table is long: nothing in it was tested that far out")
        for name, title in (("mean_loss", "the law"), ("new_run_loss", "a new run")):
            lines.append(f"  {title:<10}{_band(row[name])}{label(row['verdict'])}")
    return "\n".join(lines)


def _band(interval: dict[str, float | None]) -> str:
    if interval["median"] is None:
        return "no noise model in this fit"
    if interval["q05"] is None:
        return f"{interval['median']:.4f} nats per token (a point, no interval)"
    return (
        f"{interval['median']:.4f} nats per token, 50 % [{interval['q25']:.4f}, {interval['q75']:.4f}], "
        f"90 % [{interval['q05']:.4f}, {interval['q95']:.4f}]"
    )
