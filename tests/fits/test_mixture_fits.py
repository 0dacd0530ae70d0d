"""Fits of the mixture laws: from a table to forecasts and the best mixture, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayescale.cli import main
from bayescale.errors import TargetError
from bayescale.fits import Fit, optimal_mixture
from bayescale.laws.data_mixing import DataMixing
from bayescale.laws.optimal_mixture import OptimalMixture
from bayescale.laws.shares import lowest_shares
from bayescale.procedures import fit
from bayescale.runs import Runs

# What each domain alone would leave of two losses: each has a domain of its own, and the third is of use to neither.
OWN = {"code": np.array([0.2, 1.5, 1.2]), "web": np.array([1.4, 0.4, 1.0])}
FLOORS = {"code": 0.8, "web": 2.0}
SIGMA = 0.003
DOMAINS = ("code", "web", "books")
RATIO = "--column", "share[*]=weight_*"


def table(size: int, seed: int) -> pd.DataFrame:
    """Random mixtures, and both losses with noise, in columns as tables have them."""
    generator = np.random.default_rng([seed, 2403])
    shares = generator.dirichlet([1.5] * 3, size)
    made = {f"weight_{name}": shares[:, place] for place, name in enumerate(DOMAINS)}
    for name, own in OWN.items():
        mean = np.asarray(DataMixing().loss(shares, c=FLOORS[name], k=np.tile(own, (size, 1))))
        made[f"{name}_loss"] = mean * np.exp(SIGMA * generator.standard_normal(size))
    return pd.DataFrame(made)


def fitted(frame: pd.DataFrame, target: str, **settings: Any) -> Fit:
    runs = Runs.read(frame, columns={"share[*]": "weight_*", "loss": f"{target}_loss"}, needs=("loss",))
    return fit(runs, "data-mixing", draws=400, **settings)


@pytest.fixture(scope="module")
def fits() -> dict[str, Fit]:
    """Both losses of 60 runs."""
    return {target: fitted(table(60, 0), target) for target in OWN}


def test_it_gets_its_parameters_back(fits: dict[str, Fit]) -> None:
    for target, own in OWN.items():
        found = fits[target]
        assert found.diagnostics.divergences == 0
        assert found.diagnostics.max_rhat < 1.02  # 1,000 draws
        draws = {"c": found.theta["c"], **dict(zip(sorted(DOMAINS), found.theta["k"].T, strict=True))}
        truth = {"c": FLOORS[target], **dict(zip(DOMAINS, own, strict=True))}
        for name, value in truth.items():
            # four posterior sds, over eight values
            assert abs(draws[name].mean() - value) < 4 * draws[name].std(), (target, name)
            assert draws[name].std() < 0.2 * value, (target, name)


def test_the_best_mixture_of_two_losses(fits: dict[str, Fit]) -> None:
    made = optimal_mixture(fits, weights={"code": 2.0, "web": 1.0}, draws=100)
    assert made["share"].dims == ("sample", "domain")
    np.testing.assert_allclose(made["share"].sum("domain"), 1.0, atol=1e-12)
    truth = best({"code": 2.0, "web": 1.0})
    share = made["share"]
    for name, value in zip(DOMAINS, truth, strict=True):
        one = share.sel(domain=name).values
        assert abs(one.mean() - value) < 4 * one.std() + 1e-6, name
    assert made["loss"].sel(target="code").values == pytest.approx(
        np.asarray([DataMixing().loss(h, c=c, k=k) for h, c, k in zip(share.values, *some(fits["code"]), strict=True)])
    )
    # none of the third is best, and no run had none
    assert dict(zip(made["domain"].values, made["inside"].values, strict=True)) == {
        "books": False, "code": True, "web": True,
    }  # fmt: skip


def some(found: Fit) -> tuple[np.ndarray, np.ndarray]:
    keep = np.linspace(0, len(found.theta["c"]) - 1, 100).astype(int)
    return found.theta["c"][keep], found.theta["k"][keep]


def best(weights: dict[str, float]) -> np.ndarray:
    """The best mixture at the true parameters, in the order of `DOMAINS`."""
    own = np.stack([OWN[name] for name in weights])

    def loss(h: Any, own: Any) -> Any:
        each = [weight * DataMixing().loss(h, c=0.0, k=own[i]) for i, weight in enumerate(weights.values())]
        return sum(each)

    return lowest_shares(loss, {"own": own[None]}, 3)[0]


def test_a_mixture_that_cannot_be_found_is_refused(fits: dict[str, Fit], simulated_fit: Fit) -> None:
    with pytest.raises(TargetError, match="loss is a fit of chinchilla, which does not read the shares"):
        optimal_mixture(simulated_fit)
    with pytest.raises(TargetError, match="weights are of code, and targets are code, web"):
        optimal_mixture(fits, weights={"code": 1.0})
    with pytest.raises(TargetError, match=r"the weight of web is -1\.0; expected a number above 0"):
        optimal_mixture(fits, weights={"code": 1.0, "web": -1.0})
    with pytest.raises(TargetError, match="every run is of all: it splits no budget"):
        fits["code"].allocation([1e21])
    with pytest.raises(TargetError, match="there is no fit of one domain"):
        fits["code"].of(domain="web")


def test_forecasts_say_whether_a_mixture_lies_inside(fits: dict[str, Fit]) -> None:
    at = {"share[code]": [0.3, 1.0], "share[web]": [0.4, 0.0], "share[books]": [0.3, 0.0]}
    made = fits["code"].forecast(at)
    assert made["inside"].values.tolist() == [True, False]
    assert made["share[code]"].values.tolist() == [0.3, 1.0]
    alone = FLOORS["code"] + OWN["code"][0]
    one = made["mean_loss"].values[:, 1]
    assert abs(one.mean() - alone) < 4 * one.std()


def test_from_a_table_to_a_forecast_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fits: dict[str, Fit]
) -> None:
    path, saved = tmp_path / "runs.csv", str(tmp_path / "fit.nc")
    table(60, 0).to_csv(path, index=False)
    settings = ("--draws", "400", "--json", "--out", saved)
    status = main(["fit", str(path), "--law", "data-mixing", "--column", "loss=code_loss", *RATIO, *settings])
    document = json.loads(capsys.readouterr().out)
    assert status == 0, document["diagnostics"]
    assert {"c", "k[code]", "k[web]", "k[books]"} <= set(document["parameters"])
    np.testing.assert_array_equal(Fit.load(saved).theta["k"], fits["code"].theta["k"])

    at = "share[code]=1,share[web]=0,share[books]=0"
    assert main(["forecast", saved, "--at", at, "--json"]) == 0
    forecast = json.loads(capsys.readouterr().out)["forecasts"][0]
    assert forecast["inputs"] == {"share[books]": 0.0, "share[code]": 1.0, "share[web]": 0.0}
    assert forecast["mean_loss"]["q05"] < FLOORS["code"] + OWN["code"][0] < forecast["mean_loss"]["q95"]
    assert main(["forecast", saved, "--runs", str(path), *RATIO, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["forecasts"]) == 60

    for wrong, said in (
        (["forecast", saved, "--at", "share[code]=0.5,share[web]=0.4,share[books]=0"], "add up to 0.9, not to 1"),
        (["forecast", saved, "--at", "share[code]=0.5,share[web]=0.5"], "share[books] is missing"),
        (["allocate", saved, "--flops", "1e21"], "it splits no budget"),
        (["fit", str(path), "--law", "data-mixing", "--column", "loss=code_loss"], '--column "share[*]=weight_*"'),
        (["fit", str(path), "--law", "data-mixing", "--column", "share[*]=wieght_*"], "has no such column"),
        (["fit", str(path), "--law", "data-mixing", "--column", "share[*]=weight"], "a star stands for the name"),
    ):
        assert main(wrong) == 2
        assert said in capsys.readouterr().err


@pytest.mark.slow
def test_the_best_mixture_is_covered() -> None:
    """Intervals of h* over simulated tables with one truth, whose best mixture lies inside for two of three domains."""
    weights = {"code": 1.0, "web": 1.0}
    truth, held = best(weights), []
    for seed in range(1, 61):
        found = {target: fitted(table(60, seed), target, seed=seed) for target in OWN}
        share = optimal_mixture(found, draws=400)["share"].sel(domain=["code"]).values
        low, high = np.quantile(share, [0.05, 0.95], axis=0)
        held += ((low <= truth[:1]) & (truth[:1] <= high)).tolist()
    # 60 tables: the binomial sd of a coverage of .9 is .039
    assert 0.8 <= np.mean(held) <= 0.98


@pytest.mark.slow
def test_the_additive_law_gets_its_parameters_back() -> None:
    truth = {"E": 1.2, "m": 0.6, "a": 0.3, "b": 0.3, "alpha": 0.35, "beta": 0.4}
    worth, gamma = np.array([2.0, 0.7, 0.6]), np.array([0.5, 0.6, 0.4])
    generator = np.random.default_rng(11)
    shares = generator.dirichlet([0.8] * 3, 240)
    N, D = (np.exp(generator.uniform(*np.log(ends), 240)) for ends in ((3e7, 1e10), (1e9, 1e12)))
    mean = OptimalMixture().loss(N, D, shares, **truth, w=np.tile(worth, (240, 1)), gamma=np.tile(gamma, (240, 1)))
    loss = np.asarray(mean) * np.exp(SIGMA * generator.standard_normal(240))
    runs = Runs.from_arrays(N=N, D=D, loss=loss, **{f"share[{name}]": shares[:, i] for i, name in enumerate("abc")})
    found = fit(runs, "optimal-mixture")
    assert found.diagnostics.max_rhat < 1.01
    assert found.diagnostics.divergences == 0
    published = np.asarray(OptimalMixture(domains="abc").derived(**truth, w=worth, gamma=gamma)["C"])
    drawn, true = {name: found.theta[name] for name in truth}, dict(truth)
    for place, name in enumerate("abc"):
        drawn |= {f"gamma[{name}]": found.theta["gamma"][:, place], f"C[{name}]": found.values[f"C[{name}]"].ravel()}
        true |= {f"gamma[{name}]": gamma[place], f"C[{name}]": published[place]}
    for name, value in true.items():
        # four posterior sds, over twelve values
        assert abs(drawn[name].mean() - value) < 4 * drawn[name].std(), name
    # the best mixture of one target, against the marginal returns at the truth
    share = optimal_mixture(found, N=1e9, D=2e10, draws=200)["share"].mean("sample").values
    returns = published * gamma * share ** (gamma - 1)
    assert returns.max() / returns.min() < 1.3  # posterior sds of C and gamma of a tenth
