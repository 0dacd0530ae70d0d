"""Sampling as a user meets it: seeds, shapes, compiled code that is used again, interrupts and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from bayescale._float64 import jax
from bayescale.errors import FitError
from bayescale.inference import sample as sampling
from bayescale.inference.convergence import convergence
from bayescale.inference.density import Table
from bayescale.inference.program import TRACES
from bayescale.inference.sample import Samples, sample
from bayescale.inference.sampler import Sampler
from bayescale.inference.steps import thinned
from bayescale.laws.chinchilla import Chinchilla
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.runs import Runs

QUICK = Sampler(draws=100, fallback=False)


@pytest.fixture(scope="module", autouse=True)
def small_chunks() -> Iterator[None]:
    """Short fits are over in one chunk; these are interrupted between several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "SHORT_CHUNK", sampling.CHUNK)
        yield


@pytest.fixture(scope="module")
def samples(chinchilla: Model, table: Table) -> Samples:
    return sample(chinchilla, table, QUICK, seed=3)


class TestSamples:
    def test_shapes_and_names(self, samples: Samples, chinchilla: Model) -> None:
        assert set(samples.theta) == set(chinchilla.priors)
        for values in [*samples.theta.values(), *samples.stats.values()]:
            assert values.shape == (4, 100)
        assert all(values.dtype == np.float64 for values in samples.theta.values())
        assert set(samples.stats) == {
            "acceptance_rate",
            "diverging",
            "n_steps",
            "tree_depth",
            "energy",
            "lp",
            "step_size",
        }
        assert not samples.interrupted
        assert samples.tries == 1
        assert samples.kernel == QUICK.kernels[0]
        assert set(samples.seconds) == {"total", "compile", "sample", "check"}
        assert samples.seconds["total"] > samples.seconds["sample"] + samples.seconds["check"]
        assert samples.seconds["sample"] > 0 < samples.seconds["check"]

    def test_statistics_make_sense(self, samples: Samples) -> None:
        stats = samples.stats
        assert 0.6 < stats["acceptance_rate"].mean() < 0.98
        np.testing.assert_array_equal(stats["tree_depth"], np.ceil(np.log2(stats["n_steps"] + 1)))
        # the step size is tuned in warm-up, and then left alone
        assert (np.ptp(stats["step_size"], axis=1) == 0).all()
        assert (stats["step_size"] > 0).all()
        # few leapfrogs a draw is what the whitening is for
        assert stats["n_steps"].mean() < 15
        assert (stats["energy"] >= -stats["lp"] - 1e-9).all()

    def test_chains_are_different(self, samples: Samples) -> None:
        assert len({values[0] for values in samples.theta["alpha"]}) == 4

    def test_the_importance_check_agrees(self, chinchilla: Model, table: Table) -> None:
        longer = sample(chinchilla, table, Sampler(draws=2000, fallback=False), seed=5)
        check = longer.importance
        assert check is not None
        assert check.pareto_k < 0.7
        assert check.ess > 500
        found = convergence(longer.theta)
        for name, draws in longer.theta.items():
            error = np.sqrt(1 / check.ess + 1 / found.ess_bulk[name])
            assert abs(check.mean[name] - draws.mean()) < 5 * error * draws.std(), name
            if name != "nu":  # whose tail is longer than a normal's, so that its sd is known less well than this
                assert abs(check.sd[name] / draws.std() - 1.0) < 5 * error / np.sqrt(2), name


