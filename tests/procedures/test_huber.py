"""The Huber procedure: wrong use, ways of resampling, and laws other than Chinchilla's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import bayescale
from bayescale.errors import FitError
from bayescale.runs import Runs


def test_too_few_runs_are_refused(simulate: Callable[..., Runs]) -> None:
    two = simulate().subset(np.arange(200) < 2)
    with pytest.raises(FitError, match=r"huber needs more runs than parameters: chinchilla has 5 .*, the table 2 runs"):
        bayescale.fit(two, procedure="huber")


def test_one_size_is_refused(simulate: Callable[..., Runs]) -> None:
    with pytest.raises(FitError, match="N is 1B in all 200 runs, so huber cannot tell"):
        bayescale.fit(simulate(N=1e9), procedure="huber")


def test_a_size_that_hardly_varies_is_said(simulate: Callable[..., Runs]) -> None:
    runs = simulate()
    close = Runs.from_arrays(N=1e9 * (1 + 0.1 * np.arange(200) / 200), D=runs["D"], loss=runs["loss"])
    fit = bayescale.fit(close, procedure="huber", starts=32, replicates=0)
    assert any(warning.startswith("N hardly varies, from 1B to 1.1B") for warning in fit.diagnostics.warnings)


def test_a_likelihood_is_not_its_business(simulate: Callable[..., Runs]) -> None:
    with pytest.raises(FitError, match=r"huber has no likelihood.*leave 'student-t' out"):
        bayescale.fit(simulate(), procedure="huber", noise="student-t")
    with pytest.raises(FitError, match="huber uses no priors, and one was given for E"):
        bayescale.fit(simulate(), procedure="huber", priors={"E": 1.7})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"delta": 0.0}, "delta=0.0; expected nats of log loss above 0"),
        ({"starts": "grid"}, "starts='grid'; expected 'hoffmann', or how many to draw"),
        ({"resample": "jackknife"}, "resample is one of rows, clusters, wild; got 'jackknife'"),
        ({"resample": "clusters"}, "name their column: cluster="),
        ({"replicates": 1}, "replicates=1; expected 2 or more, or 0 for a point"),
        ({"tolerance": 0.0}, "tolerance=0.0; expected a number above 0"),
    ],
)
def test_settings_that_cannot_be_used(simulate: Callable[..., Runs], settings: dict[str, object], message: str) -> None:
    with pytest.raises(FitError, match=message):
        bayescale.fit(simulate(), procedure="huber", **settings)


def test_checkpoints_of_a_run_are_resampled_together(simulate: Callable[..., Runs]) -> None:
    """Two hundred checkpoints of twenty runs are no two hundred runs: what a run has in common widens the interval."""
    runs = simulate()
    shift = np.repeat(np.random.default_rng(1).normal(0.0, 0.03, 20), 10)
    names = np.repeat([f"run-{k}" for k in range(20)], 10)
    table = Runs.from_arrays(N=runs["N"], D=runs["D"], loss=runs["loss"] * np.exp(shift), run=names)
    settings = {"procedure": "huber", "starts": 32, "replicates": 200}
    rows = bayescale.fit(table, **settings)
    clusters = bayescale.fit(table, resample="clusters", cluster="run", **settings)
    assert clusters.estimate == rows.estimate
    # the level of the surface is what a run's checkpoints share: ten of them are one piece of evidence, not ten
    centre = {"N": [1e9], "D": [2e10]}
    spread = [float(fit.forecast(centre)["mean_loss"].std()) for fit in (clusters, rows)]
    assert spread[0] > 1.5 * spread[1]


def test_a_wild_bootstrap_keeps_the_design(simulate: Callable[..., Runs]) -> None:
    settings = {"procedure": "huber", "starts": 32, "replicates": 200}
    rows = bayescale.fit(simulate(), **settings)
    wild = bayescale.fit(simulate(), resample="wild", **settings)
    assert wild.estimate is not None
    assert rows.estimate is not None
    assert wild.estimate["E"] == pytest.approx(rows.estimate["E"], rel=1e-9)
    # two estimates of one spread, each from 200 replicates (5 %), by methods that agree to a few tenths
    assert 0.6 < float(wild.draws["E"].std() / rows.draws["E"].std()) < 1.6


def test_a_law_that_is_linear_in_nothing() -> None:
    generator = np.random.default_rng(3)
    C = np.geomspace(1e17, 1e21, 30)
    runs = Runs.from_arrays(C=C, loss=3.0 * (C / 1e19) ** -0.05 * np.exp(0.001 * generator.normal(size=30)))
    fit = bayescale.fit(runs, "power-C-no-floor", "huber", starts=32, replicates=50)
    assert fit.estimate is not None
    assert fit.estimate["gamma"] == pytest.approx(0.05, abs=0.001)


def test_a_point_has_one_draw(simulate: Callable[..., Runs]) -> None:
    fit = bayescale.fit(simulate(), procedure="huber", starts=32, replicates=0)
    assert fit.kind == "point"
    assert fit.draws.sizes == {"chain": 1, "draw": 1}
    assert fit.theta["sigma"].shape == (1,)
