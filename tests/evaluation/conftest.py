"""Forecasters that need no fit, and tables of several data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayescale.errors import FitError
from bayescale.evaluation import Draws
from bayescale.laws.chinchilla import Chinchilla
from bayescale.runs import Runs

TRUTH = {"E": 1.8, "a": 0.36, "b": 0.34, "alpha": 0.35, "beta": 0.37}
SD = 0.01


@dataclass
class Known:
    """Knows the law and its normal noise, or is wrong about them by `bias` (of log loss) and `scale` (of the sd)."""

    name: str = "known"
    bias: float = 0.0
    scale: float = 1.0
    warnings: tuple[str, ...] = ()
    refuse: tuple[str, ...] = ()
    asked: list[dict[str, Any]] = field(default_factory=list)

    def forecast(self, train: Runs, targets: Mapping[str, np.ndarray], *, seed: int, without: frozenset[str]) -> Draws:
        self.asked.append({"train": train, "targets": dict(targets), "seed": seed, "without": without})
        if set(self.refuse) & without:
            raise FitError("too wild for me")
        mean = np.log(np.asarray(Chinchilla().loss(targets["N"], targets["D"], **TRUTH))) + self.bias
        noise = np.random.default_rng(seed).standard_normal((4000, len(mean)))
        return Draws(np.exp(mean + self.scale * SD * noise), self.warnings, 0.1)


@dataclass
class Trend:
    """A power law in compute with the scatter of its residuals: cheap, and bad enough to have scores of all sizes."""

    name: str = "trend"

    def forecast(self, train: Runs, targets: Mapping[str, np.ndarray], *, seed: int, without: frozenset[str]) -> Draws:
        slope, level = np.polyfit(np.log(train["C"]), np.log(train["loss"]), 1)
        residual = np.log(train["loss"]) - level - slope * np.log(train["C"])
        centre = level + slope * np.log(targets["C"])
        drawn = np.random.default_rng(seed).choice(residual, (1000, len(centre)))
        return Draws(np.exp(centre + drawn))


@pytest.fixture
def known() -> type[Known]:
    """A forecaster that knows the truth, unless it is told otherwise."""
    return Known


@pytest.fixture
def trend() -> Trend:
    """A forecaster that knows little."""
    return Trend()


@pytest.fixture(scope="session")
def families() -> Callable[..., Runs]:
    """``families(count, size, groups)``: data sets of one law and 1 % of normal noise, dealt out over groups."""

    def make(count: int = 6, size: int = 60, groups: int = 3, seed: int = 0) -> Runs:
        generator = np.random.default_rng([seed, 5])
        total = count * size
        N = np.exp(generator.uniform(np.log(2e7), np.log(2e9), total))
        D = np.exp(generator.uniform(np.log(4e8), np.log(4e10), total))
        loss = np.asarray(Chinchilla().loss(N, D, **TRUTH)) * np.exp(SD * generator.standard_normal(total))
        number = np.repeat(np.arange(count), size)
        return Runs.from_arrays(
            N=N, D=D, loss=loss, source="families.csv",
            family=np.array([f"family {n}" for n in number]), design=np.array([f"design {n % groups}" for n in number]),
        )  # fmt: skip

    return make


@pytest.fixture(scope="session")
def ladder(shared_data: Path) -> Runs:
    """The public families."""
    frame = pd.read_csv(shared_data / "ladder_runs.csv")
    return Runs.from_arrays(**{str(name): frame[name].to_numpy() for name in frame}, source="ladder_runs.csv")
