"""Loss against training compute: the runs, the law along a path of budgets, and the bands around it."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from bayescale.errors import BayescaleError
from bayescale.plots._inputs import Float, RunsLike, caption, column, quantiles, values, warnings_of
from bayescale.plots._numbers import times
from bayescale.plots._style import (
    BANDS,
    BLUE,
    GREY,
    INK,
    PALE,
    VERMILION,
    draw_runs,
    dress,
    halo,
    legend_above,
    mark_untrusted,
    new_axes,
    style,
)
from bayescale.plots._ticks import log_axis

__all__ = ["forecast_band"]

_PICTURE = "forecast_band"
_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def forecast_band(
    path: xr.Dataset,
    runs: RunsLike,
    *,
    targets: xr.Dataset | None = None,
    ax: Axes | None = None,
    size: tuple[float, float] = (4.5, 3.3),
) -> Axes:
    """Draw loss against training compute, with the bands of the mean law and of a new run.

    Parameters
    ----------
    path : Dataset
        A forecast along the compute-optimal path, dims (sample, budget), coordinate ``budget`` in FLOPs; or at runs,
        dims (sample, run), coordinate ``C`` in FLOPs. Variables ``mean_loss`` and ``new_run_loss`` in nats per
        token (the second may be missing from a point fit).
    runs : Runs
        The runs that were fitted, with columns ``C`` and ``loss``.
    targets : Dataset, optional
        A forecast at further runs, dims (sample, run), coordinate ``C``: each is a point with the 90 % interval of a
        new run. Where it has a coordinate ``loss``, the measured losses are drawn beside it.
    ax : Axes, optional
        Axes to draw on; a new figure is made without.
    size : tuple of float
        Width and height of the new figure in inches.

    Returns
    -------
    Axes
        Loss in nats per token against FLOPs on a log axis; shaded where it reaches beyond the runs' compute.

    Raises
    ------
    BayescaleError
        A variable or a column is missing.

    References
    ----------
    Hoffmann et al. 2022, arXiv:2203.15556, figure 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescale.runs import Runs
    >>> runs = Runs.from_arrays(C=[1e18, 1e19], loss=[3.1, 2.8])
    >>> budgets = np.geomspace(1e18, 1e20, 9)
    >>> loss = 1.7 + 1.4 * (budgets / 1e18) ** -0.15 + np.zeros((20, 1)) + np.linspace(-0.1, 0.1, 20)[:, None]
    >>> path = xr.Dataset(
    ...     {"mean_loss": (("sample", "budget"), loss), "new_run_loss": (("sample", "budget"), loss)},
    ...     coords={"budget": budgets},
    ... )
    >>> forecast_band(path, runs).get_xscale()
    'log'
    """
    budgets, mean, new_run = _forecast(path)
    flops, loss = column(runs, "C", _PICTURE), column(runs, "loss", _PICTURE)
    edge = _largest_flops(path, budgets, flops)
    with style():
        own_figure, ax = ax is None, new_axes(ax, size)
        log_axis(ax, "x", "flops")
        draw_runs(ax, flops, loss)
        _draw_law(ax, budgets, mean, new_run)
        if targets is not None:
            _draw_targets(ax, targets)
        _shade_outside(ax, budgets, targets, edge, float(np.min(flops)) if flops.size else edge)
        ax.set_xlabel("training compute (FLOPs)")
        ax.set_ylabel("loss (nats per token)")
        dress(ax)
        legend_above(ax, caption(path), own_figure=own_figure)
        mark_untrusted([ax], warnings_of(path, targets))
    return ax


def _forecast(data: xr.Dataset) -> tuple[Float, Float, Float | None]:
    """Budgets in rising order, the draws of the mean law at them, and those of a new run."""
    along = "run" if isinstance(data, xr.Dataset) and "run" in data.dims and "budget" not in data.dims else "budget"
    mean = values(data, "mean_loss", ("sample", along), _PICTURE)
    budgets = values(data, "C" if along == "run" else "budget", (along,), _PICTURE)
    # A point fit has no noise to draw from, so it may lack the new run; elsewhere a missing band would mislead.
    may_lack = data.attrs.get("kind") == "point" or len(mean) == 1
    order = np.argsort(budgets, kind="stable")
    if may_lack and "new_run_loss" not in data:
        return budgets[order], mean[:, order], None
    new_run = values(data, "new_run_loss", ("sample", along), _PICTURE)
    if may_lack and np.isnan(new_run).all():
        return budgets[order], mean[:, order], None
    return budgets[order], mean[:, order], new_run[:, order]


def _largest_flops(path: xr.Dataset, budgets: Float, flops: Float) -> float:
    """The largest compute that was fitted; the forecast knows it better than the runs, which may hold held-out ones."""
    if "flops_ratio" in path.coords:
        along = "budget" if "budget" in path.dims else "run"
        ratio = values(path, "flops_ratio", (along,), _PICTURE)
        return float(np.nanmedian(np.sort(budgets) / np.sort(ratio)))
    if not flops.size:
        raise BayescaleError(f"{_PICTURE} needs at least one run, or a forecast with the coordinate 'flops_ratio'.")
    return float(np.max(flops))


def _draw_law(ax: Axes, budgets: Float, mean: Float, new_run: Float | None) -> None:
    q05, q25, q50, q75, q95 = quantiles(mean, _LEVELS, "mean_loss", _PICTURE)
    single = len(mean) == 1
    if len(budgets) == 1:
        _draw_one_budget(ax, budgets, mean, new_run)
        return
    new, outer, inner, line = BANDS
    ax.plot(budgets, q50, color=line, linewidth=1.2, zorder=4, label="law" if single else "mean law, median", gid="law")
    if single:
        return
    ax.fill_between(budgets, q25, q75, color=inner, lw=0, zorder=1.6, label="mean law, 50 %", gid="mean-50")
    ax.fill_between(budgets, q05, q95, color=outer, lw=0, zorder=1.4, label="mean law, 90 %", gid="mean-90")
    if new_run is not None:
        low, high = quantiles(new_run, (0.05, 0.95), "new_run_loss", _PICTURE)
        ax.fill_between(budgets, low, high, color=new, lw=0, zorder=1.2, label="new run, 90 %", gid="new-run-90")


def _draw_one_budget(ax: Axes, budgets: Float, mean: Float, new_run: Float | None) -> None:
    """One budget is no band: a point with the bar of the mean law and the longer one of a new run."""
    q05, _, q50, _, q95 = quantiles(mean, _LEVELS, "mean_loss", _PICTURE)
    single = len(mean) == 1
    size, colour = (5.0, BLUE) if single else (3.0, "white")
    ax.plot(
        budgets, q50, "o", color=colour, markeredgecolor=BLUE, markersize=size, zorder=5, gid="law",
        label="law" if single else "mean law, median",
    )  # fmt: skip
    if single:
        return
    ax.vlines(budgets, q05, q95, color=BLUE, linewidth=5, zorder=4, label="mean law, 90 %")
    if new_run is not None:
        low, high = quantiles(new_run, (0.05, 0.95), "new_run_loss", _PICTURE)
        ax.vlines(budgets, low, high, color=BLUE, linewidth=1, zorder=4, label="new run, 90 %")


def _draw_targets(ax: Axes, targets: xr.Dataset) -> None:
    name = "mean_loss" if "new_run_loss" not in targets and targets.attrs.get("kind") == "point" else "new_run_loss"
    draws = values(targets, name, ("sample", "run"), _PICTURE)
    flops = values(targets, "C", ("run",), _PICTURE)
    low, middle, high = quantiles(draws, (0.05, 0.5, 0.95), name, _PICTURE)
    ax.errorbar(
        flops, middle, yerr=[middle - low, high - middle], fmt="D", color=VERMILION, markersize=4, capsize=3.5,
        elinewidth=1.4, zorder=6, label="target" if len(draws) == 1 else "target, 90 %",
    )  # fmt: skip
    if "loss" in targets.coords:
        measured = values(targets, "loss", ("run",), _PICTURE)
        ax.plot(
            flops,
            measured,
            "*",
            color=INK,
            markersize=7,
            markeredgecolor="white",
            markeredgewidth=0.5,
            zorder=7,
            label="target, measured",
            gid="measured",
        )


def _shade_outside(ax: Axes, budgets: Float, targets: xr.Dataset | None, edge: float, smallest: float) -> None:
    reach = float(budgets[-1])
    if targets is not None:
        reach = max(reach, float(np.max(values(targets, "C", ("run",), _PICTURE))))
    low, high = ax.get_xlim()
    if budgets[0] < smallest * (1 - 1e-9):
        ax.axvspan(low, smallest, color=PALE, lw=0, zorder=0, gid="below")
    if reach > edge * (1 + 1e-9):
        ax.axvspan(edge, high, color=PALE, lw=0, zorder=0, gid="beyond")
        ax.axvline(edge, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1.8)
        # Three lines where the region is narrower than two lines of text.
        fraction = np.log(high / edge) / np.log(high / low)
        width = fraction * ax.bbox.width / ax.figure.dpi
        text = f"{times(reach / edge)} beyond\nthe largest{' ' if width > 1.05 else chr(10)}run"
        ax.annotate(
            text, (0.985, 0.975), xycoords="axes fraction", ha="right",
            va="top", fontsize=8, color=INK, linespacing=1.1, zorder=8, path_effects=halo(2.0, PALE), gid="reach",
        )  # fmt: skip
    ax.set_xlim(low, high)
