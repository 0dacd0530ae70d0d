"""The picture of procedures side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from bayescale import plots
from bayescale.errors import BayescaleError

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
PROCEDURES = {"envelope": "bootstrap", "huber": "bootstrap", "isoflop": "bootstrap", "nuts": "posterior", "vp": "point"}
CENTRES = {"N_exponent": (0.5, 0.02), "N": (4e11, 0.2), "D": (1e13, 0.2), "E": (1.8, 0.03)}


def artists(ax: Axes, gid: str) -> list[Any]:
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


@pytest.fixture
def intervals() -> xr.Dataset:
    """Five procedures: one refused the table, one does not give E and is very unsure, one is a point."""
    spread = np.array([-1.645, -0.674, 0.0, 0.674, 1.645])
    band, value = np.full((5, 4, 5), np.nan), np.full((5, 4), np.nan)
    for i in range(1, 5):
        for j, (name, (centre, sd)) in enumerate(CENTRES.items()):
            step = sd * spread * (12 if i == 2 else 1) + 0.2 * i * sd
            quantiles = centre * np.exp(step) if name in ("N", "D") else centre + step
            value[i, j] = quantiles[2]
            if i != 4:
                band[i, j] = quantiles
    band[2, 3], value[2, 3] = np.nan, np.nan
    return xr.Dataset(
        {
            "interval": (("procedure", "quantity", "level"), band),
            "value": (("procedure", "quantity"), value),
            "why": (("procedure", "quantity"), np.full((5, 4), "")),
            "kind": ("procedure", list(PROCEDURES.values())),
            "refused": ("procedure", [True, False, False, False, False]),
            "trusted": ("procedure", [False, False, True, True, True]),
        },
        {"procedure": list(PROCEDURES), "quantity": list(CENTRES), "level": LEVELS},
        {"flops": 1e24, "law": "chinchilla"},
    )


def test_each_interval_stands_where_its_numbers_are(intervals: xr.Dataset) -> None:
    axes = plots.procedure_intervals(intervals)
    for ax, name in zip(axes, CENTRES, strict=True):
        for row in (1, 3):
            at = intervals["interval"].sel(quantity=name).values[row]
            for gid, ends in ((f"interval-90-{row}", at[[0, 4]]), (f"interval-50-{row}", at[[1, 3]])):
                (line,) = artists(ax, gid)
                np.testing.assert_allclose(line.get_xdata(), ends, rtol=1e-12)
                assert set(line.get_ydata()) == {row}
            (mark,) = artists(ax, f"value-{row}")
            assert mark.get_xdata()[0] == intervals["value"].sel(quantity=name).values[row]
    assert [ax.get_xscale() for ax in axes] == ["linear", "log", "log", "linear"]


def test_a_point_has_no_interval(intervals: xr.Dataset) -> None:
    axes = plots.procedure_intervals(intervals)
    assert artists(axes[0], "value-4")
    assert not artists(axes[0], "interval-90-4")


def test_kinds_differ_in_colour_marker_and_label(intervals: xr.Dataset) -> None:
    ax = plots.procedure_intervals(intervals)[0]
    marks = [artists(ax, f"value-{row}")[0] for row in (1, 3, 4)]
    assert len({mark.get_marker() for mark in marks}) == 3
    assert len({to_hex(mark.get_color()) for mark in marks}) == 3
    (legend,) = ax.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "posterior, 50 % and 90 %", "bootstrap, 50 % and 90 %", "point, no interval",
    ]  # fmt: skip


def test_what_a_procedure_cannot_give_is_said(intervals: xr.Dataset) -> None:
    axes = plots.procedure_intervals(intervals)
    for ax in axes:
        (said,) = artists(ax, "none-0")
        assert said.get_text() == "refused the table"
    (said,) = artists(axes[3], "none-2")
    assert said.get_text() == "not given"
    assert not artists(axes[0], "none-2")


def test_one_very_wide_interval_leaves_the_others_room(intervals: xr.Dataset) -> None:
    ax = plots.procedure_intervals(intervals)[0]
    low, high = ax.get_xlim()
    at = intervals["interval"].sel(quantity="N_exponent").values
    assert low > at[2, 0]
    assert high < at[2, 4]
    # arrows say that the interval goes on, and no other one is cut
    assert len(artists(ax, "beyond-2")) == 2
    for row in (1, 3):
        assert not artists(ax, f"beyond-{row}")
        assert low < at[row, 0] < at[row, 4] < high


def test_a_fit_that_is_not_to_be_trusted_is_marked(intervals: xr.Dataset) -> None:
    labels = {
        text.get_text(): to_hex(text.get_color()) for text in plots.procedure_intervals(intervals)[0].get_yticklabels()
    }
    assert list(labels) == ["envelope", "huber\ndo not trust", "isoflop", "nuts", "vp"]
    assert labels["huber\ndo not trust"] == "#d00000"
    # one that refused the table gives nothing to trust or not
    assert labels["envelope"] == labels["nuts"] != "#d00000"


@pytest.mark.parametrize("width", [5.0, 7.5, 11.0])
def test_no_label_lies_on_another(intervals: xr.Dataset, width: float) -> None:
    axes = plots.procedure_intervals(intervals, width=width)
    axes[0].figure.draw_without_rendering()
    boxes = [axes[0].xaxis.label.get_window_extent()] + [text.get_window_extent() for text in axes[0].get_yticklabels()]
    boxes += [ax.xaxis.label.get_window_extent() for ax in axes[1:]]
    for ax in axes:
        low, high = ax.get_xlim()
        at = zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
        boxes += [text.get_window_extent() for place, text in at if low <= place <= high and text.get_text()]
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[i + 1 :])


def test_axes_of_ones_own(intervals: xr.Dataset) -> None:
    given = np.ravel(Figure().subplots(1, 2))
    axes = plots.procedure_intervals(intervals, names=("N", "E"), ax=given)
    assert [a is b for a, b in zip(axes, given, strict=True)] == [True, True]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: {"intervals": data.drop_vars("value")}, "needs 'value' over"),
        (lambda data: {"intervals": data, "names": ("gamma",)}, "has no gamma; it has N_exponent, N, D, E"),
        (lambda data: {"intervals": data, "ax": Figure().subplots(1, 2)}, "draws 4 panels and was given 2 axes"),
    ],
)
def test_wrong_use(intervals: xr.Dataset, change: Callable[[xr.Dataset], dict[str, Any]], said: str) -> None:
    with pytest.raises(BayescaleError, match=said):
        plots.procedure_intervals(**change(intervals))


def test_every_procedure_refused(intervals: xr.Dataset) -> None:
    nothing = intervals.assign(
        interval=intervals["interval"] * np.nan, value=intervals["value"] * np.nan, refused=("procedure", [True] * 5)
    )
    axes = plots.procedure_intervals(nothing)
    axes[0].figure.draw_without_rendering()
    assert not axes[0].figure.legends
