"""The density of a model with groups is that of its NumPyro program, in whichever coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpyro.infer.util import log_density

from bayescale._float64 import jax, jnp
from bayescale.inference.anchors import anchors_of
from bayescale.inference.density import Density, pad
from bayescale.laws.chinchilla import Chinchilla
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.runs import Runs

pytestmark = pytest.mark.usefixtures("lightly_compiled")


class Loose(Chinchilla):
    """Chinchilla that does not say whose the exponents are."""

    powers = {}  # noqa: RUF012


NOISE = Noise("normal")
MODELS = {
    "one": Model(Chinchilla(), NOISE).pool("corpus", "alpha"),
    "all": Model(Loose(), NOISE).pool("corpus", "E", "a", "b", "alpha", "beta"),
    "slopes, floor": Model(Chinchilla(), NOISE)
    .with_priors(E="pooled(TruncatedNormal(1.5, 0.5), corpus)", b="pooled(TruncatedNormal(0.4, 0.3), corpus)")
    .pool("corpus", "a", "alpha", "beta"),
    "slopes, bounded": Model(Chinchilla(), NOISE).pool("corpus", "E", "a", "b", "alpha", "beta"),
    "floor": Model(Chinchilla(), NOISE).with_priors(E="pooled(TruncatedNormal(1.5, 0.5), corpus)"),
    "logit": Model(Chinchilla(), NOISE).with_priors(alpha="pooled(Beta(3, 5), corpus)", beta=0.37),
    "noise": Model(Chinchilla(), NOISE).with_priors(sigma="pooled(LogNormal(-5, 0.5), corpus)"),
    "apart": Model(Chinchilla(), NOISE).with_priors(
        E="apart(LogNormal(0.5, 0.4), corpus)",
        b="apart(TruncatedNormal(0.3, 0.2), corpus)",
        alpha="apart(Beta(3, 5), corpus)",
        sigma="apart(HalfNormal(0.1), corpus)",
        beta="pooled(Normal(0.4, 0.1), corpus)",
    ),
    "shared": Model(Chinchilla(), NOISE).with_priors(
        alpha="pooled(LogNormal(-1, 0.5), corpus*seed, shared=corpus)", beta="pooled(Normal(0.4, 0.1), seed)"
    ),
}

SLOPES = {
    "slopes": Model(Chinchilla(), NOISE).pool("corpus", "E", "a", "b", "alpha", "beta"),
    "some slopes": Model(Chinchilla(), NOISE).pool("corpus", "a", "b", "beta"),
    "all": MODELS["all"],
}


@pytest.fixture(scope="module")
def with_seeds(corpora: Runs) -> Runs:
    columns = {name: corpora[name] for name in ("N", "D", "loss", "corpus")}
    return Runs.from_arrays(**columns, seed=np.arange(len(corpora)) % 2)


@pytest.mark.parametrize("own", [0.0, 1.0, None])
@pytest.mark.parametrize("name", MODELS)
def test_it_is_the_numpyro_programs(name: str, own: float | None, with_seeds: Runs) -> None:
    model = MODELS[name].on(with_seeds)
    columns = model.data(with_seeds)
    log_loss = np.log(with_seeds["loss"])
    anchors = anchors_of(model, columns)
    generator = np.random.default_rng(0)
    flags = {
        n: np.full(v.shape, own) if own is not None else (generator.uniform(size=v.shape) < 0.5) * 1.0
        for n, v in anchors["own"].items()
    }
    for n, pool in model.pools.items():
        if pool.shared is not None:  # groups with a deviation in common are sampled alike
            flags[n] = flags[n][: len(set(model.structure(n)[0]))][model.structure(n)[0]]
    bounded: dict[str, Any] = {"bounded": {}} if name == "slopes, bounded" else {}
    density = Density(model, pad(columns, log_loss, anchors | {"own": flags} | bounded))
    assert (
        density.dim == len(density.names) == len(model.scalars) - (name == "logit") + sum(density.pools.sizes.values())
    )

    # compiled as a whole: piece by piece, as it runs without, takes five times as long
    @jax.jit
    def ours(theta: Any) -> tuple[Any, Any, Any]:
        def vector(z: Any) -> Any:
            back = density.constrain(z)
            return jnp.concatenate([jnp.ravel(back[n]) for n in sorted(back)])

        z = density.unconstrain(theta)
        return density.constrain(z), density.potential(z), jax.jacobian(vector)(z)

    program = jax.jit(lambda theta: log_density(model, (columns, log_loss), {}, theta)[0])
    drawn = model.sample_priors(3, seed=1)
    found, by_hand = [], []
    with jax.numpy_rank_promotion("allow"):
        for draw in range(3):
            theta = {n: values[draw] for n, values in drawn.items()}
            back, potential, slopes = ours(theta)
            for n in back:
                np.testing.assert_allclose(back[n], theta[n], rtol=1e-8, err_msg=n)
            found.append(float(potential))
            by_hand.append(-float(program(theta)) - float(np.linalg.slogdet(slopes)[1]))
    # the density leaves constants out: differences between points have none
    np.testing.assert_allclose(np.diff(found), np.diff(by_hand), rtol=1e-8, atol=1e-7)


def test_slopes_are_coordinates_only_where_all_terms_have_the_same_groups(with_seeds: Runs) -> None:
    found = {}
    for name, unsettled in SLOPES.items():
        model = unsettled.on(with_seeds)
        anchors = anchors_of(model, model.data(with_seeds))
        found[name] = Density(model, None, anchors).pools.steep
    assert found == {"slopes": {"a": "alpha", "b": "beta"}, "some slopes": {}, "all": {}}


@pytest.mark.parametrize("exponent", ["alpha", "beta"])
def test_an_exponent_that_moves_leaves_loss_and_slopes_where_they_are(with_seeds: Runs, exponent: str) -> None:
    model = SLOPES["slopes"].on(with_seeds)
    columns = model.data(with_seeds)
    density = Density(model, pad(columns, np.log(with_seeds["loss"]), anchors_of(model, columns)))
    z = density.unconstrain({n: values[0] for n, values in model.sample_priors(1, seed=3).items()})
    moved = z.at[density.names.index(f"{exponent}[c4]")].add(0.02)

    def typical(z: Any, N: float = 0.0, D: float = 0.0) -> Any:
        theta = density.constrain(z)
        run = {n: values[0] for n, values in density.pools.anchors["typical"]["@corpus"].items()}
        first = {n: theta[n][0] if jnp.ndim(theta[n]) else theta[n] for n in model.law.parameters}
        return model.law.loss(run["N"] * np.exp(N), run["D"] * np.exp(D), **first)

    before, after = (density.constrain(at) for at in (z, moved))
    assert float(after[exponent][0] / before[exponent][0]) == pytest.approx(np.exp(0.02))
    assert float(after["E"][0] - before["E"][0]) > 1e-3
    # softplus is the identity to this precision four bends above zero
    np.testing.assert_allclose(typical(moved), typical(z), atol=1e-3)
    for name in ("N", "D"):
        slopes = [(typical(at, **{name: 1e-4}) - typical(at, **{name: -1e-4})) / 2e-4 for at in (z, moved)]
        np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-6)


@pytest.mark.parametrize("lowest", [0.01, 0.5])
def test_a_floor_that_is_almost_zero_is_sampled_itself(with_seeds: Runs, lowest: float) -> None:
    model = SLOPES["slopes"].on(with_seeds)
    theta = {n: values[0] for n, values in model.sample_priors(1, seed=3).items()}
    floors = np.where(np.arange(len(theta["E"])) == 1, lowest, 1.8)
    anchors = anchors_of(model, model.data(with_seeds), theta | {"E": floors})
    assert ("bounded" in anchors) == (lowest < 0.1)
    density = Density(model, None, anchors)
    z = density.unconstrain(theta)
    moved = density.constrain(z.at[density.names.index("alpha[c4]")].add(0.02))["E"][0]
    assert (float(moved) == pytest.approx(float(theta["E"][0]))) == (lowest < 0.1)


def test_a_floor_without_groups_is_sampled_by_the_loss_of_the_typical_run(with_seeds: Runs) -> None:
    model = MODELS["one"].on(with_seeds)
    anchors = anchors_of(model, model.data(with_seeds))
    density = Density(model, None, anchors)
    theta = {"E": 1.8, "a": 0.4, "b": 0.3, "beta": 0.35, "sigma": 0.01, "alpha_level": 0.3, "alpha_spread": 0.1}
    theta |= {"alpha": np.full(len(model.groups_of["alpha"]), 0.5)}
    z = dict(zip(density.names, np.asarray(density.unconstrain(theta)), strict=True))
    # whatever the groups' exponents are, the coordinate stands where they are held
    held = {"alpha": anchors["held"]["alpha"]} | {name: theta[name] for name in ("E", "a", "b", "beta")}
    loss = float(model.law.loss(*(anchors["run"][name] for name in model.law.inputs), **held))
    # the floor is over sixty bends above zero
    assert z["E"] == pytest.approx(loss, rel=1e-12)
    # a floor with groups has a coordinate of its own
    assert "run" not in anchors_of(MODELS["floor"].on(with_seeds), model.data(with_seeds))


def test_a_table_decides_the_groups() -> None:
    with pytest.raises(ValueError, match="has not been settled on a table"):
        _ = Density(MODELS["one"], None).dim


def test_a_deviation_in_common_may_be_much_larger_than_the_spread(with_seeds: Runs) -> None:
    model = MODELS["shared"].on(with_seeds)
    density = Density(model, None, anchors_of(model, model.data(with_seeds)))
    drawn = {n: values[0] for n, values in model.sample_priors(1, seed=3).items()}
    theta = drawn | {"alpha_spread": 1e-9, "alpha_spread_corpus": 1.0}

    def potential(deviation: float) -> float:
        alpha = np.full_like(drawn["alpha"], theta["alpha_level"] * np.exp(deviation))
        return float(density.prior_potential(density.unconstrain(theta | {"alpha": alpha})))

    corpora = len(np.unique(with_seeds["corpus"]))
    # two standard deviations of each corpus, and none of its seeds
    assert potential(2.0) - potential(0.0) == pytest.approx(0.5 * 2.0**2 * corpora, rel=1e-6)
