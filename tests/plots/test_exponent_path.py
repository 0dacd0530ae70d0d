"""The picture of an exponent that changes from step to step."""

import numpy as np
import pytest
import xarray as xr

from bayescale import plots
from bayescale.errors import BayescaleError

ESTIMATE = np.array([[0.84, 0.7, 0.5], [0.86, 0.71, 0.52]])


def path(series=2, **others):
    spread = np.linspace(-0.02, 0.02, 101)
    estimate = np.resize(ESTIMATE, (series, 3))
    variables = {
        "N_exponent": (("series", "step", "sample"), estimate[..., None] + spread),
        "estimate": (("series", "step"), estimate),
    }
    labels = {"series": [f"corpus {i}" for i in range(series)], "step": ["one", "two", "three"]}
    return xr.Dataset(variables | others, labels)


def by_gid(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def test_estimates_and_intervals_stand_where_they_are():
    ax = plots.exponent_path(path())
    for series in range(2):
        (line,) = by_gid(ax, f"estimate-{series}")
        np.testing.assert_allclose(line.get_ydata(), ESTIMATE[series])
        (bars,) = by_gid(ax, f"interval-{series}")
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        # quantiles .025 and .975 of 101 evenly spaced draws
        np.testing.assert_allclose(ends - ESTIMATE[series][:, None], [[-0.019, 0.019]] * 3)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["one", "two", "three"]


def test_published_values_and_references_are_drawn_where_given():
    ax = plots.exponent_path(path(), references={"Kaplan: .88": 0.88})
    assert not by_gid(ax, "published-0")
    (line,) = by_gid(ax, "reference")
    assert set(line.get_ydata()) == {0.88}
    ax = plots.exponent_path(path(published=(("series", "step"), ESTIMATE + 0.01)))
    np.testing.assert_allclose(by_gid(ax, "published-1")[0].get_ydata(), ESTIMATE[1] + 0.01)
    assert "published" in [text.get_text() for text in ax.figure.legends[0].get_texts()]


def test_more_series_than_colours_are_refused():
    with pytest.raises(BayescaleError, match="tells 3 series apart, and was given 4"):
        plots.exponent_path(path(series=4))


def test_what_is_missing_is_named():
    with pytest.raises(BayescaleError, match="needs 'estimate' over"):
        plots.exponent_path(path().drop_vars("estimate"))
