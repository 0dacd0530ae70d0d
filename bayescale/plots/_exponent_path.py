"""How an exponent changes as one thing after another is changed about the runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from bayescale.errors import BayescaleError
from bayescale.plots._inputs import Float, quantiles, values
from bayescale.plots._style import BLUE, GREY, INK, SMALL, VERMILION, dress, halo, legend_above, new_axes, style

__all__ = ["exponent_path"]

_PICTURE = "exponent_path"
# Colour and marker both, so that the series stay apart in grey print.
_LOOKS = ((BLUE, "o"), (VERMILION, "s"), (INK, "^"))
# Half the distance between two series at one step, in steps.
_DODGE = 0.13


def exponent_path(
    path: xr.Dataset,
    *,
    references: Mapping[str, float] | None = None,
    ax: Axes | None = None,
    size: tuple[float, float] = (6.4, 3.6),
) -> Axes:
    """Draw the exponent of N* at each step, one line a series.

    Parameters
    ----------
    path : Dataset
        ``N_exponent`` (series, step, sample), replicates of the exponent of N* in C; ``estimate`` (series, step), the
        number that is quoted; optionally ``published`` (series, step), drawn as bars across. Coordinates ``series`` and
        ``step`` hold the labels; at most three series.
    references : mapping of str to float, optional
        Exponents to draw as dotted lines, with their labels.
    ax : Axes, optional
        Axes to draw on; a new figure is made without.
    size : tuple of float
        Width and height of the new figure in inches.

    Returns
    -------
    Axes
        Estimates with their 95 % intervals against the steps from left to right.

    Raises
    ------
    BayescaleError
        A variable is missing, or there are more than three series.

    References
    ----------
    Porian et al. 2024, arXiv 2406.19146, figure 1.

    Examples
    --------
    >>> draws = np.array([[[0.82, 0.83, 0.84], [0.49, 0.5, 0.51]]])
    >>> data = {"N_exponent": (("series", "step", "sample"), draws), "estimate": (("series", "step"), draws[..., 1])}
    >>> labels = {"series": ["RefinedWeb"], "step": ["before", "after"]}
    >>> exponent_path(xr.Dataset(data, labels)).get_ylabel()
    'exponent of $N^*$ in $C$'
    """
    draws = values(path, "N_exponent", ("series", "step", "sample"), _PICTURE)
    estimate = values(path, "estimate", ("series", "step"), _PICTURE)
    published = values(path, "published", ("series", "step"), _PICTURE) if "published" in path else None
    if len(draws) > len(_LOOKS):
        raise BayescaleError(f"{_PICTURE} tells {len(_LOOKS)} series apart, and was given {len(draws)}: draw fewer.")
    low, high = quantiles(np.moveaxis(draws, 2, 0), (0.025, 0.975), "N_exponent", _PICTURE)
    with style():
        own_figure, ax = ax is None, new_axes(ax, size)
        for label, at in (references or {}).items():
            _draw_reference(ax, label, at, estimate)
        for series in range(len(draws)):
            _draw_series(ax, path, series, (estimate[series], low[series], high[series]), len(draws))
            if published is not None:
                x = _places(draws.shape[1], series, len(draws))
                ax.plot(
                    x, published[series], "_", color=INK, markersize=15, markeredgewidth=1.1, zorder=3.5,
                    gid=f"published-{series}", label="published" if series == len(draws) - 1 else None,
                )  # fmt: skip
        _dress_axes(ax, [str(step) for step in path["step"].values])
        legend_above(ax, "", own_figure=own_figure)
    return ax


def _places(steps: int, series: int, count: int) -> Float:
    return np.asarray(np.arange(steps) + _DODGE * (2 * series - (count - 1)), dtype=np.float64)


def _draw_series(ax: Axes, path: xr.Dataset, series: int, line: tuple[Float, Float, Float], count: int) -> None:
    estimate, low, high = line
    colour, marker = _LOOKS[series]
    x = _places(len(estimate), series, count)
    ax.plot(x, estimate, color=colour, linewidth=0.9, alpha=0.55, zorder=2)
    ax.vlines(x, low, high, color=colour, linewidth=2.2, alpha=0.8, zorder=3, gid=f"interval-{series}")
    ax.plot(
        x, estimate, marker, color=colour, markersize=5.5, markeredgecolor="white", markeredgewidth=0.6, zorder=4,
        gid=f"estimate-{series}", label=f"{path['series'].values[series]}, 95 %",
    )  # fmt: skip
    # An exponent that falls from step to step leaves room below to the left and above to the right of its line.
    left = count > 1 and series == 0
    for at, value in zip(x, estimate, strict=True):
        ax.annotate(
            f"{value:.3f}", (at, value), (-5, -5) if left else (5, 5), textcoords="offset points", color=colour,
            ha="right" if left else "left", va="top" if left else "bottom", fontsize=SMALL, path_effects=halo(),
            zorder=5,
        )  # fmt: skip


def _draw_reference(ax: Axes, label: str, at: float, estimate: Float) -> None:
    """A dotted line, labelled at the end where the estimates are further from it."""
    ax.axhline(at, color=GREY, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1, gid="reference")
    right = np.abs(estimate[:, -1] - at).min() > np.abs(estimate[:, 0] - at).min()
    ax.annotate(
        label, (estimate.shape[1] - 0.45 if right else -0.55, at), (0, 2), textcoords="offset points",
        ha="right" if right else "left", va="bottom", color=GREY, fontsize=SMALL,
    )  # fmt: skip


def _dress_axes(ax: Axes, steps: list[str]) -> None:
    ax.set_xlim(-0.6, len(steps) - 0.4)
    ax.set_xticks(range(len(steps)), steps)
    ax.set_ylabel("exponent of $N^*$ in $C$")
    ax.margins(y=0.08)
    dress(ax)
    ax.tick_params(axis="x", length=0)
