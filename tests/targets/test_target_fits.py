"""Several targets of one table: apart, with shared parameters, and what is said of errors that go together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayescale
from bayescale.cli import main
from bayescale.errors import BayescaleError
from bayescale.fits._warned import warned
from bayescale.inference.anchors import anchors_of
from bayescale.inference.density import pad
from bayescale.inference.sample import sample
from bayescale.inference.sampler import Sampler
from bayescale.laws.power_c import PowerC
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.targets import Reading, TargetFits
from bayescale.targets._long import TARGET, long_table, together

LAW = PowerC(C0=1e20)
COMPUTE = np.geomspace(1e18, 1e22, 30)
TRUTH = {
    "c4_loss": {"E": 1.8, "c": 0.6, "gamma": 0.16},
    "pile_loss": {"E": 1.4, "c": 0.5, "gamma": 0.16},
    "wiki_loss": {"E": 2.0, "c": 0.9, "gamma": 0.16},
}
SETTINGS = {"noise": "normal", "draws": 250}


def simulated(of_run: float, of_target: float) -> pd.DataFrame:
    """Runs whose errors have a part that is the same on all targets."""
    generator = np.random.default_rng(4)
    common = of_run * generator.standard_normal(COMPUTE.size)
    losses = {
        name: np.asarray(LAW.loss(COMPUTE, **theta))
        * np.exp(common + of_target * generator.standard_normal(COMPUTE.size))
        for name, theta in TRUTH.items()
    }
    return pd.DataFrame({"C": COMPUTE, **losses})


@pytest.fixture(scope="module")
def joint() -> TargetFits:
    return bayescale.fit_targets(simulated(0.0, 0.004), list(TRUTH), LAW, share=["gamma"], **SETTINGS)


@pytest.fixture(scope="module")
def apart() -> TargetFits:
    return bayescale.fit_targets(simulated(0.004, 0.001), list(TRUTH)[:2], LAW, **SETTINGS)


def test_shared_parameters_are_one_and_the_others_each_targets_own(joint: TargetFits) -> None:
    assert joint.joint is not None
    assert joint.ok
    for name, theta in TRUTH.items():
        drawn = joint.fits[name].theta
        np.testing.assert_array_equal(drawn["gamma"], joint.joint.theta["gamma"])
        for parameter, value in (theta | {"sigma": 0.004}).items():
            # nearly every interval of four sds holds the truth
            assert abs(np.mean(drawn[parameter]) - value) < 4 * np.std(drawn[parameter])
    assert not any("level" in str(name) or "spread" in str(name) for name in joint.joint.draws)


def test_a_shared_parameter_is_known_better(joint: TargetFits) -> None:
    alone = bayescale.fit_targets(simulated(0.0, 0.004), ["c4_loss"], LAW, **SETTINGS)
    assert np.std(joint.fits["c4_loss"].theta["gamma"]) < 0.85 * np.std(alone.fits["c4_loss"].theta["gamma"])


def test_targets_stand_side_by_side(apart: TargetFits, tmp_path: Path) -> None:
    assert apart.joint is None
    assert list(apart.summary().loc["pile_loss"].index[:3]) == ["E", "c", "gamma"]
    assert "c4_loss" in repr(apart)
    made = apart.forecast({"C": [1e23]})
    assert made["mean_loss"].sizes == {"target": 2, "sample": 1000, "run": 1}
    paths = apart.save(tmp_path / "fits")
    assert [path.name for path in paths] == ["c4_loss.nc", "pile_loss.nc"]
    assert bayescale.Fit.load(paths[1]) == apart.fits["pile_loss"]


def test_errors_that_go_together_are_said(joint: TargetFits) -> None:
    frame = simulated(0.004, 0.001)
    runs = {name: bayescale.Runs.read(frame, columns={"loss": name}, needs=("C", "loss")) for name in TRUTH}
    assert joint.joint is not None
    said = together(joint.joint, runs, ["gamma"])
    # of three targets whose errors are all but one, the square root of three
    assert "intervals of gamma are too narrow, by up to a factor of 1.7" in said
    doubted = TargetFits(joint.fits, warned(joint.joint, said))
    assert not doubted.ok
    assert repr(doubted).startswith("DO NOT TRUST THE FIT OF all targets")


@pytest.mark.parametrize(
    ("targets", "options", "said"),
    [
        ([], {}, "no target is named"),
        (["c4_loss", "c4_loss"], {}, "named twice"),
        (["c4_loss", "rpj_loss"], {}, "target rpj_loss: .*no column 'rpj_loss'"),
        (["c4_loss"], {"share": ["gamma"]}, "nothing to share"),
        (["c4_loss", "pile_loss"], {"share": ["beta"]}, "no parameter 'beta'"),
        (["c4_loss", "pile_loss"], {"share": ["E"], "pool": ["E"]}, "both shared and pooled"),
        (["c4_loss", "pile_loss"], {"share": ["E"], "procedure": "huber"}, "one target at a time"),
        (["c4_loss", "acc"], {}, "acc \\(accuracy\\)' --law bounded"),
        (["c4_loss", "pile_loss"], {"reading": Reading({"loss": "x"})}, "each of the targets"),
    ],
)
def test_what_cannot_be_fitted_is_refused(targets: list[str], options: dict[str, object], said: str) -> None:
    frame = simulated(0.0, 0.004).assign(acc=np.linspace(0.3, 0.8, COMPUTE.size))
    with pytest.raises(BayescaleError, match=said):
        bayescale.fit_targets(frame, targets, LAW, **options)


def test_an_sd_belongs_to_the_target_it_is_named_for() -> None:
    frame = simulated(0.0, 0.004).assign(c4_loss_sd=0.01)
    runs = {name: bayescale.Runs.read(frame, columns={"loss": name}, needs=("C", "loss")) for name in TRUTH}
    assert ["loss_sd" in each for each in runs.values()] == [True, False, False]
    assert sorted(set(long_table(runs)["loss_sd"])) == [1e-9, 0.01]
    with pytest.raises(BayescaleError, match="does not say of which target"):
        bayescale.fit_targets(frame.assign(loss_sd=0.01), list(TRUTH)[1:], LAW)


def test_the_command_fits_and_writes_every_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.csv"
    simulated(0.0, 0.004).to_csv(path, index=False)
    told = ["fit", str(path), "--law", "power-C", "--noise", "normal", "--draws", "250", "--json"]
    status = main([*told, "--targets", "c4_loss,pile_loss", "--out", str(tmp_path / "fits")])
    document = json.loads(capsys.readouterr().out)
    assert status == (0 if document["diagnostics"]["ok"] else 1)
    assert list(document["targets"]) == ["c4_loss", "pile_loss"]
    assert all(Path(name).is_file() for name in document["out"])
    assert main([*told, "--share", "gamma"]) == 2
    assert main([*told, "--targets", "c4_loss,pile_loss", "--plots", "x"]) == 2


@pytest.mark.slow
def test_shared_and_own_parameters_are_covered() -> None:
    """Truths drawn from the priors, the errors independent: nine tenths of the 90 % intervals hold them."""
    count, names = 50, ("a", "b", "c")
    model = Model(LAW, Noise("normal")).with_priors(
        E="LogNormal(0.6, 0.1)", c="LogNormal(-0.5, 0.2)", gamma="LogNormal(-1.9, 0.15)", sigma="LogNormal(-5.5, 0.4)"
    )
    model = model.pool(TARGET, "E", "c", "sigma", independent=True)
    generator = np.random.default_rng(8)
    labels = np.repeat(np.array(names, dtype=object), COMPUTE.size)
    bare = bayescale.Runs.from_arrays(C=np.tile(COMPUTE, 3), loss=np.ones(labels.size), target=labels)
    model = model.on(bare)
    columns, truth = model.data(bare), model.sample_priors(count, seed=2)
    inside = []
    for k in range(count):
        theta = {name: values[k] for name, values in truth.items()}
        mean = np.asarray(model.log_mean(columns, theta))
        observed = mean + np.repeat(theta["sigma"], COMPUTE.size) * generator.standard_normal(labels.size)
        made = sample(model, pad(columns, observed, anchors_of(model, columns)), Sampler(chains=1, draws=600), k).theta
        for name, values in made.items():
            base, _, label = name.partition("[")
            true = theta[base][names.index(label[:-1])] if label else theta[base]
            low, high = np.quantile(values, [0.05, 0.95])
            inside.append(low <= true <= high)
    share = np.mean(np.reshape(inside, (count, -1)), axis=1)
    # each table is one independent draw; three standard errors of their mean
    assert abs(share.mean() - 0.9) < 3 * share.std() / np.sqrt(count)
