"""The look that the pictures share: sizes, colours, the mark on a fit that must not be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from bayescale.plots._numbers import flops

__all__ = [
    "BANDS", "BLUE", "GREY", "INK", "PALE", "RED", "SMALL", "VERMILION",
    "budget_bar", "budget_colours", "draw_runs", "dress", "halo", "legend_above", "mark_untrusted", "new_axes", "style",
]  # fmt: skip

# Okabe and Ito's palette, which stays apart under the common forms of colour blindness.
BLUE, VERMILION = "#0072B2", "#D55E00"
INK, GREY, PALE = "#222222", "#767676", "#F2EFE8"
# Opaque shades of the blue, from the widest band to the line: they stay apart where they lie on each other.
BANDS = ("#D3E5F3", "#94C2E2", "#4695C7", "#08335A")
RED = "#D00000"
SMALL = 8.0  # points; the smallest text in any picture

_RC: dict[str, Any] = {
    "font.size": 9.0,
    "axes.labelsize": 9.0,
    "axes.titlesize": 9.0,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.title_fontsize": SMALL,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "lines.linewidth": 1.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "pdf.fonttype": 42,  # TrueType: journals refuse Type 3
    "ps.fonttype": 42,
}


@contextmanager
def style() -> Iterator[None]:
    """The shared settings, for the time of one picture only; the caller's settings come back afterwards."""
    with mpl.rc_context(_RC):  # type: ignore[arg-type]
        yield


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The caller's axes, or axes on a new figure of `size` inches that pyplot knows nothing of."""
    if ax is not None:
        return ax
    return Figure(figsize=size, layout="constrained").add_subplot()


def dress(ax: Axes) -> None:
    """Set the ticks' look on the axes themselves: ticks are made when the figure is drawn, outside `style`."""
    ax.tick_params(which="both", labelsize=SMALL, width=0.7, color=INK, labelcolor=INK)
    ax.tick_params(which="major", length=3.5)
    ax.tick_params(which="minor", length=2.0, width=0.5)


def halo(width: float = 2.0, colour: str = "white") -> list[withStroke]:
    """An outline in the background's colour that keeps text readable over points and lines."""
    return [withStroke(linewidth=width, foreground=colour)]


def draw_runs(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    """The runs as grey points, larger and opaque where there are few of them, and above the law's line."""
    few = len(x) <= 40
    ax.plot(
        x, y, "o", color=GREY, markersize=4.5 if few else 3.0, alpha=1.0 if few else 0.6, markeredgecolor="white",
        markeredgewidth=0.6 if few else 0.0, zorder=4.2 if few else 3.0, gid="runs",
        label=f"{len(x)} run{'s' if len(x) != 1 else ''}",
    )  # fmt: skip


def legend_above(ax: Axes, title: str, *, own_figure: bool) -> None:
    """A legend at the top of our own figure, or over the caller's axes: either way it cannot hide a run."""
    handles, labels = ax.get_legend_handles_labels()
    look: dict[str, Any] = {
        "title": title or None, "alignment": "left", "handlelength": 1.5, "handletextpad": 0.5, "columnspacing": 1.2,
        "labelspacing": 0.3, "borderpad": 0.1,
    }  # fmt: skip
    figure, room = ax.figure, 0.98 * (ax.figure if own_figure else ax).bbox.width
    for columns in range(min(4, len(handles)), 0, -1):
        if own_figure:
            legend = figure.legend(handles, labels, loc="outside upper left", ncols=columns, **look)
        else:
            corner: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
            legend = ax.legend(handles, labels, ncols=columns, **corner, **look)
        if columns == 1 or legend.get_window_extent().width <= room:
            return
        legend.remove()


def budget_colours(count: int) -> list[tuple[float, float, float, float]]:
    """One colour a budget, dark for the smallest, from viridis without its pale end."""
    positions = np.linspace(0.0, 0.84, count) if count > 1 else np.array([0.35])
    return [tuple(colour) for colour in mpl.colormaps["viridis"](positions)]


def budget_bar(ax: Axes, budgets: np.ndarray) -> None:
    """A colour bar with one equal step a budget, since budgets on a log bar can lie closer than their labels."""
    count = len(budgets)
    mappable = ScalarMappable(BoundaryNorm(np.arange(count + 1) - 0.5, count), ListedColormap(budget_colours(count)))
    bar = ax.figure.colorbar(mappable, ax=ax, pad=0.02, aspect=25)
    steps = list(range(0, count, -(-count // 10)))
    bar.set_ticks(steps, labels=[flops(budgets[i]) for i in steps])
    bar.set_label("training compute (FLOPs)")
    bar.ax.tick_params(which="both", length=0, labelsize=SMALL, labelcolor=INK)
    bar.outline.set_visible(False)


def mark_untrusted(axes: Sequence[Axes], warnings: Sequence[str]) -> None:
    """Write DO NOT TRUST across each of the axes, and frame them in red, if there are warnings.

    It stands inside the axes, over the data, so that it is still there when the picture is cropped for a slide.
    """
    if not warnings:
        return
    text = f"DO NOT TRUST:\n{len(warnings)} warning{'s' if len(warnings) > 1 else ''}"
    for ax in axes:
        figure = ax.get_figure(root=True)
        points = 72 / figure.dpi if figure is not None else 1.0
        # The longer line is about ten times the size of its letters; both lines, tilted, take five times their size.
        size = float(np.clip(points * min(0.75 * ax.bbox.width / 10, ax.bbox.height / 5), SMALL, 30))
        ax.text(
            0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=RED, fontsize=size,
            fontweight="bold", rotation=15, zorder=100, linespacing=1.1,
            path_effects=halo(3.0), gid="do-not-trust", in_layout=False,
        )  # fmt: skip
        for spine in ax.spines.values():
            spine.set(visible=True, color=RED, linewidth=2.0)
