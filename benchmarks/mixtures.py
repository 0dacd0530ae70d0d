"""Mixture laws on the published runs of seven domains: held-out mixtures and held-out sizes, forecast with their bands.

``python -m benchmarks.mixtures --tables FOLDER`` fits each of the eight losses of the table by itself and writes
results/mixtures.csv; docs/mixtures.md names the table. ``--laws`` and ``--targets`` choose a part.

The table has eleven checkpoints a run, correlated with each other. `optimal-mixture` is fitted to two of them, one near
the middle of the run and the last: the last alone tie tokens to parameters. `data-mixing` is a law of one size and
length, and gets the last checkpoints of the 310M models.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescale import Runs
from bayescale.procedures import fit

__all__ = ["TABLE", "TARGETS", "evaluate", "read"]

TABLE = "apple_dmsl_slimpajama_7domain_mixture_runs.csv"
RESULTS = Path(__file__).parent / "results" / "mixtures.csv"
TARGETS = ("arxiv", "book", "c4", "commoncrawl", "github", "stackexchange", "wikipedia", "openhermes")
LAWS = ("optimal-mixture", "data-mixing")
HELD_OUT, SEED = 15, 0
LARGE, ONE_SIZE = 9e8, 3.1e8
BAND = (0.05, 0.5, 0.95)


def read(folder: Path) -> pd.DataFrame:
    """The checkpoints that are used, with the number of their mixture; the last before the end repeats the end."""
    table = pd.read_csv(folder / TABLE).sort_values("n_tokens", kind="stable", ignore_index=True)
    weights = [name for name in table if name.startswith("weight_")]
    table["mixture"] = table.groupby(weights, sort=False).ngroup()
    runs = table.groupby(["model_size", "mixture"])
    place, count = runs.cumcount(), runs["n_tokens"].transform("size")
    table["checkpoint"] = np.select([place == count - 1, place == count // 2 - 1], ["last", "middle"], "")
    return table[table["checkpoint"] != ""].reset_index(drop=True)


def split(table: pd.DataFrame, law: str, by: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Runs to fit, and runs to forecast: those of mixtures, or of sizes, that were not fitted."""
    if law == "data-mixing":
        table = table[(table["model_size"] == ONE_SIZE) & (table["checkpoint"] == "last")]
    if by == "sizes":
        held = table["model_size"] > LARGE
    else:
        mixtures = table["mixture"].max() + 1
        held = table["mixture"].isin(np.random.default_rng(SEED).permutation(mixtures)[:HELD_OUT])
    return table[~held], table[held]


def evaluate(table: pd.DataFrame, law: str, target: str, by: str, **settings: Any) -> dict[str, Any]:
    """One law and one loss: mean relative error [%] of the median, and how many of the runs the 90 % bands hold."""
    train, test = split(table.dropna(subset=[f"{target}_loss"]), law, by)
    columns = {"share[*]": "weight_*", "loss": f"{target}_loss"}
    runs, new = (Runs.read(part, columns=columns, needs=("N", "D", "loss")) for part in (train, test))
    fitted = fit(runs, law, **settings)
    low, middle, high = np.quantile(fitted.forecast(new)["new_run_loss"], BAND, axis=0)
    loss = new["loss"]
    return {
        "law": law, "held_out": by, "target": target, "rows_fitted": len(runs), "rows_forecast": len(new),
        "relative_error": 100 * np.abs(middle / loss - 1).mean(), "coverage": ((low <= loss) & (loss <= high)).mean(),
        "width": 100 * ((high - low) / middle).mean(), "max_rhat": fitted.diagnostics.max_rhat,
        "divergences": fitted.diagnostics.divergences, "ok": fitted.diagnostics.ok,
        "seconds": fitted.record.seconds["total"],
    }  # fmt: skip


def study(table: pd.DataFrame, laws: list[str], targets: list[str], draws: int) -> Iterator[dict[str, Any]]:
    """Every law, loss and split that was asked for, printed as it comes."""
    for law in laws:
        for by in ("mixtures", "sizes") if law != "data-mixing" else ("mixtures",):
            for target in targets:
                row = evaluate(table, law, target, by, draws=draws)
                print(
                    f"{law}, {by} held out, {target}: error {row['relative_error']:.2f} %, coverage "
                    f"{row['coverage']:.2f} of {row['rows_forecast']}, width {row['width']:.1f} %, R-hat "
                    f"{row['max_rhat']:.3f}, {row['divergences']} divergences, {row['seconds']:.0f} s",
                    flush=True,
                )
                yield row


def main() -> None:
    """Fit, forecast, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, required=True, help=f"folder with {TABLE}")
    parser.add_argument("--laws", nargs="+", default=list(LAWS))
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=TARGETS)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for row in study(read(arguments.tables), arguments.laws, arguments.targets, arguments.draws):
        rows.append(row)
        found = pd.DataFrame(rows)
        found.to_csv(arguments.out, index=False, float_format="%.4g")  # what there is, should it be stopped
    each = found.assign(held=found["coverage"] * found["rows_forecast"]).groupby(["law", "held_out"], sort=False)
    print(each[["relative_error", "width"]].mean().assign(coverage=each["held"].sum() / each["rows_forecast"].sum()))


if __name__ == "__main__":
    main()
