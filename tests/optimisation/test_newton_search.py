"""The pieces of the searches: linear systems, non-negative least squares, derivatives, coordinates, resamples."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.optimize import nnls

from bayescale._float64 import jax, jnp
from bayescale.laws import get
from bayescale.optimisation.coordinates import coordinates_of
from bayescale.optimisation.newton import Local, Queue, Search, minimise, solve
from bayescale.optimisation.projection import non_negative
from bayescale.optimisation.regression import Cost, Regression, derivatives, resampled
from bayescale.optimisation.resampling import groups_of, resample_counts, resample_signs
from bayescale.optimisation.search import meeting
from bayescale.optimisation.starts import hoffmann

pytestmark = pytest.mark.usefixtures("lightly_compiled")


def test_linear_systems_lane_by_lane() -> None:
    generator = np.random.default_rng(0)
    root = generator.normal(size=(7, 4, 4))
    matrices = root @ root.transpose(0, 2, 1) + 0.1 * np.eye(4)
    right = generator.normal(size=(7, 4))
    found = np.asarray(solve(jnp.asarray(matrices.transpose(1, 2, 0)), jnp.asarray(right.T))).T
    np.testing.assert_allclose(found, np.linalg.solve(matrices, right[:, :, None])[:, :, 0], rtol=1e-9)


def test_a_step_leads_down_where_the_curvature_does_not() -> None:
    found = solve(jnp.asarray([[[-2.0]]]), jnp.asarray([[4.0]]))
    assert float(found.squeeze()) == 2.0


@pytest.mark.parametrize("many", [1, 2, 3, 4])
def test_non_negative_least_squares_is_exact(many: int) -> None:
    generator = np.random.default_rng(many)
    columns = generator.uniform(0.1, 2.0, size=(20, 30, many))
    targets = generator.normal(size=(20, 30))
    gram = jnp.asarray(np.einsum("lri,lrj->ijl", columns, columns))
    found = np.asarray(non_negative(gram, jnp.asarray(np.einsum("lri,lr->il", columns, targets)))).T
    expected = np.array([nnls(x, y)[0] for x, y in zip(columns, targets, strict=True)])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (expected == 0).any()


def test_derivatives_of_a_law() -> None:
    law = get("chinchilla")()
    theta = np.array([1.8, 0.3, 0.4, 0.35, 0.37])

    def loss(values: list[float]) -> object:
        return law.loss(3e9, 1e11, **dict(zip(law.parameters, values, strict=True)))

    value, slopes, bends = derivatives(loss, [jnp.asarray(x) for x in theta], frozenset({0, 1, 2}))
    whole = jax.hessian(lambda x: loss(list(x)))(jnp.asarray(theta))
    np.testing.assert_allclose(value, loss(list(theta)))
    np.testing.assert_allclose(slopes, jax.grad(lambda x: loss(list(x)))(jnp.asarray(theta)), rtol=1e-13)
    for i in range(5):
        for j in range(i + 1):
            np.testing.assert_allclose(0.0 if bends[i][j] is None else bends[i][j], whole[i, j], atol=1e-14)


@pytest.mark.parametrize("on_log", [False, True])
def test_the_objective_near_a_point(on_log: bool) -> None:
    law, generator = get("chinchilla")(), np.random.default_rng(5)
    N, D = np.exp(generator.normal(21, 1, 30)), np.exp(generator.normal(24, 1, 30))
    loss = law.loss(N, D, E=1.8, a=0.3, b=0.3, alpha=0.35, beta=0.37) * np.exp(0.02 * generator.normal(size=30))
    count = generator.integers(0, 3, size=(2, 30)).astype(np.uint16)
    target, precision = (np.log(loss) if on_log else loss), generator.uniform(0.5, 2.0, 30)
    table = jax.tree.map(jnp.asarray, resampled({"N": N, "D": D}, target, precision, count, (Cost(0.01, True),)))
    objective = Regression(law, coordinates_of(law), on_log)

    def direct(z: jax.Array) -> jax.Array:
        E, a, b = jnp.exp(z[0]), jnp.exp(z[1]), jnp.exp(z[2])
        predicted = law.loss(N, D, E=E, a=a, b=b, alpha=z[3], beta=z[4])
        residual = precision * ((jnp.log(predicted) if on_log else predicted) - target)
        small = jnp.minimum(jnp.abs(residual), 0.01)
        return (count[1] * small * (jnp.abs(residual) - 0.5 * small)).sum()

    z = jnp.asarray([0.6, -1.1, -1.2, 0.34, 0.38])
    zero = jnp.zeros(1, dtype=int)
    local = objective.evaluate(table, jnp.ones(1, dtype=int), z[:, None], zero, zero)
    np.testing.assert_allclose(local.value[0], direct(z), rtol=1e-11)
    np.testing.assert_allclose(local.gradient[:, 0], jax.grad(direct)(z), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(local.hessian[:, :, 0], jax.hessian(direct)(z), rtol=1e-9, atol=1e-12)


def test_a_queue_longer_than_its_lanes() -> None:
    """Rosenbrock's valley in two coordinates, from twenty starts in three lanes."""

    def valley(z: jax.Array) -> jax.Array:
        return (1 - z[0]) ** 2 + 100 * (z[1] - z[0] ** 2) ** 2 + 1.0

    def evaluate(position: jax.Array, task: jax.Array, stage: jax.Array) -> Local:
        one = jax.vmap(lambda z: (valley(z), jax.grad(valley)(z), jax.hessian(valley)(z)))(position.T)
        return Local(one[0], one[1].T, one[2].transpose(1, 2, 0))

    starts = np.random.default_rng(0).uniform(-2, 2, size=(20, 2))
    queue = Queue(jnp.asarray(starts), 17, 0, 0, jnp.asarray([1e-13]))
    ends = jax.jit(partial(minimise, evaluate, search=Search(lanes=3)))(queue)
    assert ends.converged[:17].all()
    np.testing.assert_allclose(ends.position[:17], 1.0, atol=1e-8)
    assert np.isnan(np.asarray(ends.value[17:])).all()


