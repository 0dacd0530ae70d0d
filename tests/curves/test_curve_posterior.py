"""The parts that forecasts of curves stand on, against independent computations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayescale.curves import Discrepancy, read_tasks
from bayescale.curves._calibration import Components
from bayescale.curves._discrepancy import log_densities
from bayescale.curves._posterior import Posterior
from bayescale.curves._quantiles import quantiles, student_cdf
from bayescale.curves._sampling import draw
from bayescale.curves._shapes import SHAPES, values
from bayescale.curves._thinning import POINTS, shortened, thinned


@pytest.fixture(scope="module")
def posteriors(curves_table: pd.DataFrame) -> dict[str, Posterior]:
    rows, _ = thinned(read_tasks(curves_table))
    return {law: Posterior(law, rows, Discrepancy()) for law in SHAPES}


def test_the_filter_gives_the_density_of_the_gaussian_process() -> None:
    """With many degrees of freedom, the density is that of a normal whose covariance is written out in full."""
    settings = Discrepancy(dof=10_000_000, memory=1.7, run=2.5, start=0.3)
    generator = np.random.default_rng(0)
    u = np.sort(generator.uniform(-3.0, 0.0, 9))
    sigma, tau, omega, early = 0.02, 0.3, 0.05, 1e-9
    table = pd.DataFrame({"x": [*np.exp(u), 9.0], "y": [*np.exp(0.1 * generator.standard_normal(9)), None]})
    rows, _ = thinned(read_tasks(table))
    got = log_densities(rows.log_y, np.log([[sigma, tau, omega, early]]), rows, settings)

    rate, step = 1.0 / settings.memory, 400
    fine = np.linspace(u[0], u[-1], step * 8 + 1)
    slopes = tau**2 * np.exp(-rate * np.abs(fine[:, None] - fine))
    width = fine[1] - fine[0]
    below = np.tril(np.full((len(fine), len(fine)), width))
    below[:, 0] *= 0.5
    below[np.diag_indices_from(below)] *= 0.5
    below[0] = 0.0
    levels = below @ slopes @ below.T
    at = np.abs(fine[:, None] - u).argmin(axis=0)
    index = np.arange(9)
    covariance = levels[np.ix_(at, at)] + settings.start**2 + sigma**2 * np.eye(9)
    covariance += omega**2 * np.exp(-np.abs(index[:, None] - index) / settings.run)
    wanted = stats.multivariate_normal(np.zeros(9), covariance).logpdf(np.asarray(rows.log_y)[0, :9])
    # the points lie up to half a step of the fine grid from where the integral puts them
    assert float(got[0]) == pytest.approx(wanted, abs=0.02)


@pytest.mark.parametrize("law", SHAPES)
def test_gradients_are_those_of_the_potential(posteriors: dict[str, Posterior], law: str) -> None:
    posterior = posteriors[law]
    generator = np.random.default_rng(1)
    z = 0.5 * generator.standard_normal((4, posterior.size))
    curve = np.arange(4)
    _, gradient = posterior.measure(z, curve)
    for axis in range(posterior.size):
        shift = 1e-5 * np.eye(posterior.size)[axis]
        slope = (posterior.potential(z + shift, curve) - posterior.potential(z - shift, curve)) / 2e-5
        # where a residual passes from near to far the density has a kink in its second derivative
        np.testing.assert_allclose(gradient[:, axis], slope, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("law", SHAPES)
def test_a_law_is_in_units_of_the_last_point(law: str) -> None:
    z = np.random.default_rng(2).standard_normal((8, SHAPES[law].size))
    at = np.asarray(values(law, z, np.tile([-4.0, 0.0, 1.0], (8, 1))))
    assert np.isfinite(at).all()
    np.testing.assert_allclose(at[:, 1], 0.0, atol=1e-9)


def test_draws_of_a_gaussian_posterior_have_its_moments_and_evidence() -> None:
    """A posterior of known moments in place of a curve's: means, sds and evidence within Monte Carlo error."""
    centre, sd = np.array([0.5, -1.0, 0.2]), np.array([0.3, 0.5, 0.8])

    class Known:
        size = 3

        def potential(self, z: np.ndarray, curve: np.ndarray) -> np.ndarray:
            return 0.5 * (((z - centre) / sd) ** 2).sum(axis=1)

        def measure(self, z: np.ndarray, curve: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return self.potential(z, curve), (z - centre) / sd**2

    made = draw(Known(), 50, 64, np.random.default_rng(0))  # type: ignore[arg-type]
    # 50 curves of 64 draws: a standard error of sd / sqrt(3200), and half as much again for resampling
    np.testing.assert_allclose(made.z.mean(axis=(0, 1)), centre, atol=4 * 1.5 * sd.max() / np.sqrt(3200))
    np.testing.assert_allclose(made.z.std(axis=(0, 1)), sd, rtol=0.1)
    assert made.log_evidence.mean() == pytest.approx(np.log(sd).sum(), abs=0.03)
    assert (made.effective > 100).all()


def test_student_cdf_and_quantiles_agree_with_scipy() -> None:
    for dof in (2, 4, 6, 10):
        at = np.linspace(-8.0, 8.0, 9)
        np.testing.assert_allclose(student_cdf(at, dof), stats.t.cdf(at, dof), atol=1e-12)
    levels = np.array([0.005, 0.05, 0.5, 0.95, 0.995])
    single = Components(np.zeros(1), np.array([[1.0]]), np.array([[0.02]]))
    # interpolation of normal scores between 72 points
    np.testing.assert_allclose(quantiles(single, levels, 4)[:, 0], stats.t(4, 1.0, 0.02).ppf(levels), atol=3e-4)
    mixed = Components(np.log([0.3, 0.7]), np.array([[-1.0], [1.0]]), np.array([[0.01], [0.5]]))
    found = quantiles(mixed, levels, 4)[:, 0]
    back = 0.3 * stats.t.cdf(found, 4, -1.0, 0.01) + 0.7 * stats.t.cdf(found, 4, 1.0, 0.5)
    np.testing.assert_allclose(back, levels, atol=2e-3)


def test_long_curves_are_thinned_and_repeated_points_say_what_the_noise_is() -> None:
    generator = np.random.default_rng(3)
    x = np.linspace(1.0, 100.0, 600)
    y = x**-0.2 * np.exp(0.01 * generator.standard_normal(600))
    table = pd.DataFrame({"x": [*x, 200.0], "y": [*y, None]})
    rows, _ = thinned(read_tasks(table))
    assert rows.used.shape == (1, POINTS)
    assert rows.used.sum() <= POINTS
    # a median of absolute second differences of 600 points, neighbours correlated
    assert np.sqrt(rows.within[0]) == pytest.approx(0.01, rel=0.15)
    assert (np.diff(rows.u[0][rows.used[0] > 0]) > 0).all()
    twice = pd.DataFrame({"x": [*np.repeat(x[::60], 5), 200.0], "y": [*y[:50], None]})
    assert thinned(read_tasks(twice))[0].used.sum() == 10


def test_the_held_out_points_are_the_last() -> None:
    table = pd.DataFrame({"x": np.arange(1.0, 12.0), "y": [*np.linspace(2.0, 1.0, 10), np.nan]})
    rows, _ = thinned(read_tasks(table))
    np.testing.assert_array_equal(shortened(rows).used[0, :11], [1] * 7 + [0] * 4)
    short = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [2.0, 1.9, np.nan]})
    rows, _ = thinned(read_tasks(short))
    np.testing.assert_array_equal(shortened(rows).used, rows.used)
