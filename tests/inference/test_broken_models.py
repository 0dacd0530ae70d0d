"""Models that cannot be trusted are caught: a formula that fails, a wall, two answers, nothing to learn.

Noise of known size keeps what is compiled here small.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bayescale._float64 import jnp
from bayescale.errors import FitError
from bayescale.fits import Fit
from bayescale.laws import Law
from bayescale.laws._law import REGISTRY
from bayescale.prior import Prior
from bayescale.procedures import fit
from bayescale.runs import Runs

NOISE: dict[str, Any] = {"noise": "normal", "priors": {"sigma": 0.01}}


@pytest.fixture(scope="module", autouse=True)
def _laws_are_forgotten() -> Iterator[None]:
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def law(name: str, **priors: Prior) -> dict[str, Any]:
    """What a law class needs beside its formula."""
    return {"name": name, "formula": "in this file", "citation": "a test", "priors": priors}


@pytest.fixture(scope="module")
def runs() -> Runs:
    generator = np.random.default_rng(0)
    N = np.geomspace(1e8, 1e10, 12)
    loss = (2.0 + 0.64 * (N / 1e9) ** -0.3) * np.exp(0.01 * generator.standard_normal(12))
    return Runs.from_arrays(N=N, loss=loss, source="simulated.csv")


@pytest.fixture(scope="module")
def two(runs: Runs) -> Fit:
    """Loss depends on m through (m - 1)**2, so that .2 and 1.8 are the same law."""

    class Two(Law):
        def loss(self, N: Any, *, m: Any) -> Any:
            return 2.0 + (m - 1.0) ** 2 * (N / self.N0) ** -0.3

    made = type("TwoModes", (Two,), law("two-modes-test", m=Prior("Normal", 1.0, 1.0)))
    return fit(runs, made(), draws=250, **NOISE)


class TestTwoModes:
    def test_it_is_said(self, two: Fit) -> None:
        assert not two.diagnostics.ok
        said = [
            warning for warning in two.diagnostics.warnings if warning.startswith("the posterior has 2 separate modes")
        ]
        assert len(said) == 1
        assert repr(two).startswith("DO NOT TRUST THIS FIT")

    def test_both_are_sampled(self, two: Fit) -> None:
        m = two.draws["m"].values
        assert (m > 1).all(axis=1).sum() == (m < 1).all(axis=1).sum() == 2
        np.testing.assert_allclose(np.sort(m.mean(axis=1)), [0.2, 0.2, 1.8, 1.8], atol=0.02)

    def test_chains_that_disagree_are_said_to(self, two: Fit) -> None:
        assert two.diagnostics.max_rhat is not None
        assert two.diagnostics.max_rhat > 1.5
        assert any(warning.startswith("R-hat is above 1.01 for m") for warning in two.diagnostics.warnings)

    def test_the_long_run_was_tried(self, two: Fit) -> None:
        # it cannot help here, and is what happens whenever the short run has not converged
        assert any("long warm-up" in note for note in two.diagnostics.notes)
        assert two.draws["m"].shape == (4, 250)


def test_a_formula_that_gives_no_number_is_refused(runs: Runs) -> None:
    class Nan(Law):
        def loss(self, N: Any, *, E: Any) -> Any:
            return jnp.sqrt(-E) + N / self.N0

    made = type("NanLaw", (Nan,), law("nan-test", E=Prior("LogNormal", 0.5, 0.4)))
    with pytest.raises(FitError, match="draws from the priors leads to a finite likelihood"):
        fit(runs, made(), draws=50, **NOISE)


def test_a_formula_that_fails_where_the_answer_lies(runs: Runs) -> None:
    class Wall(Law):
        """No number below E = 2, where half of the posterior would be."""

        def loss(self, N: Any, *, E: Any) -> Any:
            return E + 0.0 * jnp.log(E - 2.0) + 0.0 * (N / self.N0) ** -0.3

    made = type("WallLaw", (Wall,), law("wall-test", E=Prior("Normal", 2.0, 1.0)))
    level = Runs.from_arrays(N=runs["N"], loss=2.0 * np.exp(0.01 * np.random.default_rng(1).standard_normal(12)))
    broken = fit(level, made(), draws=250, fallback=False, **NOISE)
    assert not broken.diagnostics.ok
    assert broken.diagnostics.divergences > 0
    assert any("transitions diverged" in warning for warning in broken.diagnostics.warnings)
    assert (broken.draws["E"] >= 2.0).all()
