"""Whether two procedures disagree: the difference, its interval, and the sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bayescale.comparison._answers import Answer, Quantity
from bayescale.comparison._pairs import Pairs
from bayescale.comparison._verdict import LEVEL, difference, differences, judge

Answered = Callable[..., Answer]


def normal(mean: float, sd: float, seed: int, size: int = 2000) -> np.ndarray:
    """Draws whose median and sd are the given ones: quantiles of the normal, shuffled."""
    from scipy.stats import norm

    draws = norm.ppf((np.arange(size) + 0.5) / size)
    return mean + sd * np.random.default_rng(seed).permutation(draws)


def judged(answers: list[Answer], paired: Any = (), budget: float = 1e24) -> str:
    freedom = {answer.procedure: 100 for answer in answers}
    together = Pairs(frozenset(frozenset(pair) for pair in paired))
    return judge(answers, differences(answers, together, freedom), budget)


class TestDifference:
    def test_independent_spreads_add_in_squares(self) -> None:
        first, second = Quantity(normal(0.5, 0.03, 0)), Quantity(normal(0.4, 0.04, 1))
        found = difference(first, second, paired=False, logged=False)
        assert found.value == pytest.approx(0.1, abs=1e-9)
        # sd .05; the quantiles of 4,000 random pairs have a relative error of 2 %
        assert found.q95 - found.q05 == pytest.approx(2 * 1.645 * 0.05, rel=0.08)
        assert found.standardised == pytest.approx(2.0, rel=0.08)

    def test_what_two_procedures_share_cancels_where_draws_are_pairs(self) -> None:
        shared = normal(0.0, 0.03, 0)
        first, second = Quantity(0.5 + shared), Quantity(0.49 + shared + normal(0.0, 0.002, 1))
        together = difference(first, second, paired=True, logged=False)
        apart = difference(first, second, paired=False, logged=False)
        assert together.standardised == pytest.approx(5.0, rel=0.05)
        assert apart.standardised < 0.3

    def test_sizes_are_compared_as_ratios(self) -> None:
        first, second = Quantity(np.exp(normal(3.0, 0.1, 0))), Quantity(np.exp(normal(2.0, 0.1, 1)))
        assert difference(first, second, paired=False, logged=True).value == pytest.approx(1.0, abs=1e-3)

    def test_the_side_that_faces_zero_decides(self) -> None:
        # a long tail away from the other procedure does not make the difference less certain
        tail = np.where(normal(0.0, 1.0, 0) > 0, 5.0, 1.0)
        first = Quantity(0.5 + 0.01 * np.abs(normal(0.0, 1.0, 0)) * np.sign(normal(0.0, 1.0, 0)) * tail, 0.5)
        second = Quantity(np.full(2000, 0.47) + normal(0.0, 1e-6, 2), 0.47)
        assert difference(first, second, paired=True, logged=False).standardised == pytest.approx(3.0, rel=0.05)
        assert difference(second, first, paired=True, logged=False).standardised == pytest.approx(3.0, rel=0.05)

    def test_two_ways_to_one_optimum_do_not_differ(self) -> None:
        draws = normal(0.5, 0.03, 0)
        one, other = Quantity(draws, 0.5), Quantity(draws + 1e-9, 0.5 + 1e-9)
        assert difference(one, other, paired=True, logged=False).standardised == 0.0

    def test_replicates_that_failed_are_left_out(self) -> None:
        draws = normal(0.5, 0.03, 0)
        draws[::10] = np.nan
        found = difference(Quantity(draws, 0.5), Quantity(normal(0.5, 0.03, 1)), paired=True, logged=False)
        assert np.isfinite([found.value, found.q05, found.q95, found.standardised]).all()


class TestVerdict:
    def test_overlapping_intervals_of_paired_replicates_can_disagree(self, answered: Answered) -> None:
        shared = normal(0.0, 0.03, 0)
        one = answered("one", N_exponent=0.52 + shared)
        other = answered("other", N_exponent=0.50 + shared + normal(0.0, 0.002, 1))
        said = judged([one, other], [("one", "other")])
        assert said.startswith("Beyond their uncertainties disagree: one and other.")
        assert "N_exponent: one 0.520 against other 0.500" in said
        assert "subtracted on the same resamples of the runs" in said
        assert "independent" not in said
        said = judged([one, other])
        assert said.startswith("The two procedures do not disagree beyond their uncertainties.")
        assert "this is conservative" in said
        assert "the interval holds 0: not a disagreement" in said

    def test_posterior_against_bootstrap(self, answered: Answered) -> None:
        one = answered("nuts", "posterior", N_exponent=normal(0.6, 0.01, 0), N=np.exp(normal(20, 0.1, 2)))
        other = answered("huber", N_exponent=normal(0.5, 0.01, 1), N=np.exp(normal(20, 0.1, 3)))
        said = judged([one, other])
        assert "N_exponent: nuts 0.600 against huber 0.500, a difference of +0.100" in said
        assert "N* at 1e+24 FLOPs" in said
        assert "a factor of 1, 90 % interval [" in said

    def test_many_comparisons_are_paid_for(self, answered: Answered) -> None:
        # among ten procedures that agree, the two at the ends are about three of their sds apart
        generator = np.random.default_rng(5)
        answers = [
            answered(f"p{place}", N_exponent=normal(0.5 + 0.01 * generator.standard_normal(), 0.01, place))
            for place in range(10)
        ]
        table = differences(answers, Pairs(), dict.fromkeys([a.procedure for a in answers], 100))
        assert len(table) == 45
        assert table["p"].min() < LEVEL
        assert not table["disagree"].any()
        assert table["p"].is_monotonic_increasing
        assert table["p_adjusted"].is_monotonic_increasing
        said = judged(answers)
        assert said.startswith("No two of the 10 procedures disagree beyond their uncertainties.")
        assert "as one of 45 comparisons it decides nothing" in said

    def test_few_runs_leave_the_spread_uncertain(self, answered: Answered) -> None:
        answers = [answered("a", N_exponent=normal(0.5, 0.01, 0)), answered("b", N_exponent=normal(0.535, 0.01, 1))]
        assert differences(answers, Pairs(), {"a": 100, "b": 100})["p"][0] < LEVEL
        assert differences(answers, Pairs(), {"a": 100, "b": 1})["p"][0] > LEVEL
        assert differences(answers, Pairs(), {"a": -2, "b": 9})["p"][0] <= 1.0

    def test_points_are_not_judged(self, answered: Answered) -> None:
        point = answered("point", "point", N_exponent=[0.9])
        said = judged([answered("a", N_exponent=normal(0.5, 0.01, 0)), point])
        assert said == (
            "Whether procedures disagree cannot be said: fewer than two give an interval. "
            "Not judged, having no interval: point."
        )

    def test_a_fit_that_is_not_to_be_trusted_is_named(self, answered: Answered) -> None:
        from dataclasses import replace

        doubted = replace(answered("b", N_exponent=normal(0.7, 0.01, 1)), warnings=("no convergence",))
        said = judged([answered("a", N_exponent=normal(0.5, 0.01, 0)), doubted])
        assert "Not to be trusted by their own diagnostics: b." in said


class TestCommonResamples:
    def test_refits_to_the_same_resamples_go_before_spreads(self, answered: Answered) -> None:
        one, other = answered("a", N_exponent=normal(0.52, 0.03, 0)), answered("b", N_exponent=normal(0.5, 0.03, 1))
        shared = normal(0.0, 0.03, 2, 200)
        refits = {"a": {"N_exponent": 0.52 + shared}, "b": {"N_exponent": 0.5 + shared + normal(0.0, 0.002, 3, 200)}}
        table = differences([one, other], Pairs(refits=refits), {"a": 100, "b": 100})
        assert table["paired"].tolist() == [True]
        assert table["disagree"].tolist() == [True]
        assert not differences([one, other], Pairs(), {"a": 100, "b": 100})["disagree"].any()

    def test_resamples_that_a_procedure_refuses_too_often_are_no_sample(self, answered: Answered) -> None:
        one, other = answered("a", N_exponent=normal(0.52, 0.03, 0)), answered("b", N_exponent=normal(0.5, 0.03, 1))
        draws = normal(0.0, 0.03, 2, 200)
        for refused, paired in ((10, True), (30, False)):
            holes = np.where(np.arange(200) < refused, np.nan, draws)
            pairs = Pairs(refits={"a": {"N_exponent": draws}, "b": {"N_exponent": holes}})
            assert differences([one, other], pairs, {"a": 100, "b": 100})["paired"].tolist() == [paired]
