"""Parameter posteriors as small multiples, with the prior behind each where it is given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from bayescale.errors import BayescaleError
from bayescale.plots._inputs import Float, quantiles, warnings_of
from bayescale.plots._numbers import estimate, symbol
from bayescale.plots._style import BLUE, GREY, INK, SMALL, dress, mark_untrusted, style

__all__ = ["posteriors"]

_PICTURE = "posteriors"
_DRAW_DIMS = ("chain", "draw", "sample")


def posteriors(
    draws: xr.Dataset,
    prior: xr.Dataset | None = None,
    *,
    names: Sequence[str] | None = None,
    ax: Axes | Iterable[Axes] | None = None,
    columns: int = 3,
    width: float = 5.0,
) -> np.ndarray:
    """Draw one panel a parameter: its draws as a histogram, median and 90 % interval in the title.

    Parameters
    ----------
    draws : Dataset
        One variable a parameter, dims (chain, draw) or (sample,); a parameter with a further dimension gets a panel
        for each of its entries. The attribute ``kind`` says what the draws mean (posterior, bootstrap, point).
    prior : Dataset, optional
        Draws from the prior, dims (sample,), drawn as a grey density. Parameters that it does not hold (derived
        ones) get none.
    names : sequence of str, optional
        The parameters to draw, in this order; all of them without.
    ax : Axes or iterable of Axes, optional
        One axes a panel; a new figure is made without.
    columns : int
        Panels in a row of the new figure.
    width : float
        Width of the new figure in inches; its height follows from the number of rows.

    Returns
    -------
    numpy.ndarray
        The Axes, one a panel, shape (panels,).

    Raises
    ------
    BayescaleError
        A name is unknown, there is nothing to draw, or the number of axes is not that of the panels.

    Examples
    --------
    >>> import numpy as np
    >>> E = np.random.default_rng(0).normal(1.8, 0.02, (4, 500))
    >>> axes = posteriors(xr.Dataset({"E": (("chain", "draw"), E)}, attrs={"kind": "posterior"}))
    >>> len(axes)
    1
    """
    panels = _panels(draws, names)
    prior_panels = {} if prior is None else _panels(prior, None)
    kind = str(draws.attrs.get("kind") or "draws")
    with style():
        axes = _axes(ax, len(panels), columns, width)
        handles: dict[str, Any] = {}
        for panel, (name, sample) in zip(axes, panels.items(), strict=True):
            handles |= _draw_panel(panel, name, sample, prior_panels.get(name), kind)
        _legend(axes, handles, own_figure=ax is None)
        mark_untrusted(list(axes), warnings_of(draws, prior))
    return axes


def _panels(data: xr.Dataset, names: Sequence[str] | None) -> dict[str, Float]:
    """Draws by panel, flat; a parameter over a further dimension is split by its coordinate: ``a[en]``."""
    if not isinstance(data, xr.Dataset):
        raise BayescaleError(f"{_PICTURE} needs an xarray Dataset of draws, not a {type(data).__name__}.")
    known = [str(name) for name in data.data_vars]
    unknown = [name for name in names or () if name not in known]
    if unknown or not known:
        missing = f"no parameter {', '.join(map(repr, unknown))}" if unknown else "no parameters at all"
        raise BayescaleError(f"{_PICTURE}: the draws hold {missing}; they hold: {', '.join(known) or 'nothing'}.")
    panels: dict[str, Float] = {}
    for name in names or known:
        array = data[name]
        sampled = [dim for dim in array.dims if dim in _DRAW_DIMS]
        if not sampled or array.size == 0:
            raise BayescaleError(
                f"{_PICTURE} needs draws of {name!r} over (chain, draw) or (sample), and here it lies over "
                f"({', '.join(map(str, array.dims))}) with {array.size} values."
            )
        others = [dim for dim in array.dims if dim not in _DRAW_DIMS]
        flat = np.asarray(array.transpose(*others, *sampled).values, dtype=np.float64)
        for index in np.ndindex(flat.shape[: len(others)]):
            label = ",".join(str(array[dim].values[i]) for dim, i in zip(others, index, strict=True))
            panels[f"{name}[{label}]" if label else name] = flat[index].ravel()
    return panels


def _axes(ax: Axes | Iterable[Axes] | None, count: int, columns: int, width: float) -> np.ndarray:
    if ax is not None:
        given = np.array([ax] if isinstance(ax, Axes) else list(np.ravel(np.asarray(ax, dtype=object))), dtype=object)
        if len(given) != count:
            raise BayescaleError(f"{_PICTURE} draws {count} panels and was given {len(given)} axes; give one a panel.")
        return given
    columns = max(1, min(columns, count))
    rows = -(-count // columns)
    # Below about an inch and a half a title with its interval no longer fits over its panel.
    columns_that_fit = max(1, min(columns, int(width / 1.55)))
    if columns_that_fit < columns:
        columns, rows = columns_that_fit, -(-count // columns_that_fit)
    figure = Figure(figsize=(width, 0.35 + 1.4 * rows), layout="constrained")
    grid = figure.add_gridspec(rows, columns)
    return np.array([figure.add_subplot(grid[divmod(i, columns)]) for i in range(count)], dtype=object)


def _draw_panel(ax: Axes, name: str, sample: Float, prior: Float | None, kind: str) -> dict[str, Any]:
    """Draw one parameter; the artists for the legend by their labels."""
    low, median, high = quantiles(sample, (0.05, 0.5, 0.95), name, _PICTURE)
    start, stop = _window(sample, prior)
    handles: dict[str, Any] = {}
    finite = sample[np.isfinite(sample)]
    if high > low:
        count = len(np.histogram_bin_edges(finite[(finite >= start) & (finite <= stop)], "fd"))
        bins = np.linspace(start, stop, int(np.clip(count, 16, 45)))
        _, _, patches = ax.hist(
            finite, bins.tolist(), density=True, histtype="stepfilled", color=BLUE, alpha=0.55, linewidth=0
        )
        handles[kind] = patches[0]  # type: ignore[index]
        (handles["median and 90 %"],) = ax.plot([low, high], [0, 0], color=INK, linewidth=3, clip_on=False, zorder=5)
        ax.plot(median, 0, "o", color="white", markeredgecolor=INK, markersize=4.5, clip_on=False, zorder=6)
    else:
        handles[kind] = ax.axvline(float(median), color=BLUE, linewidth=2)
    if prior is not None and np.ptp(prior[np.isfinite(prior)]) > 0:
        grid = np.linspace(start, stop, 200)
        density = _density(prior[np.isfinite(prior)], grid)
        if not high > low:
            density = density / np.max(density) if np.max(density) > 0 else density
        ax.fill_between(grid, density, color=GREY, alpha=0.25, lw=0, zorder=0.5)
        (handles["prior"],) = ax.plot(grid, density, color=GREY, linewidth=1.2, zorder=3, gid="prior")
    ax.set_xlim(start, stop)
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.xaxis.set_major_locator(MaxNLocator(3, min_n_ticks=2))
    formatter = ScalarFormatter(useOffset=False)
    formatter.set_powerlimits((-3, 5))
    ax.xaxis.set_major_formatter(formatter)
    ax.set_title(f"{symbol(name)}\n{estimate(float(median), float(low), float(high))}", fontsize=SMALL)
    dress(ax)
    return handles


def _window(sample: Float, prior: Float | None) -> tuple[float, float]:
    """The range to show: all but the outermost draws, with a margin, not below zero for a positive parameter."""
    finite = sample[np.isfinite(sample)]
    low, high = np.quantile(finite, (0.002, 0.998))
    if low == high and prior is not None:
        # A single value has no width of its own, so it is shown where the prior puts it.
        first, last = np.nanquantile(prior, (0.02, 0.95))
        low, high = min(low, first), max(high, last)
    span = float(high - low) or 0.2 * abs(float(low)) or 1.0
    start = float(low) - 0.12 * span
    positive = np.min(finite) >= 0 and np.ptp(finite) > 0
    return (max(start, 0.0) if positive else start), float(high) + 0.12 * span


def _density(draws: Float, grid: Float) -> Float:
    """Gaussian kernel estimate on `grid`; of the logarithm where all draws are positive, so that none leaks below 0."""
    positive = bool(np.min(draws) > 0)
    x = np.log(draws) if positive else draws
    at = np.log(np.where(grid > 0, grid, np.nan)) if positive else grid
    spread = min(float(np.std(x)), float(np.subtract(*np.quantile(x, (0.75, 0.25)))) / 1.349 or float(np.std(x)))
    # Half as wide again as Silverman's rule: priors are smooth, and in a tail few of their draws are at hand.
    bandwidth = 1.35 * spread * len(x) ** -0.2
    kernel = np.exp(-0.5 * ((at[:, None] - x[None, :]) / bandwidth) ** 2).mean(axis=1)
    density: Float = kernel / (bandwidth * np.sqrt(2 * np.pi))
    return np.nan_to_num(density / grid if positive else density)


def _legend(axes: np.ndarray, handles: dict[str, Any], *, own_figure: bool) -> None:
    if own_figure:
        axes[0].figure.legend(
            list(handles.values()), list(handles), loc="outside lower center", ncols=len(handles), handlelength=1.4,
            columnspacing=1.4, borderpad=0.1,
        )  # fmt: skip
    else:
        # Under the panel's tick labels, since its histogram takes up the whole of it.
        axes[0].legend(
            list(handles.values()), list(handles), loc="upper left", bbox_to_anchor=(0, 0), borderaxespad=2.2,
            handlelength=1.2, labelspacing=0.3,
        )  # fmt: skip
