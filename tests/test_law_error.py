"""The smooth error of a law: a process along compute, wings that begin flat, and no minimum moved."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale._float64 import jax
from bayescale.discrepancy import Discrepancy
from bayescale.ladder import Ladder
from bayescale.law_error import BEND, OVER, UNDER, WINGS, bent, bumps
from bayescale.laws import get
from bayescale.laws._off_optimum import off_optimum
from bayescale.laws.kappa import Kappa
from bayescale.model import Model
from bayescale.runs import Runs

TRUTH = {"E": 1.8, "R": 0.6, "M": 30.0, "N_exponent": 0.45, "gamma": 0.15, "kappa": 0.6}


def heights(**given: float) -> dict[str, float]:
    return dict.fromkeys(BEND + WINGS, 0.0) | given


def test_the_sd_of_the_error_is_that_of_its_heights() -> None:
    generator, beyond = np.random.default_rng(0), np.array([-2.5, -1.5, -0.5])
    drawn = 0.02 * generator.standard_normal((4000, len(BEND)))
    error = drawn @ bumps(beyond).T
    # three errors of the sd of 4,000 normal draws, and 4 % by which bumps make no flat sum
    np.testing.assert_allclose(error.std(axis=0), 0.02, rtol=0.04 + 3 / np.sqrt(8000))
    assert np.corrcoef(error[:, 1], error[:, 2])[0, 1] > 0.5
    # beyond the top it fades
    far = (drawn @ bumps([0.0, 1.0, 2.0, 4.0, 8.0]).T).std(axis=0)
    assert list(far) == sorted(far, reverse=True)
    assert far[4] < 1e-3 < far[3]


@pytest.mark.parametrize(("parts", "side"), [(OVER, 1.0), (UNDER, -1.0)])
def test_a_wing_is_on_its_side_alone(parts: tuple[str, ...], side: float) -> None:
    theta, at = heights(**dict.fromkeys(parts, 0.05)), bumps([0.0, 0.0, 0.0])
    away = np.asarray(bent(theta, at, side * np.array([-1.0, 0.1, 2.0])))
    assert away[0] == 0.0
    alone = {name: theta[name] for name in WINGS}  # where the frontier is not allowed to bend
    np.testing.assert_array_equal(bent(alone, at, side * np.array([-1.0, 0.1, 2.0])), away)
    full = 0.05 * at[0].sum()
    np.testing.assert_allclose(away[1:], full * -np.expm1(-0.5 * (np.array([0.1, 2.0]) / 0.7) ** 2), rtol=1e-12)


def test_no_minimum_is_moved() -> None:
    """The slope of the loss in N at the law's optimum of a budget stays 0 whatever the heights."""
    law, generator = Kappa().at(N=3e9, D=6e10), np.random.default_rng(1)
    theta = TRUTH | {name: 0.02 * float(generator.standard_normal()) for name in BEND + WINGS}
    for budget in (1e19, 3e20):
        N, _ = law.optimum(budget, **TRUTH)

        def loss(log_off: float, budget: float = budget, N: float = float(N)) -> float:
            size = np.array([N]) * jax.numpy.exp(log_off)
            columns = {"N": size, "D": budget / (6.0 * size), "C": np.array([budget])}
            error = bent(theta, bumps([-1.0]), off_optimum(law, columns, theta))
            return jax.numpy.log(law.loss(columns["N"], columns["D"], **TRUTH))[0] + error[0]

        # 1e-7 off the optimum itself, where the wings meet
        for off in (-1e-7, 1e-7):
            assert abs(float(jax.grad(loss)(off))) < 1e-6


@pytest.mark.parametrize("name", ["kappa", "chinchilla", "bounded", "shifted"])
def test_where_a_law_has_its_optimum(name: str) -> None:
    """By its formula; around 20 tokens per parameter where it has none; 0 for runs of which no size is known."""
    law = get(name)().at(N=3e9, D=6e10)
    theta = {parameter: prior.median for parameter, prior in law.priors.items()}
    N, D = (np.atleast_1d(np.asarray(values)) for values in law.optimum(1e21, **theta))
    columns = {"N": np.tile(N, 2), "D": D * [1.0, 10.0], "C": np.array([1e21, 1e21])}
    found = np.asarray(off_optimum(law, columns, theta))
    expected = [0.0, 1.0] if name != "shifted" else np.log10(columns["D"] / columns["N"] / 20.0)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert off_optimum(law, {"C": columns["C"]}, theta) == 0.0


def test_it_is_the_same_error_in_a_table_and_in_a_forecast() -> None:
    from bayescale.fits._widened import bends

    N = np.geomspace(1e8, 1e10, 5)
    runs = Runs.from_arrays(N=N, D=np.array([3.0, 10.0, 30.0, 100.0, 300.0]) * N, loss=np.full(5, 2.5))
    ladder = Ladder.of(runs["C"])
    model = Model(Kappa().at(**ladder.reference), discrepancy=Discrepancy())
    theta = {name: values[:3] for name, values in model.sample_priors(8, seed=2).items()}
    columns = {name: runs[name] for name in ("N", "D", "C")}
    found = bends(model, ladder, columns, theta)
    for draw in range(3):
        one = {name: values[draw] for name, values in theta.items()}
        data = model.data(runs)
        expected = np.asarray(model.predictive(data, one).location) - np.asarray(model.log_mean(data, one))
        np.testing.assert_allclose(found[draw], expected, atol=1e-12)
    # without sizes runs are on the compute-optimal path, where the wings are flat
    path = bends(model, ladder, {"C": columns["C"]}, theta)
    np.testing.assert_allclose(path[0], bent({n: theta[n][0] for n in BEND}, bumps(ladder.beyond(columns["C"])), 0.0))
    assert bends(Model(Kappa()), ladder, columns, theta) == 0.0
