"""The envelope of training curves, on simulated curves and on tables that are none."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from bayescale.errors import BayescaleError, FitError
from bayescale.laws.chinchilla import Chinchilla
from bayescale.procedures import fit
from bayescale.procedures._envelope_curves import hull, lowest
from bayescale.runs import Runs

THETA = {"E": 1.7, "a": 400.0, "b": 400.0, "alpha": 0.35, "beta": 0.35}
LAW = Chinchilla(N0=1.0, D0=1.0)


def curves(sizes: int = 33, points: int = 60, noise: float = 0.0, seed: int = 0, drop: float = 1.0) -> Runs:
    """Curves whose ends are as far from the compute-optimal path on one side as on the other: N and D from 1e6 to 1e10.

    ``drop`` multiplies the loss of the largest size.
    """
    N, D = np.meshgrid(np.geomspace(1e6, 1e10, sizes), np.geomspace(1e6, 1e10, points), indexing="ij")
    scatter = np.exp(noise * np.random.default_rng(seed).standard_normal((sizes, 1)))
    scatter[-1] *= drop
    loss = LAW.loss(N, D, **THETA) * scatter
    names = np.repeat([f"run {i}" for i in range(sizes)], points)
    return Runs.from_arrays(N=N.ravel(), D=D.ravel(), loss=loss.ravel(), run_name=names)


@pytest.mark.parametrize("winners", ["lowest", "hull"])
def test_the_frontier_of_a_symmetric_surface_comes_back(winners: str) -> None:
    """Winners step from size to size: over 33 sizes in four decades a step is 0.29 in log N."""
    made = fit(curves(), procedure="envelope", winners=winners, replicates=0)
    assert made.estimate is not None
    assert made.estimate["N_exponent"] == pytest.approx(0.5, abs=0.02)
    N = made.allocation([6e16])["N"].item()
    assert N == pytest.approx(float(LAW.optimum(6e16, **THETA)[0]), rel=0.1)
    # the losses of the winners are flat around the optimum: half a step away they are off by a thousandth
    assert made.path([6e16])["mean_loss"].item() == pytest.approx(float(LAW.frontier(6e16, **THETA)), rel=5e-3)


def test_more_sizes_come_nearer() -> None:
    def error(sizes: int) -> float:
        made = fit(curves(sizes), procedure="envelope", replicates=0)
        return abs(made.estimate["gamma"] - 0.175)  # type: ignore[index]

    assert error(65) < 0.5 * error(9)


def test_replicates_draw_whole_runs() -> None:
    runs = curves(noise=0.01)
    made = fit(runs, procedure="envelope", seed=4)
    assert (made.kind, made.draws.sizes["draw"]) == ("bootstrap", 1000)
    # sums over batches of other shapes round otherwise, and gamma is known to the root of that
    assert made.estimate == pytest.approx(fit(runs, procedure="envelope", replicates=0).estimate, rel=1e-5)
    low, high = np.quantile(made.draws["N_exponent"], (0.025, 0.975))
    assert low < made.estimate["N_exponent"] < high
    assert 0.002 < made.draws["N_exponent"].std() < 0.1
    again = fit(runs, procedure="envelope", seed=4)
    assert again.draws.equals(made.draws)


def test_the_winner_is_the_least_of_those_present() -> None:
    generator = np.random.default_rng(0)
    on_grid = np.where(generator.random((7, 40)) < 0.3, np.inf, generator.normal(size=(7, 40)))
    present = generator.random((25, 7)) < 0.5
    winner, log_loss = lowest(on_grid, present)
    expected = np.where(present[:, :, None], on_grid, np.inf)
    best = expected.min(axis=1)
    np.testing.assert_array_equal(np.isfinite(best), np.isfinite(log_loss))
    reached = np.isfinite(best)
    np.testing.assert_array_equal(log_loss[reached], best[reached])
    np.testing.assert_array_equal(winner[reached], expected.argmin(axis=1)[reached])
    assert (winner[~reached] == -1).all()


def test_the_hull_is_scipys() -> None:
    generator = np.random.default_rng(1)
    x = generator.uniform(0.0, 5.0, 300)
    y = 3.0 - 0.4 * x + generator.exponential(0.5, 300)
    corner = np.array([[6.0, 9.0]])
    vertices = ConvexHull(np.concatenate([corner, np.stack([x, y], axis=1)])).vertices
    outside = np.sort(vertices[vertices > 0] - 1)
    outside = outside[np.argsort(x[outside])]
    kept = [outside[0]]
    kept += [point for before, point in itertools.pairwise(outside) if y[point] < y[before]]
    np.testing.assert_array_equal(hull(x, y), kept)


def test_a_run_of_one_point_is_left_out_and_counted() -> None:
    runs = curves()
    first = np.flatnonzero(runs["run_name"] == "run 3")[0]
    keep = (runs["run_name"] != "run 3") | (np.arange(len(runs)) == first)
    notes = fit(runs.subset(keep), procedure="envelope", replicates=0).diagnostics.notes
    assert "1 runs with one point are left out." in notes


def columns(runs: Runs, **changes: Any) -> Runs:
    names = ("N", "D", "loss", "run_name")
    given = {name: runs[name] for name in names} | changes
    return Runs.from_arrays(**{name: values for name, values in given.items() if values is not None})


def one_winner(runs: Runs) -> Runs:
    unbeaten = columns(runs, loss=runs["loss"] * np.where(runs["run_name"] == "run 0", 0.01, 1.0))
    return unbeaten.subset(runs["C"] <= 6e16)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (lambda r: columns(r, run_name=np.arange(len(r))), r"0 of the 1980 runs .*have more than one point: .*isoflop"),
        (lambda r: columns(r, run_name=None), r"a column that says which run .*run=COLUMN, or use isoflop"),
        (lambda r: columns(r, run_name=["one", "two"] * 990), r"run 'one' of .* has points of N = .*one run has one"),
        (lambda r: columns(r, D=np.full(len(r), 1e9)), r"run 'run 0' of .* has two points at 6e\+15 FLOPs"),
        (one_winner, r"one size, N = 1e\+06, has the lowest loss at every budget"),
    ],
)
def test_tables_that_are_no_curves(table: Any, said: str) -> None:
    with pytest.raises(FitError, match=said):
        fit(table(curves()), procedure="envelope")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"run": "model"}, r"run='model', but .* has no such column; it has N, D, C, loss, run_name"),
        ({"winners": "best"}, r"winners='best'; expected lowest or hull"),
        ({"points": 3}, r"points=3, .*expected points of 10 or more"),
    ],
)
def test_settings(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(FitError, match=said):
        fit(curves(), procedure="envelope", **settings)


def test_no_N_is_said() -> None:
    with pytest.raises(FitError, match="needs several points along each run"):
        fit(Runs.from_arrays(N=[1e8, 1e9], C=[1e18, 1e19], loss=[3.0, 2.5]), procedure="envelope")
    with pytest.raises(BayescaleError, match=r"needs the columns N, D and C \(two are enough\)"):
        fit(Runs.from_arrays(C=[1e18, 1e19], loss=[3.0, 2.5]), procedure="envelope")
