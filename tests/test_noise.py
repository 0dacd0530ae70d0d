"""Noise: what can be written, its scale, and its densities against SciPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

from bayescale._float64 import jax, jnp
from bayescale.errors import NoiseError
from bayescale.laws._positive import Positive
from bayescale.noise import Noise, StudentT, log_likelihood
from bayescale.prior import Prior

FAMILIES = ("student-t", "normal", "laplace")
NUS = np.array([0.05, 0.3, 1.0, 1.7, 2.0, 3.5, 10.0, 30.0, 100.0, 1e3, 1e4, 1e5, 1e6])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("columns", [(), ("D",), ("N", "D"), ("batch_size",)])
def test_printed_noise_is_read_back(family: str, columns: tuple[str, ...]) -> None:
    noise = Noise(family, columns)
    assert Noise.parse(str(noise)) == noise
    assert hash(Noise.parse(str(noise))) == hash(noise)
    assert Noise.parse(noise) is noise


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("student-t", Noise()),
        ("student-t()", Noise()),
        (" student-t ( D ) ", Noise("student-t", ("D",))),
        ("normal(N,D)", Noise("normal", ("N", "D"))),
        ("laplace( N , D )", Noise("laplace", ("N", "D"))),
    ],
)
def test_what_can_be_written(text: str, noise: Noise) -> None:
    assert Noise.parse(text) == noise


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cauchy", "unknown noise 'cauchy'; the noises are laplace, normal, student-t"),
        ("StudentT(D)", "unknown noise 'StudentT'"),
        ("student-t(D", r"cannot read the noise 'student-t\(D': write \"student-t\", \"student-t\(D\)\""),
        ("", "cannot read the noise ''"),
        ("normal(D, D)", r"noise normal\(D,D\): a column is named twice"),
    ],
)
def test_what_cannot_is_answered_with_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(NoiseError, match=said):
        Noise.parse(text)


def test_default_is_the_robust_one() -> None:
    assert str(Noise()) == "student-t"


def test_parameters() -> None:
    sigma, nu, slope = Prior("HalfNormal", 0.1), Prior("Gamma", 2.0, 0.1), Prior("Normal", 0.0, 0.5)
    assert Noise("student-t").priors == {"sigma": sigma, "nu": nu}
    assert Noise("normal").priors == Noise("laplace").priors == {"sigma": sigma}
    assert list(Noise("student-t", ("N", "D")).priors) == ["sigma", "nu", "sigma_N", "sigma_D"]
    assert Noise("normal", ("D",)).priors["sigma_D"] == slope


def test_scale_is_log_linear_in_the_named_columns() -> None:
    data = {"N": np.array([1e8, 1e9, 1e10]), "D": np.array([2e10, 2e9, 7e11]), "batch": np.array([1.0, 2.0, 8.0])}
    reference = {"N": 1e9, "D": 2e10}
    theta = {"sigma": 0.01, "sigma_N": 0.3, "sigma_D": -0.66, "sigma_batch": 0.5}
    assert Noise().scale(data, reference, theta) == 0.01
    logs = np.log(0.01) + 0.3 * np.log(data["N"] / 1e9) - 0.66 * np.log(data["D"] / 2e10)
    noise = Noise("normal", ("N", "D"))
    assert_allclose(np.log(noise.scale(data, reference, theta)), logs, rtol=1e-14)
    held = {name: Positive.of(values) for name, values in data.items()}
    assert_allclose(np.log(noise.scale(held, reference, theta)), logs, rtol=1e-13)
    # A column that the reference run does not have is taken as it is.
    assert_allclose(
        Noise("normal", ("batch",)).scale(data, reference, theta), 0.01 * np.sqrt(data["batch"]), rtol=1e-14
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_densities_are_scipys(family: str) -> None:
    location, scale, nu = np.array([0.5, 1.0, 1.2]), np.array([0.01, 0.02, 0.3]), 3.5
    values = location + scale * np.array([[-40.0], [-1.0], [0.0], [0.3], [8.0]])
    scipy = {"student-t": stats.t(nu, location, scale), "normal": stats.norm(location, scale)}
    scipy["laplace"] = stats.laplace(location, scale)
    distribution = Noise(family).distribution(jnp.asarray(location), jnp.asarray(scale), {"nu": nu})
    for row in values:
        assert_allclose(distribution.log_prob(jnp.asarray(row)), scipy[family].logpdf(row), rtol=1e-12, atol=1e-12)


@pytest.fixture(scope="module")
def standardised() -> np.ndarray:
    return np.array([0.0, 1e-8, -0.3, 1.0, -4.0, 30.0, 1e4])


def test_student_t_log_density(standardised: np.ndarray) -> None:
    log_prob = jax.jit(jax.vmap(lambda nu: StudentT(nu, jnp.zeros(7), jnp.ones(7)).log_prob(standardised)))(NUS)
    # From 1e4 on SciPy itself is 2e-12 off (the test below is exact there); up to there it must agree to 1e-12.
    tolerance = np.where(NUS < 1e4, 1e-12, 1e-10)[:, None]
    exact = stats.t.logpdf(standardised, NUS[:, None])
    assert (abs(log_prob - exact) <= tolerance * np.maximum(1.0, abs(exact))).all()


@pytest.mark.parametrize("half", [1, 2, 7, 50, 500, 5_000, 50_000])
def test_student_t_normaliser_is_exact(half: int) -> None:
    """Gamma(m + 1/2) / Gamma(m) = sqrt(pi) m binom(2m, m) / 4^m in integers; two lgamma would lose six digits."""
    exact = math.log(math.comb(2 * half, half) * half / 4**half) - 0.5 * math.log(2 * half)
    log_prob = StudentT(2.0 * half, jnp.zeros(1), jnp.ones(1)).log_prob(jnp.zeros(1))
    # log Gamma(12) and log 1e5 are of order 10: a few ulp of that.
    assert_allclose(log_prob, exact, rtol=0, atol=2e-14)


@pytest.mark.parametrize("nu", [1e5, 1e6, 1e8])
def test_student_t_approaches_the_normal(nu: float) -> None:
    """log density at 0 is -log(2 pi)/2 - 1/(4 nu) + O(nu^-3)."""
    log_prob = StudentT(nu, jnp.zeros(1), jnp.ones(1)).log_prob(jnp.zeros(1))
    assert_allclose(log_prob, -0.5 * math.log(2 * math.pi) - 0.25 / nu, rtol=0, atol=2e-14)


def test_student_t_gradient_in_nu(standardised: np.ndarray) -> None:
    def log_prob(nu: float, x: float) -> float:
        return StudentT(nu, jnp.zeros(1), jnp.ones(1)).log_prob(jnp.asarray(x)[None])[0]

    gradient = jax.jit(jax.vmap(jax.vmap(jax.grad(log_prob), (None, 0)), (0, None)))(NUS, standardised)
    nu, square = NUS[:, None], standardised**2
    digammas = 0.5 * (special.digamma((nu + 1) / 2) - special.digamma(nu / 2)) - 0.5 / nu
    exact = digammas - 0.5 * np.log1p(square / nu) + 0.5 * (nu + 1) * square / (nu * (nu + square))
    # Absolute where the parts cancel: they are of order log(x^2/nu) = 20.
    assert_allclose(gradient, exact, rtol=1e-11, atol=1e-13)


def test_student_t_gradient_in_location_and_scale(standardised: np.ndarray) -> None:
    def total(location: float, scale: float) -> float:
        return StudentT(3.5, jnp.full(7, location), scale).log_prob(standardised).sum()

    by_location, by_scale = jax.grad(total, (0, 1))(0.2, 0.7)
    z = (standardised - 0.2) / 0.7
    weight = 4.5 / (3.5 + z**2)
    assert_allclose(by_location, (weight * z / 0.7).sum(), rtol=1e-12)
    assert_allclose(by_scale, ((weight * z**2 - 1) / 0.7).sum(), rtol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_draws_follow_the_density(family: str) -> None:
    location, scale, nu = jnp.array([0.5, 1.0]), jnp.array([0.01, 0.3]), 2.5
    distribution = Noise(family).distribution(location, scale, {"nu": nu})
    draws = jax.jit(jax.vmap(distribution.sample))(jax.random.split(jax.random.key(3), 10_000))
    assert draws.shape == (10_000, 2)
    assert draws.dtype == jnp.float64
    standard = {"student-t": stats.t(nu), "normal": stats.norm(), "laplace": stats.laplace()}[family]
    for run in range(2):
        z = (np.asarray(draws[:, run]) - location[run]) / scale[run]
        # One fixed seed, six tests: a right sampler fails with probability 6e-4.
        assert stats.kstest(z, standard.cdf).pvalue > 1e-4
    assert abs(stats.spearmanr(draws).statistic) < 5 / 100, "runs are independent"


def test_a_scalar_scale_serves_all_runs() -> None:
    distribution = StudentT(4.0, jnp.zeros(3), 0.1)
    assert distribution.batch_shape == (3,)
    assert distribution.sample(jax.random.key(0)).shape == (3,)
    assert_allclose(distribution.log_prob(jnp.zeros(3)), stats.t.logpdf(0.0, 4.0, 0.0, 0.1), rtol=1e-13)


def test_student_t_passes_through_jit() -> None:
    made = jax.jit(lambda nu: StudentT(nu, jnp.zeros(3), jnp.ones(3)))(4.0)
    assert_allclose(made.log_prob(jnp.zeros(3)), stats.t.logpdf(0.0, 4.0), rtol=1e-13)


@pytest.mark.parametrize("family", ["student-t", "normal", "laplace"])
@pytest.mark.parametrize("columns", [(), ("D",)])
@pytest.mark.parametrize("size", [5, 16, 203])
def test_the_log_likelihood_is_the_sum_of_log_densities(family: str, columns: tuple[str, ...], size: int) -> None:
    generator = np.random.default_rng(size)
    noise = Noise(family, columns)
    data = {"D": np.exp(generator.standard_normal(size))}
    weight = generator.random(size) < 0.8
    value = generator.standard_t(2, size)

    def both(theta: dict[str, float]) -> tuple[Any, Any]:
        scale = noise.scale(data, {"D": 1.0}, theta)
        distribution = noise.distribution(np.zeros(size), scale, theta)
        slow = jnp.where(weight, distribution.log_prob(value), 0.0).sum()
        return log_likelihood(distribution, value, weight), slow

    # residuals from a thousandth of a scale to a million scales
    for sigma in (1e-6, 0.3, 1e3):
        theta = dict.fromkeys(noise.priors, 0.4) | {"sigma": sigma}
        fast, slow = both(theta)
        np.testing.assert_allclose(fast, slow, rtol=1e-12)
        gradients = [jax.grad(lambda theta, which=which: both(theta)[which])(theta) for which in (0, 1)]
        for name in theta:
            np.testing.assert_allclose(gradients[0][name], gradients[1][name], rtol=1e-10)
