"""The picture of loss against compute."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from bayescale import plots
from bayescale.errors import BayescaleError


def by_gid(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def legend(ax):
    return [text.get_text() for text in ax.figure.legends[0].get_texts()]


@pytest.fixture
def path(law, runs):
    largest = runs["C"].max()
    return law.path(np.geomspace(6e18, 10 * largest, 40), largest)


def test_axes_runs_and_law(path, runs):
    ax = plots.forecast_band(path, runs)
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "training compute (FLOPs)"
    assert ax.get_ylabel() == "loss (nats per token)"
    (points,), (line,) = by_gid(ax, "runs"), by_gid(ax, "law")
    np.testing.assert_array_equal(points.get_xydata(), np.column_stack([runs["C"], runs["loss"]]))
    np.testing.assert_allclose(line.get_ydata(), path["mean_loss"].median("sample"))
    assert legend(ax)[0] == "99 runs"
    assert ax.figure.legends[0].get_title().get_text() == "chinchilla, posterior"


@pytest.mark.parametrize(
    ("gid", "variable", "ends"),
    [
        ("mean-50", "mean_loss", (0.25, 0.75)),
        ("mean-90", "mean_loss", (0.05, 0.95)),
        ("new-run-90", "new_run_loss", (0.05, 0.95)),
    ],
)
def test_bands_are_the_quantiles(path, runs, gid, variable, ends):
    (band,) = by_gid(plots.forecast_band(path, runs), gid)
    outline = band.get_paths()[0].vertices
    for i, budget in enumerate(path["budget"].values):
        at = outline[np.isclose(outline[:, 0], budget), 1]
        expected = path[variable].isel(budget=i).quantile(ends, "sample").values
        np.testing.assert_allclose([at.min(), at.max()], expected)


def test_extrapolation_is_shaded_from_the_largest_run_on(path, runs):
    ax = plots.forecast_band(path, runs)
    (region,), (note,) = by_gid(ax, "beyond"), by_gid(ax, "reach")
    box = region.get_extents().transformed(ax.transData.inverted())
    np.testing.assert_allclose([box.x0, box.x1], [runs["C"].max(), ax.get_xlim()[1]])
    assert note.get_text().split() == ["10×", "beyond", "the", "largest", "run"]
    assert not by_gid(ax, "below")


def test_the_forecast_knows_the_largest_fitted_run_better_than_the_table(law, runs):
    """Held-out runs in the table must not hide that the forecast extrapolates over them."""
    fitted = 3e19
    path = law.path(np.geomspace(6e18, 3e21, 20), fitted)
    (note,) = by_gid(plots.forecast_band(path, runs), "reach")
    assert note.get_text().startswith("100×")


def test_no_shading_inside_the_data(law, runs):
    ax = plots.forecast_band(law.path(np.geomspace(1e19, 1e21, 20), runs["C"].max()), runs)
    assert not by_gid(ax, "beyond")
    assert not by_gid(ax, "reach")


def test_below_the_smallest_run_is_shaded_too(law, runs):
    ax = plots.forecast_band(law.path(np.geomspace(1e17, 1e21, 20), runs["C"].max()), runs)
    assert by_gid(ax, "below")


def test_targets_extend_the_axis_and_carry_their_interval(law, path, runs):
    targets = law.forecast(np.array([70e9]), np.array([1.4e12]), runs["C"].max()).assign_coords(loss=("run", [1.95]))
    ax = plots.forecast_band(path, runs, targets=targets)
    assert {"target, 90 %", "target, measured"} <= set(legend(ax))
    assert ax.get_xlim()[1] > 6 * 70e9 * 1.4e12
    (bars,) = (c for c in ax.containers if c.get_label() == "target, 90 %")
    low, high = bars.lines[2][0].get_segments()[0][:, 1]
    np.testing.assert_allclose([low, high], targets["new_run_loss"].quantile([0.05, 0.95], "sample").values[:, 0])
    (note,) = by_gid(ax, "reach")
    assert note.get_text().startswith("190×")  # 5.88e23 against 3.15e21


def test_a_forecast_over_runs_is_drawn_in_the_order_of_compute(law, runs):
    N, D = np.array([1e10, 1e8, 1e9]), np.array([2e11, 2e9, 2e10])
    (line,) = by_gid(plots.forecast_band(law.forecast(N, D, 1e21), runs), "law")
    np.testing.assert_allclose(line.get_xdata(), np.sort(6 * N * D))
    assert np.all(np.diff(line.get_ydata()) < 0)


def test_a_point_fit_has_a_line_and_no_bands(point, runs):
    path = point.path(np.geomspace(1e19, 1e22, 20), 3e21).drop_vars("new_run_loss").assign_attrs(kind="point")
    ax = plots.forecast_band(path, runs)
    assert legend(ax) == ["99 runs", "law"]
    assert not by_gid(ax, "mean-90")


def test_one_budget_is_a_point_with_bars(law, runs):
    ax = plots.forecast_band(law.path(np.array([1e22]), runs["C"].max()), runs.first(1))
    assert legend(ax) == ["1 run", "mean law, median", "mean law, 90 %", "new run, 90 %"]


def test_the_callers_axes_are_used(path, runs):
    given = Figure().add_subplot()
    assert plots.forecast_band(path, runs, ax=given) is given
    assert given.get_legend() is not None


@pytest.mark.parametrize("name", ["mean_loss", "new_run_loss", "budget"])
def test_a_missing_variable_is_named(path, runs, name):
    with pytest.raises(BayescaleError, match=f"forecast_band needs '{name}' over .*budget.*it holds: "):
        plots.forecast_band(path.drop_vars(name), runs)


def test_a_missing_column_is_named(path, runs):
    with pytest.raises(BayescaleError, match=r"column C \(training FLOPs\).*synthetic\.csv"):
        plots.forecast_band(path, runs.without("C"))


def test_wrong_dimensions_are_named(law, runs):
    with pytest.raises(BayescaleError, match=r"'mean_loss' over \(sample, budget\).*\(sample, budget, size\)"):
        plots.forecast_band(law.curves(np.array([1e20, 1e21])), runs)


def test_not_a_dataset(path, runs):
    with pytest.raises(BayescaleError, match="not a DataArray"):
        plots.forecast_band(path["mean_loss"], runs)


def test_draws_that_are_all_nan_are_named(path, runs):
    with pytest.raises(BayescaleError, match="every draw of it is NaN"):
        plots.forecast_band(path.assign(mean_loss=path["mean_loss"] * np.nan), runs)


def test_a_replicate_that_failed_is_left_out(path, runs):
    whole = path.isel(sample=slice(1, None))
    broken = path.where(path["sample"] > 0) if "sample" in path.coords else path.copy(deep=True)
    broken["mean_loss"].values[0] = np.nan
    broken["new_run_loss"].values[0] = np.nan
    (line,), (expected,) = (by_gid(plots.forecast_band(data, runs), "law") for data in (broken, whole))
    np.testing.assert_array_equal(line.get_ydata(), expected.get_ydata())
