"""The picture of growth."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

__all__ = ["draw"]


def draw(rows: pd.DataFrame, chains: pd.DataFrame, path: Path) -> Path:
    """Seconds against rows and against chains, dotted where cost would be proportional, dashed at 4 GB."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10.5, 3.3), layout="constrained")
    panels = (
        (left, rows, "rows", "gradient", 1e3, "ms per gradient of one chain"),
        (middle, rows, "rows", "memory", 1.0, "peak memory (GB)"),
        (right, chains, "chains", "warm", 1.0, "seconds, warm (250 draws a chain)"),
    )
    for axes, table, x, y, unit, label in panels:
        if table.empty:
            continue
        axes.loglog(table[x], table[y] * unit, "o-", color="#1f5a8a", ms=4, lw=1.4)
        if y == "memory":
            axes.set_yscale("linear")
            axes.set_ylim(0, max(4.4, 1.1 * table[y].max()))
            axes.axhline(4, ls="--", color="0.5", lw=1)
        else:
            last = table.iloc[-1]
            axes.loglog(table[x], np.asarray(table[x]) * last[y] * unit / last[x], ":", color="0.5", lw=1)
        axes.set_xlabel(x)
        axes.set_title(label, fontsize=10)
        axes.grid(True, which="major", lw=0.4, color="0.88")
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=200)
    plt.close(figure)
    return path
