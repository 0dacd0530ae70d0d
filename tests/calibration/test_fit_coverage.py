"""What a fit says of forecasts, paths, allocations, exponents and parameters covers as it claims.

Truths come from the prior, and draws from the exact posterior: of two exponents, on a grid, without a sampler. So what
is tested is everything behind the draws: the law, the noise of new runs, the optimum, the quantiles and the sds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bayescale.fits import Fit
from bayescale.intervals import interval
from bayescale.laws.chinchilla import Chinchilla
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.runs import Runs

PINNED = {"E": 1.8, "a": 0.36, "b": 0.34, "sigma": 0.03}
MODEL = Model(Chinchilla(), Noise("normal")).with_priors(**PINNED)
TABLES, DRAWS, CELLS = 120, 500, 120
BUDGET, NEW = 1e23, {"N": [3e10], "D": [2e12]}
Check = Callable[[np.ndarray, float], str]


def exact(runs: Runs, generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Draws of the posterior of (alpha, beta): cells of a grid on the log scale, and a place in the cell."""
    edges = np.log(0.35) + 0.5 * np.linspace(-4.5, 4.5, CELLS + 1)
    centre, step = 0.5 * (edges[1:] + edges[:-1]), edges[1] - edges[0]
    of_N = PINNED["a"] * (runs["N"][:, None] / 1e9) ** -np.exp(centre)
    of_D = PINNED["b"] * (runs["D"][:, None] / 2e10) ** -np.exp(centre)
    residual = np.log(runs["loss"])[:, None, None] - np.log(PINNED["E"] + of_N[:, :, None] + of_D[:, None, :])
    prior = -0.5 * ((centre - np.log(0.35)) / 0.5) ** 2
    log_density = -0.5 * (residual**2).sum(axis=0) / PINNED["sigma"] ** 2 + prior[:, None] + prior[None, :]
    density = np.exp(log_density - log_density.max()).ravel()
    cell = generator.choice(density.size, DRAWS, p=density / density.sum())
    within = step * (generator.random((2, DRAWS)) - 0.5)
    return {
        name: np.exp(centre[i] + w) for name, i, w in zip(("alpha", "beta"), divmod(cell, CELLS), within, strict=True)
    }


def answers(fitted: Fit) -> dict[str, np.ndarray]:
    """Draws of everything that a fit answers, by the method that answers it."""
    new, path = fitted.forecast(NEW, seed=1), fitted.path([BUDGET], seed=2)
    split = fitted.allocation([BUDGET])
    found = {f"forecast {name}": new[name].values[:, 0] for name in ("mean_loss", "new_run_loss")}
    found |= {f"path {name}": path[name].values[:, 0] for name in ("mean_loss", "new_run_loss")}
    found |= {f"allocation {name}": split[name].values[:, 0] for name in split.data_vars}
    curves = fitted.isoflop_curves([BUDGET])
    at = curves["N"].values[0] / 1e10
    return found | {"isoflop curve": curves["mean_loss"].values[:, 0, int(np.argmin(np.abs(np.log(at))))]}


@pytest.fixture(scope="module")
def studied(assemble: Callable[..., Fit]) -> dict[str, list[Any]]:
    """Of every table: summaries of the answers, and the truth of each."""
    generator = np.random.default_rng(17)
    N, D = np.geomspace(5e7, 5e9, 12), 2e9 * np.geomspace(1, 40, 12)[np.arange(12) * 5 % 12]
    pinned = {name: np.full(DRAWS, value) for name, value in PINNED.items()}
    kept: dict[str, list[Any]] = {}
    for _ in range(TABLES):
        true = {name: float(0.35 * np.exp(0.5 * generator.standard_normal())) for name in ("alpha", "beta")}
        noise = np.exp(PINNED["sigma"] * generator.standard_normal(12))
        law = {name: PINNED[name] for name in ("E", "a", "b")} | true
        runs = Runs.from_arrays(N=N, D=D, loss=MODEL.law.loss(N, D, **law) * noise, source="grid.csv")
        fitted = assemble(runs, MODEL.law, pinned | exact(runs, generator), model=MODEL)
        one = assemble(runs, MODEL.law, {n: np.full(1, v) for n, v in (PINNED | true).items()}, model=MODEL)
        truths = {name: float(values[0]) for name, values in answers(one).items() if name != "isoflop curve"}
        # a new run scatters anew, and a curve is read at the place of the fit's
        place = fitted.isoflop_curves([BUDGET])
        size = place["N"].values[0, int(np.argmin(np.abs(np.log(place["N"].values[0] / 1e10))))]
        truths["isoflop curve"] = float(MODEL.law.loss(size, BUDGET / (6 * size), **law))
        for name in ("forecast", "path"):
            scatter = np.exp(PINNED["sigma"] * generator.standard_normal())
            truths[f"{name} new_run_loss"] = truths[f"{name} mean_loss"] * scatter
        for name, draws in answers(fitted).items():
            kept.setdefault(name, []).append((interval(draws), truths[name]))
        summary = fitted.summary()
        for name in ("alpha", "beta", "N_exponent", "D_exponent", "A", "B"):
            kept.setdefault(f"summary {name}", []).append((summary.loc[name].to_dict(), float(one.draws[name].item())))
    return kept


def covered(found: list[Any], low: str, high: str, scale: float = 1.0) -> np.ndarray:
    """Whether the truth is between two quantiles, moved from the median by a factor."""
    said = [{key: q["median"] + scale * (q[key] - q["median"]) for key in (low, high)} for q, _ in found]
    return np.array([one[low] <= truth <= one[high] for one, (_, truth) in zip(said, found, strict=True)])


def test_every_answer_covers_as_it_claims(studied: dict[str, list[Any]], check: Check) -> None:
    assert len(studied) == 17
    for (low, high), level in {("q05", "q95"): 0.9, ("q25", "q75"): 0.5}.items():
        wrong = {name: check(covered(found, low, high), level) for name, found in studied.items()}
        assert not any(wrong.values()), (level, {name: said for name, said in wrong.items() if said})


def test_every_sd_is_the_size_of_the_error(studied: dict[str, list[Any]]) -> None:
    for name in (
        "summary alpha",
        "summary N_exponent",
        "forecast mean_loss",
        "forecast new_run_loss",
        "allocation loss",
    ):
        z = np.array([(truth - said["mean"]) / said["sd"] for said, truth in studied[name]])
        # the mean square of 120 standard normals is 1 with an sd of .13; posteriors here have somewhat longer tails
        assert np.mean(z**2) == pytest.approx(1.0, abs=0.45), name


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_the_check_can_fail(studied: dict[str, list[Any]], check: Check, scale: float) -> None:
    for name, found in studied.items():
        assert check(covered(found, "q05", "q95", scale), 0.9) or check(covered(found, "q25", "q75", scale), 0.5), name
