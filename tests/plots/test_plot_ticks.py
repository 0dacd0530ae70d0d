"""Ticks of the log axes, read off drawn figures."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

from bayescale.plots._numbers import flops
from bayescale.plots._style import dress
from bayescale.plots._ticks import log_axis


def labels(low, high, kind, which="x", width=4.5):
    """The tick labels inside the limits, from low to high, as (value, text)."""
    figure = Figure(figsize=(width, 3), layout="constrained")
    ax = figure.add_subplot()
    log_axis(ax, which, kind)
    (ax.set_xlim if which == "x" else ax.set_ylim)(low, high)
    dress(ax)
    figure.draw_without_rendering()
    axis = ax.xaxis if which == "x" else ax.yaxis
    found = [(tick.get_loc(), tick.label1) for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]]
    shown = [(at, text) for at, text in found if low <= at <= high and text.get_text()]
    return sorted(shown, key=lambda pair: pair[0])


def texts(*args, **kwargs):
    return [text.get_text() for _, text in labels(*args, **kwargs)]


def test_decades_of_flops_are_powers_of_ten():
    assert texts(5e18, 2e22, "flops") == [flops(10.0**k) for k in (19, 20, 21, 22)]


def test_decades_of_counts_have_suffixes():
    assert texts(5e7, 2e12, "quantity") == ["100M", "1B", "10B", "100B", "1T"]


def test_steps_between_decades_are_labelled_under_two_decades():
    assert texts(1.5e8, 5e9, "quantity", width=6) == ["200M", "300M", "400M", "600M", "1B", "2B", "3B", "4B"]
    assert texts(1.5e8, 5e9, "quantity", width=3.5) == ["200M", "500M", "1B", "2B", "5B"]


def test_no_steps_are_labelled_from_two_decades_on():
    assert texts(1e8, 1.01e10, "quantity", width=6) == ["100M", "1B", "10B"]


@pytest.mark.parametrize("which", ["x", "y"])
@pytest.mark.parametrize("kind", ["quantity", "flops"])
@pytest.mark.parametrize("decades", [0.05, 0.2, 0.5, 0.9, 1.9, 2.1, 14.0])
@pytest.mark.parametrize("start", [1.05e8, 3.7e8])
def test_labels_are_there_and_do_not_touch(which, kind, decades, start):
    shown = labels(start, start * 10**decades, kind, which, width=3.5)
    assert len(shown) >= 2
    boxes = [text.get_window_extent() for _, text in shown]
    ends = [(box.x0, box.x1) if which == "x" else (box.y0, box.y1) for box in boxes]
    # In order along the axis, each label ends before the next one starts.
    assert all(first[1] < second[0] for first, second in pairwise(ends))


def test_labels_tell_the_truth():
    for at, text in labels(1.5e8, 5e9, "quantity"):
        number = float(text.get_text()[:-1]) * {"M": 1e6, "B": 1e9}[text.get_text()[-1]]
        # Three digits are written.
        np.testing.assert_allclose(number, at, rtol=5e-3)
