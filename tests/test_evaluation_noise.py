"""Sds of losses that a table gives: read in every form, counted as known, apart from the scatter of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayescale
from bayescale import Model, Noise, Runs
from bayescale.averaging import log_density
from bayescale.averaging._density import Learnt
from bayescale.comparison._loo import log_likelihood
from bayescale.diagnostics import Diagnostics
from bayescale.errors import RunsError
from bayescale.forecast import forecast
from bayescale.inference.batch import sample_tables
from bayescale.laws.power_c import PowerC
from bayescale.noise import KNOWN_SD, evaluation_sd
from bayescale.procedures._evaluation_noise import judged, unused
from bayescale.procedures.vpnls import VPNLSSettings

TRUTH = {"E": 1.8, "c": 0.6, "gamma": 0.15}
COMPUTE = np.geomspace(1e18, 1e21, 48)
SD = {"loss": [3.0, 2.6, 2.4], "loss_sd": [0.01, 0.02, 0.03]}
SIZES = {"N": [1e8, 1e9, 2e9], "D": [1e9, 2e10, 3e10]}


def table(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(SIZES | columns)


@pytest.mark.parametrize(
    "columns",
    [
        {"val_loss": SD["loss"], "val_loss_sd": SD["loss_sd"]},
        {"eval/loss": SD["loss"], "eval/loss_stderr": SD["loss_sd"]},
        {"c4_loss": SD["loss"], "loss_sd": SD["loss_sd"]},
        {"loss_c4": SD["loss"], "loss_se_c4": SD["loss_sd"], "loss_std": [9.0, 9.0, 9.0]},
        {"loss_c4": SD["loss"], "loss_lo95_c4": [2.9804, 2.5608, 2.3412], "loss_hi95_c4": [3.0196, 2.6392, 2.4588]},
        {"loss": SD["loss"], "loss_q05": [2.98355, 2.5671, 2.35065], "loss_q95": [3.01645, 2.6329, 2.44935]},
    ],
)  # fmt: skip
def test_sds_are_found_under_the_names_people_give_them(columns: dict[str, Any]) -> None:
    runs = Runs.read(table(**columns))
    # the ends of the intervals are written to four digits
    np.testing.assert_allclose(runs["loss_sd"], SD["loss_sd"], rtol=1e-3)


@pytest.mark.parametrize(
    ("spec", "sd"),
    [
        ("spread", [0.1, 0.1, 0.1]),
        ("spread (bits)", [0.1 * np.log(2.0)] * 3),
        ("low..high (95%)", [0.2 / 3.92] * 3),
        ("low .. high (50 %)", [0.2 / 1.349] * 3),
    ],
)
def test_sds_can_be_named(spec: str, sd: list[float]) -> None:
    low, high = ([value + by for value in SD["loss"]] for by in (-0.1, 0.1))
    frame = table(loss=SD["loss"], spread=[0.1] * 3, low=low, high=high)
    assert "loss_sd" not in Runs.read(frame)
    np.testing.assert_allclose(Runs.read(frame, columns={"loss_sd": spec})["loss_sd"], sd, rtol=1e-3)


def test_sds_are_in_the_unit_of_their_loss() -> None:
    ppl = np.array([20.0, 12.0, 11.0])
    runs = Runs.read(table(ppl=ppl, ppl_sd=0.01 * ppl), columns={"loss": "ppl (perplexity)"})
    np.testing.assert_allclose(runs["loss_sd"], 0.01)
    right = np.array([0.4, 0.5, 0.6])
    frame = table(acc=right, acc_lower95=right - 0.0196, acc_upper95=right + 0.0196)
    runs = Runs.read(frame, columns={"loss": "acc (accuracy)"})
    np.testing.assert_allclose(runs["loss"], 1.0 - right)
    np.testing.assert_allclose(runs["loss_sd"], 0.01, rtol=1e-3)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"loss_sd": [0.01, 0.0, 0.01]}, "row 2, column 'loss_sd', value '0.0': is zero"),
        ({"loss_sd": [0.01, -0.1, 0.01]}, "row 2, column 'loss_sd', value '-0.1': is negative"),
        ({"loss_sd": ["0.01", "", "0.01"]}, "row 2, column 'loss_sd': is blank"),
        ({"loss_lower95": [2.9, 2.7, 2.3], "loss_upper95": [3.1, 2.5, 2.5]}, "column 'loss_lower95 and loss_upper95'"),
        ({"loss_sd": [0.01] * 3, "loss_var": [1.0] * 3}, None),
        ({"loss_se": [0.01] * 3, "loss_std": [1.0] * 3}, "--column loss_sd=loss_se or --column loss_sd=loss_std"),
    ],
)
def test_sds_that_are_none_are_refused_with_the_way_out(columns: dict[str, Any], said: str | None) -> None:
    frame = table(loss=SD["loss"], **columns)
    if said is None:
        assert "loss_sd" in Runs.read(frame)
        return
    with pytest.raises(RunsError) as refused:
        Runs.read(frame)
    assert said in str(refused.value)
    assert "loss_sd=none" in str(refused.value)
    assert "loss_sd" not in Runs.read(frame, columns={"loss_sd": "none"})


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("spread", "no column 'spread'"),
        ("low..high", "say which interval it is"),
        ("low..hi (95%)", "no column 'hi'"),
        ("loss_var", "square root of a variance"),
        ("low (weird)", "not a known unit"),
    ],
)
def test_what_cannot_be_an_sd_is_refused(spec: str, said: str) -> None:
    frame = table(loss=SD["loss"], low=[0.1] * 3, high=[0.2] * 3, loss_var=[0.1] * 3)
    with pytest.raises(RunsError, match=said):
        Runs.read(frame, columns={"loss_sd": spec})


def test_an_interval_without_a_level_is_left_out_and_said() -> None:
    runs = Runs.read(table(loss=SD["loss"], loss_low=[2.9, 2.5, 2.3], loss_high=[3.1, 2.7, 2.5]))
    assert "loss_sd" not in runs
    assert 'loss_sd="loss_low..loss_high (95%)"' in runs.warnings[0]


def test_the_sd_of_another_loss_is_not_taken() -> None:
    frame = table(loss=[9.0, 8.0, 7.0], c4_loss=SD["loss"], loss_sd=SD["loss_sd"])
    assert "loss_sd" not in Runs.read(frame, columns={"loss": "c4_loss"})


def simulated(sigma: float, known: np.ndarray, seed: int = 0) -> Runs:
    generator = np.random.default_rng(seed)
    mean = np.asarray(PowerC().loss(COMPUTE, **TRUTH))
    loss = mean * np.exp(np.hypot(sigma, known) * generator.standard_normal(COMPUTE.size))
    return Runs.from_arrays(C=COMPUTE, loss=loss, loss_sd=known * loss)


@pytest.fixture(scope="module")
def fitted() -> bayescale.Fit:
    known = np.where(np.arange(COMPUTE.size) % 2, 0.001, 0.03)
    return bayescale.fit(simulated(0.005, known), PowerC(), noise="normal", draws=250)


def test_a_fit_tells_the_scatter_of_runs_from_that_of_their_evaluation(fitted: bayescale.Fit) -> None:
    low, high = np.quantile(fitted.theta["sigma"], [0.005, 0.995])
    # without the sds sigma would be the root of the mean square, 0.022
    assert low < 0.005 < high < 0.012
    assert any(note.startswith("evaluation noise") for note in fitted.diagnostics.notes)
    assert not fitted.diagnostics.warnings


def test_everything_that_stands_on_the_density_has_it(fitted: bayescale.Fit, tmp_path: Path) -> None:
    again = bayescale.Fit.load(fitted.save(tmp_path / "fit.nc"))
    runs, theta = again.runs, again.theta
    scale = np.hypot(theta["sigma"][:, None], evaluation_sd(runs))
    mean = np.log(again.forecast(runs)["mean_loss"].values)
    expected = -0.5 * ((np.log(runs["loss"]) - mean) / scale) ** 2 - np.log(scale) - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(log_likelihood(again).reshape(expected.shape), expected, rtol=1e-9)
    assert again.model is not None
    held = log_density(Learnt(again.model, theta, None), runs).pointwise
    np.testing.assert_allclose(held, np.log(np.exp(expected).mean(axis=0)), rtol=1e-9)


def test_a_new_run_carries_the_evaluation_noise_it_is_given_and_no_other() -> None:
    theta = {name: np.full(4000, value) for name, value in TRUTH.items()} | {"sigma": np.full(4000, 0.003)}
    model = Model(PowerC(), Noise("normal"))
    bare = forecast(model.law, model, theta, {"C": [1e22]}, None)["new_run_loss"].values
    noisy = forecast(model.law, model, theta, {"C": [1e22], "loss_sd": [0.05]}, None)["new_run_loss"].values
    loss = float(PowerC().loss(1e22, **TRUTH))
    # the sd of 4,000 normal numbers is known to 1.1 %: four of these
    assert np.std(bare) == pytest.approx(0.003 * loss, rel=0.045)
    assert np.std(noisy) == pytest.approx(np.hypot(0.003 * loss, 0.05), rel=0.045)


def test_point_procedures_say_that_they_do_not_use_it() -> None:
    runs = simulated(0.005, np.full(COMPUTE.size, 0.01))
    fit = bayescale.fit(runs, PowerC(), "huber", replicates=0, starts=8)
    assert any("are not used, or fit with nuts" in note for note in fit.diagnostics.notes)
    # those that can weigh by a column of sds say how, and are silent where they do
    bare, weighed = (unused(Diagnostics(), "vpnls", runs, VPNLSSettings(sd_column=c)) for c in (None, "loss_sd"))
    assert "sd_column=loss_sd" in bare.notes[0]
    assert not weighed.notes


def test_sds_far_above_the_scatter_are_doubted(fitted: bayescale.Fit) -> None:
    assert fitted.model is not None
    told, middle = simulated(0.002, np.full(COMPUTE.size, 1e-4)), TRUTH | {"sigma": 0.002}
    for factor, doubted in ((0.0001, False), (0.05, True)):
        runs = Runs.from_arrays(C=told["C"], loss=told["loss"], loss_sd=factor * told["loss"])
        said = judged(Diagnostics(), fitted.model, middle, runs).warnings
        assert any("closer to the law than loss_sd allows" in warning for warning in said) is doubted


@pytest.mark.slow
def test_sigma_is_covered_with_the_sds_and_not_without() -> None:
    """Truths drawn from the priors: the 90 % intervals of sigma hold 90 % of them where the sds are known."""
    count, generator = 100, np.random.default_rng(3)
    model = Model(PowerC(), Noise("normal")).with_priors(
        E="LogNormal(0.6, 0.1)", c="LogNormal(-0.5, 0.2)", gamma="LogNormal(-1.9, 0.1)", sigma="LogNormal(-5, 0.4)"
    )
    known = generator.permutation(np.geomspace(0.002, 0.03, COMPUTE.size))
    truth = model.sample_priors(count, seed=5)
    mean = np.stack([PowerC().loss(COMPUTE, *(), **{n: truth[n][k] for n in TRUTH}) for k in range(count)])
    spread = np.hypot(truth["sigma"][:, None], known)
    losses = np.log(mean) + spread * generator.standard_normal(mean.shape)
    inside = {}
    for name, columns in {"with": {"C": COMPUTE, KNOWN_SD: known}, "without": {"C": COMPUTE}}.items():
        drawn, _ = sample_tables(model, columns, losses, draws=800, seed=1)
        low, high = np.quantile(drawn["sigma"], [0.05, 0.95], axis=1)
        inside[name] = float(((low <= truth["sigma"]) & (truth["sigma"] <= high)).mean())
    # 3 % is the sd of a share of 90 % of 100
    assert 0.82 <= inside["with"] <= 0.98
    assert inside["without"] < 0.6
