"""Forecasts of a fit that knows the compute-optimal frontier and nothing off it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bayescale.errors import TargetError
from bayescale.fits import Fit
from bayescale.laws.frontier import Frontier
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.runs import Runs

THETA = {"E": 1.7, "c": 0.6, "gamma": 0.15, "N_star": 1e9, "N_exponent": 0.5, "sigma": 0.004}


@pytest.fixture
def frontier(assemble: Callable[..., Fit]) -> Callable[..., Fit]:
    """``frontier(E=..)``: a fit of 200 equal draws, with changes."""

    def make(**changes: float) -> Fit:
        law = Frontier()
        theta = {name: np.full((1, 200), value) for name, value in (THETA | changes).items()}
        runs = Runs.from_arrays(N=[1e8, 1e9], D=[2e9, 2e10], loss=[2.9, 2.4])
        return assemble(runs, law, theta, kind="bootstrap", model=Model(law, Noise("normal")))

    return make


def test_a_budget_is_forecast_with_its_noise(frontier: Callable[..., Fit]) -> None:
    made = frontier().forecast({"C": [1.2e20, 1.2e24]})
    assert made["mean_loss"].median("sample").values == pytest.approx([2.3, 1.7 + 0.6 * 1e4**-0.15], rel=1e-12)
    # 200 draws of the noise: its sd to 5 %, and four of those
    assert np.log(made["new_run_loss"]).std("sample").values == pytest.approx([0.004, 0.004], rel=0.2)


def test_the_path_says_how_the_budget_is_split(frontier: Callable[..., Fit]) -> None:
    path = frontier().path([1.2e22])
    assert path["N"].values[0, 0] == pytest.approx(1e10, rel=1e-12)
    assert path["D"].values[0, 0] == pytest.approx(2e11, rel=1e-12)


@pytest.mark.parametrize("targets", [{"N": [7e10], "D": [1.4e12]}, {"N": [1e9], "C": [1e22]}])
def test_runs_off_the_frontier_are_refused(frontier: Callable[..., Fit], targets: dict[str, list[float]]) -> None:
    with pytest.raises(TargetError, match=r"not of a run with N and D of its own: give C alone"):
        frontier().forecast(targets)
    with pytest.raises(TargetError, match=r"not of a run with N and D of its own"):
        frontier().forecast(Runs.from_arrays(N=[1e9], D=[1e10], loss=[2.5]))


def test_no_loss_is_no_forecast_and_still_an_allocation(frontier: Callable[..., Fit]) -> None:
    fit = frontier(E=np.nan, c=np.nan, gamma=np.nan, sigma=np.nan)
    for ask in (lambda: fit.forecast({"C": [1e22]}), lambda: fit.path([1e22])):
        with pytest.raises(TargetError, match=r"gives no loss along the frontier .*ask it for the allocation"):
            ask()
    allocation = fit.allocation([1.2e22])
    assert allocation["N"].values == pytest.approx(1e10, rel=1e-12)
    assert np.isnan(allocation["loss"]).all()
