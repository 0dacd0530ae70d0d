"""The two heat maps of the transfer matrix."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from bayescale.errors import BayescaleError
from bayescale.plots import transfer_matrix

NAMES = ["en", "de", "zh"]
SCORE = np.array([[np.nan, 0.2, -0.1], [0.3, np.nan, -0.2], [-0.8, -1.0, np.nan]])


def table(**attributes: object) -> xr.Dataset:
    cells = ("target", "source")
    measured = np.array([[False, True, True], [True, False, False], [False, True, False]])
    sd = np.where(measured, 0.0, np.where(np.isfinite(SCORE), 0.15, np.nan))
    variables = {"median": (cells, SCORE), "sd": (cells, sd), "measured": (cells, measured)}
    return xr.Dataset(variables, coords={"target": NAMES, "source": NAMES}, attrs=attributes)


def labels(ticks: list) -> list[str]:
    return [tick.get_text() for tick in ticks]


def test_the_best_target_is_at_the_top_and_the_best_source_on_the_left() -> None:
    scores, sds = transfer_matrix(table())
    # means of the targets .05, .05, -.9 and of the sources -.25, -.4, -.15
    assert labels(scores.get_yticklabels()) == ["en", "de", "zh"]
    assert labels(scores.get_xticklabels()) == ["zh", "en", "de"]
    np.testing.assert_array_equal(scores.images[0].get_array()[0], np.ma.masked_invalid(SCORE[0, [2, 0, 1]]))
    assert labels(sds.get_xticklabels()) == labels(scores.get_xticklabels())
    kept, _ = transfer_matrix(table(), sort=False)
    assert labels(kept.get_xticklabels()) == NAMES


def test_one_colour_is_one_size_of_help_or_harm_and_dots_are_measured_pairs() -> None:
    scores, sds = transfer_matrix(table())
    assert (scores.images[0].norm.vmin, scores.images[0].norm.vmax) == (-1.0, 1.0)
    assert sds.images[0].norm.vmin == 0.0
    (dots,) = [line for line in scores.lines if line.get_gid() == "measured"]
    assert len(dots.get_xdata()) == 4


def test_a_matrix_not_to_be_trusted_says_so() -> None:
    for axes in transfer_matrix(table(warnings=["the chains disagree"])):
        assert any(text.get_gid() == "do-not-trust" for text in axes.texts)


def test_the_callers_axes_are_used() -> None:
    given = Figure().subplots(1, 2)
    assert list(transfer_matrix(table(), ax=given)) == list(given)
    with pytest.raises(BayescaleError, match="two maps and was given 1 axes"):
        transfer_matrix(table(), ax=given[:1])


def test_what_is_missing_is_named() -> None:
    with pytest.raises(BayescaleError, match="needs 'measured'"):
        transfer_matrix(table().drop_vars("measured"))
    with pytest.raises(BayescaleError, match="all of them are NaN"):
        transfer_matrix(table().assign(median=table()["median"] * np.nan))