def test_exponents_run_over_the_line_and_the_rest_is_positive() -> None:
    assert coordinates_of(get("chinchilla")()).logs == (True, True, True, False, False)
    assert all(coordinates_of(get("power-C-no-floor")()).logs) or get("power-C-no-floor").linear


def test_hoffmanns_grid() -> None:
    law = get("chinchilla")()
    grid = hoffmann(law, coordinates_of(law))
    assert grid.shape == (4500, 5)
    # log A = log a + alpha log N0, one of six
    np.testing.assert_allclose(np.unique((grid[:, 1] + grid[:, 3] * np.log(law.N0)).round(6)), [0, 5, 10, 15, 20, 25])


def test_groups_are_drawn_whole() -> None:
    groups = groups_of(["b", "a", "b", "c"])
    count = resample_counts(groups, 500, np.random.default_rng(0))
    assert (count[:, 0] == count[:, 2]).all()
    assert (count[:, [0, 1, 3]].sum(axis=1) == 3).all()
    # a group is drawn once on average, 500 times with an sd of .82
    assert count.mean(axis=0) == pytest.approx(1.0, abs=4 * 0.82 / 500**0.5)
    signs = resample_signs(groups, 100, np.random.default_rng(0))
    assert (signs[:, 0] == signs[:, 2]).all()
    assert set(np.unique(signs)) == {-1, 1}


def test_searches_that_meet() -> None:
    fitted = np.random.default_rng(0).normal(size=(3, 50))
    first, kind = meeting(np.concatenate([fitted, fitted]))
    assert len(first) == 3
    np.testing.assert_array_equal(kind[:3], kind[3:])
