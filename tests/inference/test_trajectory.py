"""The short-trajectory NUTS: it leaves the right distribution alone, reverses, and says when a trajectory breaks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from bayescale._float64 import jax, jnp
from bayescale.inference import trajectory
from bayescale.inference.sampler import Kernel

pytestmark = pytest.mark.usefixtures("lightly_compiled")


def run(potential: Any, kernel: Kernel, x: np.ndarray, steps: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Chains from `x` (chain, dim): everything measured, (chain, step)."""
    measure = jax.value_and_grad(potential)
    states = jax.vmap(lambda x: trajectory.begin(kernel, x, *measure(x), None))(x)
    chance = trajectory.chances(np.random.default_rng(seed), (len(x), steps), x.shape[1], kernel)
    advance = jax.jit(jax.vmap(lambda state, chance: trajectory.advance(measure, kernel, state, chance)))
    return jax.device_get(advance(states, chance)[1])


def skewed(x: Any) -> Any:
    """A log gamma variable, and a normal one whose mean follows it: neither round nor symmetric."""
    return -(2.0 * x[0] - jnp.exp(x[0])) + 0.5 * (x[1] - 0.5 * x[0]) ** 2


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_exact_draws_stay_exact(depth: int) -> None:
    # each of many chains starts from an exact draw; after a few steps with a coarse step size they must be exact still
    generator = np.random.default_rng(depth)
    first = np.log(generator.gamma(2.0, size=4000))
    x = np.stack([first, 0.5 * first + generator.standard_normal(4000)], axis=1)
    kernel = Kernel(1, False, 0.6, depth)
    made = run(skewed, kernel, x, steps=6, seed=depth)
    end = made["position"][:, -1]
    assert (np.abs(end - x).max(axis=1) > 0).mean() > 0.8
    assert stats.kstest(np.exp(end[:, 0]), stats.gamma(2.0).cdf).pvalue > 1e-3
    assert stats.kstest(end[:, 1] - 0.5 * end[:, 0], stats.norm.cdf).pvalue > 1e-3
    # what is reported is where the chain is
    np.testing.assert_allclose(made["potential"][:, -1], jax.vmap(skewed)(end), rtol=1e-9)
    assert (made["leapfrogs"] <= (1 << depth) - 1).all()


def test_a_trajectory_turns_back_on_its_own() -> None:
    # a step of .2 needs about 16 of them to cross a standard normal: trees of up to 255 leaves must stop before
    kernel = Kernel(1, False, 0.6, 8)
    measure = jax.value_and_grad(lambda x: 0.5 * (x**2).sum())
    x = np.random.default_rng(0).standard_normal((50, 4))
    state = jax.vmap(lambda x: trajectory.begin(kernel, x, *measure(x), None))(x)
    small = state._replace(log_step=jnp.full(50, np.log(0.2)), taken=jnp.full(50, 5))
    chance = trajectory.chances(np.random.default_rng(1), (50, 20), 4, kernel)
    made = jax.vmap(lambda s, c: trajectory.advance(measure, kernel, s, c))(small, chance)[1]
    leapfrogs = np.asarray(made["leapfrogs"])
    assert 7 <= np.median(leapfrogs) <= 31
    # now and then a trajectory comes round once
    assert (leapfrogs <= 31).mean() > 0.98


@pytest.mark.parametrize("target", [0.6, 0.9])
def test_the_step_size_reaches_its_target(target: float) -> None:
    x = np.random.default_rng(0).standard_normal((8, 10))
    made = run(lambda x: 0.5 * (x**2).sum(), Kernel(300, False, target, 3), x, steps=1300)
    after = made["accept"][:, 300:]
    # dual averaging ends somewhat above its target
    assert target - 0.03 < after.mean() < target + 0.12
    assert (np.ptp(made["step_size"][:, 300:], axis=1) == 0).all()


def test_a_wall_diverges_and_is_not_crossed() -> None:
    def walled(x: Any) -> Any:
        return 0.5 * (x**2).sum() + jnp.where(x[0] > 0, 0.0, jnp.nan)

    x = np.abs(np.random.default_rng(0).standard_normal((8, 2)))
    made = run(walled, Kernel(20, False, 0.8, 3), x, steps=200)
    assert made["diverging"].any()
    assert (made["position"][..., 0] > 0).all()
    assert np.isfinite(made["energy"]).all()


def test_a_tree_ends_where_a_leaf_breaks() -> None:
    def narrow(x: Any) -> Any:
        return 0.5 * (x**2).sum() + jnp.where(jnp.abs(x - 0.5).max() < 1e-9, 0.0, jnp.nan)

    # every first leaf is beyond the walls: one leapfrog, and nothing else is tried
    made = run(narrow, Kernel(1, False, 0.6, 3), np.full((20, 2), 0.5), steps=5)
    assert made["diverging"].all()
    assert (made["leapfrogs"] == 1).all()
    assert (made["position"] == 0.5).all()
