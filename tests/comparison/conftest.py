"""Procedures that answer at once, with answers that a test decides, and tables whose truth is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from bayescale.comparison._answers import Answer, Quantity
from bayescale.diagnostics import Diagnostics
from bayescale.errors import FitError
from bayescale.fits import Fit
from bayescale.laws.chinchilla import Chinchilla
from bayescale.procedures._procedure import REGISTRY, Procedure
from bayescale.runs import Runs

TRUTH = {"E": 1.8, "a": 0.36, "b": 0.34, "alpha": 0.35, "beta": 0.37, "sigma": 0.005}


@dataclass(frozen=True)
class FakeSettings:
    """Settings of a procedure that bootstraps."""

    replicates: int = 400
    delta: float = 1e-3


@pytest.fixture
def fake() -> Iterator[Callable[..., str]]:
    """``fake("name", beta=.5, sd=.01, warnings=(...), least=5)``: a procedure in the registry while the test runs.

    It answers with the parameters that tables are simulated from, but for those given; ``beta`` also falls by the
    share of the losses above 3 that are left out, so that dropping runs moves the answer.
    """
    made: list[str] = []

    def make(
        name: str,
        *,
        kind: str = "bootstrap",
        sd: float = 0.01,
        warnings: tuple[str, ...] = (),
        least: int = 2,
        **theta: float,
    ) -> str:
        def fit(self: Procedure, runs: Runs, seed: int = 0, progress: Any = None) -> Fit:
            if len(runs) < least:
                raise FitError(f"{name} needs {least} runs, and {runs.source} has {len(runs)}")
            count = self.settings.replicates if kind != "posterior" else 400
            self.kind = kind if count else "point"
            centre = TRUTH | theta
            centre["beta"] *= 1.0 + 10.0 * self.settings.delta - 0.01 * float((runs["loss"] > 3.0).sum())
            generator = np.random.default_rng([seed, len(name)])
            scatter = {key: np.exp(sd * generator.standard_normal((1, max(count, 1)))) for key in centre}
            drawn = {key: value * (scatter[key] if count else np.ones((1, 1))) for key, value in centre.items()}
            seconds = {"total": 0.1, "compile": 0.0, "sample": 0.1}
            record = self.record(runs, seed, seconds, Diagnostics(warnings=warnings))
            estimate = centre if self.kind == "bootstrap" else None
            return Fit.assemble(record, self.model.law, drawn, runs, estimate=estimate)

        body = {"name": name, "kind": kind, "summary": "a test", "citation": "none", "Settings": FakeSettings}
        type("Fake", (Procedure,), body | {"fit": fit, "__doc__": "A test.", "bayesian": kind == "posterior"})
        made.append(name)
        return name

    yield make
    for name in made:
        del REGISTRY[name]


@pytest.fixture(scope="session")
def answered() -> Callable[..., Answer]:
    """``answered("name", kind, N_exponent=draws, N=draws)``: what a procedure says, from draws at hand."""

    def make(name: str, kind: str = "bootstrap", **drawn: Any) -> Answer:
        none = dict.fromkeys(("N_exponent", "D_exponent", "N", "D", "E", "loss"), Quantity(why="not asked"))
        found: Mapping[str, Quantity] = {
            key: Quantity(np.asarray(values, dtype=float), None if kind == "posterior" else float(np.median(values)))
            for key, values in drawn.items()
        }
        # a fit of any kind, so that it does not pass for a refusal
        return Answer(name, kind, fit=object(), quantities=none | dict(found))  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def isoflop_table() -> Callable[..., Runs]:
    """``isoflop_table(shift=1, drift=1, noise=0, seed=0, ...)``: five budgets on a Chinchilla surface.

    Sizes stand on a log grid around the optimum times ``shift``, which grows by the factor ``drift`` from the smallest
    budget to the largest.
    """

    def make(
        *,
        shift: float = 1.0,
        drift: float = 1.0,
        noise: float = 0.0,
        seed: int = 0,
        points: int = 9,
        theta: Mapping[str, float] | None = None,
    ) -> Runs:
        law = Chinchilla()
        chosen = {key: (theta or TRUTH)[key] for key in ("E", "a", "b", "alpha", "beta")}
        budgets = np.geomspace(1e18, 1e21, 5)
        centre = np.array([float(law.optimum(budget, **chosen)[0]) for budget in budgets])
        centre = centre * shift * drift ** np.linspace(0.0, 1.0, len(budgets))
        N = (centre[:, None] * np.geomspace(1 / 8, 8, points)).ravel()
        D = np.repeat(budgets, points) / (6 * N)
        scatter = np.exp(noise * np.random.default_rng([seed, 5]).standard_normal(N.size))
        return Runs.from_arrays(N=N, D=D, loss=np.asarray(law.loss(N, D, **chosen)) * scatter, source="simulated")

    return make
