"""Loss against model size at fixed compute: the runs of each budget and the fitted law."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from bayescale.plots._inputs import Float, RunsLike, caption, column, quantiles, values, warnings_of
from bayescale.plots._style import (
    INK,
    budget_bar,
    budget_colours,
    dress,
    legend_above,
    mark_untrusted,
    new_axes,
    style,
)
from bayescale.plots._ticks import log_axis

__all__ = ["isoflop_curves"]

_PICTURE = "isoflop_curves"


def isoflop_curves(
    curves: xr.Dataset,
    runs: RunsLike,
    *,
    tolerance: float = 0.2,
    ax: Axes | None = None,
    size: tuple[float, float] = (4.5, 3.3),
) -> Axes:
    """Draw the law's loss against model size at each budget, with the runs of that budget in the same colour.

    Parameters
    ----------
    curves : Dataset
        Variable ``mean_loss`` in nats per token, dims (sample, budget, size); coordinates ``budget`` in FLOPs and
        ``N`` in parameters, dims (budget, size).
    runs : Runs
        The runs that were fitted, with columns ``N``, ``C`` and ``loss``.
    tolerance : float
        A run belongs to its nearest budget if its compute is within this relative distance of it. The others are
        not drawn; the legend says how many runs are.
    ax : Axes, optional
        Axes to draw on; a new figure is made without.
    size : tuple of float
        Width and height of the new figure in inches.

    Returns
    -------
    Axes
        Loss in nats per token against parameters on a log axis: median and 90 % band of the mean law, a diamond at
        the size of least loss, with its 90 % interval, where the curve has one between its ends.

    Raises
    ------
    BayescaleError
        A variable or a column is missing.

    References
    ----------
    Hoffmann et al. 2022, arXiv:2203.15556, figure 3.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescale.runs import Runs
    >>> runs = Runs.from_arrays(N=[1e8, 3e8], C=[1e19, 1e19], loss=[3.0, 2.95])
    >>> N = np.geomspace(1e7, 1e9, 11)
    >>> loss = 2.9 + 0.2 * np.log10(N / 1e8) ** 2
    >>> curves = xr.Dataset(
    ...     {"mean_loss": (("sample", "budget", "size"), loss[None, None])},
    ...     coords={"budget": [1e19], "N": (("budget", "size"), N[None])},
    ... )
    >>> isoflop_curves(curves, runs).get_xscale()
    'log'
    """
    draws = values(curves, "mean_loss", ("sample", "budget", "size"), _PICTURE)
    budgets = values(curves, "budget", ("budget",), _PICTURE)
    sizes = values(curves, "N", ("budget", "size"), _PICTURE)
    order = np.argsort(budgets, kind="stable")
    along = np.argsort(sizes, axis=1)[order]
    budgets, sizes = budgets[order], np.take_along_axis(sizes[order], along, axis=1)
    draws = np.take_along_axis(draws[:, order], along[None], axis=2)
    N, C, loss = (column(runs, name, _PICTURE) for name in ("N", "C", "loss"))
    owner = _nearest_budget(C, budgets, tolerance)
    with style():
        own_figure, ax = ax is None, new_axes(ax, size)
        log_axis(ax, "x", "quantity")
        minima = []
        for i, colour in enumerate(budget_colours(len(budgets))):
            ax.plot(
                N[owner == i], loss[owner == i], "o", color=colour, markersize=3.2, markeredgecolor="white",
                markeredgewidth=0.3, zorder=3, gid=f"runs-{i}",
            )  # fmt: skip
            _draw_curve(ax, sizes[i], draws[:, i], colour)
            minima.append(_minimum(sizes[i], draws[:, i]))
        _draw_minima(ax, np.array([minimum for minimum in minima if minimum is not None]))
        if len(budgets) > 1:
            budget_bar(ax, budgets)
        _legend_entries(ax, len(budgets), len(draws) > 1, f"{np.sum(owner >= 0)} of {len(N)} runs")
        legend_above(ax, caption(curves, budgets), own_figure=own_figure)
        ax.set_xlabel("parameters $N$")
        ax.set_ylabel("loss (nats per token)")
        dress(ax)
        mark_untrusted([ax], warnings_of(curves))
    return ax


def _nearest_budget(C: Float, budgets: Float, tolerance: float) -> np.ndarray:
    """Index of each run's budget, -1 for a run that is near none."""
    distance = np.abs(np.log(C[:, None] / budgets[None, :]))
    nearest = np.argmin(distance, axis=1)
    return np.where(distance[np.arange(len(C)), nearest] <= np.log1p(tolerance), nearest, -1)


