"""Fits under a prior set: the law at the top of the ladder, the rehearsal, and forecasts that carry a discrepancy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayescale.discrepancy import Discrepancy
from bayescale.errors import FitError
from bayescale.fits import Fit
from bayescale.fits._widened import bends
from bayescale.inference.program import TRACES
from bayescale.inference.sample import Samples
from bayescale.inference.sampler import Sampler
from bayescale.ladder import Ladder
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.kappa import Kappa
from bayescale.model import Model
from bayescale.procedures import NUTS, _rehearsal, fit
from bayescale.procedures._posterior import draw
from bayescale.procedures._rehearsal import rehearse
from bayescale.runs import Runs

TRUTH = {"E": 1.85, "R": 0.55, "M": 20.0, "N_exponent": 0.48, "gamma": 0.16, "kappa": 0.6}
BUDGETS = (1e19, 3e19, 1e20, 3e20, 1e21)
SAMPLER = Sampler(chains=4, draws=500)


def ladder(broken: float = 0.0, scale: float = 1.0) -> Runs:
    """IsoFLOP runs of the law with .3 % of noise; from 1e20 FLOPs on the loss falls by `broken` a decade more."""
    generator = np.random.default_rng(3)
    C = np.repeat(BUDGETS, 7)
    N = np.sqrt(C / 120.0) * np.tile(np.geomspace(0.25, 4.0, 7), len(BUDGETS))
    D = C / (6.0 * N)
    extra = -broken * np.maximum(np.log10(C / 1e20), 0.0)
    loss = np.asarray(Kappa().loss(N, D, **TRUTH)) * np.exp(0.003 * generator.standard_normal(C.size) + extra)
    return Runs.from_arrays(N=N * scale, D=D * scale, loss=loss)


def model(runs: Runs, **settings: float) -> Model:
    law = Kappa().at(**Ladder.of(runs["C"]).reference)
    return Model(law, discrepancy=Discrepancy(**settings))


@pytest.fixture(scope="module")
def made() -> Fit:
    runs = ladder()
    return NUTS(model(runs), SAMPLER).fit(runs, seed=1)


def test_a_rehearsal_that_did_not_converge_is_said(made: Fit) -> None:
    said = "the draws of the rehearsal on the lower part of the ladder did not converge"
    assert not any(note.startswith(said) for note in made.diagnostics.notes)
    runs = ladder()
    few = NUTS(model(runs), replace(SAMPLER, draws=20, fallback=False)).fit(runs, seed=1)
    assert few.ladder is not None
    assert few.ladder.rehearsal is not None
    assert not few.ladder.rehearsal.converged
    assert any(note.startswith(said) for note in few.diagnostics.notes)


def test_a_rehearsal_that_diverged_has_not_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = ladder()

    def diverging(*arguments: Any, **settings: Any) -> Samples:
        samples = draw(*arguments, **settings)
        once = np.zeros_like(samples.stats["diverging"])
        once[0, 0] = True
        return samples._replace(stats=samples.stats | {"diverging": once})

    before = rehearse(model(runs), runs, SAMPLER, seed=1)
    monkeypatch.setattr(_rehearsal, "draw", diverging)
    after = rehearse(model(runs), runs, SAMPLER, seed=1)
    assert before is not None
    assert after is not None
    assert before.converged
    assert after == before._replace(converged=False)


def test_rehearsal_of_a_law_that_is_true(made: Fit) -> None:
    assert made.diagnostics.ok, made.diagnostics.warnings
    assert made.ladder is not None
    assert made.ladder.top == pytest.approx(1e21)
    assert made.ladder.decades == pytest.approx(2.0)
    told = made.ladder.rehearsal
    assert told is not None
    # the lower part ends at 3e20, the runs above half of the top are those of 1e21
    assert told.decades == pytest.approx(np.log10(1e21 / 3e20))
    # three of its own sds
    assert abs(told.error) < 3 * told.sd
    assert told.sd < 0.02


def test_a_law_that_breaks_is_said_and_widens_the_forecast(made: Fit) -> None:
    runs = ladder(broken=0.2)
    # with `below` sampled the posterior of a kink takes five times as long
    broken = NUTS(model(runs).with_priors(below=0.04), SAMPLER).fit(runs, seed=1)
    assert any("does not describe how the loss falls with compute" in text for text in broken.diagnostics.warnings)
    assert "DO NOT TRUST" in repr(broken)
    target = {"N": [1e10], "D": [2e11]}

    def width(fitted: Fit) -> float:
        low, high = np.quantile(np.log(fitted.forecast(target)["mean_loss"].values), [0.05, 0.95])
        return float(high - low)

    assert width(broken) > 4 * width(made)


def test_too_few_runs_below_for_a_rehearsal() -> None:
    runs = ladder()
    short = runs.subset(np.asarray(runs["C"]) > 9e19)
    assert rehearse(model(short), short, SAMPLER) is not None
    one = runs.subset(np.asarray(runs["C"]) > 9e20)
    assert rehearse(model(one), one, SAMPLER) is None


def test_forecasts_differ_from_the_law_by_the_discrepancy_alone(made: Fit) -> None:
    assert made.model is not None
    assert made.model.discrepancy is not None
    assert made.ladder is not None
    own = {name: made.theta[name] for name in ("below", "undertrained")}
    # the second is below the top and, at 1.25 tokens per parameter, undertrained
    target = {"N": [1e10, 8e9], "D": [2e11, 1e10]}
    columns = {"C": [6 * 2e21, 6 * 8e19]} | target
    offsets = made.model.discrepancy.offsets(made.ladder, columns, 2000, 4, own)
    offsets = offsets + bends(made.model, made.ladder, columns, made.theta)
    theta = {name: values[:, None] for name, values in _law(made).items()}
    plain = made.law.loss(np.array([target["N"]]), np.array([target["D"]]), **theta)
    forecast = made.forecast(target, seed=4)
    np.testing.assert_allclose(forecast["mean_loss"].values, np.asarray(plain) * np.exp(offsets), rtol=1e-12)
    # along the compute-optimal path
    columns, frontier = {"C": [1.2e22]}, np.asarray(made.law.frontier(1.2e22, **_law(made)))[:, None]
    for found, seed in ((made.path([1.2e22], seed=4)["mean_loss"], 4), (made.allocation([1.2e22])["loss"], 0)):
        offsets = made.model.discrepancy.offsets(made.ladder, columns, 2000, seed, own)
        offsets = offsets + bends(made.model, made.ladder, columns, made.theta)
        np.testing.assert_allclose(found.values, frontier * np.exp(offsets), rtol=1e-12)


def test_isoflop_curves_bend_with_the_error_of_the_law(made: Fit) -> None:
    assert made.ladder is not None
    assert made.model is not None
    found = made.isoflop_curves([1e20])
    columns = {name: found[name].values[0] for name in ("N", "D")} | {"C": np.full(60, 1e20)}
    theta = {name: values[:, None] for name, values in _law(made).items()}
    law = np.asarray(made.law.loss(columns["N"][None], columns["D"][None], **theta))
    expected = law * np.exp(bends(made.model, made.ladder, columns, made.theta))
    np.testing.assert_allclose(found["mean_loss"].values[:, 0], expected, rtol=1e-9)
    assert np.abs(np.log(expected / law)).max() > 1e-3


def test_the_heights_of_the_error_are_drawn_and_not_shown(made: Fit) -> None:
    assert made.model is not None
    heights = set(made.model.nuisance)
    assert len(heights) == 12
    assert heights <= set(made.theta)
    assert not heights & set(made.summary().index)
    assert not heights & set(made.sensitivity().table.index)
    assert not any(name in repr(made) for name in heights)


def test_the_rehearsal_forecasts_with_the_error_of_the_law(made: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that is 1 % larger is forecast 1 % higher, and the runs come out 1 % lower."""
    assert made.ladder is not None
    assert made.ladder.rehearsal is not None
    runs = ladder()
    monkeypatch.setattr(_rehearsal, "bends", lambda *given: bends(*given) + 0.01)
    told = rehearse(model(runs), runs, SAMPLER, seed=1)
    assert told is not None
    assert told.error == pytest.approx(made.ladder.rehearsal.error - 0.01, abs=1e-12)


