"""The plane of parameters and tokens: iso-loss contours, the runs, and where the optimum lies at each budget."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.contour import QuadContourSet
from matplotlib.patheffects import Normal

from bayescale.plots._inputs import Float, RunsLike, caption, column, quantiles, values, warnings_of
from bayescale.plots._style import (
    INK,
    SMALL,
    budget_bar,
    budget_colours,
    draw_runs,
    dress,
    halo,
    legend_above,
    mark_untrusted,
    new_axes,
    style,
)
from bayescale.plots._ticks import log_axis

__all__ = ["frontier"]

_PICTURE = "frontier"
_STEPS = ((0.5, 1), (0.2, 1), (0.1, 1), (0.05, 2), (0.02, 2), (0.01, 2), (0.005, 3), (0.002, 3), (0.001, 3))


def frontier(
    allocation: xr.Dataset,
    surface: xr.Dataset,
    runs: RunsLike,
    *,
    contours: int = 8,
    ax: Axes | None = None,
    size: tuple[float, float] = (4.5, 3.8),
) -> Axes:
    """Draw the (N, D) plane with iso-loss contours and the posterior of the optimum at each budget.

    Parameters
    ----------
    allocation : Dataset
        Variables ``N`` (parameters) and ``D`` (tokens), dims (sample, budget); coordinate ``budget`` in FLOPs.
    surface : Dataset
        Variable ``loss`` in nats per token, dims (N, D), over coordinates ``N`` and ``D``.
    runs : Runs
        The runs that were fitted, with columns ``N`` and ``D``.
    contours : int
        About how many iso-loss contours to draw.
    ax : Axes, optional
        Axes to draw on; a new figure is made without.
    size : tuple of float
        Width and height of the new figure in inches.

    Returns
    -------
    Axes
        Tokens against parameters, both on log axes. At each budget a point at the median optimum, a thick bar over
        the middle 50 % of the draws and a thin one over 90 %, both along the dotted line of constant ``N D``.

    Raises
    ------
    BayescaleError
        A variable or a column is missing.

    References
    ----------
    Hoffmann et al. 2022, arXiv:2203.15556, figure 4.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescale.runs import Runs
    >>> runs = Runs.from_arrays(N=[1e8, 3e8], D=[2e9, 6e9], loss=[3.5, 3.0])
    >>> N, D = np.geomspace(1e7, 1e10, 20), np.geomspace(1e8, 1e12, 20)
    >>> loss = 1.8 + 480 * N[:, None] ** -0.35 + 2100 * D[None, :] ** -0.37
    >>> surface = xr.Dataset({"loss": (("N", "D"), loss)}, coords={"N": N, "D": D})
    >>> optimum = {"N": (("sample", "budget"), [[1e9]]), "D": (("sample", "budget"), [[2e10]])}
    >>> frontier(xr.Dataset(optimum, coords={"budget": [1.2e20]}), surface, runs).get_yscale()
    'log'
    """
    N, D = (values(allocation, name, ("sample", "budget"), _PICTURE) for name in ("N", "D"))
    budgets = values(allocation, "budget", ("budget",), _PICTURE)
    order = np.argsort(budgets, kind="stable")
    N, D, budgets = N[:, order], D[:, order], budgets[order]
    run_N, run_D = column(runs, "N", _PICTURE), column(runs, "D", _PICTURE)
    with style():
        own_figure, ax = ax is None, new_axes(ax, size)
        log_axis(ax, "x", "quantity")
        log_axis(ax, "y", "quantity")
        draw_runs(ax, run_N, run_D)
        _draw_optima(ax, N, D, budgets)
        _draw_surface(ax, surface, contours, np.column_stack([np.nanmedian(N, axis=0), np.nanmedian(D, axis=0)]))
        _draw_equal_compute(ax, N, D)
        if len(budgets) > 1:
            budget_bar(ax, budgets)
        ax.set_xlabel("parameters $N$")
        ax.set_ylabel("training tokens $D$")
        dress(ax)
        legend_above(ax, caption(allocation, budgets), own_figure=own_figure)
        mark_untrusted([ax], warnings_of(allocation, surface))
    return ax


def _draw_optima(ax: Axes, N: Float, D: Float, budgets: Float) -> None:
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    q_N, q_D = quantiles(N, levels, "N", _PICTURE), quantiles(D, levels, "D", _PICTURE)
    colours = budget_colours(len(budgets))
    ax.plot(q_N[2], q_D[2], color=INK, linewidth=0.9, linestyle=(0, (3, 2)), zorder=3.5, gid="path")
    for i, colour in enumerate(colours):
        if len(N) > 1:
            # At fixed compute a larger N is a smaller D, so the bar runs from low N, high D to high N, low D.
            for low, high, width, kind in ((0, 4, 2.0, "90"), (1, 3, 5.0, "50")):
                ax.plot(
                    q_N[[low, high], i], q_D[[high, low], i], color=colour, linewidth=width, zorder=4 + width / 10,
                    solid_capstyle="round", path_effects=[*halo(width + 1.2), Normal()], gid=f"interval-{kind}-{i}",
                )  # fmt: skip
        across = 2.4 if len(N) > 1 else 6.0
        ax.plot(
            q_N[2, i],
            q_D[2, i],
            "o",
            markersize=across,
            color="white" if len(N) > 1 else colour,
            markeredgewidth=0,
            zorder=5,
            gid=f"optimum-{i}",
        )
    shown = colours[0] if len(budgets) == 1 else INK
    if len(N) > 1:
        ax.plot(
            [], [], "o-", color=shown, linewidth=4, solid_capstyle="butt", markersize=2.4, markerfacecolor="white",
            markeredgewidth=0, label="optimum, 50 % and 90 %",
        )  # fmt: skip
    else:
        ax.plot([], [], "o", color=shown, markersize=6, label="optimum")


def _draw_equal_compute(ax: Axes, N: Float, D: Float) -> None:
    """Dotted lines of constant N D through the optima, across the whole plane; drawn last, as they set no limits."""
    limits = ax.get_xlim(), ax.get_ylim()
    across = np.array(limits[0])
    products = np.nanmedian(N * D, axis=0)
    for product, colour in zip(products, budget_colours(len(products)), strict=True):
        ax.plot(across, product / across, color=colour, linewidth=0.9, linestyle=":", zorder=2, gid="equal-compute")
    ax.plot([], [], color=INK, linewidth=0.9, linestyle=":", label="equal compute")
    ax.set(xlim=limits[0], ylim=limits[1])


def _draw_surface(ax: Axes, surface: xr.Dataset, contours: int, optima: Float) -> None:
    loss = values(surface, "loss", ("N", "D"), _PICTURE)
    N, D = values(surface, "N", ("N",), _PICTURE), values(surface, "D", ("D",), _PICTURE)
    if min(loss.shape) < 2:
        return
    levels, decimals = _levels(loss, contours)
    lines = ax.contour(N, D, loss.T, levels=levels, colors="#9A9A9A", linewidths=0.7, zorder=1.5)
    ax.plot([], [], color="#9A9A9A", linewidth=0.7, label="equal loss (nats/token)")
    places = _label_places(ax, lines, optima)
    for text in ax.clabel(lines, fontsize=SMALL, fmt=f"%.{decimals}f", inline_spacing=3, colors=INK, manual=places):
        text.set(zorder=6, path_effects=halo(2.0))


def _label_places(ax: Axes, lines: QuadContourSet, optima: Float) -> list[tuple[float, float]]:
    """One place a contour, near the right edge where few runs lie, clear of the optima and of the frame."""
    ax.autoscale_view()
    to_axes = ax.transData + ax.transAxes.inverted()
    places = []
    for path in lines.get_paths():
        vertices = np.asarray(path.vertices, dtype=np.float64)
        if not vertices.size:
            continue
        x, y = to_axes.transform(vertices).T
        inside = (x > 0.07) & (x < 0.93) & (y > 0.06) & (y < 0.94)
        apart = np.hypot(*(np.stack([x, y])[:, :, None] - to_axes.transform(optima).T[:, None, :]))
        inside &= apart.min(axis=1) > 0.1
        if inside.any():
            at = int(np.argmin(np.where(inside, np.abs(x - 0.86), np.inf)))
            places.append((float(vertices[at, 0]), float(vertices[at, 1])))
    return places


def _levels(loss: Float, count: int) -> tuple[Float, int]:
    """Round levels that split the plane into about equal areas, and their decimals.

    The loss flattens towards the floor, so that equal steps would leave the region of large runs empty.
    """
    finite = loss[np.isfinite(loss)]
    wanted = np.quantile(finite, np.linspace(0, 1, count + 2)[1:-1])
    for step, decimals in _STEPS:
        levels = np.unique(np.round(np.round(wanted / step) * step, decimals))
        levels = levels[(levels > finite.min()) & (levels < finite.max())]
        if len(levels) >= 0.7 * count:
            return levels, decimals
    return np.unique(wanted), 4
