"""Measure every number of docs/noise.md on the lab's table, and draw its picture (minutes).

Run from the repository: ``.venv/bin/python docs/noise.py``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import bayescale

ISOFLOP = "sweep == 'isoflop'"
LARGER = f"{ISOFLOP} and N > 500"
FITS = {
    "student-t": ISOFLOP,
    "student-t(D)": ISOFLOP,
    "student-t(N,D)": ISOFLOP,
    "student-t(D), N > 500": LARGER,
}
CELL = ["budget", "width", "N", "D"]


def cells() -> pd.DataFrame:
    """Mean loss and between-seed sd of each IsoFLOP configuration."""
    table = bayescale.datasets.frame("toy").query(ISOFLOP)
    return table.groupby(CELL)["loss"].agg(["mean", "std"]).reset_index()


def parabola_exponent(found: pd.DataFrame, window: int | None) -> float:
    """Slope of log N* in log C, from a parabola in log N through the `window` sizes nearest the best one."""
    budgets, optima = [], []
    for budget, group in found.groupby("budget"):
        x, y = np.log(group["N"].to_numpy()), group["mean"].to_numpy()
        width = min(window or len(x), len(x))
        first = int(np.clip(np.argmin(y) - width // 2, 0, len(x) - width))
        curvature, slope, _ = np.polyfit(x[first : first + width], y[first : first + width], 2)
        budgets.append(np.log(budget))
        optima.append(-slope / (2 * curvature))
    return float(np.polyfit(budgets, optima, 1)[0])


def fits() -> dict[str, bayescale.Fit]:
    """The law fitted under each noise, seed 0."""
    made = {}
    for name, where in FITS.items():
        runs = bayescale.datasets.load("toy", where=where)
        made[name] = bayescale.fit(runs, "chinchilla", noise=name.split(", ")[0], seed=0)
    return made


def describe(name: str, fit: bayescale.Fit) -> str:
    """One line of the table in docs/noise.md."""
    summary = fit.summary()
    parts = [f"{name:<24}{'ok' if fit.diagnostics.ok else 'WARNED':<8}"]
    for parameter in ("E", "alpha", "N_exponent", "sigma", "nu", "sigma_N", "sigma_D"):
        if parameter in summary.index:
            low, middle, high = summary.loc[parameter, ["q05", "median", "q95"]]
            parts.append(f"{parameter} {middle:.4g} [{low:.4g}, {high:.4g}]")
    return "  ".join(parts)


def draw(found: pd.DataFrame, made: dict[str, bayescale.Fit], path: Path) -> None:
    """Scatter between seeds against tokens, and what the law misses against size."""
    law = made["student-t(D)"].forecast({"N": found["N"], "D": found["D"]})["mean_loss"].median("sample").values
    figure = Figure(figsize=(7.2, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.loglog(found["D"], found["std"] / found["mean"], "o", markersize=4, label="between seeds")
    tokens = np.geomspace(found["D"].min(), found["D"].max(), 50)
    for name in ("student-t", "student-t(D)"):
        draws = made[name].theta
        reference = made[name].law.D0
        scale = draws["sigma"][:, None] * (tokens / reference) ** draws.get("sigma_D", np.zeros(1))[:, None]
        left.loglog(tokens, np.median(scale, axis=0), label=f"fitted scale, {name}")
    left.set(xlabel="training tokens $D$", ylabel="relative scatter of the loss")
    left.legend(frameon=False, fontsize=8)
    right.axhline(0, color="0.6", linewidth=0.8)
    for budget, group in found.assign(miss=found["mean"] - law).groupby("budget"):
        right.errorbar(
            group["N"], group["miss"], yerr=2 * group["std"] / 2, fmt="o-", markersize=4, linewidth=0.8,
            label=f"{budget:.3g} FLOPs",
        )  # fmt: skip
    right.set(xscale="log", xlabel="parameters $N$", ylabel="mean of 4 seeds minus law (nats)")
    right.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=130)


def main() -> None:
    """Print the numbers and write the picture."""
    found = cells()
    floor = bayescale.datasets.frame("toy")["attainable_floor"].iloc[0]
    print(f"attainable floor {floor:.4f} nats per token; {len(found)} configurations of 4 seeds")
    slope = np.polyfit(np.log(found["D"]), np.log(found["std"]), 1)[0]
    print(f"between-seed sd falls as D^{slope:.2f}: {found['std'].max():.4f} to {found['std'].min():.4f} nats")
    made = fits()
    for name, fit in made.items():
        print(describe(name, fit), *fit.diagnostics.warnings, sep="\n  ! ")
    law = made["student-t(D)"].forecast({"N": found["N"], "D": found["D"]})["mean_loss"].median("sample").values
    shown = found.assign(miss=found["mean"] - law, noise=found["std"] / 2)
    shown["ratio"] = shown["miss"].abs() / shown["noise"]
    print(shown.to_string(index=False, float_format="{:.4g}".format))
    for window in (3, 4, 5, 6, 7, None):
        print(f"parabola through {window or 'all'} points: exponent {parabola_exponent(found, window):.3f}")
    draw(found, made, Path(__file__).parent / "images" / "noise.png")


if __name__ == "__main__":
    main()
