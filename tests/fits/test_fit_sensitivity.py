"""What an answer rests on: the measures against ArviZ and closed forms, the verdicts against designs that we know."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import arviz_stats
import numpy as np
import pytest
from scipy import stats

from bayescale.errors import FitError
from bayescale.fits import Fit, allocation_verdicts, forecast_verdicts, log_groups
from bayescale.laws.chinchilla import Chinchilla
from bayescale.model import Model
from bayescale.procedures import fit
from bayescale.runs import Runs

TRUTH = {"E": 1.8, "a": 0.36, "b": 0.34, "alpha": 0.35, "beta": 0.37}
LAW = ("E", "a", "b", "alpha", "beta")
IDENTIFIED, PRIOR = "identified", "prior-dominated"


def simulated(N: Any, D: Any, seed: int) -> Runs:
    """Runs of the Chinchilla law with .5 % of normal noise."""
    N, D = (np.array(values, dtype=float) for values in np.broadcast_arrays(N, D))
    noise = np.exp(0.005 * np.random.default_rng([seed, 3]).standard_normal(N.size))
    return Runs.from_arrays(N=N, D=D, loss=Chinchilla().loss(N, D, **TRUTH) * noise, source="design.csv")


def ray(seed: int) -> Runs:
    """Twenty tokens per parameter, 14 runs."""
    N = np.geomspace(5e7, (1e10, 3e9)[seed % 2], 14)
    return simulated(N, 20.0 * N, seed)


def one_N(seed: int) -> Runs:
    return simulated((1e9, 2e8, 5e9)[seed % 3], np.geomspace(1e9, 3e11, 14), seed)


def one_D(seed: int) -> Runs:
    return simulated(np.geomspace(5e7, 1e10, 14), (2e10, 4e9, 1e11)[seed % 3], seed)


def spread(seed: int, size: int = 240) -> Runs:
    generator = np.random.default_rng([seed, 4])
    N, D = (np.exp(generator.uniform(*np.log(ends), size)) for ends in ((5e7, 1e10), (1e9, 3e11)))
    return simulated(N, D, seed)


def few(seed: int) -> Runs:
    """No more runs than Chinchilla has parameters, well spread."""
    return spread(seed, 5 - seed % 3)


def gadre(seed: int) -> Runs:
    """Four sizes over eight tokens per parameter, and two large runs: 34, as in arXiv 2403.08540."""
    N, M = np.meshgrid([1.1e7, 7.9e7, 1.54e8, 4.11e8], [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0])
    N, M = np.append(N, [1.4e9, 6.9e9]), np.append(M, [640.0, 20.0])
    return simulated(N, N * M, seed)


DESIGNS: dict[str, tuple[Callable[[int], Runs], bool]] = {
    "ray": (ray, False),
    "one N": (one_N, False),
    "one D": (one_D, False),
    "five runs or fewer": (few, False),
    "spread": (spread, True),
    "gadre": (gadre, True),
}
# Eight tables of each design that does not hold the exponent, four of each that does.
FORTY = [(name, seed) for name, (_, identified) in DESIGNS.items() for seed in range(4 if identified else 8)]


def N_exponent_identified(fitted: Fit) -> bool:
    found = fitted.sensitivity().verdicts
    assert found["N_exponent"] == found["D_exponent"]
    return found["N_exponent"] == IDENTIFIED


class TestTruthTable:
    @pytest.mark.parametrize("name", ["ray", "one N", "one D", "five runs or fewer"])
    def test_exponents_that_a_design_does_not_hold(self, name: str) -> None:
        # the short tries only: the chains may still be apart, and that must be called no answer either
        assert not N_exponent_identified(fit(DESIGNS[name][0](0), draws=500, fallback=False, seed=1))

    def test_runs_of_one_size(self, one_size_fit: Fit) -> None:
        table = one_size_fit.sensitivity().table
        assert table.loc["alpha", "verdict"] == PRIOR
        assert table.loc["N_exponent", "verdict"] == PRIOR
        assert table.loc["beta", "verdict"] == IDENTIFIED
        # what is known of one of two equally uncertain parameters halves the variance of their ratio, and no more
        assert table.loc["N_exponent", "contraction"] == pytest.approx(0.5, abs=0.15)

    def test_runs_of_many_sizes(self, simulated_fit: Fit) -> None:
        verdicts = simulated_fit.sensitivity([1e24]).verdicts
        asked = ("N_exponent", "D_exponent", "A", "B", "N at 1e+24 FLOPs", "D at 1e+24 FLOPs", "loss at 1e+24 FLOPs")
        assert {verdicts[name] for name in (*LAW, *asked)} == {IDENTIFIED}

    def test_the_runs_of_the_chinchilla_paper(self, epoch_240_fit: Fit) -> None:
        assert N_exponent_identified(epoch_240_fit)

    @pytest.mark.slow
    @pytest.mark.parametrize(("name", "seed"), FORTY)
    def test_forty_designs(self, name: str, seed: int) -> None:
        make, identified = DESIGNS[name]
        fitted = fit(make(seed), draws=300, seed=seed)
        print(f"\n{name} {seed}\n{fitted.sensitivity([1e24])!r}")
        assert N_exponent_identified(fitted) == identified


class TestMeasures:
    def test_power_scaling_is_that_of_arviz(self, simulated_fit: Fit) -> None:
        logger = logging.getLogger("arviz_stats")
        before, logger.disabled = logger.disabled, True
        theirs = arviz_stats.psense_summary(log_groups(simulated_fit), var_names=list(LAW), round_to=12)
        logger.disabled = before
        ours = simulated_fit.sensitivity().table.loc[list(LAW), ["prior", "likelihood"]]
        # theirs sums the log likelihood of the runs, ours is summed in compiled code: equal but for rounding
        np.testing.assert_allclose(ours, theirs[["prior", "likelihood"]].astype(float), rtol=1e-6)

    def test_log_densities_are_those_of_scipy(self, simulated_fit: Fit) -> None:
        tree, theta = log_groups(simulated_fit), simulated_fit.theta
        prior = {name: tree["log_prior"][name].values.ravel() for name in tree["log_prior"].data_vars}
        assert set(prior) == {*LAW, "sigma", "nu"}
        np.testing.assert_allclose(prior["alpha"], stats.lognorm(0.5, scale=0.35).logpdf(theta["alpha"]), rtol=1e-9)
        np.testing.assert_allclose(prior["sigma"], stats.halfnorm(scale=0.1).logpdf(theta["sigma"]), rtol=1e-9)
        np.testing.assert_allclose(prior["nu"], stats.gamma(2.0, scale=10.0).logpdf(theta["nu"]), rtol=1e-9)
        runs = simulated_fit.runs
        first = {name: float(theta[name][0]) for name in theta}
        mean = np.log(Chinchilla().loss(runs["N"], runs["D"], **{name: first[name] for name in LAW}))
        expected = stats.t(first["nu"], mean, first["sigma"]).logpdf(np.log(runs["loss"]))
        np.testing.assert_allclose(tree["log_likelihood"]["log_loss"].values[0, 0], expected, rtol=1e-9)

    def test_a_posterior_that_is_the_prior(self, assemble: Callable[..., Fit], simulate: Callable[..., Runs]) -> None:
        """And a ridge, and a parameter that is pinned."""
        model = Model(Chinchilla()).with_priors(b=0.34)
        drawn = model.sample_priors(2000, seed=5)
        generator = np.random.default_rng(0)
        known = 1.8 * np.exp(0.01 * generator.standard_normal(2000))
        # rank correlation of -.97 or so
        theta = drawn | {"E": known, "a": 0.36 * (known / 1.8) ** -3 * np.exp(0.006 * generator.standard_normal(2000))}
        made = assemble(simulate(), model.law, theta, model=model)
        found = made.sensitivity()
        assert {name: found.verdicts[name] for name in ("alpha", "beta", "b")} == {
            "alpha": PRIOR,
            "beta": PRIOR,
            "b": "pinned",
        }
        assert found.table.loc["alpha", "contraction"] == pytest.approx(0.0, abs=0.1)
        # .01 against .5 on the log scale
        assert found.table.loc["E", "contraction"] == pytest.approx(1 - (0.01 / 0.5) ** 2, abs=1e-3)
        ((one, other, value),) = found.ridges
        assert (one, other) == ("E", "a")
        assert value < -0.9
        assert "ridge: E and a (rank correlation -0.9" in repr(found)
        assert found.document()["ridges"] == [{"parameters": ["E", "a"], "correlation": value}]

    def test_a_power_of_the_prior_moves_what_is_the_prior(
        self, assemble: Callable[..., Fit], simulate: Callable[..., Runs]
    ) -> None:
        """Where the answer is the prior of one parameter, raising that prior to a power moves it, and nothing else."""
        model = Model(Chinchilla()).with_priors(E=1.8, a=0.36, b=0.34, beta=0.37, sigma=5.0, nu=30.0)
        made = assemble(simulate(size=20), model.law, model.sample_priors(4000, seed=6), model=model)
        table = made.sensitivity().table
        # with noise of a factor of e^5 twenty runs say nothing
        assert table.loc["alpha", "prior"] > 0.1
        assert table.loc["alpha", "likelihood"] < 0.02

    def test_chains_that_are_apart_are_not_judged(
        self, assemble: Callable[..., Fit], simulate: Callable[..., Runs]
    ) -> None:
        model = Model(Chinchilla())
        theta = {name: np.full((4, 500), value) for name, value in (TRUTH | {"sigma": 0.005, "nu": 4.0}).items()}
        noise = np.random.default_rng(1).standard_normal((len(theta), 4, 500))
        theta = {name: values * np.exp(0.01 * z) for (name, values), z in zip(theta.items(), noise, strict=True)}
        theta["alpha"][0] *= 1.1
        verdicts = assemble(simulate(), model.law, theta, model=model).sensitivity().verdicts
        assert verdicts["alpha"] == verdicts["N_exponent"] == "not judged"
        assert verdicts["beta"] != "not judged"

    def test_a_handful_of_draws(self, assemble: Callable[..., Fit], simulate: Callable[..., Runs]) -> None:
        model = Model(Chinchilla())
        theta = {name: values[:20] for name, values in model.sample_priors(50).items()}
        assert set(assemble(simulate(), model.law, theta, model=model).sensitivity().verdicts.values()) == {
            "not judged"
        }

    def test_replicates_have_no_prior(self, assemble: Callable[..., Fit], simulate: Callable[..., Runs]) -> None:
        theta = {name: values[:50] for name, values in Model(Chinchilla()).sample_priors(50).items()}
        made = assemble(simulate(), Chinchilla(), theta, kind="bootstrap", model=Model(Chinchilla()))
        assert made.rests_on is None
        assert allocation_verdicts(made, [1e24, 1e25]) == [{}, {}]
        assert forecast_verdicts(made, {"C": [1e24]}) == [None]
        with pytest.raises(FitError, match="only a posterior"):
            made.sensitivity()


class TestLabels:
    def test_an_exponent_that_rests_on_the_prior(self, one_size_fit: Fit) -> None:
        for text in (repr(one_size_fit), repr(one_size_fit.summary())):
            (row,) = [line for line in text.splitlines() if line.startswith("N_exponent")]
            assert row.endswith(PRIOR)
        after = one_size_fit.summary()._repr_html_().partition("<th>N_exponent</th>")[2]
        assert PRIOR in after.partition("</tr>")[0]
        assert not any(PRIOR in line for line in repr(one_size_fit).splitlines() if line.startswith("beta"))

    def test_none_where_the_table_answers(self, simulated_fit: Fit) -> None:
        rows = [line for line in repr(simulated_fit).splitlines() if line.startswith((*LAW, "N_exponent"))]
        assert not any(PRIOR in row or "conflict" in row for row in rows)
        assert "" not in simulated_fit.summary()

    def test_allocations_and_forecasts(self, one_size_fit: Fit, simulated_fit: Fit) -> None:
        (bad,), (good,) = (allocation_verdicts(one, [1e24]) for one in (one_size_fit, simulated_fit))
        assert bad["N_exponent"] == bad["D_exponent"] == PRIOR
        assert IDENTIFIED not in (bad["N"], bad["D"], bad["D_per_N"])
        assert set(good.values()) == {IDENTIFIED}
        # inside the table one size says what the loss of that size is, and nothing of a size a thousand times smaller
        inside, outside = forecast_verdicts(one_size_fit, {"N": [1e9, 1e6], "D": [2e10, 2e10]})
        assert inside == IDENTIFIED
        assert outside != IDENTIFIED
        assert forecast_verdicts(simulated_fit, {"C": [1e22]}) == [IDENTIFIED]

    def test_no_more_runs_than_parameters(self) -> None:
        fitted = fit(spread(0, 5), draws=100, fallback=False)
        assert set(fitted.sensitivity().verdicts.values()) == {PRIOR}
        said = fitted.diagnostics.warnings[0]
        assert said.startswith("5 runs for the 5 free parameters of chinchilla: the law goes through all of them")
        assert not any("prior sds away" in note for note in fitted.diagnostics.notes)
        assert "prior-dominated: 5 runs and 5 free parameters" in repr(fitted)


def test_the_command_line_prints_and_labels(one_size_fit: Fit, tmp_path: Path, capsys: Any) -> None:
    from bayescale.cli import main

    saved = str(one_size_fit.save(tmp_path / "one.nc"))
    main(["allocate", saved, "--flops", "1e24"])
    lines = capsys.readouterr().out.splitlines()
    labelled = [line.split()[0] for line in lines if line.endswith(("(prior-dominated)", "(not judged)"))]
    assert labelled[:4] == ["N*", "D*", "parameters", "tokens"]
    assert lines[0].endswith("(prior-dominated)")
    main(["forecast", saved, "--at", "N=1M,D=20B"])
    assert capsys.readouterr().out.splitlines()[1].endswith((")", "conflict)"))
