"""Laws side by side: leaving out one run against refits, outliers, and the top of the ladder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from bayescale.comparison import LawComparison, _loo, compare_laws
from bayescale.comparison._laws import LawAnswer
from bayescale.comparison._loo import LeaveOneOut, leave_one_out, log_likelihood
from bayescale.errors import FitError, LawError
from bayescale.fits import Fit
from bayescale.inference.sampler import Sampler
from bayescale.laws.power_c import PowerC
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.procedures import NUTS
from bayescale.runs import Runs

TRUTH = {"E": 1.8, "c": 0.6, "gamma": 0.16}
SAMPLER = Sampler(draws=1000)


def table(outlier: float = 0.0) -> Runs:
    """Three runs of each of five budgets over four decades, .5 % of noise; the last is off by `outlier`."""
    generator = np.random.default_rng(2)
    C = np.repeat(np.geomspace(1e18, 1e22, 5), 3)
    off = np.append(np.zeros(14), outlier)
    loss = np.asarray(PowerC().loss(C, **TRUTH)) * np.exp(0.005 * generator.standard_normal(15) + off)
    return Runs.from_arrays(C=C, loss=loss, source="fifteen.csv")


def fitted(runs: Runs) -> Fit:
    return NUTS(Model(PowerC(), Noise("normal")), SAMPLER).fit(runs, seed=1)


@pytest.fixture(scope="module")
def sound() -> Fit:
    return fitted(table())


@pytest.fixture(scope="module")
def off() -> Fit:
    return fitted(table(outlier=0.05))


def test_log_likelihood_is_that_of_the_model(sound: Fit) -> None:
    each = log_likelihood(sound)
    assert each.shape == (4, 1000, 15)
    theta = {name: values[7] for name, values in sound.theta.items()}
    residual = np.log(sound.runs["loss"]) - np.log(
        np.asarray(PowerC().loss(sound.runs["C"], E=theta["E"], c=theta["c"], gamma=theta["gamma"]))
    )
    expected = -0.5 * (residual / theta["sigma"]) ** 2 - np.log(theta["sigma"]) - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(each[0, 7], expected, rtol=1e-9)


def test_against_refits_without_every_run(sound: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    found = leave_one_out(sound, SAMPLER, most=3)
    assert len(found.refitted) < 3
    assert found.left == ()
    monkeypatch.setattr(_loo, "good_k", lambda draws: -np.inf)
    exact = leave_one_out(sound, SAMPLER, most=15)
    assert sorted(exact.refitted) == list(range(15))
    # 15 runs, each with a Monte Carlo error of about .01 in both
    assert found.total == pytest.approx(exact.total, abs=0.1)
    assert np.abs(found.elpd - exact.elpd).max() < 0.1


def test_an_outlier_at_the_end_is_refitted(off: Fit) -> None:
    """It draws the fit to itself, so that a fit with it says little of one without."""
    found = leave_one_out(off, SAMPLER, most=3)
    assert found.pareto_k[14] > found.threshold == 0.7
    assert found.refitted[0] == 14
    smoothed = leave_one_out(off, SAMPLER, most=0)
    assert smoothed.refitted == ()
    assert smoothed.left[0] == 14
    # a refit finds it less likely than the fit that it drew to itself
    assert found.elpd[14] < smoothed.elpd[14]
    assert found.se > 0


def answer(law: str, fit: Fit, elpd: np.ndarray, beyond: float | None) -> LawAnswer:
    return LawAnswer(law, fit, LeaveOneOut(elpd, np.full(len(elpd), 0.2), 0.7), beyond)


def test_differences_have_paired_errors(sound: Fit) -> None:
    """What all laws find hard cancels."""
    generator = np.random.default_rng(0)
    hard = generator.normal(0.0, 3.0, 16)
    apart = generator.normal(0.5, 0.1, 16)
    answers = (answer("a", sound, hard, 1.0), answer("b", sound, hard - apart, 2.5))
    made = LawComparison("x.csv", 16, 14, 2, answers)
    row = made.table.loc["b"]
    assert row["difference"] == pytest.approx(-apart.sum())
    assert row["difference_se"] == pytest.approx(np.sqrt(16 * apart.var(ddof=1)))
    assert row["se"] > 20 * row["difference_se"]
    assert made.table["beyond_difference"].tolist() == [-1.5, 0.0]
    assert "a is ahead of b in interpolation" in made.verdict
    assert "b forecasts the top of the ladder best, by 1.5 nats" in made.verdict
    close = replace(made, answers=(answers[0], answer("c", sound, hard - 0.01, None)))
    assert "a is not clearly ahead of c" in close.verdict


@pytest.fixture(scope="module")
def compared() -> LawComparison:
    """A ladder of a floor and a power law, with a table that one of three laws cannot read."""
    laws = ["power-C-no-floor", "data-constrained", "power-C"]
    return compare_laws(table(), laws, noise="normal", sampler=SAMPLER, seed=1, refits=2)


def test_the_law_that_is_true_is_ahead(compared: LawComparison) -> None:
    assert [one.law for one in compared.answers] == ["power-C", "power-C-no-floor", "data-constrained"]
    row = compared.table.loc["power-C-no-floor"]
    assert row["difference"] < -4.0
    assert row["difference"] < -2.0 * row["difference_se"]
    assert row["beyond_difference"] < 0.0
    assert (compared.n_below, compared.n_above) == (12, 3)
    assert compared.answers[2].refused
    assert "power-C is ahead of power-C-no-floor in interpolation" in compared.verdict


def test_text_and_document(compared: LawComparison) -> None:
    text = repr(compared)
    assert "elpd_loo measures interpolation" in text
    assert "the top: 3 runs forecast from 12" in text
    assert "data-constrained: cannot be fitted: " in text
    assert max(map(len, text.splitlines())) <= 120
    document = compared.document()
    assert [row["law"] for row in document["laws"]] == ["power-C", "power-C-no-floor", "data-constrained"]
    assert document["laws"][0]["elpd_loo"] == pytest.approx(compared.table.iloc[0]["elpd_loo"])
    assert document["laws"][2]["elpd_loo"] is None
    assert "interpolation" in document["interpolation"]


@pytest.mark.parametrize(
    ("laws", "settings", "error", "said"),
    [
        ([], {}, FitError, "no law is named"),
        (["chinchila"], {}, LawError, "did you mean chinchilla"),
        (["power-C"], {"refits": -1}, FitError, "0 runs or more, not -1"),
        (["data-constrained"], {}, FitError, "no law can be fitted:\n  data-constrained"),
    ],
)
def test_what_cannot_be_compared(laws: list[str], settings: dict[str, int], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        compare_laws(table(), laws, **settings)


def test_other_fits_have_no_run_to_leave_out(assemble: Callable[..., Fit]) -> None:
    theta = {name: np.full(200, value) for name, value in TRUTH.items()}
    with pytest.raises(FitError, match="gives no posterior: runs are left out one by one with nuts"):
        log_likelihood(assemble(table(), PowerC(), theta, kind="bootstrap"))
