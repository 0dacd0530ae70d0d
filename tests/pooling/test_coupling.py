"""The Hessian from a gradient for each colour is that from a gradient for each parameter, and takes fewer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpyro.infer.util import log_density

from bayescale._float64 import jax, jnp
from bayescale.inference.anchors import anchors_of
from bayescale.inference.climb import curved
from bayescale.inference.coupling import Coupling
from bayescale.inference.density import Density, pad
from bayescale.lab import MultilingualDesign, simulate_runs
from bayescale.laws.atlas import Atlas
from bayescale.laws.chinchilla import Chinchilla
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.runs import Runs

LANGUAGES = 4


@pytest.fixture(scope="module")
def crossed(corpora: Runs) -> tuple[Model, Runs, int]:
    """Groups that lie across each other, and pairs with a deviation in common: all values meet some others."""
    columns = {name: corpora[name] for name in ("N", "D", "loss", "corpus")}
    runs = Runs.from_arrays(**columns, seed=np.arange(len(corpora)) % 7)
    model = Model(Chinchilla(), Noise("normal")).with_priors(
        E="pooled(LogNormal(0.5, 0.4), seed)",
        alpha="pooled(LogNormal(-1, 0.5), corpus*seed, shared=corpus)",
        beta="pooled(Normal(0.4, 0.1), corpus)",
    )
    return model, runs, 7 + 5 + (4 * 7 + 2)  # wiki has two runs


@pytest.fixture(scope="module")
def languages() -> tuple[Model, Runs, int]:
    """ATLAS of a few languages, each with two sources."""
    model = Model(Atlas(k=2), Noise("normal"))
    design = MultilingualDesign(languages=LANGUAGES, mono=24, bilingual=24, even=8, unimax=4).frame()
    made = simulate_runs(model, design, {"sigma": 0.01}, seed=1)
    runs = Runs.from_arrays(**{str(name): made.frame[name].to_numpy() for name in made.frame})
    return model, runs, LANGUAGES * (5 + 2 + 1)


@pytest.mark.parametrize("case", ["crossed", pytest.param("languages", marks=pytest.mark.slow)])
def test_fewer_gradients_give_the_same_hessian(case: str, request: pytest.FixtureRequest) -> None:
    unsettled, runs, values = request.getfixturevalue(case)
    model = unsettled.on(runs)
    columns = model.data(runs)
    anchors = anchors_of(model, columns)
    generator = np.random.default_rng(3)
    anchors["own"] = {
        name: np.full(own.shape, float(generator.integers(2))) if model.pools[name].shared else own
        for name, own in anchors["own"].items()
    }
    density = Density(model, pad(columns, np.log(runs["loss"]), anchors))
    coupling = Coupling.of(model, anchors, columns)
    assert coupling.pattern.shape == (values, values)
    # seeds and corpora that lie across each other all meet
    assert coupling.colours.max() + 1 <= density.dim
    gradients = jax.jit(jax.vmap(density.measure))

    def measure(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = [gradients(part) for part in z.reshape(-1, 1, z.shape[-1])]
        heights, slopes = (np.concatenate([np.asarray(one[i]) for one in found]) for i in (0, 1))
        return heights.reshape(z.shape[:-1]), slopes.reshape(z.shape)

    drawn = {name: prior[0] for name, prior in model.sample_priors(1, seed=1).items()}
    z = np.asarray(density.unconstrain(drawn))
    value, gradient, hessian = coupling.curved(measure, z)
    expected = [part[0, 0] for part in curved(measure, z[None, None])]
    assert value == expected[0]
    np.testing.assert_array_equal(gradient, expected[1])
    # in units in which the diagonal is one; rounding of a gradient of 1e6 over the step of 1e-5 leaves 1e-5
    units = 1.0 / np.sqrt(np.abs(np.diag(expected[2])))
    scale = units * units[:, None]
    np.testing.assert_allclose(hessian * scale, expected[2] * scale, atol=1e-4)


def test_languages_share_colours(languages: tuple[Model, Runs, int]) -> None:
    model = languages[0].on(languages[1])
    columns = model.data(languages[1])
    coupling = Coupling.of(model, anchors_of(model, columns), columns)
    grouped = coupling.colours[coupling.inside]
    assert len(set(grouped.tolist())) == len(grouped) // LANGUAGES, "as many as one language has values"
    alone = np.delete(coupling.colours, np.arange(len(coupling.colours))[coupling.inside])
    assert len(set(alone.tolist()) | set(grouped.tolist())) == len(alone) + len(set(grouped.tolist()))


@pytest.mark.slow
def test_the_density_of_atlas_is_its_numpyro_programs(languages: tuple[Model, Runs, int]) -> None:
    """Where a contribution stands on parameters of other groups (tau), the volume has to follow."""
    model = languages[0].on(languages[1])
    columns, log_loss = model.data(languages[1]), np.log(languages[1]["loss"])
    density = Density(model, pad(columns, log_loss, anchors_of(model, columns)))

    @jax.jit
    def volume(z: Any) -> Any:
        def vector(z: Any) -> Any:
            theta = density.constrain(z)
            return jnp.concatenate([jnp.ravel(theta[n]) for n in sorted(theta)])

        return jnp.linalg.slogdet(jax.jacobian(vector)(z))[1]

    drawn = model.sample_priors(3, seed=4)
    found, by_hand = [], []
    with jax.numpy_rank_promotion("allow"):
        for draw in range(3):
            theta = {n: values[draw] for n, values in drawn.items()}
            z = density.unconstrain(theta)
            found.append(float(density.potential(z)))
            program, _ = log_density(model, (columns, log_loss), {}, theta)
            by_hand.append(-float(program) - float(volume(z)))
    # the density leaves constants out; potentials here are of order 1e6
    np.testing.assert_allclose(np.diff(found), np.diff(by_hand), rtol=1e-9, atol=1e-5)
