"""A backtest as text."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayescale.comparison._text import _grid
from bayescale.evaluation._folds import INTERRUPTED

if TYPE_CHECKING:
    from bayescale.evaluation._result import Backtest

__all__ = ["describe"]

WIDTH = 118
MOST = 8  # folds named one by one; --json has them all
WHAT = {
    "holdout": "learnt from C <= Cmax/k, forecast C >= Cmax/2",
    "rolling-origin": "learnt from all runs below a cut, forecast up to k times beyond it",
    "leave-group-out": "learnt from all groups but one, forecast that one",
}


def describe(made: Backtest) -> str:
    """The text that a backtest prints: a table of scores, the comparison, the doubts."""
    lines = [
        f"{made.source}: {WHAT[made.design.protocol]}",
        "data sets count alike; [ ] is the 90 % interval over resamples of groups, where there are three or more", "",
    ]  # fmt: skip
    head = ["forecaster", "k", "folds", "runs", "groups", "in 50 % band", "in 90 % band", "error %", "bias %"]
    rows = [[*head, "CRPS %", "IS90 %", "log score", "90 % width %"]]
    rows += [_row(name, at, summary) for at in made.holdouts for name, summary in _answers(made, at)]
    lines += [*_grid(rows), ""]
    lines += _against(made)
    lines += _pit(made)
    lines += _weights(made)
    lines += _worst(made)
    lines += _doubts(made)
    return "\n".join(lines)


def _answers(made: Backtest, at: str) -> list[tuple[str, dict[str, Any]]]:
    return [(name, made.summary[name][at]) for name in made.compared if at in made.summary[name]]


def _row(name: str, at: str, made: dict[str, Any]) -> list[str]:
    cells = [name, at, str(made["n_folds"]), str(made["n_points"]), str(made["n_groups"])]
    cells += [_share(made, "cov50"), _share(made, "cov90"), f"{made['are']:.2f}", f"{made['bias']:+.2f}"]
    cells += [f"{100 * made['crps']:.2f}", f"{100 * made['is90']:.1f}"]
    return [*cells, f"{made['log_score']:.2f}", f"{made['width90']:.1f}"]


def _share(made: dict[str, Any], name: str) -> str:
    ends = made["interval"][name]
    around = "" if ends["q05"] is None else f" [{ends['q05']:.2f}, {ends['q95']:.2f}]"
    return f"{made[name]:.2f}{around}"


def _against(made: Backtest) -> list[str]:
    """How each forecaster compares with the baseline on the folds that both answered."""
    rows = [["against " + str(made.baseline), "k", "folds", "CRPS ratio", "IS90 ratio", "CRPS less, %", "IS90 less, %"]]
    for at in made.holdouts:
        for name, summary in _answers(made, at):
            ratio, less = summary.get("ratio"), summary.get("difference")
            if ratio is not None and less is not None:
                cells = [_between(ratio[key], "value", 1.0) for key in ("crps", "is90")]
                cells += [_between(less[key], "mean", 100.0) for key in ("crps", "is90")]
                rows.append([name, at, str(summary["baseline"]["n_folds"]), *cells])
    return [*_grid(rows), ""] if len(rows) > 1 else []


def _between(value: dict[str, float | None], key: str, factor: float) -> str:
    centre, low, high = (value[one] for one in (key, "q05", "q95"))
    form = ".2f" if factor == 1.0 else "+.2f"
    around = "" if low is None or high is None else f" [{factor * low:{form}}, {factor * high:{form}}]"
    return f"{factor * (centre or 0.0):{form}}{around}"


def _pit(made: Backtest) -> list[str]:
    lines = []
    for name, found in made.pit.items():
        if found is not None:
            verdict = "even" if found["passes"] else "NOT even"
            lines.append(
                f"{name}: runs lie {verdict} in the forecasts: one a fold, drawn {found['draws']} times, uniformity p "
                f"{found['p']:.2g} of all draws together, {found['p_min']:.2g} to the least even one"
            )
        narrower = [dataset for dataset, widens in made.widening(name).items() if not widens]
        if narrower:
            text = f"{name}: the 90 % band does not widen with k on {', '.join(narrower)}"
            lines.append(fill(text, WIDTH, subsequent_indent="  "))
    return [*lines, ""] if lines else []


def _weights(made: Backtest) -> list[str]:
    """What each law counted for in averages of laws: the mean over folds, and the range."""
    lines = []
    for name in made.forecasters:
        folds = pd.DataFrame([row for row in made.of(name)["weights"] if row])
        shares = [f"{law} {folds[law].mean():.2f} ({folds[law].min():.2f} to {folds[law].max():.2f})" for law in folds]
        if shares:
            lines.append(fill(f"{name}: mean weight of {', '.join(shares)}", WIDTH, subsequent_indent="  "))
    return [*lines, ""] if lines else []


def _worst(made: Backtest) -> list[str]:
    """Folds of some size that the bands miss."""
    rows = [["least covered", "data set", "k", "runs", "in 90 % band", "error %", "bias %", "90 % width %"]]
    for name in made.forecasters:
        folds = made.of(name)
        low = folds[(folds["n_test"] >= 6) & (folds["cov90"] < 0.7)].sort_values("cov90")
        for _, row in low.head(MOST).iterrows():
            where = row["dataset"] + (f", {row['part']}" if row["part"] else "")
            cells = [name, where, row["at"], str(row["n_test"]), f"{row['cov90']:.2f}", f"{row['are']:.2f}"]
            rows.append([*cells, f"{row['bias']:+.2f}", f"{row['width90']:.1f}"])
    return [*_grid(rows), ""] if len(rows) > 1 else []


def _doubts(made: Backtest) -> list[str]:
    lines = []
    untrusted = made.untrusted
    for one in untrusted[:MOST]:
        k = "" if one["k"] is None else f" at {one['k']}x"
        part = f" ({one['part']})" if one["part"] else ""
        text = f"{one['forecaster']}, {one['dataset']}{k}{part} ! {one['why'][0]}"
        lines.append(fill(text, WIDTH, subsequent_indent="  "))
    if len(untrusted) > MOST:
        lines.append(f"and {len(untrusted) - MOST} more folds with warnings; --json has them all")
    interrupted = [one for one in made.skipped if one.why == INTERRUPTED]
    short = [one for one in made.skipped if one.why != INTERRUPTED]
    for label, skipped in (("! INTERRUPTED before", interrupted), ("skipped, too few runs to learn from:", short)):
        each = ", ".join(f"{one.dataset}" + ("" if one.k is None else f" at {one.k:g}x") for one in skipped[:MOST])
        more = f" and {len(skipped) - MOST} more" if len(skipped) > MOST else ""
        if skipped:
            lines.append(fill(f"{label} {each}{more}", WIDTH, subsequent_indent="  "))
    return lines
