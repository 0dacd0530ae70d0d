"""Weights of laws from densities at hand, cuts of a ladder, candidates, settings: nothing is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from bayescale.averaging import Averaging, Candidate, Learnt, candidates, log_density, predictive, stacking
from bayescale.averaging._cuts import cuts
from bayescale.discrepancy import Discrepancy
from bayescale.errors import FitError, LawError
from bayescale.ladder import Ladder
from bayescale.law_error import BEND, bumps
from bayescale.laws.power_c import PowerC
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.prior_sets import PriorSet
from bayescale.runs import Runs

EVEN = np.array([0.5, 0.5])


def test_predictive_weights_are_bayes_rule() -> None:
    prior, joint = np.array([0.8, 0.2]), np.array([[-3.0, 1.0], [0.0, 2.0]])
    odds = 0.8 * np.exp(-2.0) / (0.2 * np.exp(2.0))
    np.testing.assert_allclose(predictive(prior, joint), [odds / (1 + odds), 1 / (1 + odds)], rtol=1e-12)
    np.testing.assert_array_equal(predictive(prior, np.array([[-np.inf], [5.0]])), [0.0, 1.0])
    np.testing.assert_array_equal(predictive(prior, np.full((2, 1), -np.inf)), prior)


def test_stacking_is_the_best_mixture() -> None:
    """Against the maximum over a grid of weights of what the docstring says is maximised."""
    generator = np.random.default_rng(0)
    parts, prior = [generator.gamma(0.5, size=(2, size)) for size in (30, 7)], np.array([0.7, 0.3])
    grid = np.linspace(0.0005, 0.9995, 2000)
    score = prior[0] * np.log(grid) + prior[1] * np.log(1 - grid)
    for part in parts:
        score += np.log(np.outer(grid, part[0]) + np.outer(1 - grid, part[1])).mean(axis=1)
    found = stacking(prior, [np.log(part) for part in parts])
    assert found.sum() == pytest.approx(1.0)
    # two steps of the grid
    assert found[0] == pytest.approx(grid[np.argmax(score)], abs=1e-3)


def test_stacking_mixes_where_bayes_rule_chooses() -> None:
    """Each of two laws forecasts half of the runs: the mixture of both is best, though one is a little better."""
    pointwise = np.log(np.array([[0.9] * 21 + [0.1] * 19, [0.1] * 21 + [0.9] * 19]))
    assert stacking(1e-6 * EVEN, [pointwise])[0] == pytest.approx(0.53, abs=0.02)
    assert predictive(EVEN, pointwise.sum(axis=1, keepdims=True))[0] > 0.98


def test_a_cut_is_one_observation_to_stacking() -> None:
    """All runs of two cuts speak for the second law: two observations, beside the eight and one of the prior."""
    certain = np.stack([np.full(50, -40.0), np.zeros(50)])
    prior = np.array([8.0, 1.0])
    np.testing.assert_allclose(stacking(prior, [certain, certain[:, :3]]), [8 / 11, 3 / 11], atol=1e-9)
    np.testing.assert_allclose(stacking(prior, []), [8 / 9, 1 / 9])
    np.testing.assert_allclose(stacking(prior, [np.full((2, 3), -np.inf)]), [8 / 9, 1 / 9])


def test_cuts_of_a_ladder(ladder: Callable[..., Runs]) -> None:
    runs = ladder(1.0)
    found = cuts(runs, 3)
    # budgets are half a decade apart: a third of the top is the next budget
    assert [(len(cut.below), len(cut.above)) for cut in found] == [(42, 7), (35, 7), (28, 7)]
    assert [cut.at for cut in found] == pytest.approx([1e21, 10**20.5, 1e20])
    assert len(cuts(runs, 99)) == 5  # 14 runs are left to fit, and the next cut would leave 7
    assert cuts(runs.subset(np.asarray(runs["C"]) > 5e20), 2) == []


def _joint(offset_sd: float) -> tuple[Learnt, Runs, np.ndarray]:
    """Two thousand draws of a law whose level scatters by `offset_sd`; and four runs of two budgets."""
    level = np.exp(offset_sd * norm.ppf((np.arange(2000) + 0.5) / 2000))
    theta = {"E": 1e-9 * np.ones(2000), "c": 2.0 * level, "gamma": 0.1 * np.ones(2000), "sigma": 0.01 * np.ones(2000)}
    C = np.array([1e21, 1e21, 2e21, 2e21])
    residual = np.array([0.012, 0.018, 0.011, 0.007])
    loss = np.asarray(PowerC().loss(C, E=1e-9, c=2.0, gamma=0.1)) * np.exp(residual)
    return Learnt(Model(PowerC(), Noise("normal")), theta, None), Runs.from_arrays(C=C, loss=loss), residual


def test_joint_density_knows_that_errors_are_shared() -> None:
    learnt, runs, residual = _joint(0.015)
    found = log_density(learnt, runs)
    covariance = 0.015**2 + np.diag(np.full(4, 0.01**2))
    # draws at evenly spaced quantiles of the normal: the tails beyond the last are missing
    assert found.joint == pytest.approx(multivariate_normal.logpdf(residual, cov=covariance), abs=0.01)
    np.testing.assert_allclose(found.pointwise, norm.logpdf(residual, scale=np.hypot(0.015, 0.01)), atol=0.01)
    assert found.joint > found.pointwise.sum() + 0.2
    assert 500 < found.effective < 2000


def _allowing(learnt: Learnt, discrepancy: Discrepancy, ladder: Ladder) -> Learnt:
    """The same draws of a law that may be wrong by so much."""
    size = learnt.theta["sigma"].shape
    theta = {**learnt.theta, "below": np.full(size, 0.03)} | dict.fromkeys(BEND, np.zeros(size))
    return Learnt(Model(PowerC(), Noise("normal"), discrepancy=discrepancy), theta, ladder)


def test_joint_density_has_the_discrepancy() -> None:
    """Runs 3 % off are impossible for a law taken at its word, and not for one that may be wrong by its slope."""
    learnt, runs, _ = _joint(1e-6)
    away = Runs.from_arrays(C=runs["C"], loss=np.asarray(runs["loss"]) * np.exp(0.03))
    ladder = Ladder(1e20, 2.0)
    wrong = _allowing(learnt, Discrepancy(slope=0.03), ladder)
    taken, allowed = log_density(learnt, away).joint, log_density(wrong, away).joint
    assert allowed > taken + 3.0
    again = log_density(wrong, away, seed=1).joint
    # 128,000 draws of what the law may be wrong by
    assert allowed == pytest.approx(again, abs=0.1)


def test_what_a_run_is_off_by_for_itself_needs_no_draws() -> None:
    """One parameter draw, and a discrepancy of a run alone: a normal density, whichever way it is integrated."""
    learnt, runs, residual = _joint(1e-9)
    alone = Discrepancy(run=0.02, level=1e-9, slope=1e-9, breaks=0.0, steepest=1e-9)
    own = _allowing(learnt, alone, Ladder(1e20, 2.0))
    found = log_density(own, runs)
    expected = norm.logpdf(residual, scale=np.hypot(0.02, 0.01))
    # 128,000 draws
    np.testing.assert_allclose(found.pointwise, expected, atol=0.02)
    assert found.joint == pytest.approx(expected.sum(), abs=1e-3)


def test_candidates_and_their_prior_weights(prior_set: PriorSet) -> None:
    assert candidates(prior_set) == (Candidate("kappa", 4.0), Candidate("chinchilla", 1.0))
    assert candidates(prior_set, without=frozenset({"group 1"}))[0].prior == 3.0
    assert candidates(prior_set, without=frozenset({"table 1"}))[0].prior == 3.0
    named = candidates(prior_set, ("shifted", "chinchilla"), (3, 1))
    assert named == (Candidate("shifted", 3.0), Candidate("chinchilla", 1.0))


def test_what_a_prior_set_says_of_other_laws(prior_set: PriorSet, ladder: Callable[..., Runs]) -> None:
    runs = ladder(1.0)
    learnt = prior_set.model(runs)
    nested = Candidate("chinchilla", 0.5).model(prior_set, runs)
    assert nested.law == learnt.law
    assert nested.priors == learnt.priors | {"kappa": nested.priors["kappa"]}
    assert nested.priors["kappa"].fixed
    other = Candidate("shifted", 0.5).model(prior_set, runs)
    assert other.law.reference_run == learnt.law.reference_run
    assert other.discrepancy == learnt.discrepancy
    assert {name for name, _ in other.overrides} == {"E", "sigma"}
    assert other.priors["E"] == learnt.priors["E"]
    assert other.priors["t_N"] == other.law.priors["t_N"]


def test_settings_from_text() -> None:
    given = {"laws": "kappa, shifted", "prior": "3,1", "weights": "predictive", "cuts": "1"}
    assert Averaging.parse(given) == Averaging(("kappa", "shifted"), (3.0, 1.0), "predictive", 1)
    assert Averaging.parse({}) == Averaging()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"weights": "loo"}, "weighed by stacking or predictive, not by 'loo'"),
        ({"cuts": "0"}, "cut once or more often, not 0 times"),
        ({"cuts": "two"}, "cuts='two' cannot be read"),
        ({"prior": "3;1"}, "prior='3;1' cannot be read"),
        ({"law": "kappa"}, "has no setting 'law'; its settings are laws, prior, weights, cuts"),
    ],
)
def test_settings_that_cannot_be_meant(given: Mapping[str, Any], said: str) -> None:
    with pytest.raises(FitError, match=said):
        Averaging.parse(given)


@pytest.mark.parametrize(
    ("laws", "prior", "error", "said"),
    [
        (("kapa",), None, LawError, "did you mean kappa"),
        ((), None, FitError, "it was given none"),
        (("kappa", "kappa"), None, FitError, "laws of different names; it was given kappa, kappa"),
        (None, (1.0,), FitError, "one for each of kappa, chinchilla; got 1"),
        (None, (1.0, 0.0), FitError, "numbers above 0"),
    ],
)
def test_laws_that_cannot_be_averaged(prior_set: PriorSet, laws: Any, prior: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        candidates(prior_set, laws, prior)


def test_the_smooth_error_is_in_the_density() -> None:
    """Runs off a law that is known to bend as far are as likely as runs on a law that does not."""
    learnt, runs, _ = _joint(1e-6)
    ladder = Ladder(1e20, 2.0)
    straight = _allowing(learnt, Discrepancy(), ladder)
    bending = straight._replace(theta={**straight.theta, "bend_1": np.full(len(straight.theta["E"]), 0.03)})
    off = 0.03 * bumps(ladder.beyond(runs["C"]))[:, 0]
    away = Runs.from_arrays(C=runs["C"], loss=np.asarray(runs["loss"]) * np.exp(off))
    assert log_density(bending, away).joint == pytest.approx(log_density(straight, runs).joint, abs=1e-6)
    assert abs(log_density(bending, runs).joint - log_density(straight, runs).joint) > 0.5
