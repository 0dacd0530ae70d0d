"""The curse of multilinguality: its identities, the design that cannot identify it, and what a fit gets back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from bayescale.errors import RunsError
from bayescale.inference.batch import sample_tables
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.curse import Curse
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.procedures import fit
from bayescale.runs import Runs, check

LAW = Curse()
# phi and psi as printed (arXiv 2510.22037, Sec. 5); alpha and beta as its iso-loss powers imply them
TRUTH = {"E": 0.6, "a": 0.35, "b": 0.45, "alpha": 0.453, "beta": 0.147, "phi": 0.11, "psi": -0.04}
NOISE = 0.005


def design(seed: int = 0, spread: float = 30.0) -> dict[str, np.ndarray]:
    """120 runs of 4 to 50 languages; total tokens spread over `spread`, whatever the number of languages."""
    generator = np.random.default_rng(seed)
    K = np.resize([4.0, 6, 8, 12, 16, 24, 32, 50], 120)
    N = np.exp(generator.uniform(np.log(1e7), np.log(8e9), 120))
    D = 2e11 * np.exp(np.log(spread) * generator.uniform(-0.5, 0.5, 120))
    return {"N": N, "D": D, "K": K}


def simulated(columns: dict[str, np.ndarray], seed: int = 1) -> Runs:
    loss = LAW.loss(*columns.values(), **TRUTH) * np.exp(NOISE * np.random.default_rng(seed).standard_normal(120))
    return Runs.from_arrays(**columns, loss=loss, source="simulated.csv")


def test_one_language_is_chinchilla() -> None:
    theta = {name: TRUTH[name] for name in ("E", "a", "b", "alpha", "beta")}
    np.testing.assert_allclose(LAW.loss(1e9, 3e11, 1.0, **TRUTH), Chinchilla().loss(1e9, 3e11, **theta), rtol=1e-14)
    np.testing.assert_allclose(LAW.optimum(1e22, **TRUTH), Chinchilla().optimum(1e22, **theta), rtol=1e-14)


def test_the_paper_s_form_in_the_tokens_of_each_language() -> None:
    N, D, K = 2e9, 4e11, 16.0
    derived = LAW.derived(**TRUTH)
    of_N, of_D = derived["A"] * K**0.11 / N**0.453, derived["B"] * K**-0.04 / (D / K) ** 0.147
    np.testing.assert_allclose(LAW.loss(N, D, K, **TRUTH), 0.6 + of_N + of_D, rtol=1e-13)


def test_iso_loss_factors_keep_the_loss_and_are_the_cheapest_way_to() -> None:
    """From a compute-optimal run of 4 languages to 4 r: same loss, and no other size costs less compute."""
    N, D = (float(x) for x in LAW.optimum(1e22, K=4.0, **TRUTH))
    here = LAW.loss(N, D, 4.0, **TRUTH)
    for ratio in (2.0, 4.0, 8.0):
        factor = LAW.iso_loss(ratio, **TRUTH)
        np.testing.assert_allclose(LAW.loss(N * factor["N"], D * factor["D"], 4.0 * ratio, **TRUTH), here, rtol=1e-13)
        np.testing.assert_allclose(factor["C"], factor["N"] * factor["D"], rtol=1e-13)
        np.testing.assert_allclose(LAW.iso_loss_tokens(ratio, factor["N"], **TRUTH), factor["D_t"], rtol=1e-12)
        cost = minimize_scalar(
            lambda s, r=ratio: s + float(np.log(LAW.iso_loss_tokens(r, np.exp(s), **TRUTH))),
            bounds=(0, 3),
            options={"xatol": 1e-9},
        )
        # a minimum is flat: its place is known to the square root of the solver's tolerance
        np.testing.assert_allclose(np.exp(cost.x), factor["N"], rtol=1e-4)


def test_a_model_too_small_has_no_iso_loss_data() -> None:
    assert np.isinf(LAW.iso_loss_tokens(8.0, 0.01, **TRUTH))


def test_fixed_total_tokens_are_refused_with_the_reason() -> None:
    columns = design(spread=1.0)
    with pytest.raises(RunsError, match=r"corr\(ln K, ln D_t\) is -1\.00000.*only psi \+ beta is determined.*Add runs"):
        fit(simulated(columns), "curse")
    # tokens that differ by rounding alone
    columns["D"] = columns["D"] * np.random.default_rng(0).uniform(0.99, 1.01, 120)
    with pytest.raises(RunsError, match="only psi"):
        fit(simulated(columns), "curse", "least-squares")
    LAW.check_runs(design(spread=30.0))


def test_check_says_that_it_cannot_be_learnt() -> None:
    from bayescale.cli.check import _learns

    table = simulated(design(spread=1.0)).table.to_dataframe()[["N", "D", "K", "loss"]]
    said = _learns(LAW, check(table))
    assert said["fits"] is False
    assert "only psi + beta" in said["why"]


@pytest.fixture(scope="module")
def fitted():
    return fit(simulated(design()), "curse", noise="normal", seed=0, draws=500)


def test_phi_and_psi_come_back(fitted) -> None:
    assert fitted.diagnostics.ok, fitted.diagnostics.warnings
    summary = fitted.summary()
    for name, widest in (("phi", 0.01), ("psi", 0.03)):
        low, high = summary.loc[name, "q05"], summary.loc[name, "q95"]
        # one table: within three posterior sds; how often 90 % intervals cover is the study below
        assert abs(summary.loc[name, "mean"] - TRUTH[name]) < 3 * summary.loc[name, "sd"], (name, low, high)
        # 90 % of the prior are .33 wide
        assert high - low < widest


def test_iso_loss_factors_are_posterior_quantities(fitted) -> None:
    factors = LAW.iso_loss(2.0, **{name: fitted.draws[name].values for name in ("alpha", "beta", "phi", "psi")})
    for name, printed in (("D", 1.66), ("N", 1.18)):
        assert abs(np.mean(factors[name]) - printed) < 3 * np.std(factors[name])
    assert {"iso_N", "iso_D_t", "iso_D", "iso_C"} <= set(fitted.summary().index)


@pytest.mark.slow
def test_coverage_over_a_hundred_tables() -> None:
    """90 % intervals of phi, psi and the iso-loss powers over 100 tables of the published truth."""
    columns, tables = design(), 100
    model = Model(LAW, Noise("normal"))
    clean = np.log(np.asarray(LAW.loss(*columns.values(), **TRUTH)))
    losses = clean + NOISE * np.random.default_rng(3).standard_normal((tables, 120))
    theta, diverging = sample_tables(model, columns, losses, draws=1000, seed=4)
    law_draws = {name: theta[name] for name in LAW.parameters}
    quantities = law_draws | LAW.derived(**law_draws)
    truths = TRUTH | LAW.derived(**TRUTH)
    covered = {}
    for name in ("phi", "psi", "alpha", "beta", "iso_N", "iso_D", "iso_D_t", "iso_C"):
        low, high = np.quantile(np.asarray(quantities[name]), [0.05, 0.95], axis=1)
        covered[name] = float(((low < truths[name]) & (truths[name] < high)).mean())
    print(f"\ndivergent transitions {diverging.mean():.2%}; covered {covered}")
    # .90 +- two binomial standard errors of 100 tables
    assert all(0.84 <= share <= 0.96 for share in covered.values()), covered