def _law(made: Fit) -> dict[str, np.ndarray]:
    return {name: made.theta[name] for name in made.law.parameters}


def test_the_file_keeps_the_ladder(made: Fit, tmp_path: Path) -> None:
    again = Fit.load(made.save(tmp_path / "fit.nc"))
    assert again == made
    assert again.ladder == made.ladder
    assert again.model == made.model
    target = {"N": [1e10], "D": [2e11]}
    np.testing.assert_array_equal(made.forecast(target)["mean_loss"], again.forecast(target)["mean_loss"])


def test_tables_at_other_scales_share_compiled_code(made: Fit) -> None:
    """A table whose runs are a hundred times smaller stands at another reference run, and costs no new trace."""
    before = dict(TRACES)
    small = ladder(scale=0.1)
    fitted = NUTS(model(small), SAMPLER).fit(small, seed=1)
    assert dict(TRACES) == before
    # the same runs in other units: the same posterior, within four Monte Carlo errors of two means
    ours, theirs = fitted.theta["gamma"], made.theta["gamma"]
    assert fitted.diagnostics.min_ess is not None
    assert abs(ours.mean() - theirs.mean()) < 4 * ours.std() * np.sqrt(2 / fitted.diagnostics.min_ess)


def test_at_usual_scale_is_an_equal_law() -> None:
    law = Kappa().at(N=3e8, D=6e9)
    usual, factors = law.at_usual_scale()
    N, D = np.array([1e8, 1e9]), np.array([3e9, 1e11])
    np.testing.assert_allclose(
        usual.loss(N * factors["N"], D * factors["D"], **TRUTH), law.loss(N, D, **TRUTH), rtol=1e-12
    )
    other = Kappa().at(N=3e8, D=3e9)
    assert other.at_usual_scale() == (other, {})
    assert Chinchilla().at_usual_scale() == (Chinchilla(), {})


