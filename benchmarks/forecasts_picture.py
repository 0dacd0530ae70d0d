"""The picture of one forecast: today's band and ours, and the runs that were trained later."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

__all__ = ["draw"]

OURS, TODAY = "#1f5a8a", "#c0562f"


def draw(
    train: pd.DataFrame, test: pd.DataFrame, budgets: np.ndarray, ours: np.ndarray, today: np.ndarray, path: Path
) -> Path:
    """Loss against compute.

    Parameters
    ----------
    train, test : DataFrame
        Columns ``C`` and ``loss``: the runs that were fitted, and those that were forecast.
    budgets : array (budget,)
        FLOPs.
    ours, today : array (3, budget)
        The 5 % quantile, the median and the 95 % quantile of a new run.
    path : Path
        Of the PNG.
    """
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    axes.scatter(train["C"], train["loss"], s=9, color="0.55", lw=0, label="runs that were fitted")
    axes.fill_between(budgets, today[0], today[2], color=TODAY, alpha=0.28, lw=0, label="Huber fit and bootstrap, 90 %")
    axes.plot(budgets, today[1], color=TODAY, lw=1.2)
    axes.fill_between(budgets, ours[0], ours[2], color=OURS, alpha=0.28, lw=0, label="bayescale, 90 %")
    axes.plot(budgets, ours[1], color=OURS, lw=1.2)
    axes.scatter(test["C"], test["loss"], s=14, color="black", lw=0, zorder=5, label="runs above 1e21 FLOPs")
    axes.axvline(train["C"].max(), color="0.6", lw=0.8, ls=":")
    axes.set_xscale("log")
    axes.set_ylim(1.9, 3.3)
    axes.set_xlabel("training compute [FLOPs]")
    axes.set_ylabel("loss [nats per token]")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=200)
    plt.close(figure)
    return path
