"""What holds for every picture: the mark on a bad fit, readable text, nothing left behind."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from bayescale import plots
from bayescale.plots._inputs import warnings_of

NAMES = ["forecast_band", "isoflop_curves", "frontier", "posteriors"]


def marks(figure):
    return figure.findobj(lambda artist: artist.get_gid() == "do-not-trust")


def pixels(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [3.5, 6.0])
def test_a_bad_fit_is_marked_in_every_panel(pictures, name, width):
    figure = pictures[name](width, ["R-hat is 1.31", "5 divergences", "two modes"])
    panels = len(figure.axes) if name == "posteriors" else 1
    found = marks(figure)
    assert len(found) == panels
    figure.draw_without_rendering()
    for mark in found:
        assert " ".join(mark.get_text().split()) == "DO NOT TRUST: 3 warnings"
        assert to_rgb(mark.get_color()) == to_rgb("#D00000")
        box, frame = mark.get_window_extent(), mark.axes.get_window_extent()
        # Impossible to miss: at least half the panel's width, and not cut by its frame.
        assert 0.5 * frame.width < box.width <= frame.width
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
        assert all(spine.get_visible() and to_rgb(spine.get_edgecolor()) == to_rgb("#D00000")
                   for spine in mark.axes.spines.values())  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("warnings", [None, [], "", "\n"])
def test_a_good_fit_is_not_marked(pictures, name, warnings):
    assert not marks(pictures[name](4.5, warnings))


@pytest.mark.parametrize(
    ("stated", "count"),
    [("one line", 1), ("one\ntwo\n", 2), (["one", "two"], 2), (np.array(["one", "two"]), 2), (["same", "same"], 1)],
)
def test_warnings_in_the_forms_that_files_give_back(stated, count):
    assert len(warnings_of(xr.Dataset(attrs={"warnings": stated}), None)) == count


def test_warnings_of_several_datasets_are_put_together():
    first, second = xr.Dataset(attrs={"warnings": ["a", "b"]}), xr.Dataset(attrs={"warnings": ["b", "c"]})
    assert warnings_of(first, second) == ("a", "b", "c")


def test_one_warning_is_singular(pictures):
    (mark,) = marks(pictures["frontier"](4.5, "R-hat is 1.31"))
    assert mark.get_text().split()[-1] == "warning"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [3.5, 4.5, 6.0])
def test_text_is_readable_and_inside_the_figure(pictures, name, width):
    figure = pictures[name](width)
    figure.draw_without_rendering()
    assert all(text.get_fontsize() >= 8 for text in figure.findobj(Text) if text.get_text())
    drawn, (across, high) = figure.get_tightbbox(), figure.get_size_inches()
    # A pixel's width of the outermost line may lie outside.
    assert min(drawn.x0, drawn.y0) >= -0.01
    assert drawn.x1 <= across + 0.01
    assert drawn.y1 <= high + 0.01


@pytest.mark.parametrize("name", ["forecast_band", "isoflop_curves", "frontier"])
@pytest.mark.parametrize("width", [3.5, 6.0])
def test_the_legend_lies_over_no_axes(pictures, name, width):
    figure = pictures[name](width)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x1 <= figure.bbox.x1 + 0.5
    assert all(box.y0 >= ax.get_window_extent().y1 for ax in figure.axes)


def test_on_the_callers_axes_the_legend_lies_over_no_data(law, runs, budgets):
    figure = Figure(figsize=(7, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    plots.isoflop_curves(law.curves(budgets), runs, ax=left)
    plots.forecast_band(law.path(budgets, 3e21), runs, ax=right)
    figure.draw_without_rendering()
    for ax in (left, right):
        assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1 - 0.5
    assert left.get_window_extent().height > 0.3 * figure.bbox.height


@pytest.mark.parametrize("name", NAMES)
def test_the_callers_settings_are_left_alone(pictures, name):
    before = dict(mpl.rcParams)
    pictures[name]()
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", NAMES)
def test_the_look_does_not_depend_on_the_callers_settings(pictures, name):
    plain = pixels(pictures[name]())
    with mpl.rc_context({"xtick.labelsize": 20, "axes.linewidth": 5, "font.size": 30, "legend.frameon": True}):
        odd = pixels(pictures[name]())
    np.testing.assert_array_equal(odd, plain)


def test_pyplot_is_never_loaded():
    code = "import sys, bayescale.plots; sys.exit('matplotlib.pyplot' in sys.modules or 'jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_importing_the_package_loads_no_matplotlib():
    code = "import sys, bayescale; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
