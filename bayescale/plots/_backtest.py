"""A backtest: coverage of the bands against what they claim, and how wide they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayescale.errors import BayescaleError
from bayescale.plots._inputs import Float, values
from bayescale.plots._style import BLUE, GREY, INK, SMALL, VERMILION, dress, style

__all__ = ["backtest"]

_PICTURE = "backtest"
# Colour and marker both, so that forecasters stay apart in grey print.
_LOOKS = ((BLUE, "o"), (VERMILION, "s"), (INK, "D"), (GREY, "^"))
_DODGE = 0.008


def backtest(made: xr.Dataset, *, ax: Iterable[Axes] | None = None, height: float = 2.6) -> np.ndarray:
    """Draw one panel of coverage a hold-out, and one of the width of the 90 % band.

    Parameters
    ----------
    made : Dataset
        ``coverage`` (forecaster, holdout, level), the share of runs inside the central band of each level;
        ``coverage_ends`` (forecaster, holdout, level, end), the ends of its interval, NaN without one; ``width``
        (forecaster, holdout, dataset), the width of the 90 % band over the median [%], NaN where a data set has no such
        fold. Coordinates ``forecaster``, ``holdout`` (text), ``level``. At most four forecasters.
    ax : iterable of Axes, optional
        One axes a hold-out and one for the width; a new figure is made without.
    height : float
        Height of the new figure in inches; its width follows from the number of panels.

    Returns
    -------
    numpy.ndarray
        The Axes. A forecaster whose points lie below the diagonal claims more than it holds. Of the widths, thin lines
        are data sets and the thick one their geometric mean.

    Raises
    ------
    BayescaleError
        A variable is missing, there are more than four forecasters, or the number of axes is not that of the panels.

    Examples
    --------
    >>> made = xr.Dataset(
    ...     {
    ...         "coverage": (("forecaster", "holdout", "level"), [[[0.4, 0.8]]]),
    ...         "coverage_ends": (("forecaster", "holdout", "level", "end"), [[[[0.3, 0.5], [0.7, 0.9]]]]),
    ...         "width": (("forecaster", "holdout", "dataset"), [[[4.0, 6.0]]]),
    ...     },
    ...     {"forecaster": ["nuts"], "holdout": ["10"], "level": [0.5, 0.9], "dataset": ["a", "b"]},
    ... )
    >>> backtest(made).shape
    (2,)
    """
    coverage = values(made, "coverage", ("forecaster", "holdout", "level"), _PICTURE)
    ends = values(made, "coverage_ends", ("forecaster", "holdout", "level", "end"), _PICTURE)
    width = values(made, "width", ("forecaster", "holdout", "dataset"), _PICTURE)
    names = [str(name) for name in made["forecaster"].values]
    holdouts = [str(holdout) for holdout in made["holdout"].values]
    if len(names) > len(_LOOKS):
        raise BayescaleError(
            f"{_PICTURE} tells {len(_LOOKS)} forecasters apart, and was given {len(names)}: draw fewer."
        )
    with style():
        axes = _axes(ax, len(holdouts) + 1, height)
        levels = np.asarray(made["level"].values, dtype=np.float64)
        for at, panel in enumerate(axes[:-1]):
            _draw_coverage(panel, levels, coverage[:, at], ends[:, at])
            panel.set_title(_beyond(holdouts[at]), color=INK)
            if at:
                panel.set_yticklabels([])
        axes[0].set_ylabel("runs inside (%)")
        _draw_widths(axes[-1], width, holdouts)
        _legend(axes, names, own_figure=ax is None)
        axes[0].figure.draw_without_rendering()
    return axes


def _axes(ax: Iterable[Axes] | None, count: int, height: float) -> np.ndarray:
    if ax is not None:
        given = np.array(list(np.ravel(np.asarray(ax, dtype=object))), dtype=object)
        if len(given) != count:
            raise BayescaleError(f"{_PICTURE} draws {count} panels and was given {len(given)} axes; give one a panel.")
        return given
    figure = Figure(figsize=(1.75 * (count - 1) + 2.9, height), layout="constrained")
    return np.ravel(figure.subplots(1, count, squeeze=False, width_ratios=[1.0] * (count - 1) + [1.5]))


def _beyond(holdout: str) -> str:
    return "group left out" if holdout == "group" else f"{holdout}× beyond"


def _draw_coverage(ax: Axes, levels: Float, coverage: Float, ends: Float) -> None:
    ax.plot([0, 100], [0, 100], color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1, gid="claimed")
    for place in range(len(coverage)):
        colour, marker = _LOOKS[place]
        x = 100.0 * (levels + _DODGE * (2 * place - (len(coverage) - 1)))
        ax.vlines(x, *(100.0 * ends[place].T), color=colour, linewidth=1.2, alpha=0.6, zorder=2, gid=f"ends-{place}")
        ax.plot(x, 100.0 * coverage[place], color=colour, linewidth=0.9, alpha=0.6, zorder=2)
        ax.plot(
            x, 100.0 * coverage[place], marker, color=colour, markersize=4.2, markeredgecolor="white",
            markeredgewidth=0.5, zorder=3, gid=f"coverage-{place}", linestyle="none",
        )  # fmt: skip
    ax.set_xlim(42, 104)
    ax.set_ylim(-3, 103)
    # 95 and 99 are drawn, and have no room for their numbers
    ax.set_xticks([50, 80, 90, 99], ["50", "80", "90", ""])
    ax.set_yticks([0, 25, 50, 75, 100])
    ax.set_xlabel("band (%)")
    dress(ax)


def _draw_widths(ax: Axes, width: Float, holdouts: Sequence[str]) -> None:
    x = np.arange(len(holdouts), dtype=np.float64)
    for place in range(len(width)):
        colour, marker = _LOOKS[place]
        for dataset in range(width.shape[2]):
            ax.plot(x, width[place, :, dataset], color=colour, linewidth=0.6, alpha=0.35, zorder=2, gid=f"one-{place}")
        known = np.isfinite(width[place]) & (width[place] > 0)
        logs = np.where(known, np.log(np.where(known, width[place], 1.0)), 0.0)
        count = known.sum(axis=1)
        middle = np.where(count > 0, np.exp(logs.sum(axis=1) / np.maximum(count, 1)), np.nan)
        ax.plot(
            x, middle, marker + "-", color=colour, markersize=5, linewidth=1.8, markeredgecolor="white",
            markeredgewidth=0.6, zorder=4, gid=f"width-{place}",
        )  # fmt: skip
    ax.set_yscale("log")
    seen = width[np.isfinite(width) & (width > 0)]
    low, high = (0.8 * seen.min(), 1.25 * seen.max()) if seen.size else (1.0, 10.0)
    ax.set_ylim(low, high)
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if low <= tick <= high]
    ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_yticks([], minor=True)
    ax.set_xlim(-0.4, len(holdouts) - 0.6)
    ax.set_xticks(x, ["group" if holdout == "group" else f"{holdout}×" for holdout in holdouts])
    ax.set_xlabel("compute, times what was learnt from")
    ax.set_ylabel("width of the 90 % band (%)")
    dress(ax)


def _legend(axes: np.ndarray, names: Sequence[str], *, own_figure: bool) -> None:
    last = axes[-1]
    handles = [line for place in range(len(names)) for line in last.get_lines() if line.get_gid() == f"width-{place}"]
    if own_figure:
        last.figure.legend(handles, names, loc="outside upper left", ncols=len(names), borderpad=0.1, fontsize=SMALL)
    else:
        last.legend(handles, names, loc="upper left", fontsize=SMALL)
