"""A model is a value and a NumPyro program: its names, its data, its density, its spec."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpyro import handlers
from numpyro.infer.util import log_density
from scipy import stats

from bayescale._float64 import jax, jnp
from bayescale.discrepancy import Discrepancy
from bayescale.errors import NoiseError, PriorError, RunsError
from bayescale.law_error import BEND, WINGS
from bayescale.laws import Law, get, names
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.power_c import PowerC
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.prior import Prior
from bayescale.runs import Runs

THETA = {"E": 1.8, "a": 0.36, "b": 0.34, "alpha": 0.35, "beta": 0.37}
PRIORS = {
    "E": stats.lognorm(0.5, scale=1.7),
    "a": stats.lognorm(1.5, scale=0.3),
    "b": stats.lognorm(1.5, scale=0.3),
    "alpha": stats.lognorm(0.5, scale=0.35),
    "beta": stats.lognorm(0.5, scale=0.35),
    "sigma": stats.halfnorm(scale=0.1),
    "nu": stats.gamma(2.0, scale=10.0),
    "sigma_N": stats.norm(0.0, 0.5),
    "sigma_D": stats.norm(0.0, 0.5),
}


@pytest.fixture(scope="module")
def runs() -> Runs:
    generator = np.random.default_rng(4)
    N, D = np.exp(generator.uniform(np.log(1e8), np.log(1e10), 12)), np.exp(generator.uniform(22, 26, 12))
    loss = Chinchilla().loss(N, D, **THETA) * np.exp(0.02 * generator.standard_t(4, 12))
    return Runs.from_arrays(N=N, D=D, loss=loss, source="simulated.csv")


class TestNames:
    def test_parameters_are_the_laws_then_the_noises(self) -> None:
        model = Model(Chinchilla(), Noise("student-t", ("D",)))
        assert list(model.priors) == ["E", "a", "b", "alpha", "beta", "sigma", "nu", "sigma_D"]
        assert model.priors["E"] == Chinchilla.priors["E"]
        assert model.priors["sigma_D"] == Prior("Normal", 0.0, 0.5)

    def test_columns_are_read_once(self) -> None:
        assert Model(Chinchilla(), Noise("normal", ("D", "batch"))).columns == ("N", "D", "batch")
        assert Model(PowerC(), Noise("normal", ("C",))).columns == ("C",)

    def test_an_unknown_prior_is_answered_with_those_there_are(self) -> None:
        said = (
            r"chinchilla with student-t\(D\) noise has no parameter 'alhpa' \(did you mean alpha\?\); "
            "its parameters are E, a, b, alpha, beta, sigma, nu, sigma_D$"
        )
        with pytest.raises(PriorError, match=said):
            Model(Chinchilla(), Noise("student-t", ("D",))).with_priors(alhpa=0.3)
        with pytest.raises(PriorError, match="no parameter 'nu'; its parameters are"):
            Model(PowerC(), Noise("normal")).with_priors(nu=3)

    def test_a_law_and_a_noise_that_share_a_name_are_refused(self) -> None:
        class Clashing(Chinchilla):
            parameters = (*Chinchilla.parameters, "sigma")

        with pytest.raises(NoiseError, match=r"both have a parameter called \['sigma'\]"):
            Model(Clashing())


class TestValue:
    def test_with_priors_gives_another_model(self) -> None:
        model = Model(Chinchilla())
        other = model.with_priors(E="LogNormal(0.6, 0.2)", alpha=0.35).with_priors(E=Prior("Normal", 1.7, 0.1))
        assert other.priors["E"] == Prior("Normal", 1.7, 0.1)
        assert other.priors["alpha"] == Prior("Fixed", 0.35)
        assert other.priors["beta"] == model.priors["beta"]
        assert list(other.priors) == list(model.priors)
        assert model.priors["E"] == Chinchilla.priors["E"]
        assert model.with_priors() == model

    def test_equal_models_hash_alike_whatever_the_order(self) -> None:
        one = Model(Chinchilla()).with_priors(E="Normal(1.7, 0.1)", alpha=0.35)
        other = Model(Chinchilla()).with_priors(alpha="0.35").with_priors(E=Prior("Normal", 1.7, 0.1))
        assert one == other
        assert hash(one) == hash(other)
        assert len({one, other, Model(Chinchilla())}) == 2
        assert Model(Chinchilla()) != Model(Chinchilla(), Noise("normal"))
        assert Model(Chinchilla()) != Model(Chinchilla(N0=1e6))

    @pytest.mark.parametrize("name", names())
    @pytest.mark.parametrize("noise", ["student-t", "normal(N,D)", "laplace(D)"])
    def test_spec_round_trip(self, name: str, noise: str) -> None:
        law: Law = get(name)(N0=3e6, D0=1 / 3, C0=7e9)
        first = law.parameters[0]
        plain = Model(law, Noise.parse(noise))
        changed = plain.with_priors(**{first: "LogNormal(log(3), 0.1)", "sigma": 0.01})
        same_as_default = plain.with_priors(**{first: law.priors[first]})
        for model in (plain, changed, same_as_default):
            spec = json.loads(json.dumps(model.spec()))
            assert Model.from_spec(spec) == model
            assert Model.from_spec(spec).spec() == spec
        assert changed.spec()["priors"]["sigma"] == "Fixed(0.01)"

    def test_priors_come_from_the_spec_not_from_todays_defaults(self, monkeypatch: pytest.MonkeyPatch) -> None:
        spec = Model(Chinchilla()).spec()
        monkeypatch.setattr(Chinchilla, "priors", dict(Chinchilla.priors) | {"E": Prior("Normal", 0.0, 9.0)})
        assert Model.from_spec(spec).priors["E"] == Prior.parse(spec["priors"]["E"])
        assert Model.from_spec(spec).priors["a"] == Chinchilla.priors["a"]


class TestDiscrepancy:
    allowing = Model(Chinchilla(), discrepancy=Discrepancy())
    flat = dict.fromkeys(BEND + WINGS, 0.0)

    def test_how_far_early_runs_may_be_off_is_a_parameter(self) -> None:
        own = set(self.allowing.priors) - set(Model(Chinchilla()).priors)
        assert own == {"below", "undertrained", *BEND, *WINGS}
        # a law of compute alone tells no tokens from parameters
        assert "undertrained" not in Model(PowerC(), discrepancy=Discrepancy()).priors
        pinned = self.allowing.with_priors(below=0.04, E=1.7)
        assert pinned.priors["below"].fixed
        assert Model.from_spec(json.loads(json.dumps(pinned.spec()))) == pinned
        with pytest.raises(PriorError, match="no parameter 'below'"):
            Model(Chinchilla()).with_priors(below=0.04)

    @pytest.mark.parametrize("name", ["nu", "below", "undertrained", "over_1"])
    def test_what_is_one_number_for_all_runs(self, name: str) -> None:
        with pytest.raises(PriorError, match=f"{name} belongs to the noise: .* cannot be pooled"):
            self.allowing.pool("corpus", name)

    def test_early_runs_scatter_more(self) -> None:
        C = np.array([1e18, 1e20, 1e21])
        data = self.allowing.data(Runs.from_arrays(N=np.sqrt(C / 120), D=np.sqrt(C / 0.3), loss=np.full(3, 2.5)))
        theta = {"E": 1.7, "a": 0.4, "b": 0.4, "alpha": 0.3, "beta": 0.3, "sigma": 0.01, "nu": 5.0, "below": 0.04}
        theta |= {"undertrained": 0.1} | self.flat
        # three decades and one below the top, of which half a decade is near
        expected = np.hypot(0.01, 0.04 * np.array([2.5, 0.5, 0.0]))
        np.testing.assert_allclose(self.allowing.predictive(data, theta).scale, expected)

    def test_undertrained_runs_scatter_more(self) -> None:
        N = np.array([1e8, 1e9, 1e9])
        data = self.allowing.data(Runs.from_arrays(N=N, D=N * [200.0, 2.0, 0.3], loss=np.full(3, 2.5)))
        theta = {"E": 1.7, "a": 0.4, "b": 0.4, "alpha": 0.3, "beta": 0.3, "sigma": 0.01, "nu": 5.0, "below": 0.0}
        # from three tokens per parameter down
        expected = np.hypot(0.01, 0.1 * np.array([0.0, np.log10(1.5), 1.0]))
        theta |= {"undertrained": 0.1} | self.flat
        np.testing.assert_allclose(self.allowing.predictive(data, theta).scale, expected)

    def test_the_law_may_bend_away_from_the_runs(self) -> None:
        """Heights move the location of the runs, and there is no such thing where their sds are 0."""
        N = np.array([1e7, 1e8, 1e9])
        runs = Runs.from_arrays(N=N, D=20 * N, loss=np.full(3, 2.5))
        data = self.allowing.data(runs)
        theta = {"E": 1.7, "a": 0.4, "b": 0.4, "alpha": 0.3, "beta": 0.3, "sigma": 0.01, "nu": 5.0, "below": 0.0}
        theta |= {"undertrained": 0.1} | self.flat
        law = self.allowing.log_mean(data, theta)
        np.testing.assert_allclose(self.allowing.predictive(data, theta).location, law, rtol=1e-12)
        # the first stands at the top of the ladder; the others are two and four decades away
        moved = self.allowing.predictive(data, theta | {"bend_1": 0.03}).location - law
        np.testing.assert_allclose(moved, moved[2] * np.exp([-8.0, -2.0, 0.0]), atol=1e-12)
        assert moved[2] > 0.02
        stiff = Model(Chinchilla(), discrepancy=Discrepancy(bend=0.0, wings=0.0))
        old = json.loads(json.dumps(stiff.spec()))
        del old["discrepancy"]["bend"], old["discrepancy"]["wings"]
        assert Model.from_spec(old) == stiff
        assert Model.from_spec(old | {"discrepancy": old["discrepancy"] | {"smooth": 0.02}}).discrepancy == Discrepancy(
            bend=0.02, wings=0.02
        )
        assert not stiff.nuisance
        assert "bumps" not in stiff.data(runs)
        assert self.allowing.nuisance == BEND + WINGS


class Table(dict[str, Any]):
    """A table that `Runs` would not let through."""

    source = "bad.csv"


class TestData:
    def test_columns_are_float64_arrays(self, runs: Runs) -> None:
        data = Model(Chinchilla(), Noise("normal", ("D",))).data(runs)
        assert list(data) == ["N", "D"]
        assert all(values.dtype == np.float64 and values.shape == (12,) for values in data.values())
        np.testing.assert_array_equal(data["N"], runs["N"])

    def test_a_column_the_noise_needs(self, runs: Runs) -> None:
        said = (
            r"chinchilla with student-t\(batch\) noise needs the column batch, which simulated\.csv does not have; "
            r"name it with --column batch=<its name in the table>"
        )
        with pytest.raises(RunsError, match=said):
            Model(Chinchilla(), Noise("student-t", ("batch",))).data(runs)

    def test_columns_the_law_needs(self) -> None:
        alone = Runs.from_arrays(C=np.array([1e18, 1e19]), loss=np.array([3.0, 2.8]), source="c.csv")
        assert list(Model(PowerC()).data(alone)) == ["C"]
        with pytest.raises(RunsError, match=r"needs the columns N, D, which c\.csv does not have.*--column N="):
            Model(Chinchilla()).data(alone)

    @pytest.mark.parametrize("value", [0.0, -3.0, np.nan, np.inf])
    def test_values_the_law_cannot_take(self, value: float) -> None:
        table = Table(N=[1e9, 2e9, 3e9], D=[1e10, value, 3e10])
        with pytest.raises(RunsError, match=rf"run 2: D is {value:g}; chinchilla .* needs finite values above 0"):
            Model(Chinchilla()).data(table)


def likelihood(family: str, location: np.ndarray, scale: np.ndarray, nu: float) -> Any:
    return {
        "student-t": stats.t(nu, location, scale),
        "normal": stats.norm(location, scale),
        "laplace": stats.laplace(location, scale),
    }[family]


class TestDensity:
    @pytest.mark.parametrize("padded", [False, True], ids=["", "padded"])
    @pytest.mark.parametrize("columns", [(), ("N", "D")], ids=["constant", "by N and D"])
    @pytest.mark.parametrize("family", ["student-t", "normal", "laplace"])
    def test_it_is_the_one_written_by_hand(
        self, runs: Runs, family: str, columns: tuple[str, ...], padded: bool
    ) -> None:
        model = Model(Chinchilla(), Noise(family, columns))
        noise = {"sigma": 0.03, "nu": 3.5, "sigma_N": 0.2, "sigma_D": -0.4}
        theta = THETA | {name: noise[name] for name in model.noise.priors}
        data, log_loss = model.data(runs), np.log(runs["loss"])
        location = np.log(1.8 + 0.36 * (runs["N"] / 1e9) ** -0.35 + 0.34 * (runs["D"] / 2e10) ** -0.37)
        scale = 0.03 * ((runs["N"] / 1e9) ** 0.2 * (runs["D"] / 2e10) ** -0.4 if columns else np.ones(12))
        by_hand = sum(PRIORS[name].logpdf(value) for name, value in theta.items())
        by_hand += likelihood(family, location, scale, 3.5).logpdf(log_loss).sum()
        arguments: tuple[Any, ...] = (data, log_loss)
        if padded:
            # Padding with rows that would be terrible if they counted.
            data = {name: np.concatenate([values, values[:4]]) for name, values in data.items()}
            arguments = (data, np.concatenate([log_loss, np.full(4, 9.0)]), np.arange(16) < 12)
        found, _ = log_density(model, arguments, {}, theta)
        # A sum of a dozen terms of order 1 to 10.
        np.testing.assert_allclose(found, by_hand, rtol=1e-10)

    def test_a_pinned_parameter_is_not_sampled_and_adds_nothing(self, runs: Runs) -> None:
        free = Model(Chinchilla(), Noise("normal"))
        pinned = free.with_priors(alpha=THETA["alpha"])
        arguments = (free.data(runs), np.log(runs["loss"]))
        theta = THETA | {"sigma": 0.03}
        rest = {name: value for name, value in theta.items() if name != "alpha"}
        with_alpha, _ = log_density(free, arguments, {}, theta)
        without, sites = log_density(pinned, arguments, {}, rest)
        np.testing.assert_allclose(with_alpha - without, PRIORS["alpha"].logpdf(THETA["alpha"]), rtol=1e-10)
        assert "alpha" not in sites

    def test_law_of_compute_alone(self) -> None:
        runs = Runs.from_arrays(C=np.array([1e17, 3e17, 1e18, 3e18]), loss=np.array([3.9, 3.62, 3.37, 3.16]))
        model = Model(PowerC(), Noise("normal"))
        theta = {"E": 1.8, "c": 0.5, "gamma": 0.13, "sigma": 0.02}
        location = np.log(1.8 + 0.5 * (runs["C"] / 1.2e20) ** -0.13)
        priors = PRIORS | {"c": stats.lognorm(1.5, scale=0.5), "gamma": stats.lognorm(0.5, scale=0.15)}
        by_hand = sum(priors[name].logpdf(value) for name, value in theta.items())
        by_hand += stats.norm(location, 0.02).logpdf(np.log(runs["loss"])).sum()
        found, _ = log_density(model, (model.data(runs), np.log(runs["loss"])), {}, theta)
        np.testing.assert_allclose(found, by_hand, rtol=1e-10)

    def test_without_a_loss_it_simulates_one(self, runs: Runs) -> None:
        model = Model(Chinchilla(), Noise("normal"))
        trace = handlers.trace(handlers.seed(model, jax.random.key(0))).get_trace(model.data(runs))
        assert set(trace) == {*model.priors, "log_loss"}
        assert not trace["log_loss"]["is_observed"]
        assert trace["log_loss"]["value"].shape == (12,)

    def test_predictive_is_the_likelihood(self, runs: Runs) -> None:
        model = Model(Chinchilla(), Noise("student-t", ("D",)))
        theta = THETA | {"sigma": 0.03, "nu": 3.5, "sigma_D": -0.4}
        predictive = model.predictive(model.data(runs), theta)
        location = np.log(Chinchilla().loss(runs["N"], runs["D"], **THETA))
        np.testing.assert_allclose(model.log_mean(model.data(runs), theta), location, rtol=1e-14)
        by_hand = stats.t(3.5, location, 0.03 * (runs["D"] / 2e10) ** -0.4).logpdf(np.log(runs["loss"]))
        np.testing.assert_allclose(predictive.log_prob(jnp.log(runs["loss"])), by_hand, rtol=1e-11)
        assert predictive.batch_shape == (12,)


class TestPriorDraws:
    def test_shapes_and_seeds(self) -> None:
        model = Model(Chinchilla()).with_priors(alpha=0.35)
        draws, again, other = (model.sample_priors(500, seed=seed) for seed in (1, 1, 2))
        assert list(draws) == list(model.priors)
        for name, values in draws.items():
            assert values.shape == (500,)
            assert values.dtype == np.float64
            np.testing.assert_array_equal(values, again[name])
        assert (draws["E"] != other["E"]).all()
        np.testing.assert_array_equal(draws["alpha"], 0.35)

    def test_parameters_are_drawn_independently(self) -> None:
        draws = Model(Chinchilla()).sample_priors(4000)
        correlation = stats.spearmanr(np.stack([draws[name] for name in THETA], axis=1)).statistic
        # Five standard errors of a rank correlation of 4,000 independent pairs.
        assert abs(correlation - np.eye(5)).max() < 5 / np.sqrt(4000)

    def test_they_follow_the_priors(self) -> None:
        draws = Model(Chinchilla()).sample_priors(4000)
        for name in [*THETA, "sigma", "nu"]:
            assert stats.kstest(draws[name], PRIORS[name].cdf).pvalue > 1e-4, name
