"""What a table says by itself: the weak prior it was fitted under does not count as a word of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayescale.evaluation import learning
from bayescale.evaluation.learning import _alone
from bayescale.model import Model
from bayescale.prior_sets import load
from bayescale.runs import Runs

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


def test_families_speak_for_a_law_that_does_not_bend(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its smooth error a law under weak priors says next to nothing of its floor."""
    asked: list[Model] = []

    def stop(model: Model, *arguments: object) -> None:
        asked.append(model)
        raise StopIteration

    monkeypatch.setattr(learning, "draw", stop)
    N = np.geomspace(1e8, 1e9, 10)
    table = ("one", "one", Runs.from_arrays(N=N, D=20 * N, loss=np.linspace(3.0, 2.5, 10)))
    with pytest.raises(StopIteration):
        learning.learn([table], load("public"), "mine")
    (model,) = asked
    assert model.discrepancy is not None
    assert not model.nuisance
    # all else of the discrepancy is as in the set
    like = load("public").discrepancy
    assert replace(model.discrepancy, bend=like.bend, wings=like.wings) == like
