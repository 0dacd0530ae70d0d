"""What a table says by itself: the weak prior it was fitted under does not count as a word of its own."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale.evaluation.learning import _alone

MANY = 200_000


@pytest.mark.parametrize("sd", [0.1, 0.5, 1.5])
def test_the_weak_prior_is_divided_out(sd: float) -> None:
    """Of a normal prior and a normal likelihood the likelihood is what is left."""
    generator = np.random.default_rng(3)
    prior, said = (0.3, 0.8), (-0.9, sd)
    precision = 1 / prior[1] ** 2 + 1 / sd**2
    mean = (prior[0] / prior[1] ** 2 + said[0] / sd**2) / precision
    posterior = mean + precision**-0.5 * generator.standard_normal(MANY)
    found = _alone(posterior, prior[0] + prior[1] * generator.standard_normal(MANY))
    # an sd of the prior that is off by .2 % is off by more in the small difference of two precisions
    assert found == pytest.approx(said, rel=0.03)


def test_a_table_that_says_nothing_hardly_counts() -> None:
    generator = np.random.default_rng(4)
    prior, posterior = (generator.standard_normal(MANY) for _ in range(2))
    assert _alone(1.01 * posterior, prior)[1] == pytest.approx(10.0, rel=0.01)