class TestSeeds:
    def test_equal_seeds_give_equal_draws(self, samples: Samples, chinchilla: Model, table: Table) -> None:
        again = sample(chinchilla, table, QUICK, seed=3)
        for name, draws in samples.theta.items():
            np.testing.assert_array_equal(draws, again.theta[name])
        for name, values in samples.stats.items():
            np.testing.assert_array_equal(values, again.stats[name])
        assert samples.importance == again.importance

    def test_other_seeds_give_other_draws(self, samples: Samples, chinchilla: Model, table: Table) -> None:
        other = sample(chinchilla, table, QUICK, seed=4)
        for name, draws in samples.theta.items():
            assert (draws != other.theta[name]).mean() > 0.99

    def test_even_from_the_same_mode(
        self, samples: Samples, chinchilla: Model, table: Table, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # the search differs by rounding from seed to seed, and chains are chaotic: that alone is no seed
        monkeypatch.setattr(sampling, "_locate", lambda *_: samples.modes)
        three, four = (sample(chinchilla, table, QUICK, seed=seed) for seed in (3, 4))
        for name, draws in samples.theta.items():
            np.testing.assert_array_equal(draws, three.theta[name])
            assert (draws != four.theta[name]).all()

    def test_more_draws_continue_the_same_chains(self, samples: Samples, chinchilla: Model, table: Table) -> None:
        longer = sample(chinchilla, table, Sampler(draws=130, fallback=False), seed=3)
        for name, draws in samples.theta.items():
            np.testing.assert_array_equal(draws, longer.theta[name][:, :100])


class TestTraces:
    def test_a_second_table_of_similar_size_is_not_traced_again(
        self, samples: Samples, simulate: Callable[..., Runs], padded: Callable[[Model, Runs], Table]
    ) -> None:
        before = dict(TRACES)
        assert before["step_chains"] >= 1
        # an equal model, made anew; other runs, and another number of them
        model = Model(Chinchilla(), Noise.parse("student-t"))
        other = sample(model, padded(model, simulate(size=150, seed=1)), Sampler(draws=50, fallback=False), seed=9)
        assert dict(TRACES) == before
        assert other.seconds["compile"] < 0.5
        assert other.theta["E"].shape == (4, 50)

    def test_another_seed_is_not_traced_again(self, chinchilla: Model, table: Table) -> None:
        before = dict(TRACES)
        sample(chinchilla, table, QUICK, seed=77)
        assert dict(TRACES) == before


class TestInterrupt:
    def stop_at(self, step: int) -> Callable[[str, int, int], None]:
        def progress(label: str, done: int, total: int) -> None:
            if done >= step:
                raise KeyboardInterrupt

        return progress

    def test_after_warm_up_there_is_a_partial_result(self, samples: Samples, chinchilla: Model, table: Table) -> None:
        partial = sample(chinchilla, table, QUICK, seed=3, progress=self.stop_at(100))
        assert partial.interrupted
        assert partial.theta["E"].shape == (4, 50)
        # what there is, is what there would have been
        for name, draws in partial.theta.items():
            np.testing.assert_array_equal(draws, samples.theta[name][:, :50])

    def test_an_interrupt_is_no_reason_to_start_again(self, chinchilla: Model, table: Table) -> None:
        seen: list[str] = []

        def progress(label: str, done: int, total: int) -> None:
            seen.append(label)
            if done >= 100:
                raise KeyboardInterrupt

        # fifty draws a chain are too few to have converged, which would call for the long run
        assert sample(chinchilla, table, Sampler(draws=100), seed=3, progress=progress).interrupted
        assert set(seen) == {"sampling"}

    def test_in_the_warm_up_of_the_second_try_the_first_is_kept(
        self, samples: Samples, chinchilla: Model, table: Table, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        once = sampling._run

        def stopped(task: object, attempt: int, *others: object) -> object:
            if attempt:
                raise sampling._InterruptedError("interrupted during warm-up")
            return once(task, attempt, *others)  # type: ignore[arg-type]

        monkeypatch.setattr(sampling, "_run", stopped)
        monkeypatch.setattr(sampling, "_converged", lambda *_: False)
        kept = sample(chinchilla, table, Sampler(draws=100), seed=3)
        assert kept.interrupted
        assert kept.tries == 1
        np.testing.assert_array_equal(kept.theta["E"], samples.theta["E"])

    def test_a_second_try_is_whitened_by_the_first(
        self, chinchilla: Model, table: Table, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        verdicts = iter([False, True])
        monkeypatch.setattr(sampling, "_converged", lambda *_: next(verdicts))
        labels: list[str] = []
        second = sample(chinchilla, table, Sampler(draws=200), seed=3, progress=lambda label, *_: labels.append(label))
        assert second.tries == 2
        assert second.kernel == Sampler().kernels[1]
        assert list(dict.fromkeys(labels)) == ["sampling", "sampling again"]
        assert not second.stats["diverging"].any()
        assert second.stats["n_steps"].mean() > 5
        # the same posterior: five Monte Carlo errors of the difference from the independent estimate
        assert second.importance is not None
        found = convergence(second.theta)
        for name, draws in second.theta.items():
            error = np.sqrt(1.0 / second.importance.ess + 1.0 / found.ess_bulk[name])
            assert abs(draws.mean() - second.importance.mean[name]) < 5.0 * error * draws.std(), name

    def test_after_a_search_that_found_no_maximum_the_second_try_is_enough(
        self, chinchilla: Model, table: Table, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The first may have seen one side of a saddle only; the second is whitened by draws, and judged by them."""
        found = sampling._locate
        monkeypatch.setattr(sampling, "_locate", lambda *task: found(*task)._replace(positive_definite=False))
        monkeypatch.setattr(sampling, "_converged", lambda *_: True)
        assert sample(chinchilla, table, Sampler(draws=200), seed=3).tries == 2

    @pytest.mark.parametrize("step", [50])
    def test_before_the_first_draw_there_is_none(self, chinchilla: Model, table: Table, step: int) -> None:
        with pytest.raises(FitError, match="interrupted during warm-up: there are no draws to keep yet"):
            sample(chinchilla, table, QUICK, seed=3, progress=self.stop_at(step))

    def test_progress_is_reported_to_the_end(self, chinchilla: Model, table: Table) -> None:
        seen: list[tuple[str, int, int]] = []
        sample(chinchilla, table, QUICK, seed=3, progress=lambda *now: seen.append(now))
        assert seen == [("sampling", done, 150) for done in (50, 100, 150)]

    def test_a_partial_fit_is_usable_and_says_so(self, simulate: Callable[..., Runs]) -> None:
        from bayescale.procedures import fit

        partial = fit(simulate(), draws=100, fallback=False, seed=3, progress=self.stop_at(100))
        assert not partial.diagnostics.ok
        assert partial.diagnostics.warnings[0].startswith("the sampling was interrupted")
        assert np.isfinite(partial.forecast({"N": [1e10], "D": [2e11]})["mean_loss"]).all()
        assert repr(partial).startswith("DO NOT TRUST THIS FIT")


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "said"),
        [
            ({"chains": 0}, "chains must be at least 1, got 0"),
            ({"draws": 3}, "draws must be at least 4, got 3"),
            ({"warmup": 0}, "warmup must be at least 1, got 0"),
            ({"max_tree_depth": 0}, "max_tree_depth must be at least 1, got 0"),
            ({"target_accept": 1.0}, "target_accept must lie between 0 and 1, got 1.0"),
            ({"target_accept": 0.0}, "target_accept must lie between 0 and 1, got 0.0"),
        ],
    )
    def test_settings_that_make_no_sense(self, settings: dict[str, float], said: str) -> None:
        with pytest.raises(FitError, match=said):
            Sampler(**settings)

    def test_settings_are_values(self) -> None:
        assert Sampler(draws=7) == Sampler(draws=7)
        assert hash(Sampler()) == hash(Sampler())

    def test_each_try_is_longer_and_more_careful(self) -> None:
        kernels = Sampler().kernels
        assert [kernel.dense for kernel in kernels] == [False, False, True]
        for name in ("warmup", "target_accept", "max_tree_depth"):
            values = [getattr(kernel, name) for kernel in kernels]
            assert values == sorted(set(values)), name
        assert [k.warmup for k in Sampler(warmup=5000, target_accept=0.999).kernels] == [5000] * 3
        assert [k.target_accept for k in Sampler(target_accept=0.999).kernels] == [0.999] * 3
        assert [k.max_tree_depth for k in Sampler(max_tree_depth=1).kernels] == [1] * 3
        assert Sampler(fallback=False).kernels == kernels[:1]

    def test_with_many_parameters_the_short_and_the_long_try_are_made_twice(self) -> None:
        ladder = Sampler().ladder(100)
        assert [kernel.max_tree_depth for kernel in ladder] == [3, 3, 4, 6, 6]
        assert ladder[0] == ladder[1]
        assert ladder[3] == ladder[4]
        assert not any(kernel.dense for kernel in ladder)
        assert Sampler(fallback=False).ladder(100) == ladder[:1]
        # a dense mass matrix of two dozen parameters can still be learnt from draws
        assert Sampler().ladder(24) == (*ladder[:-1], Sampler().kernels[-1])
        assert Sampler().ladder(20) == Sampler().kernels

    def test_everything_pinned_leaves_nothing_to_fit(self, table: Table) -> None:
        pinned = dict.fromkeys(Model(Chinchilla()).priors, 0.3)
        with pytest.raises(FitError, match="every parameter is pinned to a number, so there is nothing to fit"):
            sample(Model(Chinchilla()).with_priors(**pinned), table)

    def test_float32_is_refused(self, chinchilla: Model, table: Table) -> None:
        from bayescale.errors import BayescaleError

        jax.config.update("jax_enable_x64", False)
        try:
            with pytest.raises(BayescaleError, match="jax_enable_x64 is off"):
                sample(chinchilla, table, QUICK)
        finally:
            jax.config.update("jax_enable_x64", True)


def test_thinning_loses_no_divergence() -> None:
    diverging = np.zeros((2, 7), dtype=bool)
    diverging[0, 1] = diverging[1, 5] = diverging[1, 6] = True
    draws = np.arange(14.0).reshape(2, 7)
    theta, steps = thinned({"E": draws}, {"diverging": diverging, "energy": draws}, 3)
    assert theta["E"].tolist() == [[2.0, 5.0], [9.0, 12.0]]
    assert steps["energy"].tolist() == theta["E"].tolist()
    # the seventh step belongs to no whole group
    assert steps["diverging"].tolist() == [[True, False], [False, True]]


def test_random_numbers_do_not_depend_on_the_size_of_chunks() -> None:
    kernel = Sampler().kernels[0]
    one, other = np.random.default_rng(0), np.random.default_rng(0)
    whole = sampling._chances(kernel, one, 4, 7, 150)
    parts = [sampling._chances(kernel, other, 4, 7, 50) for _ in range(3)]
    for place, values in enumerate(whole):
        np.testing.assert_array_equal(values, np.concatenate([part[place] for part in parts], axis=2))
