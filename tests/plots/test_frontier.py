"""The picture of the (N, D) plane."""

import numpy as np
import pytest
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure

from bayescale import plots
from bayescale.errors import BayescaleError

AT = np.array([1e19, 1e20, 1e21, 1e22])


def by_gid(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


@pytest.fixture
def surface(law):
    return law.surface(np.geomspace(2e7, 2e11, 40), np.geomspace(5e8, 5e12, 50))


def test_axes_and_runs(law, surface, runs):
    ax = plots.frontier(law.allocation(AT), surface, runs)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("parameters $N$", "training tokens $D$")
    (points,) = by_gid(ax, "runs")
    np.testing.assert_array_equal(points.get_xydata(), np.column_stack([runs["N"], runs["D"]]))
    (low_N, high_N), (low_D, high_D) = ax.get_xlim(), ax.get_ylim()
    assert low_N <= runs["N"].min() < runs["N"].max() <= high_N
    assert low_D <= runs["D"].min() < runs["D"].max() <= high_D


def test_contours_are_labelled_inside_the_frame(law, surface, runs):
    ax = plots.frontier(law.allocation(AT), surface, runs)
    ax.figure.draw_without_rendering()
    (contours,) = (child for child in ax.get_children() if isinstance(child, QuadContourSet))
    assert 5 <= len(contours.levels) <= 9
    labels = contours.labelTexts
    assert {float(text.get_text()) for text in labels} <= set(np.round(contours.levels, 3))
    assert len(labels) >= len(contours.levels) - 1
    frame = ax.get_window_extent()
    for text in labels:
        box = text.get_window_extent()
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1


def test_a_contour_lies_where_the_loss_has_its_level(law, surface, runs):
    ax = plots.frontier(law.allocation(AT), surface, runs)
    (contours,) = (child for child in ax.get_children() if isinstance(child, QuadContourSet))
    for level, path in zip(contours.levels, contours.get_paths(), strict=True):
        N, D = path.vertices.T
        # Linear interpolation on a grid of 25 % steps, and the median over draws at places between its points.
        np.testing.assert_allclose(np.median(law.loss(N, D), axis=0), level, atol=0.02)


def test_the_optimum_and_its_intervals(law, surface, runs):
    allocation = law.allocation(AT)
    ax = plots.frontier(allocation, surface, runs)
    for i in range(len(AT)):
        (middle,) = by_gid(ax, f"optimum-{i}")
        chosen = allocation.isel(budget=i)
        np.testing.assert_allclose(middle.get_xydata()[0], [chosen["N"].median("sample"), chosen["D"].median("sample")])
        for kind, ends in (("90", (0.05, 0.95)), ("50", (0.25, 0.75))):
            (bar,) = by_gid(ax, f"interval-{kind}-{i}")
            np.testing.assert_allclose(bar.get_xdata(), chosen["N"].quantile(ends, "sample"))
            # The ends lie on the line of equal compute; the quantile of 1/N interpolates a little differently.
            np.testing.assert_allclose(bar.get_xdata() * bar.get_ydata(), AT[i] / 6, rtol=1e-3)


def test_equal_compute_is_dotted_through_the_whole_plane(law, surface, runs):
    ax = plots.frontier(law.allocation(AT), surface, runs)
    lines = by_gid(ax, "equal-compute")
    assert len(lines) == len(AT)
    for line, budget in zip(lines, AT, strict=True):
        assert line.get_linestyle() == ":"
        np.testing.assert_allclose(6 * line.get_xdata() * line.get_ydata(), budget)
        assert tuple(line.get_xdata()) == ax.get_xlim()


def test_one_budget_one_run_one_draw(point, law, surface, runs):
    ax = plots.frontier(point.allocation(np.array([1e21])), surface, runs.first(1))
    ax.figure.draw_without_rendering()
    entries = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert entries == ["1 run", "optimum", "equal loss (nats/token)", "equal compute"]
    assert not by_gid(ax, "interval-90-0")
    assert len(ax.figure.axes) == 1


def test_a_surface_of_one_line_has_no_contours(law, surface, runs):
    ax = plots.frontier(law.allocation(AT), surface.isel(N=slice(0, 1)), runs)
    assert not [child for child in ax.get_children() if isinstance(child, QuadContourSet)]


def test_the_callers_axes_are_used(law, surface, runs):
    given = Figure().add_subplot()
    assert plots.frontier(law.allocation(AT), surface, runs, ax=given) is given


def test_missing_things_are_named(law, surface, runs):
    allocation = law.allocation(AT)
    with pytest.raises(BayescaleError, match=r"frontier needs 'D' over \(sample, budget\)"):
        plots.frontier(allocation.drop_vars("D"), surface, runs)
    with pytest.raises(BayescaleError, match=r"frontier needs 'loss' over \(N, D\)"):
        plots.frontier(allocation, surface.rename(loss="value"), runs)
    with pytest.raises(BayescaleError, match=r"column D \(training tokens\)"):
        plots.frontier(allocation, surface, runs.without("D"))
