"""The discrepancy: wider further out and on shorter ladders, wider still where the rehearsal went wrong."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale.discrepancy import Discrepancy
from bayescale.errors import PriorError
from bayescale.ladder import Ladder, Rehearsal
from bayescale.law_error import BEND, WINGS, bumps

MANY = 40_000


def band(ladder: Ladder, compute: float, discrepancy: Discrepancy | None = None) -> tuple[float, float]:
    """The central 90 % of the offsets."""
    drawn = (discrepancy or Discrepancy()).offsets(ladder, {"C": [compute]}, MANY)[:, 0]
    low, high = np.quantile(drawn, [0.05, 0.95])
    return float(low), float(high)


def width(ladder: Ladder, compute: float) -> float:
    low, high = band(ladder, compute)
    return high - low


def test_the_band_widens_with_the_distance() -> None:
    ladder = Ladder(1e21, 2.0)
    widths = [width(ladder, compute) for compute in (2e21, 1e22, 1e23, 1e24)]
    assert widths == sorted(widths)
    # without what runs and budgets have of their own, what is left grows with the decades themselves
    slopes = Discrepancy(run=1e-9, level=1e-9).offsets(ladder, {"C": [1e22, 1e24]}, MANY)
    low, high = np.quantile(slopes, [0.05, 0.95], axis=0)
    np.testing.assert_allclose((high - low)[1], 3 * (high - low)[0], rtol=1e-6)


def test_a_shorter_ladder_knows_less_of_its_slope() -> None:
    widths = [width(Ladder(1e21, decades), 1e23) for decades in (4.0, 1.0, 0.3, 0.1, 0.0)]
    assert widths == sorted(widths)


def test_one_budget_knows_nothing_of_the_slope() -> None:
    """With no ladder at all the slope error has the sd of the steepest there may be."""
    alone = Discrepancy(breaks=0.0, run=1e-9, level=1e-9, slope=1e-9)
    drawn = alone.offsets(Ladder(1e21, 0.0), {"C": [1e22]}, MANY)[:, 0]
    # three errors of the sd of 40,000 normal draws
    assert drawn.std() == pytest.approx(alone.steepest, rel=3 / np.sqrt(2 * MANY))


def test_nothing_is_added_at_the_top_and_above_near() -> None:
    ladder = Ladder(1e21, 3.0)
    below = np.where(np.arange(2000) < 1000, 0.04, 0.01)
    offsets = Discrepancy().offsets(ladder, {"C": [1e21, 5e20, 1e19]}, 2000, theta={"below": below})
    assert (offsets[:, :2] == 0).all()
    # two decades below the top, half a decade of which is near; each draw has its own sd
    assert offsets[:1000, 2].std() == pytest.approx(0.04 * 1.5, rel=0.1)
    assert offsets[1000:, 2].std() == pytest.approx(0.01 * 1.5, rel=0.1)
    early = Discrepancy().distances(ladder, {"C": [1e21, 1e20, 1e19]})
    assert list(early) == ["below"]
    np.testing.assert_allclose(early["below"], [0.0, 0.5, 1.5])


def test_undertrained_runs_may_be_off_at_any_compute() -> None:
    """Below three tokens per parameter, by so much for each decade; where the ratio is not known, none is."""
    ladder, N = Ladder(1e21, 3.0), np.array([1e9, 1e9, 1e11])
    columns = {"N": N, "D": N * [20.0, 0.3, 0.03], "C": [1e21, 1e21, 1e22]}
    discrepancy = Discrepancy(run=0.01)
    np.testing.assert_allclose(discrepancy.distances(ladder, columns)["undertrained"], [0.0, 1.0, 2.0])
    theta = {"undertrained": np.array([0.1, 0.2])}
    expected = [[0.0, 0.1, np.hypot(0.01, 0.2)], [0.0, 0.2, np.hypot(0.01, 0.4)]]
    np.testing.assert_allclose(discrepancy.own_sds(ladder, columns, theta), expected)
    np.testing.assert_allclose(discrepancy.own_sds(ladder, {"C": columns["C"]}, theta), [[0.0, 0.0, 0.01]])


def test_heights_of_the_smooth_error_are_sampled() -> None:
    """With the sd of the discrepancy; a law of compute has no wings, and one that does not bend no heights."""
    columns = ("N", "D", "C")
    priors = Discrepancy(bend=0.02, wings=0.04).priors(columns)
    assert {str(priors[name]) for name in BEND} == {"Normal(0.0, 0.02)"}
    assert {str(priors[name]) for name in WINGS} == {"Normal(0.0, 0.04)"}
    alone = Discrepancy().priors(("C",))
    assert set(alone) == {"below", *BEND}
    stiff, straight = Discrepancy(bend=0.0, wings=0.0), Discrepancy(bend=0.0)
    assert set(stiff.priors(columns)) == {"below", "undertrained"}
    assert set(straight.priors(columns)) == {"below", "undertrained", *WINGS}
    ladder, runs = Ladder(1e21, 3.0), {"C": np.array([1e19, 1e21])}
    for bending in (Discrepancy(), straight):
        np.testing.assert_array_equal(bending.read(ladder, runs)["bumps"], bumps([-2.0, 0.0]))
    assert "bumps" not in stiff.read(ladder, runs)


def test_a_rehearsal_that_went_well_narrows_the_band_and_one_that_did_not_widens_it() -> None:
    plain = width(Ladder(1e21, 2.0), 1e22)
    well = width(Ladder(1e21, 2.0, Rehearsal(1.0, 0.0, 0.002)), 1e22)
    badly = width(Ladder(1e21, 2.0, Rehearsal(1.0, -0.06, 0.01)), 1e22)
    assert well < plain < badly


def test_the_error_of_the_rehearsal_carries_on() -> None:
    """Runs that came out below the forecast of the lower part are expected below that of the whole."""
    ladder = Ladder(1e21, 2.0, Rehearsal(0.6, -0.06, 0.01))
    assert Discrepancy().broken(ladder) > 0.5
    low, high = band(ladder, 1e22)
    assert low < -0.2
    assert abs(low) > high
    assert Discrepancy().broken(Ladder(1e21, 2.0)) == pytest.approx(0.05)


def test_runs_of_one_budget_share_their_level() -> None:
    """What a run has of its own is not shared; the level of its budget is."""
    offsets = Discrepancy(run=1e-9, level=0.01).offsets(Ladder(1e21, 2.0), {"C": [1e22, 1e22, 2e22]}, 2000)
    np.testing.assert_allclose(offsets[:, 0], offsets[:, 1], atol=1e-7)
    assert np.abs(offsets[:, 0] - offsets[:, 2]).mean() > 0.005
    own = Discrepancy(run=0.01, level=1e-9, slope=1e-9, breaks=0.0).offsets(
        Ladder(1e21, 9.0), {"C": [1e22, 1e22]}, MANY
    )
    # the correlation of 40,000 independent pairs is within .02 of 0
    assert abs(np.corrcoef(own.T)[0, 1]) < 0.02


def test_the_seed_decides() -> None:
    ladder = Ladder(1e21, 1.0)
    first, again, other = (Discrepancy().offsets(ladder, {"C": [1e22]}, 10, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_coverage_when_slope_errors_are_drawn_as_the_discrepancy_says() -> None:
    """Errors drawn from the prior, rehearsed and then forecast: the 90 % band covers 90 %, and the 50 % band 50 %.

    The error that is rehearsed and the one that comes are draws of one sd, which is what is learnt from the rehearsal;
    the part that carries on is left out, so that this is exact.
    """
    discrepancy, generator = Discrepancy(level=1e-9, breaks=0.0, steepest=1e-6), np.random.default_rng(5)
    inside = {50: 0, 90: 0}
    tables = 2000
    for _ in range(tables):
        sd = discrepancy.slope / np.sqrt(generator.chisquare(discrepancy.shape) / discrepancy.shape)
        rehearsed, to_come = sd * generator.standard_normal(2)
        told = Rehearsal(0.5, 0.5 * rehearsed, 1e-4)
        sds, weights = discrepancy._slope_weights(told)
        drawn = generator.choice(sds, 500, p=weights) * generator.standard_normal(500)
        for level in inside:
            low, high = np.quantile(drawn, [(50 - level / 2) / 100, (50 + level / 2) / 100])
            inside[level] += low <= to_come <= high
    for level, count in inside.items():
        # three binomial sds
        assert abs(count / tables - level / 100) < 3 * np.sqrt(level / 100 * (1 - level / 100) / tables)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"level": 0.0}, "level must be above 0"),
        ({"slope": -1.0}, "slope must be above 0"),
        ({"wings": -0.01}, "wings must be at least 0"),
        ({"near": float("nan")}, "near must be at least 0"),
        ({"breaks": 1.0}, "breaks is a probability below 1"),
    ],
)
def test_what_no_discrepancy_can_be(settings: dict[str, float], said: str) -> None:
    with pytest.raises(PriorError, match=said):
        Discrepancy(**settings)


def test_ladder_round_trip() -> None:
    for ladder in (Ladder(1e21, 2.0), Ladder.of([1e19, 1e21], Rehearsal(0.5, 0.01, 0.02))):
        assert Ladder.from_document(ladder.document()) == ladder
    assert Ladder.of([1e19, 1e21]).decades == pytest.approx(2.0)
    reference = Ladder(1e21, 2.0).reference
    assert 6 * reference["N"] * reference["D"] == pytest.approx(1e21)
