"""Simulated learning curves of a target alone and beside a source, and simulated scores of pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from bayescale.runs import Runs
from bayescale.transfer import Pairs

ALONE = 42e9


@pytest.fixture(scope="session")
def curves() -> Callable[..., Runs]:
    """``curves(tau=.2, cost=0, seeds=3, ...)``: a bilingual run whose source is worth `tau`, `cost` nats above.

    Errors of neighbouring checkpoints are correlated, and each run is off by `run_sd`.
    """

    def make(
        tau: float = 0.2, cost: float = 0.0, seeds: int = 3, run_sd: float = 0.003, seed: int = 0, last: float = 4.0
    ) -> Runs:
        generator, rows = np.random.default_rng([seed, 5]), []
        for source, share, end in (("", 1.0, 1.25), ("en", 0.5 * (1.0 + tau), last)):
            tokens = ALONE * end * np.linspace(0.1, 1.0, 39)
            for run in range(seeds):
                error = np.empty(39)
                error[0] = generator.standard_normal()
                for i in range(1, 39):
                    error[i] = 0.6 * error[i - 1] + 0.8 * generator.standard_normal()
                off = np.exp(0.003 * error + run_sd * generator.standard_normal())
                loss = (1.0 + (cost if source else 0.0) + (share * tokens / ALONE) ** -0.3) * off
                rows.append(pd.DataFrame({"target": "de", "source": source, "seed": run, "D": tokens, "loss": loss}))
        frame = pd.concat(rows, ignore_index=True)
        return Runs.read(frame, needs=["D", "loss"], name="curves.csv")

    return make


@pytest.fixture(scope="session")
def scores() -> Callable[..., Pairs]:
    """``scores(seed=0, size=10, hidden=.2)``: pairs of the model's own kind, some of them hidden; and the truth."""

    def make(seed: int = 0, size: int = 10, hidden: float = 0.2, error: float = 0.0) -> tuple[Pairs, np.ndarray]:
        generator = np.random.default_rng([seed, 6])
        script = generator.integers(0, 3, size)
        same = (script[:, None] == script[None, :]).astype(float)
        shared = np.triu(0.1 * generator.standard_normal((size, size)), 1)
        rest = 0.1 / np.sqrt(generator.gamma(2.0, 0.5, size))
        truth = -0.3 + 0.2 * same + 0.3 * generator.standard_normal(size)[:, None] + shared + shared.T
        truth = truth + 0.1 * generator.standard_normal(size) + rest[:, None] * generator.standard_normal((size, size))
        given = truth + error * generator.standard_normal((size, size))
        np.fill_diagonal(given, np.nan)
        seen = np.where(generator.random((size, size)) < hidden, np.nan, given)
        names = tuple(f"l{i}" for i in range(size))
        return Pairs(names, seen, np.full((size, size), error), {"same_script": same}), truth

    return make
