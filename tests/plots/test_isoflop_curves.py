"""The picture of loss against model size at fixed compute."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from bayescale import plots
from bayescale.errors import BayescaleError


def by_gid(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def legend(ax):
    return [text.get_text() for text in ax.figure.legends[0].get_texts()]


def test_one_curve_a_budget_in_the_colour_of_its_runs(law, runs, budgets):
    curves = law.curves(budgets)
    ax = plots.isoflop_curves(curves, runs)
    lines = by_gid(ax, "law")
    assert len(lines) == len(budgets)
    for i, line in enumerate(lines):
        np.testing.assert_allclose(line.get_ydata(), curves["mean_loss"].isel(budget=i).median("sample"))
        (points,) = by_gid(ax, f"runs-{i}")
        assert to_rgba(points.get_color()) == to_rgba(line.get_color())
        # The fixture puts eleven runs within a few per cent of each budget.
        assert len(points.get_xdata()) == 11
    assert len({to_rgba(line.get_color()) for line in lines}) == len(budgets)
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "parameters $N$"


def test_colours_are_told_in_flops(law, runs, budgets):
    ax = plots.isoflop_curves(law.curves(budgets), runs)
    (bar,) = (other for other in ax.figure.axes if other is not ax)
    assert bar.get_ylabel() == "training compute (FLOPs)"
    shown = [text.get_text() for text in bar.get_yticklabels()]
    assert shown[0] == r"$\mathregular{6{\times}10^{18}}$"
    assert len(shown) == len(budgets)


def test_many_budgets_keep_their_bar_readable(law, runs):
    ax = plots.isoflop_curves(law.curves(np.geomspace(1e18, 1e22, 31), sizes=9), runs)
    (bar,) = (other for other in ax.figure.axes if other is not ax)
    assert 5 <= len(bar.get_yticklabels()) <= 10


def test_the_marked_minimum_is_the_optimum_in_closed_form(law, runs, budgets):
    ax = plots.isoflop_curves(law.curves(budgets, sizes=41), runs)
    (marks,), (bars,) = by_gid(ax, "minimum"), by_gid(ax, "minimum-90")
    low, median, high = np.quantile(law.optimum(budgets)[0], (0.05, 0.5, 0.95), axis=0)
    # The parabola through points 12 % apart misses by its third-order term.
    np.testing.assert_allclose(marks.get_xdata(), median, rtol=3e-3)
    for i, segment in enumerate(bars.get_segments()):
        np.testing.assert_allclose(segment[:, 0], [low[i], high[i]], rtol=3e-3)
        np.testing.assert_allclose(segment[:, 1], marks.get_ydata()[i])
    at_optimum = np.median(law.loss(median, budgets / (6 * median)), axis=0)
    np.testing.assert_allclose(marks.get_ydata(), at_optimum, rtol=1e-3)


def test_sizes_in_any_order(law, runs, budgets):
    curves = law.curves(budgets)
    backwards = curves.isel(size=slice(None, None, -1))
    (one,), (other,) = (by_gid(plots.isoflop_curves(data, runs), "minimum") for data in (curves, backwards))
    np.testing.assert_allclose(one.get_xdata(), other.get_xdata())


def test_no_minimum_is_marked_at_the_end_of_a_curve(law, runs, budgets):
    curves = law.curves(budgets, sizes=41).isel(size=slice(0, 15))
    assert not by_gid(plots.isoflop_curves(curves, runs), "minimum")


def test_runs_near_no_budget_are_counted_and_not_drawn(law, runs):
    ax = plots.isoflop_curves(law.curves(np.array([6e18, 3e21])), runs)
    assert "22 of 99 runs" in legend(ax)


def test_tolerance(law, runs):
    # 6e18 takes the runs at 1e19, a factor 1.67 away, and not those at 3e19, a factor 5 away.
    ax = plots.isoflop_curves(law.curves(np.array([6e18])), runs, tolerance=1.0)
    assert "22 of 99 runs" in legend(ax)


@pytest.mark.parametrize("sizes", [1, 2, 41])
def test_one_budget_one_run_one_draw(point, runs, sizes):
    curves = point.curves(np.array([6e18]), sizes=sizes)
    ax = plots.isoflop_curves(curves, runs.first(1))
    ax.figure.draw_without_rendering()
    assert "1 of 1 runs" in legend(ax)
    assert "mean law, 90 %" not in legend(ax)
    title = ax.figure.legends[0].get_title().get_text()
    assert title == r"chinchilla, posterior, $\mathregular{6{\times}10^{18}}$ FLOPs"
    assert len(ax.figure.axes) == 1


def test_budgets_in_any_order(law, runs, budgets):
    forward, backward = (
        plots.isoflop_curves(law.curves(b), runs).figure.axes[1].get_yticklabels() for b in (budgets, budgets[::-1])
    )
    assert [text.get_text() for text in forward] == [text.get_text() for text in backward]


def test_the_callers_axes_are_used(law, runs, budgets):
    given = Figure().add_subplot()
    assert plots.isoflop_curves(law.curves(budgets), runs, ax=given) is given


@pytest.mark.parametrize("name", ["mean_loss", "N"])
def test_a_missing_variable_is_named(law, runs, budgets, name):
    with pytest.raises(BayescaleError, match=f"isoflop_curves needs '{name}'"):
        plots.isoflop_curves(law.curves(budgets).drop_vars(name), runs)


@pytest.mark.parametrize("name", ["N", "C", "loss"])
def test_a_missing_column_is_named(law, runs, budgets, name):
    with pytest.raises(BayescaleError, match=f"the runs' column {name} .*--column {name}="):
        plots.isoflop_curves(law.curves(budgets), runs.without(name))
