"""ATLAS: effective tokens by hand, the sources of each target, the guard, and its monolingual limit."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale.errors import FitError, RunsError
from bayescale.lab import MultilingualDesign, simulate_runs
from bayescale.laws.atlas import GUARD, Atlas, guarded
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.data_constrained_d import DataConstrainedD
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.procedures import fit
from bayescale.runs import Runs

THETA = {"E": 0.7, "a": 0.08, "b": 0.24, "alpha": 0.42, "beta": 0.45, "tau": 0.1, "tau_other": 0.03, "lambda_D": 0.2}
WIDE = {
    "target": ["en", "sw", "sw"],
    "N": [1e9, 1e9, 2e9],
    "tokens[en]": [2e10, 1e10, 0.0],
    "tokens[sw]": [0.0, 2e9, 4e9],
    "tokens[fr]": [1e10, 5e9, np.nan],
    "tokens[de]": [2e9, 0.0, 1e9],
    "unique[sw]": [1e9, 1e9, 1e9],
}


def fresh(seen: float, unique: float, rate: float) -> float:
    return seen if seen <= unique else unique * (1.0 + (1.0 - np.exp(-rate * (seen / unique - 1.0))) / rate)


class TestTokens:
    def test_effective_tokens_by_hand(self) -> None:
        law = Atlas(k=1, sources={"en": ["fr"], "sw": ["en"]})
        read = law.read(WIDE)
        assert {
            name: values.shape for name, values in read.items() if name != "D_i" and name != "U_i"
        } == dict.fromkeys(("D_t", "U_t", "D_other", "U_other"), (3,))
        loss = np.asarray(law.loss(np.array(WIDE["N"]), **read, **THETA))
        own = [2e10, fresh(2e9, 1e9, 0.2), fresh(4e9, 1e9, 0.2)]
        from_source, from_others = [1e10, 1e10, 0.0], [2e9, 5e9, 1e9]
        for row in range(3):
            D = own[row] + 0.1 * from_source[row] + 0.03 * from_others[row]
            by_hand = 0.7 + 0.08 * (WIDE["N"][row] / 1e9) ** -0.42 + 0.24 * (D / 2e10) ** -0.45
            assert loss[row] == pytest.approx(by_hand, rel=1e-12)

    def test_without_other_languages_it_is_the_data_constrained_law(self) -> None:
        alone = {"D_i": 0.0, "U_i": 1.0, "D_other": 0.0, "U_other": 1.0}
        names = {name: THETA[name] for name in ("E", "a", "b", "alpha", "beta")}
        for D, U in ((2e10, 2e10), (5e10, 1e9)):
            mono = float(Atlas().loss(1e9, D, U, **alone, **THETA))
            assert mono == pytest.approx(float(DataConstrainedD().loss(1e9, D, U, lambda_D=0.2, **names)), rel=1e-12)
        assert float(Atlas().loss(1e9, 2e10, 2e10, **alone, **THETA)) == pytest.approx(
            float(Chinchilla().loss(1e9, 2e10, **names)), rel=1e-12
        )

    def test_sources_are_those_most_sampled_with_the_target(self) -> None:
        law = Atlas(k=2).on(WIDE)
        assert dict(law.sources) == {"en": ("fr", "de"), "sw": ("en", "fr")}
        assert dict(Atlas(k=None).on(WIDE).sources)["sw"] == ("en", "fr", "de")
        assert law.on({"target": ["de"]}) is law, "settled once"
        assert Atlas(**law.settings) == law

    def test_an_unseen_target_brings_its_own_sources(self) -> None:
        law = Atlas(k=2).on(WIDE)
        labels = law.labels(WIDE | {"target": ["de"] * 3, "tokens[de]": [1e9] * 3})
        assert labels["source"].shape == (3, 2)
        assert set(labels["target"]) == {"de"}

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"target": ["en", "sw", "xx"]}, r"target 'xx' has no column tokens\[xx\]"),
            ({"target": ["en", "sw", "en"]}, "run 3: its loss is that of en, of which it saw no tokens"),
            ({"tokens[fr]": ["a", "b", "c"]}, r"column 'tokens\[fr\]' holds something that is no number of tokens"),
        ],
    )
    def test_tables_that_are_none(self, changed: dict[str, list[str]], said: str) -> None:
        with pytest.raises(RunsError, match=said):
            Atlas().on(WIDE | changed)
        with pytest.raises(RunsError, match=r"tokens\[\.\.\] is missing"):
            Atlas().on({"target": ["en"]})


class TestGuard:
    def test_it_changes_nothing_above_and_is_smooth_and_positive_below(self) -> None:
        above = np.linspace(GUARD + 1e-9, 5.0, 50)
        np.testing.assert_array_equal(guarded(above), above)
        below = np.linspace(-50.0, GUARD, 2001)
        values = np.asarray(guarded(below))
        assert (values > 0).all()
        assert (np.diff(values) > 0).all()
        slope = (guarded(GUARD) - guarded(GUARD - 1e-6)) / 1e-6
        assert slope == pytest.approx(1.0, rel=1e-4)  # second-order term: 1e-6 / GUARD

    def test_rows_under_it_are_listed(self) -> None:
        law = Atlas(k=1, sources={"en": ["fr"], "sw": ["en"]})
        theta = {"tau": np.full((3, 1), -0.5), "tau_other": 0.0, "lambda_D": 0.2}
        said = law.remarks({"N": np.array(WIDE["N"])} | law.read(WIDE), theta)
        assert len(said) == 1
        assert "in 1 of 3 rows (2)" in said[0]
        assert not law.remarks(law.read(WIDE), theta | {"tau": np.zeros((3, 1))})


class TestPriors:
    def test_transfer_scores_are_a_regressor(self) -> None:
        law = Atlas(k=1, transfer={("en", "fr"): 0.5, ("sw", "en"): -1.0}).on(WIDE)
        model = Model(law).on(_runs())
        assert model.pools["tau"].slope is not None
        _, link = model.structure("tau")
        assert dict(zip(model.groups_of["tau"].labels, link, strict=True)) == pytest.approx(
            {("en", "fr"): 0.5 / 1.5, ("sw", "en"): -1.0 / 3.0}
        )
        assert "tau_slope" in model.scalars
        assert "tau_slope" not in Model(Atlas(k=1)).scalars

    def test_only_the_posterior_gives_it(self) -> None:
        with pytest.raises(FitError, match="least-squares cannot fit atlas"):
            fit(_runs(), "atlas", "least-squares")


def _runs() -> Runs:
    return Runs.from_arrays(loss=[2.0, 3.0, 3.1], **{name: np.array(values) for name, values in WIDE.items()})


@pytest.mark.slow
def test_it_gets_its_parameters_back() -> None:
    model = Model(Atlas(k=2), Noise("normal")).with_priors(sigma="LogNormal(log(0.005), 1.0)")
    design = MultilingualDesign(languages=4, mono=80, bilingual=60, even=32, unimax=16)
    made = simulate_runs(model, design.frame(), {"sigma": 0.005}, seed=2)
    runs = Runs.from_arrays(**{str(name): made.frame[name].to_numpy() for name in made.frame})
    fitted = fit(runs, Atlas(k=2), noise="normal", priors={"sigma": "LogNormal(log(0.005), 1.0)"}, seed=0)
    assert fitted.diagnostics.divergences == 0
    for name in ("E", "a", "b", "alpha", "beta", "tau", "tau_other", "lambda_D"):
        draws, truth = fitted.theta[name], np.atleast_1d(made.truth[name])
        draws = draws if draws.ndim == 2 else draws[:, None]
        # four posterior sds, over some forty values
        assert (np.abs(draws.mean(axis=0) - truth) < 4.5 * draws.std(axis=0)).all(), name
