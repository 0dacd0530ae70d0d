"""The density on the unconstrained scale is that of the NumPyro program, and padding adds nothing to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpyro.infer.util import log_density

from bayescale._float64 import jax
from bayescale.discrepancy import Discrepancy
from bayescale.inference.anchors import anchors_of
from bayescale.inference.density import BLOCK, Density, Table, pad
from bayescale.laws import get, names
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.power_n import PowerN
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.runs import Runs

pytestmark = pytest.mark.usefixtures("lightly_compiled")

ODD_PRIORS: dict[str, Any] = {
    "E": "Uniform(1.0, 2.5)",
    "a": "HalfCauchy(0.5)",
    "b": "Gamma(2, 4)",
    "alpha": "Beta(2, 4)",
    "beta": "TruncatedNormal(0.3, 0.2, 0.05, 1.0)",
    "sigma": "InverseGamma(3, 0.05)",
    "nu": "Exponential(0.1)",
    "sigma_D": "Normal(0, 0.2)",
}


def models() -> list[Any]:
    every = [pytest.param(Model(get(name)()), id=name) for name in names() if set(get(name).inputs) <= {"N", "D", "C"}]
    chinchilla = Chinchilla()
    return [
        *every,
        pytest.param(Model(chinchilla, Noise("normal", ("N", "D"))), id="normal(N,D)"),
        pytest.param(Model(chinchilla, Noise("laplace")), id="laplace"),
        pytest.param(Model(chinchilla, Noise("student-t", ("D",))).with_priors(**ODD_PRIORS), id="odd priors"),
        pytest.param(Model(chinchilla).with_priors(beta="TruncatedNormal(0.3, 0.2)", alpha=0.35), id="pinned"),
        pytest.param(Model(chinchilla, Noise("normal")).with_priors(sigma=0.01), id="pinned noise"),
        pytest.param(Model(get("kappa")(), discrepancy=Discrepancy()), id="a law that bends"),
    ]


def table_of(model: Model, runs: Runs, *, anchored: bool = True) -> Table:
    columns = model.data(runs)
    return pad(columns, np.log(runs["loss"]), anchors_of(model, columns) if anchored else {})


def cases() -> list[Any]:
    """Every model with a typical run, and those with a floor without one too."""
    bare = [one for one in models() if "E" in one.values[0].law.linear]
    return [pytest.param(*one.values, True, id=one.id) for one in models()] + [
        pytest.param(*one.values, False, id=f"{one.id}, no typical run") for one in bare
    ]


@pytest.mark.parametrize(("model", "anchored"), cases())
def test_it_is_the_numpyro_programs(model: Model, anchored: bool, simulate: Callable[..., Runs]) -> None:
    runs = simulate(size=12)
    density = Density(model, table_of(model, runs, anchored=anchored))
    free = [name for name, prior in model.priors.items() if not prior.fixed]
    assert sorted(density.names) == sorted(free)
    assert density.dim == len(free)
    mean = {*model.mean_parameters}
    assert density.n_law == sum(name in mean for name in free)
    # what the mean depends on comes first, whatever its priors
    assert {*density.names[: density.n_law]} == {*free} & mean
    assert density.sigma_at == (density.names.index("sigma") if "sigma" in free else None)

    # compiled as a whole: piece by piece, as it runs without, takes several times as long
    @jax.jit
    def ours(z: Any) -> tuple[Any, Any, Any, Any]:
        def vector(z: Any) -> Any:
            theta = density.constrain(z)
            return jax.numpy.stack([theta[name] for name in density.names])

        theta = density.constrain(z)
        return theta, density.potential(z), jax.jacobian(vector)(z), density.unconstrain(theta)

    program = jax.jit(lambda theta: log_density(model, (model.data(runs), np.log(runs["loss"])), {}, theta)[0])
    found, by_hand = [], []
    for z in np.random.default_rng(0).normal(0.0, 0.7, (3, density.dim)):
        # NumPyro's truncation at both ends multiplies a vector into a matrix, which the strict setting of tests refuses
        with jax.numpy_rank_promotion("allow"):
            theta, potential, slopes, back = ours(z)
            by_hand.append(-float(program(theta)) - float(np.linalg.slogdet(slopes)[1]))
        found.append(float(potential))
        np.testing.assert_allclose(back, z, rtol=1e-9, atol=1e-9)
    # sums of a few hundred terms of order one in double precision
    np.testing.assert_allclose(found, by_hand, rtol=1e-9)


@pytest.mark.parametrize("size", [BLOCK + 4, 3 * BLOCK])
def test_a_long_table_is_read_block_by_block(size: int, simulate: Callable[..., Runs]) -> None:
    model = Model(Chinchilla())
    density = Density(model, table_of(model, simulate(size=size)))
    assert density.anchors["run"]
    whole = jax.jit(jax.value_and_grad(density.potential))
    for z in np.random.default_rng(1).normal(0.0, 0.5, (2, density.dim)):
        value, gradient = density.measure(z)
        expected, slope = whole(z)
        assert float(value) == pytest.approx(float(expected), rel=1e-11)
        np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-9 * np.abs(slope).max())


def test_the_prior_part_is_what_is_left_without_runs(simulate: Callable[..., Runs]) -> None:
    model = Model(Chinchilla())
    table = table_of(model, simulate(size=12))
    empty = Density(model, table._replace(weight=np.zeros(16, dtype=bool)))
    for z in np.random.default_rng(1).normal(0.0, 0.7, (3, 7)):
        assert float(empty.potential(z)) == pytest.approx(float(empty.prior_potential(z)), rel=1e-12)


def test_floor_and_terms_are_sampled_by_the_loss_of_the_typical_run(simulate: Callable[..., Runs]) -> None:
    model, runs = Model(Chinchilla()), simulate(size=12)
    table = table_of(model, runs)
    density = Density(model, table)
    run = table.anchors["run"]
    assert runs["N"].min() < run["N"] < runs["N"].max()
    generator = np.random.default_rng(3)
    for _ in range(3):
        # well above the bend the coordinate is the loss itself, whatever the terms add up to
        theta = {"E": 1.8, "sigma": 0.01, "nu": 5.0} | dict(
            zip(("a", "b", "alpha", "beta"), generator.uniform(0.2, 0.6, 4), strict=True)
        )
        law = {name: theta[name] for name in model.law.parameters}
        loss = float(model.law.loss(run["N"], run["D"], **law))
        at = dict(zip(density.names, np.asarray(density.unconstrain(theta)), strict=True))
        # softplus at z = 34 bends is within exp(-34) bends of the identity
        assert at["E"] == pytest.approx(loss, rel=1e-12)
        above = np.exp(at["a"]) + np.exp(at["b"])
        assert above == pytest.approx(loss - 1.8, rel=1e-12)


@pytest.mark.parametrize("pin", [{"E": 1.7}, {"E": "TruncatedNormal(1.7, 0.2)"}], ids=["pinned", "cut off"])
def test_a_floor_that_is_not_sampled_as_a_loss(pin: dict[str, Any], simulate: Callable[..., Runs]) -> None:
    model = Model(Chinchilla()).with_priors(**pin)
    runs = simulate(size=12)
    found = [Density(model, table_of(model, runs, anchored=anchored)) for anchored in (True, False)]
    z = np.random.default_rng(4).normal(0.0, 0.7, found[0].dim)
    # only the terms stand on the typical run then: their coordinates differ by what one unit of each adds to its loss
    assert [block.role for block in found[0]._blocks].count("floor") == 0
    one, other = ({n: float(v) for n, v in density.constrain(z).items()} for density in found)
    kept = [name for name in one if name not in ("a", "b")]
    assert [one[name] for name in kept] == [other[name] for name in kept]
    assert one["a"] != other["a"]


def test_there_is_no_typical_run_of_nothing() -> None:
    columns = {"N": np.array([1e8, 1e9]), "D": np.array([0.0, 1e10])}
    assert anchors_of(Model(Chinchilla()), columns) == {}


class TestPadding:
    @pytest.mark.parametrize(("size", "room"), [(1, 16), (16, 16), (17, 32), (200, 256), (256, 256), (257, 512)])
    def test_tables_grow_to_a_power_of_two(self, size: int, room: int) -> None:
        made = pad({"N": np.full(size, 1e9)}, np.zeros(size))
        assert made.log_loss.shape == made.weight.shape == made.columns["N"].shape == (room,)
        assert made.weight.sum() == size
        assert made.weight[:size].all()

    def test_it_adds_exactly_nothing(self, simulate: Callable[..., Runs]) -> None:
        model = Model(Chinchilla(), Noise("student-t", ("D",)))
        runs = simulate(size=16)
        full = table_of(model, runs)
        assert full.weight.all()
        worse = {name: np.concatenate([model.data(runs)[name], [1e12] * 16]) for name in ("N", "D")}
        wide = pad(worse, np.concatenate([np.log(runs["loss"]), np.full(16, 50.0)]), full.anchors)
        wide = wide._replace(weight=np.arange(32) < 16)
        narrow, padded = (jax.jit(jax.value_and_grad(Density(model, table).potential)) for table in (full, wide))
        for z in np.random.default_rng(2).normal(0.0, 0.7, (3, 8)):
            # the same terms, added in another order: not a digit more than rounding
            np.testing.assert_allclose(narrow(z)[0], padded(z)[0], rtol=1e-13)
            np.testing.assert_allclose(narrow(z)[1], padded(z)[1], rtol=1e-10, atol=1e-10)

    def test_padding_stays_finite_where_a_law_would_not(self, simulate: Callable[..., Runs]) -> None:
        # a masked row whose gradient is NaN would make the whole gradient NaN: padding repeats a real row
        model = Model(PowerN())
        table = table_of(model, simulate(size=5))
        np.testing.assert_array_equal(table.columns["N"].value[5:], np.full(11, table.columns["N"].value[0]))
        gradient = jax.jit(jax.grad(Density(model, table).potential))(np.zeros(5))
        assert np.isfinite(gradient).all()
