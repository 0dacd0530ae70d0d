"""Split training budgets between parameters and tokens so that loss is lowest, with intervals."""

from __future__ import annotations

import argparse
import math
from typing import Any

from bayescale.cli._arguments import assignments, quantity
from bayescale.cli._output import emit, label, status, warn

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale allocate` takes."""
    parser.add_argument("fit", metavar="FIT", help="a fit written by `bayescale fit --out`")
    parser.add_argument(
        "--flops", nargs="+", required=True, type=quantity, metavar="C", help="training FLOPs, e.g. 1e24"
    )
    parser.add_argument(
        "--group", action="append", default=[], metavar="COLUMN=LABEL", help="of a fit with groups: which, corpus=c4"
    )


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale allocate`."""
    from bayescale.cli._cache import use_compilation_cache
    from bayescale.fits import Fit, allocation_verdicts
    from bayescale.intervals import quantiles

    use_compilation_cache()
    fitted = Fit.load(arguments.fit)
    if arguments.group:
        fitted = fitted.of(**assignments(arguments.group, "--group", "corpus=c4"))
    made = fitted.allocation(arguments.flops)
    verdicts = allocation_verdicts(fitted, arguments.flops)
    rows = [
        {"flops": float(budget)}
        | {name: quantiles(made[name].values[:, i]) for name in ("N", "D", "D_per_N", "loss")}
        | {"flops_ratio": float(budget) / float(fitted.runs["C"].max()), "verdicts": verdicts[i]}
        for i, budget in enumerate(made["budget"].values)
    ]
    exponents = {symbol: quantiles(made[f"{symbol}_exponent"].values[:, 0]) for symbol in ("N", "D")}
    document = {
        "law": fitted.law.name,
        "kind": fitted.kind,
        "exponents": exponents,
        "allocations": rows,
        "diagnostics": {"ok": fitted.diagnostics.ok, "warnings": list(fitted.diagnostics.warnings)},
    }
    emit(document, _text(rows, exponents), arguments.json)
    warn(fitted, "allocate")
    return status(fitted)


def _text(rows: list[dict[str, Any]], exponents: dict[str, Any]) -> str:
    from bayescale.compute import format_quantity

    lines, first = [], rows[0]["verdicts"]
    for symbol, power in (("N", "a"), ("D", "b")):
        shown = _band(exponents[symbol], lambda v: f"{v:.3f}")
        lines.append(f"{symbol}* grows as C^{power}, {power} = {shown}{label(first.get(f'{symbol}_exponent'))}")
    for row in rows:
        lines.append(f"{row['flops']:.3g} FLOPs ({row['flops_ratio']:.3g} times the largest run)")
        for name, title, show in (
            ("N", "parameters", format_quantity),
            ("D", "tokens", format_quantity),
            ("D_per_N", "tokens per parameter", lambda v: f"{v:.3g}" if v < 1000 else f"{v:,.0f}"),
            ("loss", "loss, nats per token", lambda v: f"{v:.4f}"),
        ):
            lines.append(f"  {title:<22}{_band(row[name], show)}{label(row['verdicts'].get(name))}")
    return "\n".join(lines)


def _band(values: dict[str, float | None], show: Any) -> str:
    if values["median"] is None or math.isnan(values["median"]):
        return "not given by this fit (its notes say why)"
    if values["q05"] is None:
        return f"{show(values['median'])} (a point, no interval)"
    return f"{show(values['median'])}, 90 % [{show(values['q05'])}, {show(values['q95'])}]"
