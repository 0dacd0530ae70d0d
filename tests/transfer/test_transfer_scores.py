"""Scores from loss curves: the likelihood against its covariance written out, and what a fit gets back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from bayescale.errors import RunsError
from bayescale.runs import Runs
from bayescale.transfer import ScoreSettings, TransferScores, transfer_scores
from bayescale.transfer._curve_model import Curve, Curves, TwoCurves
from bayescale.transfer._curve_model import _log_likelihood as log_likelihood
from bayescale.transfer._importance import draw
from bayescale.transfer._scores import score_of

ALONE = 42e9


def true_score(tau: float, cost: float = 0.0) -> float:
    """In the simulated curves the loss after ``ALONE`` tokens is 2 nats, 1 of them above the floor."""
    return 2.0 - 2.0 / (1.0 + tau) * (1.0 - cost) ** (-1.0 / 0.3)


def test_errors_are_ar1_with_a_constant_of_the_run() -> None:
    generator = np.random.default_rng(0)
    off, sigma, carry, omega = generator.standard_normal((1, 12)), 0.7, 0.6, 0.4
    apart = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    covariance = sigma**2 * carry**apart + omega**2
    expected = multivariate_normal(np.zeros(12), covariance).logpdf(off[0]) + 6.0 * np.log(2.0 * np.pi)
    found = log_likelihood(off, *(np.array([x]) for x in (sigma, carry, omega)))
    assert found[0] == pytest.approx(expected, rel=1e-12)


def test_the_score_of_a_point_is_where_the_curves_meet() -> None:
    """Shares, powers and losses of tau = .2: the bilingual curve is at the monolingual loss after 2 d / 1.2 tokens."""
    empty = Curves([Curve(np.zeros(1), np.zeros(1))])
    model = TwoCurves(empty, empty)
    reducible = 1.2**-0.3
    share = np.array([0.5, reducible / (1.0 + reducible)])
    at = np.array(
        [np.log(2.0), np.log(1.0 + reducible), *np.log(0.3 * share), *np.log(share / (1.0 - share)), -6, 0, -6]
    )
    assert score_of(model, at[None])[0] == pytest.approx(true_score(0.2), rel=1e-12)
    assert score_of(model, (at + np.array([-0.7, *[0.0] * 8]))[None])[0] == -np.inf


def test_importance_sampling_gives_a_known_density_back() -> None:
    covariance = np.array([[1.0, 0.9], [0.9, 1.5]])
    known = multivariate_normal([3.0, -2.0], covariance)
    drawn = draw(known.logpdf, np.zeros(2), 4000, np.random.default_rng(1))
    assert drawn.pareto_k < 0.5
    # four thousand draws of thousands of effective ones: five standard errors
    np.testing.assert_allclose(drawn.points.mean(0), [3.0, -2.0], atol=0.12)
    np.testing.assert_allclose(np.cov(drawn.points.T), covariance, atol=0.2)


@pytest.fixture(scope="module")
def made(curves) -> TransferScores:
    return transfer_scores(curves(), ALONE)


def test_a_score_comes_back(made: TransferScores) -> None:
    assert made.diagnostics.ok, made.diagnostics.warnings
    score = made.table["score"].isel(pair=0).values
    assert abs(score.mean() - true_score(0.2)) < 3 * score.std()
    assert score.std() < 0.1
    one = made.table.isel(pair=0)
    assert (str(one["target"].values), str(one["source"].values)) == ("de", "en")
    assert float(one["p_never"]) == 0
    assert abs(float(one["raw"]) - true_score(0.2)) < 0.3
    assert 0.3 < float(one["carry"]) < 0.9


def test_the_same_seed_gives_the_same_draws_whatever_else_is_in_the_table(curves, made: TransferScores) -> None:
    frame = curves().table.to_dataframe().reset_index(drop=True)
    other = frame[frame["source"] == "en"].assign(source="zh")
    together = transfer_scores(Runs.read(pd.concat([frame, other]), needs=["D", "loss"]), ALONE)
    chosen = together.table.isel(pair=list(together.table["source"].values).index("en"))
    np.testing.assert_array_equal(chosen["score"].values, made.table["score"].isel(pair=0).values)


def test_one_run_of_each_kind_is_a_warning_unless_the_run_sd_is_known(curves) -> None:
    alone = transfer_scores(curves(seeds=1), ALONE)
    assert not alone.diagnostics.ok
    assert "rests on its prior here. Give several seeds" in alone.diagnostics.warnings[0]
    known = transfer_scores(curves(seeds=1), ALONE, ScoreSettings(run_sd=0.003))
    assert known.diagnostics.ok
    narrow = transfer_scores(curves(seeds=1), ALONE, ScoreSettings(run_sd=1e-5))
    # .3 % between seeds moves the crossing by more than what the checkpoints leave open
    assert float(known.table["sd"][0]) > 1.5 * float(narrow.table["sd"][0])


def test_a_loss_that_is_never_reached_is_said(curves) -> None:
    far = transfer_scores(curves(tau=0.0, cost=1.2), ALONE)
    one = far.table.isel(pair=0)
    assert float(one["p_never"]) > 0.5
    assert np.isnan(float(one["raw"]))
    assert np.isnan(float(one["sd"]))
    assert any("may never reach the loss" in note for note in far.diagnostics.notes)


def test_a_monolingual_run_that_is_too_short_is_a_warning(curves) -> None:
    short = transfer_scores(curves(), 60e9)
    assert any("end at 5.25e+10 tokens, before the 6e+10" in warning for warning in short.diagnostics.warnings)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.drop(columns="source"), "has no column 'source'"),
        (lambda f: f[f["source"] == "en"], "de with en has no monolingual run of de"),
        (lambda f: f[f["source"] != "en"], "all runs are monolingual"),
        (lambda f: f.drop(columns="seed"), "two losses at .* tokens: if these are two runs"),
        (lambda f: f[f["D"] < 6e9], "of .* checkpoints from 4.2e[+]09 tokens on; a curve needs 5"),
        (lambda f: f.assign(target=["", *f["target"][1:]]), "target of checkpoint 1 is empty"),
    ],
)
def test_tables_that_cannot_be_used_are_refused_with_a_reason(curves, change, said: str) -> None:
    frame = change(curves().table.to_dataframe().reset_index(drop=True))
    with pytest.raises(RunsError, match=said):
        transfer_scores(Runs.read(frame, needs=["D", "loss"]), ALONE)


@pytest.mark.parametrize("settings", [{"run_sd": 0.0}, {"start": 1.0}, {"draws": 5}])
def test_settings_out_of_range_are_refused(settings) -> None:
    with pytest.raises(RunsError, match=next(iter(settings))):
        ScoreSettings(**settings)


@pytest.mark.slow
@pytest.mark.parametrize(
    "truth",
    [
        {"tau": 0.0, "seeds": 3},
        {"tau": -0.25, "seeds": 3},
        {"tau": 0.1, "cost": 0.03, "seeds": 3},
        {"tau": 0.2, "seeds": 3, "run_sd": 0.0015},
        {"tau": 0.2, "seeds": 3, "run_sd": 0.006},
        {"tau": 0.2, "seeds": 1},
    ],
)
def test_coverage_over_simulated_pairs(curves, truth) -> None:
    """90 % intervals over 100 pairs, with .3 % between seeds (which one run of each kind cannot show) unless said."""
    settings = ScoreSettings(run_sd=0.003 if truth["seeds"] == 1 else None)
    inside = []
    for seed in range(100):
        score = transfer_scores(curves(seed=seed, **truth), ALONE, settings, seed=seed).table["score"].values
        low, high = np.quantile(score, [0.05, 0.95])
        inside.append(low < true_score(truth["tau"], truth.get("cost", 0.0)) < high)
    print(f"\n{truth}: covered {np.mean(inside):.2f}")
    # .90, and two binomial standard errors of 100 pairs
    assert 0.84 <= np.mean(inside) <= 0.96
