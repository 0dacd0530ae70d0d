"""The prior that is learnt from groups covers the next group."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from bayescale.prior_sets import Effect, combine

STUDIES = 300


def share_covered(groups: int) -> tuple[float, float]:
    """Shares of next groups inside the central 90 and 50 % of the learnt prior."""
    generator = np.random.default_rng(2)
    ends = t(3).ppf([0.05, 0.25, 0.75, 0.95])
    wide, half = [], []
    for _ in range(STUDIES):
        true = generator.normal() + 0.3 * generator.standard_t(3, groups + 1)
        sds = generator.uniform(0.02, 0.3, groups)
        seen = true[:-1] + sds * generator.standard_normal(groups)
        location, scale = combine(Effect(f"g{i}", m, s) for i, (m, s) in enumerate(zip(seen, sds, strict=True)))
        low, lower, upper, high = location + scale * ends
        wide.append(low <= true[-1] <= high)
        half.append(lower <= true[-1] <= upper)
    return float(np.mean(wide)), float(np.mean(half))


def test_the_next_group_is_covered() -> None:
    wide, half = share_covered(40)
    # sds of a share of 300: .017 and .029; the scale of 40 groups is known to a sixth, which costs a point or two
    assert wide == pytest.approx(0.9, abs=0.06)
    assert half == pytest.approx(0.5, abs=0.1)


@pytest.mark.xfail(reason="the scale of eight groups is plugged in as if it were known: .8 of nominal .9 are covered")
def test_the_next_of_few_groups_is_covered() -> None:
    wide, _ = share_covered(8)
    assert wide == pytest.approx(0.9, abs=0.06)
