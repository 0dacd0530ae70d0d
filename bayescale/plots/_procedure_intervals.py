"""Procedures side by side: the interval of each for exponents, compute-optimal sizes and the floor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from bayescale.errors import BayescaleError
from bayescale.plots._inputs import Float, values
from bayescale.plots._numbers import flops as flops_text
from bayescale.plots._style import BLUE, GREY, INK, PALE, RED, SMALL, VERMILION, dress, style
from bayescale.plots._ticks import log_axis

__all__ = ["procedure_intervals"]

_PICTURE = "procedure_intervals"
# Colour and marker both, so that the kinds stay apart in grey print.
_KINDS: Mapping[str, dict[str, Any]] = {
    "posterior": {"color": BLUE, "marker": "o", "label": "posterior, 50 % and 90 %"},
    "bootstrap": {"color": VERMILION, "marker": "s", "label": "bootstrap, 50 % and 90 %"},
    "point": {"color": INK, "marker": "D", "label": "point, no interval"},
}
_LABELS = {
    "N_exponent": "exponent of N*\nin C",
    "D_exponent": "exponent of D*\nin C",
    "N": "N* (parameters)",
    "D": "D* (tokens)",
    "E": "E (nats/token)",
    "loss": "loss (nats/token)",
}
_LOGGED = ("N", "D")
# An interval that reaches this many widths of the middle one beyond all estimates would leave the others no room.
_REACH = 2.5


def procedure_intervals(
    intervals: xr.Dataset,
    *,
    names: Sequence[str] = ("N_exponent", "N", "D", "E"),
    ax: Iterable[Axes] | None = None,
    width: float = 7.5,
) -> np.ndarray:
    """Draw one panel a quantity and one line a procedure.

    Parameters
    ----------
    intervals : Dataset
        ``interval`` (procedure, quantity, level) at the levels .05, .25, .5, .75, .95; ``value`` (procedure, quantity),
        the number that is quoted; ``why`` (procedure, quantity), text where there is none; ``kind``, ``refused`` and
        ``trusted`` (procedure). The attribute ``flops`` is the budget of N* and D*. `Comparison.intervals` is one.
    names : sequence of str
        The quantities to draw.
    ax : iterable of Axes, optional
        One axes a quantity, side by side; a new figure is made without.
    width : float
        Width of the new figure in inches; its height follows from the number of procedures.

    Returns
    -------
    numpy.ndarray
        The Axes, shape (quantities,).

    Raises
    ------
    BayescaleError
        A variable or a quantity is missing, or the number of axes is not that of the quantities.

    Examples
    --------
    >>> made = xr.Dataset(
    ...     {
    ...         "interval": (("procedure", "quantity", "level"), np.array([[[0.47, 0.49, 0.5, 0.51, 0.53]]])),
    ...         "value": (("procedure", "quantity"), [[0.5]]),
    ...         "why": (("procedure", "quantity"), [[""]]),
    ...         "kind": ("procedure", ["posterior"]),
    ...         "refused": ("procedure", [False]),
    ...         "trusted": ("procedure", [True]),
    ...     },
    ...     {"procedure": ["nuts"], "quantity": ["N_exponent"], "level": [0.05, 0.25, 0.5, 0.75, 0.95]},
    ... )
    >>> procedure_intervals(made, names=["N_exponent"]).shape
    (1,)
    """
    band = values(intervals, "interval", ("procedure", "quantity", "level"), _PICTURE)
    value = values(intervals, "value", ("procedure", "quantity"), _PICTURE)
    known = [str(name) for name in intervals["quantity"].values]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise BayescaleError(
            f"{_PICTURE} has no {', '.join(unknown) or 'quantity to draw'}; it has {', '.join(known)}."
        )
    with style():
        axes = _axes(ax, len(names), len(value), width)
        for panel, name in zip(axes, names, strict=True):
            at = known.index(name)
            _draw_panel(panel, name, band[:, at], value[:, at], intervals)
        _label_rows(axes, intervals)
        _legend(axes, intervals, band, own_figure=ax is None)
        axes[0].figure.draw_without_rendering()
    return axes


def _axes(ax: Iterable[Axes] | None, count: int, rows: int, width: float) -> np.ndarray:
    if ax is not None:
        given = np.array(list(np.ravel(np.asarray(ax, dtype=object))), dtype=object)
        if len(given) != count:
            raise BayescaleError(f"{_PICTURE} draws {count} panels and was given {len(given)} axes; give one a panel.")
        return given
    figure = Figure(figsize=(width, 1.1 + 0.34 * rows), layout="constrained")
    return np.ravel(figure.subplots(1, count, squeeze=False))


def _draw_panel(ax: Axes, name: str, band: Float, value: Float, intervals: xr.Dataset) -> None:
    kinds = [str(kind) for kind in intervals["kind"].values]
    refused = intervals["refused"].values
    rows = len(value)
    for row in range(0, rows, 2):
        ax.axhspan(row - 0.5, row + 0.5, color=PALE, linewidth=0, zorder=0)
    if name in _LOGGED and np.isfinite(value).any():
        log_axis(ax, "x", "quantity")
    elif np.isfinite(value).any():
        ax.xaxis.set_major_locator(MaxNLocator(4, min_n_ticks=3))
    low, high = _limits(band, value, logged=name in _LOGGED)
    ax.set_xlim(low, high)
    for row in range(rows):
        if np.isfinite(value[row]):
            _draw_row(ax, row, band[row], float(value[row]), _KINDS[kinds[row]], (low, high))
        else:
            _say_none(ax, row, "refused the table" if refused[row] else "not given")
    ax.set_ylim(rows - 0.5, -0.5)
    budget = float(intervals.attrs.get("flops", np.nan))
    where = f"\nat {flops_text(budget)} FLOPs" if name in ("N", "D", "loss") and np.isfinite(budget) else ""
    ax.set_xlabel(_LABELS.get(name, name) + where)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    dress(ax)


def _limits(band: Float, value: Float, *, logged: bool) -> tuple[float, float]:
    """The range of a panel: every estimate, and every interval unless one is far wider than the middle one."""
    finite = value[np.isfinite(value)]
    if not finite.size:
        return 0.1, 1.0
    to, back = (np.log, np.exp) if logged else (np.asarray, np.asarray)
    first, last = float(to(finite).min()), float(to(finite).max())
    ends = to(band[np.isfinite(band).all(axis=1)][:, [0, -1]])
    if len(ends):
        reach = _REACH * float(np.median(ends[:, 1] - ends[:, 0]))
        low, high = max(float(ends.min()), first - reach), min(float(ends.max()), last + reach)
        first, last = min(first, low), max(last, high)
    margin = 0.07 * (last - first) or 0.05 * (1.0 if logged else abs(first) or 1.0)
    return float(back(first - margin)), float(back(last + margin))


def _draw_row(
    ax: Axes, row: int, band: Float, value: float, look: Mapping[str, Any], limits: tuple[float, float]
) -> None:
    colour = look["color"]
    if np.isfinite(band).all():
        for low, high, line, name in ((0, 4, 1.4, "90"), (1, 3, 4.5, "50")):
            ends = np.clip(band[[low, high]], *limits)
            ax.plot(ends, [row, row], color=colour, linewidth=line, solid_capstyle="butt", gid=f"interval-{name}-{row}")
        for beyond, marker, edge in ((band[0] < limits[0], "<", 0), (band[4] > limits[1], ">", 1)):
            if beyond:
                ax.plot(limits[edge], row, marker, color=colour, markersize=5, clip_on=False, gid=f"beyond-{row}")
    face = "white" if np.isfinite(band).all() else colour
    ax.plot(
        value, row, look["marker"], markersize=4.5, color=colour, markerfacecolor=face, markeredgewidth=1.2, zorder=5,
        gid=f"value-{row}",
    )  # fmt: skip


def _say_none(ax: Axes, row: int, why: str) -> None:
    ax.text(
        0.5, row, why, transform=ax.get_yaxis_transform(), ha="center", va="center", color=GREY, fontsize=SMALL,
        style="italic", gid=f"none-{row}",
    )  # fmt: skip


def _label_rows(axes: np.ndarray, intervals: xr.Dataset) -> None:
    """Names of the procedures at the first panel; in red, with a mark, those that are not to be trusted."""
    names = [str(name) for name in intervals["procedure"].values]
    doubted = ~intervals["trusted"].values & ~intervals["refused"].values
    labels = [f"{name}\ndo not trust" if doubt else name for name, doubt in zip(names, doubted, strict=True)]
    axes[0].set_yticks(range(len(names)), labels)
    axes[0].tick_params(axis="y", length=0)
    for label, doubt in zip(axes[0].get_yticklabels(), doubted, strict=True):
        label.set_color(RED if doubt else INK)


def _legend(axes: np.ndarray, intervals: xr.Dataset, band: Float, *, own_figure: bool) -> None:
    kinds = [
        str(kind)
        for kind, refused in zip(intervals["kind"].values, intervals["refused"].values, strict=True)
        if not refused
    ]
    handles = [
        Line2D(
            [], [], color=look["color"], marker=look["marker"], linewidth=0 if kind == "point" else 3, markersize=5.5,
            markerfacecolor=look["color"] if kind == "point" else "white", markeredgewidth=1.2, label=look["label"],
        )
        for kind, look in _KINDS.items()
        if kind in kinds
    ]  # fmt: skip
    if not handles:
        return
    if own_figure:
        axes[0].figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), borderpad=0.1)
    else:
        axes[0].legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
