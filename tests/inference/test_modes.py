"""The search for the mode, against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from bayescale._float64 import jax
from bayescale.inference.climb import climb, newton
from bayescale.inference.density import Density, Table
from bayescale.inference.mode import Modes, find_modes
from bayescale.model import Model


@pytest.fixture(scope="module")
def modes(chinchilla: Model, table: Table) -> Modes:
    drawn = chinchilla.sample_priors(512, seed=0)
    tables = jax.tree.map(lambda array: np.asarray(array)[None], table)
    return find_modes(chinchilla, tables, {name: drawn[name] for name in Density(chinchilla, None).names})[0]


def test_it_is_the_optimum_that_scipy_finds(modes: Modes, chinchilla: Model, table: Table) -> None:
    value_and_slope = jax.jit(jax.value_and_grad(Density(chinchilla, table).potential))
    start = modes.frame.centre + 0.05
    found = minimize(lambda z: tuple(map(np.asarray, value_and_slope(z))), start, jac=True, method="BFGS")
    value, slope = value_and_slope(modes.frame.centre)
    assert float(value) <= found.fun + 1e-6
    np.testing.assert_allclose(modes.frame.centre, found.x, atol=1e-3)
    assert modes.positive_definite
    assert modes.gradient_norm < 1e-3
    assert np.linalg.norm(slope) < 1e-2


def test_all_starts_end_there(modes: Modes) -> None:
    assert modes.distinct.sum() == 1
    assert modes.distinct[0]
    np.testing.assert_array_equal(modes.ends[0], modes.frame.centre)
    np.testing.assert_allclose(modes.centres[0], 0.0, atol=1e-9)
    assert (np.diff(modes.masses[modes.masses < modes.masses[0] + 1]) >= 0).all()
    # most of sixteen starts, over the whole prior, find it
    assert (np.linalg.norm(modes.centres, axis=1) < 1e-2).sum() >= 12


def test_the_mode_is_near_the_truth(modes: Modes, chinchilla: Model, table: Table, truth: dict[str, float]) -> None:
    theta = Density(chinchilla, table).constrain(modes.frame.centre)
    for name, value in truth.items():
        # 200 runs with noise of half a per cent
        assert float(theta[name]) == pytest.approx(value, rel=0.1), name


def test_the_climb_learns_the_curvature_as_it_goes() -> None:
    # axes of 1 and 1,000, turned: steps along the gradient alone would take thousands
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(6, 6)))[0]
    hessian = turn @ np.diag(np.geomspace(1.0, 1e3, 6)) @ turn.T
    passes = 0

    def measure(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nonlocal passes
        passes += 1
        slope = z @ hessian
        return 0.5 * (z * slope).sum(axis=-1), slope

    starts = np.random.default_rng(6).normal(size=(1, 4, 6))
    ends = climb(measure, starts)
    blind = passes
    # 27 here; six to learn each axis, and room
    assert blind < 60
    # from hundreds of nats above the minimum to where Newton takes few steps: along the flattest axis the first scale,
    # that of the steepest, is a thousand times too small, and hides gains
    assert measure(ends)[0].max() < 1.0
    passes = 0
    told = climb(measure, starts, inverse=np.broadcast_to(np.linalg.inv(hessian), (1, 4, 6, 6)))
    assert measure(told)[0].max() < 1e-2
    # the start, a step straight there, and the call above
    assert passes <= 4


def test_starts_that_have_come_together_go_on_as_one() -> None:
    # wells at -2 and +2 along the first axis, the right one deeper; three starts near each, and one by itself
    measured: list[int] = []

    def measure(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        measured.append(z.shape[1])
        first, rest = z[..., 0], z[..., 1]
        value = (first**2 - 4.0) ** 2 - 0.5 * first + rest**2
        slope = np.stack([4.0 * first * (first**2 - 4.0) - 0.5, 2.0 * rest], axis=-1)
        return value, slope

    starts = np.array([[[2.0, 0.01], [2.01, 0.0], [2.02, 0.01], [-2.0, 0.0], [-1.99, 0.01], [-1.98, 0.0], [2.0, 1.0]]])
    ends, values, gradients, hessians = newton(measure, starts)
    assert measured[0] == 7 * 5
    assert set(measured[1:]) <= {3 * 5, 2 * 5, 1 * 5}
    right, left = (0, 1, 2, 6), (3, 4, 5)
    for group, at in ((right, 2.0), (left, -2.0)):
        found = ends[0, list(group), 0]
        assert np.ptp(found) < 1e-6
        assert abs(found[0] - at) < 0.05
    assert np.abs(gradients).max() < 1e-4
    np.testing.assert_allclose(hessians[0, :, 1, 1], 2.0, atol=1e-3)
    np.testing.assert_allclose(values[0], measure(ends)[0][0])


def test_the_climb_leaves_stragglers_where_they_are() -> None:
    def measure(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 0.5 * (z**2).sum(axis=-1), z

    starts = np.array([[[0.0, 0.0], [0.01, 0.0], [30.0, 0.0]]])
    np.testing.assert_array_equal(climb(measure, starts, stragglers=1), starts)
    assert np.abs(climb(measure, starts)).max() < 0.1
