"""Muennighoff et al. 2023 (arXiv 2305.16264): constants, checks of its repository's README, and its 182 runs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayescale.laws import Law
from bayescale.laws.data_constrained import DataConstrained
from bayescale.laws.data_constrained_d import DataConstrainedD
from bayescale.laws.data_constrained_geometric import DataConstrainedGeometric

ALPHA = 0.3526596  # alpha = beta, tied
LAW = DataConstrained()
BASE = {
    "E": math.exp(0.6254804),
    "a": math.exp(6.255414) * LAW.N0**-ALPHA,
    "b": math.exp(7.3049974) * LAW.D0**-ALPHA,
    "alpha": ALPHA,
    "beta": ALPHA,
}
PUBLISHED = BASE | {"lambda_D": 1 / 15.387756, "lambda_N": 1 / 5.309743}


def test_losses_of_the_readme() -> None:
    """scaling_law(6.34e9, 242e9, 25e9) and scaling_law(8.67e9, 178e9, 25e9), to the digits printed."""
    assert float(LAW.loss(6.34e9, 242e9, 25e9, **PUBLISHED)) == pytest.approx(2.2256440889984477, rel=1e-14)
    assert float(LAW.loss(8.67e9, 178e9, 25e9, **PUBLISHED)) == pytest.approx(2.2269634075087867, rel=1e-14)


def test_allocation_on_limited_data() -> None:
    """1e22 FLOPs, 25e9 unique tokens. The README's 237.337e9 and 7.022e9 are where its optimiser stopped: .05 % off."""
    N, D = (float(x) for x in LAW.optimum(1e22, U=25e9, **PUBLISHED))
    assert N == pytest.approx(7.0262e9, rel=1e-5)
    assert D == pytest.approx(237.209e9, rel=1e-5)
    assert N == pytest.approx(7022364735.88, rel=1e-3)
    assert D == pytest.approx(237336955477.55, rel=1e-3)
    assert float(LAW.loss(N, D, 25e9, **PUBLISHED)) < float(LAW.loss(7022364735.88, 237336955477.55, 25e9, **PUBLISHED))


def test_parameters_that_unique_tokens_fill() -> None:
    """App. A: U_N = .051 U_D with these constants, so 19.6 tokens per parameter."""
    N, D = LAW.optimum(1e22, **PUBLISHED)
    assert float(N / D) == pytest.approx(0.051, abs=5e-4)
    assert float(D / N) == pytest.approx(19.6, abs=0.05)


@pytest.fixture(scope="module")
def runs(shared_data: Path) -> dict[str, np.ndarray]:
    table = pd.read_csv(shared_data / "datablations2023_c4_runs.csv")
    table = table[table["in_published_fit_182"] == 1]
    names = {"N": "params", "D": "tokens", "U": "unique_tokens", "loss": "val_loss"}
    return {name: table[column].to_numpy(dtype=float) for name, column in names.items()}


def explained(law: Law, theta: dict[str, float], runs: dict[str, np.ndarray]) -> float:
    """R2 of the loss."""
    loss = runs["loss"]
    predicted = np.asarray(law.loss(runs["N"], runs["D"], runs["U"], **theta))
    return 1 - float(((loss - predicted) ** 2).sum() / ((loss - loss.mean()) ** 2).sum())


def huber(law: Law, theta: dict[str, float], runs: dict[str, np.ndarray], delta: float = 1e-3) -> float:
    off = np.abs(np.log(np.asarray(law.loss(runs["N"], runs["D"], runs["U"], **theta))) - np.log(runs["loss"]))
    return float(np.where(off <= delta, off**2 / 2, delta * (off - delta / 2)).sum())


def test_objective_and_fit_of_the_published_constants(runs: dict[str, np.ndarray]) -> None:
    assert len(runs["loss"]) == 182
    assert huber(LAW, PUBLISHED, runs) == pytest.approx(0.0158259, abs=5e-8)
    assert explained(LAW, PUBLISHED, runs) == pytest.approx(0.7722, abs=5e-5)


@pytest.mark.parametrize(
    ("law", "theta", "printed"),
    [
        (DataConstrainedD(), {"lambda_D": 1 / 2.9157}, 0.7354),
        (DataConstrainedGeometric(), {"delta_D": 0.0104, "delta_N": 0.3676}, 0.7988),
        (LAW, {"lambda_D": 1e-12, "lambda_N": 1e-12}, 0.4452),
    ],
    ids=["decay of data only", "geometric", "no decay"],
)
def test_fit_of_the_variants(law: Law, theta: dict[str, float], printed: float, runs: dict[str, np.ndarray]) -> None:
    """App. A, table of variants. The two deltas are printed to four digits: R2 moves by 1e-4 over their rounding."""
    assert explained(law, BASE | theta, runs) == pytest.approx(printed, abs=1e-4)


def test_published_decay_is_not_the_best_one(runs: dict[str, np.ndarray]) -> None:
    """The objective is flat in R_D from 12 upwards, with its least value near 95: bounded below, open above."""

    def profile(R_D: float) -> float:
        grid = 1 / np.geomspace(0.5, 40, 120)
        return min(huber(LAW, BASE | {"lambda_D": 1 / R_D, "lambda_N": lambda_N}, runs) for lambda_N in grid)

    best = {R_D: profile(R_D) for R_D in (5.0, 8.0, 15.387756, 95.4, 1000.0)}
    assert best[5.0] == pytest.approx(0.01616, abs=1e-5)
    assert best[8.0] == pytest.approx(0.01596, abs=1e-5)
    assert best[95.4] == pytest.approx(0.0158047, abs=2e-6)  # R_N on a grid of 4 % steps
    assert best[95.4] < best[15.387756]
    assert best[1000.0] - best[95.4] < best[8.0] - best[95.4]