def _draw_curve(ax: Axes, N: Float, draws: Float, colour: tuple[float, ...]) -> None:
    low, middle, high = quantiles(draws, (0.05, 0.5, 0.95), "mean_loss", _PICTURE)
    if len(N) == 1:
        ax.plot(N, middle, "_", color=colour, markersize=8)
        return
    ax.plot(N, middle, color=colour, linewidth=1.2, zorder=2.5, gid="law")
    if len(draws) > 1:
        ax.fill_between(N, low, high, color=colour, alpha=0.25, lw=0, zorder=2)


def _minimum(N: Float, draws: Float) -> tuple[float, float, float, float] | None:
    """5 %, median and 95 % of the N at which a draw has its least loss, and the median curve's loss there.

    Taken draw by draw: the pointwise median curve changes from draw to draw along N, and so near the flat bottom its
    own lowest point is noise. None where most draws have their least loss at an end of the curve.
    """
    draws = draws[np.isfinite(draws).all(axis=1)]
    at = np.argmin(draws, axis=1) if draws.size else np.array([], dtype=np.intp)
    inside = (at > 0) & (at < len(N) - 1)
    if not at.size or np.mean(inside) <= 0.5:
        return None
    x, rows = np.log(N), np.arange(len(at))
    middle = np.clip(at, 1, len(N) - 2)
    # The parabola through each draw's three lowest grid points, so that the mark does not depend on the grid.
    (x0, x1, x2), (y0, y1, y2) = zip(*((x[middle + k], draws[rows, middle + k]) for k in (-1, 0, 1)), strict=True)
    slope, curvature = (y1 - y0) / (x1 - x0), ((y2 - y1) / (x2 - x1) - (y1 - y0) / (x1 - x0)) / (x2 - x0)
    bent = inside & (curvature > 0)
    lowest = np.where(bent, (x0 + x1) / 2 - slope / (2 * np.where(bent, curvature, 1.0)), x[at])
    low, median, high = np.quantile(lowest, (0.05, 0.5, 0.95))
    loss = np.interp(median, x, np.median(draws, axis=0))
    return float(np.exp(low)), float(np.exp(median)), float(np.exp(high)), float(loss)


def _draw_minima(ax: Axes, minima: Float) -> None:
    if not minima.size:
        return
    low, median, high, loss = minima.T
    certain = bool(np.all(low == high))
    if not certain:
        ax.hlines(loss, low, high, color=INK, linewidth=1.4, zorder=3.8, gid="minimum-90")
    ax.plot(
        median, loss, linestyle=(0, (3, 2)), linewidth=0.8, color=INK, marker="D", markersize=4.2,
        markerfacecolor="white", markeredgecolor=INK, markeredgewidth=0.9, zorder=4, gid="minimum",
        label="minimum" if certain else "minimum, 90 %",
    )  # fmt: skip


def _legend_entries(ax: Axes, budgets: int, banded: bool, runs: str) -> None:
    """Add entries without data, dark where they stand for several colours."""
    colour = INK if budgets > 1 else budget_colours(1)[0]
    ax.plot([], [], "o", color=colour, markersize=3.2, label=runs)
    ax.plot([], [], color=colour, linewidth=1.2, label="mean law, median" if banded else "law")
    if banded:
        ax.fill_between([], [], [], color=colour, alpha=0.25, lw=0, label="mean law, 90 %")
