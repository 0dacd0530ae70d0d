"""The whitening is one-to-one, its volume is right, and it makes a posterior round."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale._float64 import jax
from bayescale.inference.density import Density, Table
from bayescale.inference.frame import Frame, adapted, frame_at, log_jacobian, to_whitened, to_z
from bayescale.model import Model

pytestmark = pytest.mark.usefixtures("lightly_compiled")


def frame(n_law: int, n_noise: int, seed: int = 0) -> Frame:
    """A frame of a random posterior, its law parameters and sigma correlated."""
    generator = np.random.default_rng(seed)
    dim = n_law + n_noise
    root = generator.normal(size=(dim, dim)) + 3.0 * np.eye(dim)
    prior = np.diag(generator.uniform(0.5, 2.0, dim))
    sigma_at = n_law if n_noise else None
    return frame_at(generator.normal(size=dim), prior + 20.0 * root @ root.T, prior, n_law, sigma_at)


SIZES = [(5, 2), (1, 1), (3, 0), (0, 2)]


@pytest.mark.parametrize(("n_law", "n_noise"), SIZES)
def test_there_and_back(n_law: int, n_noise: int) -> None:
    made = frame(n_law, n_noise)
    for x in np.random.default_rng(1).normal(size=(4, n_law + n_noise)):
        np.testing.assert_allclose(to_whitened(made, to_z(made, x)), x, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(to_z(made, np.zeros(n_law + n_noise)), made.centre, rtol=1e-12)


@pytest.mark.parametrize(("n_law", "n_noise"), SIZES)
def test_the_volume_is_that_of_the_map(n_law: int, n_noise: int) -> None:
    made = frame(n_law, n_noise)
    points = np.random.default_rng(2).normal(size=(4, n_law + n_noise))
    by_hand = [np.linalg.slogdet(jax.jacobian(lambda x: to_z(made, x))(x))[1] for x in points]
    found = [float(log_jacobian(made, x)) for x in points]
    # up to one constant for all points
    np.testing.assert_allclose(np.subtract(found, by_hand), found[0] - by_hand[0], atol=1e-9)


def test_it_whitens_the_curvature_at_the_mode(chinchilla: Model, table: Table) -> None:
    density = Density(chinchilla, table)
    generator = np.random.default_rng(3)
    centre = np.asarray(
        density.unconstrain({**dict.fromkeys(density.names, 0.35), "E": 1.8, "sigma": 0.005, "nu": 4.0})
    )
    root = generator.normal(size=(7, 7)) + 4.0 * np.eye(7)
    prior = np.eye(7)
    hessian = prior + 50.0 * root @ root.T
    made = frame_at(centre, hessian, prior, density.n_law, density.sigma_at)
    factor = np.asarray(jax.jacobian(lambda x: to_z(made, x))(np.zeros(7)))
    np.testing.assert_allclose(factor.T @ hessian @ factor, np.eye(7), atol=1e-8)


def test_the_law_widens_with_the_noise() -> None:
    made = frame(3, 1)
    near, far = (np.asarray(jax.jacobian(lambda x: to_z(made, x))(np.array([0, 0, 0, s]))[:3, :3]) for s in (0.0, 3.0))
    assert (np.linalg.svd(far, compute_uv=False) > np.linalg.svd(near, compute_uv=False)).all()


@pytest.mark.parametrize("apart", [False, True])
def test_draws_are_white_in_the_frame_adapted_to_them(apart: bool) -> None:
    made = frame(3, 2)
    generator = np.random.default_rng(4)
    root = generator.normal(size=(5, 5)) + 2.0 * np.eye(5)
    x = generator.normal(size=(4, 500, 5)) @ root.T + 3.0
    x += np.array([-20.0, -20.0, 20.0, 20.0])[:, None, None] if apart else 0.0
    z = to_z(made, x)
    white = to_whitened(adapted(made, x, apart), z)
    spread = white - white.mean(axis=1, keepdims=True) if apart else white
    np.testing.assert_allclose(np.cov(spread.reshape(-1, 5), rowvar=False), np.eye(5), atol=1e-8)
    np.testing.assert_allclose(white.reshape(-1, 5).mean(axis=0), 0.0, atol=1e-8)
    # and once more, from the frame that was adapted: the same
    again = to_whitened(adapted(adapted(made, x, apart), white, apart), z)
    spread = again - again.mean(axis=1, keepdims=True) if apart else again
    np.testing.assert_allclose(np.cov(spread.reshape(-1, 5), rowvar=False), np.eye(5), atol=1e-8)


def test_chains_that_are_stuck_leave_the_frame_alone() -> None:
    made = frame(3, 2)
    assert adapted(made, np.zeros((1, 50, 5)), apart=False) is made