def test_early_runs_may_be_off(made: Fit) -> None:
    """By an sd for each decade below the top, beyond the first half of one, which is sampled."""
    assert made.model is not None
    data = made.model.data(made.runs)
    low = np.asarray(made.runs["C"]) < 2e19
    np.testing.assert_allclose(data["decades early"][low], 1.5)
    theta = {name: float(values[0]) for name, values in made.theta.items()} | {"undertrained": 0.0}
    scale = np.asarray(made.model.predictive(data, theta).scale)
    np.testing.assert_allclose(scale[low], np.hypot(theta["sigma"], 1.5 * theta["below"]))
    top = data["decades early"] == 0
    np.testing.assert_allclose(scale[top], theta["sigma"])
    plain = replace(made.model, discrepancy=None)
    assert "decades early" not in plain.data(made.runs)
    assert "below" not in plain.priors


def test_the_table_says_how_far_early_runs_are_off(made: Fit) -> None:
    """Runs that the law describes all the way down are held to it; where early ones lie off it, they are not."""
    runs = ladder()
    C, loss = np.asarray(runs["C"]), np.asarray(runs["loss"])
    away = 0.05 * np.maximum(np.log10(1e21 / C) - 0.5, 0.0) * np.random.default_rng(0).standard_normal(C.size)
    off = Runs.from_arrays(N=runs["N"], D=runs["D"], loss=loss * np.exp(away))
    found = NUTS(model(off), SAMPLER).fit(off, seed=1)
    assert np.quantile(made.theta["below"], 0.95) < 0.02
    low, high = np.quantile(found.theta["below"], [0.05, 0.95])
    assert 0.02 < low < 0.05 < high < 0.1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"procedure": "huber"}, "huber uses no priors, and the prior set public was given"),
        ({"law": "chinchilla"}, "the prior set public is for the law kappa, not for chinchilla"),
        ({"noise": "normal"}, "the prior set public is for student-t noise, not for normal"),
        ({"prior_set": "nobody"}, "there is no prior set called 'nobody'"),
    ],
)
def test_what_goes_with_no_prior_set(arguments: dict[str, str], said: str) -> None:
    with pytest.raises(Exception, match=said) as caught:
        fit(ladder(), **({"prior_set": "public"} | arguments))  # type: ignore[arg-type]
    assert isinstance(caught.value, FitError) or "nobody" in said
