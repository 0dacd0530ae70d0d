"""The small multiples of parameter posteriors."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from bayescale import plots
from bayescale.errors import BayescaleError


def by_gid(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_one_panel_a_parameter_with_its_interval_in_the_title(law):
    axes = plots.posteriors(law.draws())
    assert axes.shape == (5,)
    assert [ax.get_title().split("\n")[0] for ax in axes] == ["$E$", "$a$", "$b$", r"$\alpha$", r"$\beta$"]
    median, low, high = np.quantile(law.theta["E"], (0.5, 0.05, 0.95))
    assert axes[0].get_title().split("\n")[1] == f"{median:.3f} [{low:.3f}, {high:.3f}]"


def test_the_histogram_is_a_density(law):
    (ax,) = plots.posteriors(law.draws(), names=["E"])
    outline = ax.patches[0].get_xy()
    x, y = outline[:, 0], outline[:, 1]
    area = 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))
    np.testing.assert_allclose(area, 1, rtol=1e-6)


def test_the_prior_is_drawn_to_the_same_scale(law):
    """A uniform prior over (0, 4) has density 1/4 wherever the posterior lies."""
    uniform = xr.Dataset({"E": ("sample", np.random.default_rng(0).uniform(0, 4, 20_000))})
    axes = plots.posteriors(law.draws(), uniform, names=["E", "a"])
    (curve,) = by_gid(axes[0], "prior")
    # 20,000 draws in a kernel of about half the spread: a few per cent.
    np.testing.assert_allclose(curve.get_ydata(), 0.25, rtol=0.08)
    assert not by_gid(axes[1], "prior")
    assert legend(axes[0].figure) == ["posterior", "median and 90 %", "prior"]


def test_a_prior_next_to_zero_does_not_leak_below_it():
    draws = np.abs(np.random.default_rng(0).normal(0, 0.1, 4000))
    data = xr.Dataset({"sigma": ("sample", draws)})
    (ax,) = plots.posteriors(data, data)
    (curve,) = by_gid(ax, "prior")
    x, y = curve.get_data()
    assert x[0] >= 0
    # The window holds all but half a per cent of the draws.
    np.testing.assert_allclose(np.trapezoid(y, x), 1, atol=0.03)


def test_the_kind_of_draws_is_named(law):
    axes = plots.posteriors(law.draws().assign_attrs(kind="bootstrap"))
    assert legend(axes[0].figure)[0] == "bootstrap"


def test_a_parameter_over_a_dimension_gets_a_panel_an_entry():
    data = np.array([1.0, 2.0, 3.0]) + 0.01 * np.random.default_rng(0).normal(size=(2, 100, 3))
    draws = xr.Dataset({"a": (("chain", "draw", "language"), data)}, coords={"language": ["en", "fr", "de"]})
    axes = plots.posteriors(draws)
    assert [ax.get_title().split("\n")[0] for ax in axes] == ["$a$[en]", "$a$[fr]", "$a$[de]"]
    medians = [float(ax.get_title().split("\n")[1].split()[0]) for ax in axes]
    np.testing.assert_allclose(medians, np.median(data, axis=(0, 1)), atol=5e-4)  # three decimals are written


def test_single_draw_has_a_line_and_no_interval(point, law):
    axes = plots.posteriors(point.draws(1).assign_attrs(kind="point"), law.prior())
    axes[0].figure.draw_without_rendering()
    assert axes[0].get_title().split("\n")[1] == f"{point.theta['E'][0]:.4g}"
    assert legend(axes[0].figure) == ["point", "prior"]
    low, high = axes[0].get_xlim()
    assert low < point.theta["E"][0] < high


@pytest.mark.parametrize("value", [0.0, -3.0])
def test_a_constant_parameter(value):
    (ax,) = plots.posteriors(xr.Dataset({"delta": (("chain", "draw"), np.full((2, 50), value))}))
    assert ax.get_xlim()[0] < value < ax.get_xlim()[1]


def test_heavy_tails_do_not_squeeze_the_rest():
    draws = xr.Dataset({"nu": ("sample", np.append(np.random.default_rng(0).gamma(2, 10, 4000), [1e6]))})
    (ax,) = plots.posteriors(draws)
    assert ax.get_xlim()[1] < 200


def test_names_choose_and_order(law):
    axes = plots.posteriors(law.draws(), names=["beta", "E"])
    assert [ax.get_title().split("\n")[0] for ax in axes] == [r"$\beta$", "$E$"]


def test_narrow_figures_have_fewer_columns(law):
    wide, narrow = (plots.posteriors(law.draws(), width=width)[0].figure for width in (5.0, 3.5))
    assert wide.axes[0].get_gridspec().ncols == 3
    assert narrow.axes[0].get_gridspec().ncols == 2


def test_the_callers_axes_are_used(law):
    given = Figure().subplots(1, 2)
    axes = plots.posteriors(law.draws(), names=["E", "a"], ax=given)
    assert list(axes) == list(given)
    one = Figure().add_subplot()
    assert list(plots.posteriors(law.draws(), names=["E"], ax=one)) == [one]
    with pytest.raises(BayescaleError, match="draws 5 panels and was given 2 axes"):
        plots.posteriors(law.draws(), ax=given)


def test_missing_things_are_named(law):
    with pytest.raises(BayescaleError, match="no parameter 'gamma'; they hold: E, a, b, alpha, beta"):
        plots.posteriors(law.draws(), names=["E", "gamma"])
    with pytest.raises(BayescaleError, match="no parameters at all"):
        plots.posteriors(xr.Dataset())
    with pytest.raises(BayescaleError, match=r"draws of 'E' over \(chain, draw\) or \(sample\)"):
        plots.posteriors(xr.Dataset({"E": ("run", [1.0, 2.0])}))
    with pytest.raises(BayescaleError, match="every draw of it is NaN"):
        plots.posteriors(xr.Dataset({"E": ("sample", [np.nan, np.nan])}))
    with pytest.raises(BayescaleError, match="not a dict"):
        plots.posteriors({"E": [1.0]})
