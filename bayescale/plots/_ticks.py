"""Ticks of log axes: a label at each decade, and at some of the steps between where there are few decades."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogFormatter, LogLocator

from bayescale.plots._numbers import flops, quantity
from bayescale.plots._style import SMALL

__all__ = ["log_axis"]

_WRITE: dict[str, Callable[[float], str]] = {"quantity": quantity, "flops": flops}
_DIGITS: tuple[tuple[int, ...], ...] = ((2, 3, 4, 6), (2, 5), (3,))


class _BetweenDecades(LogFormatter):
    """Labels for minor ticks: none from two decades on, else as many as the axis has room for."""

    def __init__(self, write: Callable[[float], str], label_points: float) -> None:
        super().__init__()
        self._write = write
        self._label_points = label_points

    def __call__(self, value: float, pos: int | None = None) -> str:
        return self._write(value)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        axis = cast(Axis, self.axis)
        low, high = sorted(axis.get_view_interval())
        if low <= 0 or np.log10(high / low) >= 2:
            return [""] * len(values)
        per_decade = _axis_points(axis) / np.log10(high / low)
        inside = np.array([v for v in values if low <= v <= high])
        decades = 10.0 ** np.arange(np.ceil(np.log10(low) - 1e-9), np.floor(np.log10(high) + 1e-9) + 1)
        for chosen in _selections(inside, bool(decades.size)):
            marks = np.sort(np.log10(np.concatenate([chosen, decades])))
            if np.all(np.diff(marks) * per_decade >= self._label_points):
                return [self._write(v) if np.any(np.isclose(v, chosen, rtol=1e-9)) else "" for v in values]
        return [""] * len(values)


def _selections(ticks: np.ndarray, decade_in_view: bool) -> Iterator[np.ndarray]:
    """Choices of the ticks to label, from all of them to few."""
    yield ticks
    if decade_in_view:
        for digits in _DIGITS:
            yield ticks[[_leading(tick) in digits for tick in ticks]]
    else:
        # Less than a decade: the ticks may be at any round number, and dropping every other one keeps even steps.
        for step in range(2, len(ticks)):
            yield ticks[step // 2 :: step]


def _leading(value: float) -> float:
    """The digit before the decade, 3 for 3e18; not an integer where the tick is not on one."""
    return float(np.round(value / 10.0 ** np.floor(np.log10(value) + 1e-9), 6))


def _axis_points(axis: Axis) -> float:
    box = axis.axes.bbox
    length = box.width if axis is axis.axes.xaxis else box.height
    figure = axis.axes.get_figure(root=True)
    return float(length / figure.dpi * 72) if figure is not None else 200.0


def log_axis(ax: Axes, which: Literal["x", "y"], kind: Literal["quantity", "flops"]) -> None:
    """Make one axis logarithmic, with its ticks written as counts (``70B``) or as FLOPs (``10^21``).

    Parameters
    ----------
    ax : Axes
        The axes to change.
    which : {"x", "y"}
        The axis to change.
    kind : {"quantity", "flops"}
        How the numbers are written.
    """
    if which == "x":
        ax.set_xscale("log")
    else:
        ax.set_yscale("log")
    axis: Axis = ax.xaxis if which == "x" else ax.yaxis
    write = _WRITE[kind]
    # Room a label takes along the axis, with a gap: a FLOP count is about six characters wide, a count four.
    across = SMALL * (4.6 if kind == "flops" else 3.2)
    axis.set_major_locator(LogLocator(10))
    axis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
    axis.set_minor_locator(LogLocator(10, subs=[float(digit) for digit in range(2, 10)]))
    axis.set_minor_formatter(_BetweenDecades(write, across if which == "x" else SMALL * 1.4))
