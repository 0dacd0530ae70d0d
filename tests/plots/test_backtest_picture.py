"""The picture of a backtest."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayescale import plots
from bayescale.errors import BayescaleError

LEVELS = np.array([0.5, 0.8, 0.9, 0.95, 0.99])


@pytest.fixture
def made() -> xr.Dataset:
    """Two forecasters, three hold-outs, four data sets of which two have no far fold."""
    coverage = np.stack([np.tile(LEVELS, (3, 1)), 0.6 * np.tile(LEVELS, (3, 1))])
    width = np.array([4.0, 7.0, 13.0])[None, :, None] * np.array([1.0, 0.5])[:, None, None] * np.ones(4)
    width[:, 2, 2:] = np.nan
    return xr.Dataset(
        {
            "coverage": (("forecaster", "holdout", "level"), coverage),
            "coverage_ends": (
                ("forecaster", "holdout", "level", "end"),
                np.stack([coverage - 0.1, coverage + 0.05], axis=-1),
            ),
            "width": (("forecaster", "holdout", "dataset"), width),
        },
        {"forecaster": ["nuts", "base"], "holdout": ["10", "30", "100"], "level": LEVELS, "dataset": list("abcd")},
    )


def heights(ax: Axes, gid: str) -> np.ndarray:
    (line,) = [line for line in ax.get_lines() if line.get_gid() == gid]
    return np.asarray(line.get_ydata(), dtype=np.float64)


def test_points_stand_where_the_numbers_are(made: xr.Dataset) -> None:
    axes = plots.backtest(made)
    assert len(axes) == 4
    for ax in axes[:-1]:
        np.testing.assert_allclose(heights(ax, "coverage-0"), 100 * LEVELS)
        np.testing.assert_allclose(heights(ax, "coverage-1"), 60 * LEVELS)
        assert len([line for line in ax.get_lines() if line.get_gid() == "claimed"]) == 1
    np.testing.assert_allclose(heights(axes[-1], "width-0"), [4, 7, 13])
    np.testing.assert_allclose(heights(axes[-1], "width-1"), [2, 3.5, 6.5])
    assert len([line for line in axes[-1].get_lines() if line.get_gid() == "one-0"]) == 4
    assert [ax.get_title() for ax in axes[:-1]] == ["10× beyond", "30× beyond", "100× beyond"]
    assert [text.get_text() for text in axes[0].figure.legends[0].get_texts()] == ["nuts", "base"]


def test_intervals_that_are_not_there_and_a_group_left_out(made: xr.Dataset) -> None:
    one = made.isel(holdout=[0]).assign_coords(holdout=["group"])
    one["coverage_ends"] = one["coverage_ends"] * np.nan
    axes = plots.backtest(one)
    assert axes[0].get_title() == "group left out"
    assert [label.get_text() for label in axes[-1].get_xticklabels()] == ["group"]


def test_on_axes_of_ones_own(made: xr.Dataset) -> None:
    own = Figure().subplots(1, 4)
    assert (plots.backtest(made, ax=own) == own).all()
    with pytest.raises(BayescaleError, match="draws 4 panels and was given 1 axes"):
        plots.backtest(made, ax=[own[0]])


def test_what_cannot_be_drawn(made: xr.Dataset) -> None:
    with pytest.raises(BayescaleError, match="needs 'width'"):
        plots.backtest(made.drop_vars("width"))
    five = xr.concat([made.isel(forecaster=[0]).assign_coords(forecaster=[str(n)]) for n in range(5)], "forecaster")
    with pytest.raises(BayescaleError, match="tells 4 forecasters apart, and was given 5"):
        plots.backtest(five)
