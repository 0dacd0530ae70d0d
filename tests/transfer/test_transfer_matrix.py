"""The matrix of all pairs: one conditional against its dense solution, hidden scores predicted, tables refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayescale.errors import RunsError
from bayescale.transfer import Pairs, complete, hold_out, read_pairs
from bayescale.transfer._gibbs import MEAN_SD, SLOPE_SD, GibbsSettings, _State

QUICK = GibbsSettings(draws=300, warmup=300, thin=2)
ARABIC, CYRILLIC = {"ckb", "fa", "ps", "ur", "ar"}, {"ru", "kk", "uk"}
LATIN = set(re.findall(r"\w+", "en es fr de pt vi sw cy tr af no sv fil id ms ca it ro hr yo"))


@pytest.fixture(scope="module")
def published(shared_data: Path) -> Pairs:
    """The 38 x 38 matrix of arXiv 2510.22037, Fig. C.2, with scripts."""
    path = shared_data / "atlas_bts_38x38.csv"
    names = pd.read_csv(path, index_col=0).index
    scripts = ["A" if n in ARABIC else "L" if n in LATIN else "C" if n in CYRILLIC else n for n in names]
    return read_pairs(path, pd.DataFrame({"language": names, "script": scripts}))


def test_published_summaries(published: Pairs) -> None:
    """Same script -.225, different -.392; A -> B and B -> A have the correlation -.119 (paper -.23, -.39, -.11)."""
    same = (published.covariates["same_script"] > 0) & published.apart
    assert published.score[same].mean() == pytest.approx(-0.225, abs=5e-4)
    assert published.score[published.apart & ~same].mean() == pytest.approx(-0.392, abs=5e-4)
    upper = np.triu_indices(38, 1)
    assert np.corrcoef(published.score[upper], published.score.T[upper])[0, 1] == pytest.approx(-0.119, abs=5e-4)
    assert published.measured.sum() == 38 * 37


def test_long_and_wide_tables_say_the_same(published: Pairs, shared_data: Path) -> None:
    long = read_pairs(shared_data / "atlas_bts_long.csv")
    order = [long.languages.index(name) for name in published.languages]
    np.testing.assert_array_equal(long.score[np.ix_(order, order)], published.score)


def test_effects_are_drawn_from_their_conditional(scores) -> None:
    """Of many chains at one state: mean and covariance of mean, slope, targets, sources against the dense solution."""
    pairs, _ = scores(size=4)
    state = _State(pairs, 20000, np.random.default_rng(0))
    state.variance = state.variance * np.array([1.0, 2.0, 0.5, 3.0])
    seen, n = pairs.measured, 4
    variance = state.variance[0]
    target, source = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    design = np.column_stack(
        [np.ones(seen.sum()), pairs.covariates["same_script"][seen], np.eye(n)[target[seen]], np.eye(n)[source[seen]]]
    )
    weight = 1.0 / variance[target[seen]]
    prior = np.array([MEAN_SD, SLOPE_SD, *[0.2] * 8]) ** -2.0
    covariance = np.linalg.inv(design.T @ (weight[:, None] * design) + np.diag(prior))
    mean = covariance @ design.T @ (weight * (pairs.score[seen] - state.centre))
    state._rescale = lambda weight: None  # what comes after that draw
    state._effects(seen / state.variance[:, :, None])
    drawn = np.concatenate([state.slopes, state.target, state.source], axis=1)
    # Monte Carlo of 20,000 draws: five standard errors
    np.testing.assert_allclose(drawn.mean(0), mean, atol=5 * np.sqrt(covariance.diagonal().max() / 20000))
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=5 * np.sqrt(2 / 20000) * covariance.diagonal().max())


def test_measured_scores_stay_and_predictions_are_wide(scores) -> None:
    pairs, _ = scores()
    matrix = complete(pairs, QUICK)
    seen = pairs.measured
    np.testing.assert_array_equal(matrix.table["median"].values[seen], pairs.score[seen])
    assert (matrix.table["sd"].values[seen] == 0).all()
    predicted = pairs.apart & ~seen
    assert (matrix.table["sd"].values[predicted] > 0.03).all()
    assert np.isnan(matrix.table["median"].values.diagonal()).all()
    again = complete(pairs, QUICK)
    np.testing.assert_array_equal(matrix.table["q05"].values, again.table["q05"].values)


def test_scores_with_an_error_are_drawn_in(scores) -> None:
    pairs, truth = scores(hidden=0.1, error=0.3)
    table = complete(pairs, QUICK).table
    seen = pairs.measured
    before, after = (np.abs(x[seen] - truth[seen]).mean() for x in (pairs.score, table["mean"].values))
    assert after < 0.8 * before
    assert (table["sd"].values[seen] < 0.3).all()
    low, high = table["q05"].values[seen], table["q95"].values[seen]
    # 81 scores of one table, which share their effects
    assert 0.75 < ((low < truth[seen]) & (truth[seen] < high)).mean() <= 1.0


def test_intervals_cover_hidden_scores_of_simulated_tables(scores) -> None:
    inside = []
    for seed in range(10):
        pairs, truth = scores(seed)
        table = complete(pairs, GibbsSettings(draws=150, warmup=200, thin=1), seed=seed).table
        hidden = pairs.apart & ~pairs.measured
        inside += list((table["q05"].values[hidden] < truth[hidden]) & (truth[hidden] < table["q95"].values[hidden]))
    # about 180 scores, correlated within a table: three standard errors of .02 to .03
    assert 0.82 < np.mean(inside) < 0.97, np.mean(inside)


def test_hidden_scores_of_the_published_matrix(published: Pairs) -> None:
    held = hold_out(published, 0.2, 1, QUICK, seed=0)
    summary = held.summary()
    assert 0.85 <= summary["posterior"]["cov90"] <= 0.95
    assert summary["posterior"]["rmse"] < 0.5 * summary["mean"]["rmse"]
    # the same mean as least squares of targets and sources, and intervals that know which targets scatter
    assert summary["posterior"]["crps"] < 0.95 * summary["least-squares"]["crps"]


@pytest.mark.slow
def test_hidden_scores_of_the_published_matrix_five_times(published: Pairs) -> None:
    held = hold_out(published, 0.2, 5, seed=0)
    print("\n", held.by_repeat.round(4).to_string())
    posterior = held.by_repeat[held.by_repeat["method"] == "posterior"]
    assert posterior["cov90"].between(0.85, 0.95).all()
    assert posterior["ok"].all()


def test_a_language_without_a_score_is_said(scores) -> None:
    pairs, _ = scores()
    alone = pairs.score.copy()
    alone[3] = np.nan
    matrix = complete(Pairs(pairs.languages, alone, pairs.sd, pairs.covariates), QUICK)
    assert any("l3: no score as a target" in note for note in matrix.diagnostics.notes)
    assert matrix.table["target_effect_sd"].values[3] > matrix.table["target_effect_sd"].values[2]


def test_chains_that_are_too_short_are_a_warning(scores) -> None:
    pairs, _ = scores()
    matrix = complete(pairs, GibbsSettings(draws=20, warmup=1, thin=1))
    assert not matrix.diagnostics.ok
    assert list(matrix.table.attrs["warnings"]) == list(matrix.diagnostics.warnings)


PAIR = pd.DataFrame({"target": ["en", "de", "fr"], "source": ["de", "fr", "en"], "score": [0.1, "", "-0.2"]})


def test_blank_scores_are_pairs_to_predict() -> None:
    pairs = read_pairs(PAIR)
    assert pairs.measured.sum() == 2
    assert pairs.languages == ("en", "de", "fr")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (PAIR.assign(score=["x", "0.1", "0.2"]), "row 1, column 'score': 'x'"),
        (PAIR.assign(score=["inf", "0.1", "0.2"]), "row 1, column 'score': the value is infinite"),
        (PAIR.assign(source=["en", "fr", "en"]), "row 1: en is its own source"),
        (PAIR.assign(target=["en", "de", ""]), "row 3: target is empty"),
        (PAIR.assign(sd=[-1, 0, 0]), "row 1: sd is -1, below 0"),
        (pd.concat([PAIR, PAIR]), "row 4: de -> en has a score already"),
        (PAIR.assign(score=["", "", ""]), "no pair has a score"),
        (PAIR.rename(columns={"score": "value"}), "no column 'score'"),
        (pd.DataFrame({"a": ["x"], "b": [1]}), "neither columns target, source and score"),
        (pd.DataFrame({"a": ["x"]}), "has one column"),
    ],
)
def test_tables_of_pairs_are_refused_with_the_row(table: pd.DataFrame, said: str) -> None:
    with pytest.raises(RunsError, match=said):
        read_pairs(table.reset_index(drop=True))


def test_groups_must_name_every_language() -> None:
    with pytest.raises(RunsError, match="says nothing of fr"):
        read_pairs(PAIR, pd.DataFrame({"language": ["en", "de"], "script": ["a", "a"]}))
    with pytest.raises(RunsError, match="one column; expected a language and its group"):
        read_pairs(PAIR, pd.DataFrame({"language": ["en", "de", "fr"]}))


def test_too_few_scores_are_refused() -> None:
    with pytest.raises(RunsError, match="2 pairs have a score"):
        complete(read_pairs(PAIR))
    with pytest.raises(RunsError, match="expected a share of the measured pairs"):
        hold_out(read_pairs(PAIR), 1.5)
