"""What is wrong with a fit, in sentences: each sentence is said when it should be, and not otherwise.

The samples are a good run's with one thing spoilt.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bayescale.diagnostics import Diagnostics, contraction, diagnose
from bayescale.fits import Fit
from bayescale.inference.anchors import anchors_of
from bayescale.inference.convergence import convergence
from bayescale.inference.density import pad
from bayescale.inference.importance import Importance
from bayescale.inference.sample import Samples, sample
from bayescale.inference.sampler import Sampler
from bayescale.laws.chinchilla import Chinchilla
from bayescale.model import Model
from bayescale.runs import Runs


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(Chinchilla())


@pytest.fixture(scope="module")
def good(model: Model, simulate: Callable[..., Runs]) -> Samples:
    """A short, sound run; draws replaced by independent ones, so that nothing about them is borderline."""
    runs = simulate()
    samples = sample(
        model,
        pad(model.data(runs), np.log(runs["loss"]), anchors_of(model, model.data(runs))),
        Sampler(draws=100, fallback=False),
        seed=3,
    )
    generator = np.random.default_rng(0)
    theta = {
        name: float(draws.mean()) * np.exp(0.02 * generator.standard_normal((4, 1000)))
        for name, draws in samples.theta.items()
    }
    stats = {name: np.resize(values, (4, 1000)) for name, values in samples.stats.items()}
    stats |= {
        "diverging": np.zeros((4, 1000), dtype=bool),
        "tree_depth": np.full((4, 1000), 3),
        "energy": generator.standard_normal((4, 1000)),
    }
    check = Importance(
        0.3,
        1500.0,
        {name: float(draws.mean()) for name, draws in theta.items()},
        {name: float(draws.std()) for name, draws in theta.items()},
    )
    first = np.arange(len(samples.modes.distinct)) == 0
    modes = samples.modes._replace(distinct=first)
    return with_draws(samples, theta)._replace(stats=stats, importance=check, modes=modes, interrupted=False)


def with_draws(samples: Samples, theta: dict[str, np.ndarray]) -> Samples:
    return samples._replace(theta=theta, convergence=convergence(theta))


def with_stat(samples: Samples, name: str, values: np.ndarray) -> Samples:
    return samples._replace(stats=samples.stats | {name: values})


def with_theta(samples: Samples, name: str, values: np.ndarray) -> Samples:
    return with_draws(samples, samples.theta | {name: values})


def only_warning(model: Model, samples: Samples) -> str:
    """The single warning of these samples."""
    found = diagnose(model, samples)
    assert not found.ok
    assert len(found.warnings) == 1, found.warnings
    return found.warnings[0]


def test_good_samples_have_no_warning(model: Model, good: Samples) -> None:
    found = diagnose(model, good)
    assert found.warnings == ()
    assert found.ok
    assert found.max_rhat is not None
    assert found.max_rhat < 1.01
    assert found.min_ess is not None
    assert found.min_ess > 400
    assert found.divergences == 0
    assert found.pareto_k == 0.3
    assert set(found.contraction) == set(model.priors)
    assert any("importance sampling gives the same means" in note for note in found.notes)


def test_chains_that_disagree(model: Model, good: Samples) -> None:
    draws = good.theta["beta"].copy()
    draws[0] *= 1.01
    warnings = diagnose(model, with_theta(good, "beta", draws)).warnings
    said = next(warning for warning in warnings if warning.startswith("R-hat is above 1.01 for beta 1."))
    assert "--draws" in said
    assert "alpha" not in said


def test_a_parameter_that_never_moved(model: Model, good: Samples) -> None:
    warnings = diagnose(model, with_theta(good, "E", np.full((4, 1000), 1.8))).warnings
    assert any(warning.startswith("R-hat is above 1.01 for E inf") for warning in warnings)
    assert any("effective sample size below 400 for E (smallest 0)" in warning for warning in warnings)


def test_draws_that_are_not_numbers(model: Model, good: Samples) -> None:
    draws = good.theta["E"].copy()
    draws[2, 7] = np.nan
    assert any(
        "R-hat" in warning and "E inf" in warning for warning in diagnose(model, with_theta(good, "E", draws)).warnings
    )


def test_few_effective_draws(model: Model, good: Samples) -> None:
    # one walk of slow steps, dealt out alternately, so that chains agree and neighbours do not differ
    generator = np.random.default_rng(2)
    walk = np.zeros((4, 1000))
    for step in range(1, 1000):
        walk[:, step] = 0.93 * walk[:, step - 1] + generator.standard_normal(4)
    draws = 0.36 * np.exp(0.005 * walk)
    assert convergence({"a": draws}).ess_bulk["a"] < 400
    warnings = diagnose(model, with_theta(good, "a", draws)).warnings
    assert any(
        w.startswith("effective sample size below 400 for a (smallest ") and "raise --draws" in w for w in warnings
    )


def test_too_few_draws_to_tell(model: Model, good: Samples) -> None:
    short = with_draws(good, {name: draws[:, :20] for name, draws in good.theta.items()})
    short = short._replace(stats={name: values[:, :20] for name, values in good.stats.items()})
    assert any("effective sample size below 400" in warning for warning in diagnose(model, short).warnings)


def test_divergences_are_counted(model: Model, good: Samples) -> None:
    diverging = np.zeros((4, 1000), dtype=bool)
    diverging[1, :3] = True
    spoilt = with_stat(good, "diverging", diverging)
    said = only_warning(model, spoilt)
    assert said.startswith("3 of 4000 transitions diverged")
    assert "--target-accept" in said
    assert diagnose(model, spoilt).divergences == 3


@pytest.mark.parametrize(("deep", "said"), [(30, False), (80, True)])
def test_tree_depth(model: Model, good: Samples, deep: int, said: bool) -> None:
    kernel = Sampler().kernels[2]
    depth = np.full(4000, 3)
    depth[:deep] = kernel.max_tree_depth
    spoilt = with_stat(good._replace(kernel=kernel, tries=3), "tree_depth", depth.reshape(4, 1000))
    if said:
        assert only_warning(model, spoilt).startswith("2% of the draws hit the largest tree depth (10)")
    else:
        assert diagnose(model, spoilt).ok


def test_energy(model: Model, good: Samples) -> None:
    slow = np.cumsum(np.random.default_rng(1).standard_normal((4, 1000)), axis=1)
    assert only_warning(model, with_stat(good, "energy", slow)).startswith("energy diagnostic (BFMI) 0.0")


def test_energy_that_is_not_a_number(model: Model, good: Samples) -> None:
    assert "BFMI" in only_warning(model, with_stat(good, "energy", np.full((4, 1000), np.nan)))


def test_tails_beyond_those_of_a_cauchy_distribution(model: Model, good: Samples) -> None:
    nu = good.theta["nu"]
    wild = with_theta(good, "nu", 0.45 * nu / np.median(nu))
    said = [text for text in diagnose(model, wild).warnings if text.startswith("nu is 0.45: a good part of the runs")]
    assert len(said) == 1
    heavy = with_theta(good, "nu", 1.1 * nu / np.median(nu))
    assert not any("a good part of the runs" in text for text in diagnose(model, heavy).warnings)


def test_several_modes_between_which_no_chain_goes(model: Model, good: Samples) -> None:
    distinct = np.arange(len(good.modes.distinct)) < 2
    draws = good.theta["a"].copy()
    draws[::2] *= 1.5
    split = with_theta(good, "a", draws)._replace(modes=good.modes._replace(distinct=distinct))
    said = [w for w in diagnose(model, split).warnings if w.startswith("the posterior has 2 separate modes")]
    assert len(said) == 1
    assert "one number with one interval would hide that" in said[0]


def test_several_modes_that_all_chains_visit(model: Model, good: Samples) -> None:
    distinct = np.arange(len(good.modes.distinct)) < 2
    found = diagnose(model, good._replace(modes=good.modes._replace(distinct=distinct)))
    assert found.ok
    assert any(n.startswith("the posterior has 2 separate modes") and "hold them all" in n for n in found.notes)
    # the check by importance sampling stands at one of them
    assert any("importance-sampling check says nothing here" in note for note in found.notes)


def test_more_modes_than_chains(model: Model, good: Samples) -> None:
    distinct = np.arange(len(good.modes.distinct)) < 5
    said = only_warning(model, good._replace(modes=good.modes._replace(distinct=distinct)))
    assert said.startswith("the posterior has 5 separate modes")


@pytest.mark.parametrize("sd", [0.1, 0.3])
def test_importance_sampling_that_disagrees(model: Model, good: Samples, sd: float) -> None:
    assert good.importance is not None
    off = good.importance.mean | {"alpha": good.importance.mean["alpha"] + sd * good.importance.sd["alpha"]}
    spoilt = good._replace(importance=good.importance._replace(mean=off))
    if sd < 0.2:
        # six standard errors of these draws, and too little to matter to anybody
        assert diagnose(model, spoilt).ok
    else:
        assert only_warning(model, spoilt) == (
            "NUTS and importance sampling disagree about alpha by 0.30 posterior sd: one of them is wrong."
        )


def test_importance_sampling_that_cannot_tell_is_a_note(model: Model, good: Samples) -> None:
    assert good.importance is not None
    off = dict.fromkeys(good.importance.mean, 99.0)
    found = diagnose(model, good._replace(importance=good.importance._replace(pareto_k=1.2, mean=off)))
    assert found.ok
    assert any("says nothing here (Pareto k 1.20)" in note for note in found.notes)
    nothing = diagnose(model, good._replace(importance=Importance(float("inf"), 0.0, {}, {})))
    assert nothing.ok


def test_no_importance_check_on_long_tables(model: Model, good: Samples) -> None:
    found = diagnose(model, good._replace(importance=None))
    assert found.ok
    assert found.pareto_k is None
    assert any("too long for the importance-sampling check" in note for note in found.notes)


def test_an_interrupt_and_a_second_run_are_said(model: Model, good: Samples) -> None:
    assert only_warning(model, good._replace(interrupted=True)).startswith("the sampling was interrupted")
    dense = diagnose(model, good._replace(kernel=Sampler().kernels[2], tries=3))
    assert dense.ok
    assert any("long warm-up" in note for note in dense.notes)
    second = diagnose(model, good._replace(kernel=Sampler().kernels[1], tries=2))
    assert any("longer trajectories" in note for note in second.notes)
    assert not any("did not converge" in note for note in diagnose(model, good).notes)


def test_short_trajectories_are_no_reason_to_warn(model: Model, good: Samples) -> None:
    assert diagnose(model, with_stat(good, "tree_depth", np.full((4, 1000), good.kernel.max_tree_depth))).ok


class TestPriorDominated:
    @pytest.fixture
    def silent(self, model: Model, good: Samples) -> Samples:
        """The table says nothing of alpha, nor of nu."""
        prior = model.sample_priors(4000, seed=9)
        theta = good.theta | {name: prior[name].reshape(4, 1000) for name in ("alpha", "nu")}
        assert good.importance is not None
        mean = good.importance.mean | {name: float(theta[name].mean()) for name in ("alpha", "nu")}
        sd = good.importance.sd | {name: float(theta[name].std()) for name in ("alpha", "nu")}
        return with_draws(good, theta)._replace(importance=good.importance._replace(mean=mean, sd=sd))

    def test_a_default_prior_of_the_law_is_a_warning(self, model: Model, silent: Samples) -> None:
        said = only_warning(model, silent)
        assert said.startswith(
            f"alpha is answered by its prior, {model.priors['alpha']}, not by the table (contraction "
        )
        assert "--prior" in said

    def test_the_noise_is_a_note(self, model: Model, silent: Samples) -> None:
        notes = diagnose(model, silent).notes
        assert any(note.startswith(f"nu rests on its prior, {model.priors['nu']}") for note in notes)

    def test_a_chosen_prior_is_a_note(self, model: Model, silent: Samples) -> None:
        knowingly = model.with_priors(alpha=model.priors["alpha"])
        found = diagnose(knowingly, silent)
        assert found.ok
        assert any(note.startswith("alpha rests on its prior") for note in found.notes)


class TestContraction:
    def test_no_news_and_all_news(self) -> None:
        generator = np.random.default_rng(0)
        prior = generator.lognormal(0.0, 0.5, 20_000)
        assert contraction(prior, generator.lognormal(0.0, 0.5, 20_000)) == pytest.approx(0.0, abs=0.05)
        # half the spread on the log scale is a quarter of the variance, wherever the centre lies
        assert contraction(prior, generator.lognormal(3.0, 0.25, 20_000)) == pytest.approx(0.75, abs=0.03)
        assert contraction(prior, np.full(100, 2.0)) == 1.0

    def test_signs_are_taken_as_they_are(self) -> None:
        generator = np.random.default_rng(0)
        found = contraction(generator.normal(0, 1, 20_000), generator.normal(0.5, 0.1, 20_000))
        assert found == pytest.approx(0.99, abs=0.002)

    def test_heavy_tails_do_not_count(self) -> None:
        prior = np.abs(np.random.default_rng(0).standard_cauchy(20_000))
        assert contraction(prior, prior) == 0.0

    def test_a_pinned_prior_has_none(self) -> None:
        assert np.isnan(contraction(np.full(10, 2.0), np.full(10, 2.0)))


class TestDocument:
    def test_round_trip(self, model: Model, good: Samples) -> None:
        found = diagnose(model, good._replace(interrupted=True))
        document = json.loads(json.dumps(found.document()))
        assert document["ok"] is False
        assert Diagnostics.from_document(document) == found

    @pytest.mark.parametrize("key", ["ok", "max_rhat", "min_ess", "divergences", "warnings"])
    def test_the_keys_that_the_command_line_promises(self, key: str) -> None:
        assert key in Diagnostics().document()

    def test_an_empty_verdict_is_ok(self) -> None:
        assert Diagnostics().ok
        assert Diagnostics().max_rhat is None


class TestCaught:
    """Fits that ought not to be trusted, end to end."""

    def test_runs_of_one_size_leave_alpha_to_its_prior(self, one_size_fit: Fit) -> None:
        diagnostics = one_size_fit.diagnostics
        assert not diagnostics.ok
        assert any(warning.startswith("alpha is answered by its prior") for warning in diagnostics.warnings)
        assert not any(warning.startswith("beta is answered") for warning in diagnostics.warnings)
        assert repr(one_size_fit).startswith("DO NOT TRUST THIS FIT")
        assert "DO NOT TRUST THIS FIT" in repr(one_size_fit.summary())
        assert "alpha is answered by its prior" in repr(one_size_fit.summary())

    def test_runs_of_many_sizes_do_not(self, simulated_fit: Fit) -> None:
        assert simulated_fit.diagnostics.ok, simulated_fit.diagnostics.warnings
        assert repr(simulated_fit).startswith("diagnostics: ok (posterior draws)")
        assert min(simulated_fit.diagnostics.contraction[name] for name in ("E", "a", "b", "alpha", "beta")) > 0.9

    def test_the_truth_is_recovered(self, simulated_fit: Fit, truth: dict[str, float]) -> None:
        for name, value in truth.items():
            draws = simulated_fit.draws[name].values
            assert abs(draws.mean() - value) < 4 * draws.std(), name


def test_attributes_are_as_documented() -> None:
    names: Any = Diagnostics.__dataclass_fields__
    assert set(names) <= {
        word.strip() for line in (Diagnostics.__doc__ or "").split("\n") for word in line.split(":")[0].split(",")
    }
