"""The picture of the study of procedures: coverage of nominal 90 % intervals, cell by cell."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import pandas as pd

__all__ = ["draw"]

MARKERS = {
    "nuts": ("o", "#1f5a8a"),
    "huber": ("s", "#c0562f"),
    "least-squares": ("D", "#6b8e23"),
    "vpnls": ("^", "#8a5a9e"),
    "isoflop": ("v", "#7a7a7a"),
    "envelope": ("P", "#b8860b"),
}
PANELS = {"N_exponent": "exponent of N*", "N*@100x": "N* at 100 times the budget", "loss@100x": "loss at 100 times"}


def draw(summary: pd.DataFrame, path: Path) -> Path:
    """One panel a quantity: coverage of the 90 % interval by procedure and cell, with two standard errors."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    cells = list(dict.fromkeys(summary["cell"]))
    names = [name for name in MARKERS if name in set(summary["procedure"])]
    figure, panels = plt.subplots(1, 3, figsize=(13, 0.9 + 0.42 * len(cells)), sharey=True, layout="constrained")
    for axes, (quantity, title) in zip(panels, PANELS.items(), strict=True):
        part = summary[summary["quantity"] == quantity].set_index(["cell", "procedure"])
        axes.axvspan(0.87, 0.93, color="0.92", zorder=0)
        axes.axvline(0.9, color="0.6", lw=1, zorder=1)
        for place, name in enumerate(names):
            marker, colour = MARKERS[name]
            shift = 0.13 * (place - (len(names) - 1) / 2)
            known = [(row, part.loc[(cell, name)]) for row, cell in enumerate(cells) if (cell, name) in part.index]
            # of tables that are mostly refused, the few that are left say nothing
            known = [(row, point) for row, point in known if point["answered"] >= 0.5 * point["tables"]]
            axes.errorbar(
                [point["coverage"] for _, point in known],
                [row + shift for row, _ in known],
                xerr=[2.0 * point["coverage_se"] for _, point in known],
                fmt=marker,
                color=colour,
                ms=4,
                lw=0.7,
                label=name,
            )
        axes.set_xlim(-0.02, 1.04)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("coverage of the 90 % interval")
        axes.grid(True, axis="x", lw=0.4, color="0.88")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(cells)), cells)
    panels[0].invert_yaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names), frameon=False)
    figure.savefig(path, dpi=200)
    plt.close(figure)
    return path
