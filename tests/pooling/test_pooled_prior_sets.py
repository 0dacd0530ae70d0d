"""Fits under a prior set whose parameters differ between groups of runs."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale.fits import Fit
from bayescale.laws.kappa import Kappa
from bayescale.procedures import fit
from bayescale.procedures._rehearsal import _nearest
from bayescale.runs import Runs

FLOORS = {"c4": 1.75, "pile": 1.95}
REST = {"R": 0.55, "M": 20.0, "N_exponent": 0.48, "gamma": 0.16, "kappa": 0.6}


@pytest.fixture(scope="module")
def corpora() -> Runs:
    """IsoFLOP runs on two corpora that differ in the floor; .3 % of noise."""
    generator = np.random.default_rng(3)
    C = np.repeat((1e19, 1e20, 1e21), 5)
    N = np.sqrt(C / 120.0) * np.tile(np.geomspace(0.25, 4.0, 5), 3)
    D = C / (6.0 * N)
    losses = [np.asarray(Kappa().loss(N, D, E=floor, **REST)) for floor in FLOORS.values()]
    loss = np.concatenate(losses) * np.exp(0.003 * generator.standard_normal(30))
    return Runs.from_arrays(N=np.tile(N, 2), D=np.tile(D, 2), loss=loss, corpus=np.repeat(list(FLOORS), 15))


@pytest.fixture(scope="module")
def made(corpora: Runs) -> Fit:
    return fit(corpora, prior_set="public", pool={"E": "corpus"}, draws=300, seed=1)


def test_each_group_has_its_own_floor(made: Fit) -> None:
    assert made.model is not None
    assert made.model.pools["E"].over == ("corpus",)
    floors = made.theta["E"]
    assert floors.shape[1] == 2
    apart = floors[:, 1] - floors[:, 0]
    # .2 nats apart, three posterior sds
    assert abs(apart.mean() - 0.2) < 3 * apart.std()
    assert apart.std() < 0.1


def test_the_rehearsal_forecasts_every_group(made: Fit) -> None:
    assert made.ladder is not None
    told = made.ladder.rehearsal
    assert told is not None
    # two of five runs at the top of each
    assert told.runs == 4
    assert abs(told.error) < 3 * told.sd
    assert told.sd < 0.02


def test_forecasts_are_those_of_the_group(made: Fit) -> None:
    targets = {"N": [1e10, 1e10], "D": [2e11, 2e11], "corpus": list(FLOORS)}
    drawn = made.forecast(targets)["mean_loss"].values
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    truth = np.array([float(Kappa().loss(1e10, 2e11, E=floor, **REST)) for floor in FLOORS.values()])
    assert ((low < truth) & (truth < high)).all()
    alone = made.of(corpus="pile")
    assert alone.ladder == made.ladder
    assert np.median(alone.path([1.2e22])["mean_loss"]) == pytest.approx(np.median(drawn[:, 1]), rel=0.02)


def test_runs_nearest_to_the_frontier() -> None:
    predicted = np.array([3.0, 2.0, 2.5, 5.0, 4.0, 4.5])
    groups = np.array(["a", "a", "a", "b", "b", "b"], dtype=object)
    assert sorted(_nearest(predicted, [])) == [0, 1, 2]
    assert sorted(_nearest(predicted, [groups])) == [1, 2, 4, 5]
