"""`bayescale.fit`: what it takes for a table, a law, noise, priors and settings, and what it refuses.

What reaches the procedure is looked at; nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayescale.errors import BayescaleError, FitError, LawError, NoiseError, PriorError, RunsError
from bayescale.inference.sampler import Sampler
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.power_c import PowerC
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.prior import Prior
from bayescale.procedures import NUTS, fit, reference_for
from bayescale.procedures._posterior import with_pinned
from bayescale.runs import Runs

FRAME = pd.DataFrame({"params": ["100M", "1B", "10B"], "tokens": ["2B", "20B", "200B"], "val_loss": [3.0, 2.5, 2.2]})


class Seen:
    """What a procedure was asked for."""

    model: Model
    sampler: Sampler
    runs: Runs
    seed: int


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    caught = Seen()

    def note(self: NUTS, runs: Runs, seed: int = 0, progress: Any = None) -> Seen:
        caught.model, caught.sampler, caught.runs, caught.seed = self.model, self.settings, runs, seed
        return caught

    monkeypatch.setattr(NUTS, "fit", note)
    return caught


class TestTables:
    @pytest.mark.parametrize("kind", ["frame", "path", "text", "mapping", "runs"])
    def test_of_every_kind(self, seen: Seen, tmp_path: Path, kind: str) -> None:
        path = tmp_path / "runs.csv"
        FRAME.to_csv(path, index=False)
        table: Any = {
            "frame": FRAME,
            "path": path,
            "text": str(path),
            "mapping": {"N": [1e8, 1e9, 1e10], "D": [2e9, 2e10, 2e11], "loss": [3.0, 2.5, 2.2]},
            "runs": Runs.read(FRAME),
        }[kind]
        fit(table)
        assert seen.runs["N"].tolist() == [1e8, 1e9, 1e10]
        assert seen.runs["loss"].tolist() == [3.0, 2.5, 2.2]

    def test_only_what_is_read_must_be_sound(self, seen: Seen) -> None:
        frame = FRAME.assign(flops=[1e18, -1.0, np.nan])
        fit(frame, "power-N")
        assert seen.runs["N"].tolist() == [1e8, 1e9, 1e10]

    def test_what_is_missing_is_named(self) -> None:
        with pytest.raises(RunsError, match=r"no column holds D \(training tokens\)"):
            fit(FRAME.drop(columns="tokens"))
        with pytest.raises(RunsError, match="no column holds loss"):
            fit(FRAME.drop(columns="val_loss"))
        with pytest.raises(RunsError, match="batch"):
            fit(FRAME, noise="normal(batch)")
        with pytest.raises(RunsError):
            fit("nowhere.csv")

    @pytest.mark.parametrize("loss", [np.nan, -1.0, 0.0])
    def test_a_loss_that_is_none(self, loss: float) -> None:
        with pytest.raises(RunsError, match=r"row 2.*val_loss|val_loss.*row 2"):
            fit(FRAME.assign(val_loss=[3.0, loss, 2.2]))
        # and in a table that was read for something else
        runs = Runs.read(FRAME.assign(val_loss=[3.0, loss, 2.2]), needs=["N", "D"])
        with pytest.raises(RunsError, match=r"run 2 of DataFrame: its loss is"):
            fit(runs)


class TestModels:
    def test_defaults(self, seen: Seen) -> None:
        fit(FRAME)
        assert seen.model == Model(Chinchilla(), Noise("student-t"))
        assert seen.sampler == Sampler()
        assert seen.seed == 0

    def test_everything_said(self, seen: Seen) -> None:
        fit(
            FRAME,
            "chinchilla",
            noise="normal(D)",
            priors={"E": "LogNormal(0.6, 0.2)", "alpha": 0.35, "b": Prior("HalfNormal", 1.0)},
            seed=5,
            draws=10,
            chains=2,
            warmup=20,
            target_accept=0.9,
            max_tree_depth=7,
        )
        assert seen.model.noise == Noise("normal", ("D",))
        assert dict(seen.model.overrides) == {
            "E": Prior("LogNormal", 0.6, 0.2),
            "alpha": Prior("Fixed", 0.35),
            "b": Prior("HalfNormal", 1.0),
        }
        assert seen.sampler == Sampler(chains=2, draws=10, warmup=20, target_accept=0.9, max_tree_depth=7)
        assert seen.seed == 5

    def test_a_law_of_ones_own_stays_where_it_is(self, seen: Seen) -> None:
        fit(FRAME, Chinchilla(N0=1.0, D0=1.0))
        assert seen.model.law == Chinchilla(N0=1.0, D0=1.0)

    @pytest.mark.parametrize(
        ("arguments", "error", "said"),
        [
            ({"law": "chinchila"}, LawError, "did you mean chinchilla"),
            ({"procedure": "mcmc"}, FitError, "there is no procedure called 'mcmc'"),
            ({"noise": "gauss"}, NoiseError, "unknown noise 'gauss'"),
            ({"priors": {"alhpa": 0.3}}, PriorError, "did you mean alpha"),
            ({"priors": {"E": "Lognormal(1)"}}, PriorError, "unknown prior family 'Lognormal'"),
            ({"steps": 5}, FitError, r"nuts has no setting 'steps'; its settings are chains, draws, .*"),
            ({"draws": 2}, FitError, "draws must be at least 4, got 2"),
        ],
    )
    def test_what_is_refused(self, arguments: dict[str, Any], error: type[BayescaleError], said: str) -> None:
        with pytest.raises(error, match=said):
            fit(FRAME, **arguments)

    def test_everything_pinned_leaves_nothing_to_fit(self) -> None:
        everything = {"E": 1.8, "a": 0.3, "b": 0.3, "alpha": 0.3, "beta": 0.3, "sigma": 0.01}
        with pytest.raises(FitError, match="every parameter is pinned to a number, so there is nothing to fit"):
            fit(FRAME, noise="normal", priors=everything)


class TestReferenceRun:
    def test_the_usual_one_for_usual_tables(self, simulate: Callable[..., Runs]) -> None:
        assert reference_for(Chinchilla(), simulate()) == Chinchilla()

    def test_tiny_models_get_their_own(self) -> None:
        tiny = Runs.from_arrays(N=[1e3, 4e3, 9e3], D=[1e5, 1e6, 1e7], loss=[2.5, 2.3, 2.2])
        law = reference_for(Chinchilla(), tiny)
        # geometric means to one digit; C0 follows
        assert law.reference_run == {"N": 3e3, "D": 1e6, "C": 6 * 3e3 * 1e6}

    def test_a_law_of_compute_alone(self) -> None:
        tiny = Runs.from_arrays(C=[1e9, 1e10, 1e11], loss=[2.5, 2.3, 2.2])
        assert reference_for(PowerC(), tiny).C0 == 1e10
        usual = Runs.from_arrays(C=[1e20, 1e21, 1e22], loss=[2.5, 2.3, 2.2])
        assert reference_for(PowerC(), usual) == PowerC()

    def test_fit_uses_it(self, seen: Seen) -> None:
        fit({"N": [1e3, 4e3, 9e3], "D": [1e5, 1e6, 1e7], "loss": [2.5, 2.3, 2.2]})
        assert seen.model.law.N0 == 3e3


def test_pinned_parameters_are_in_the_fit_as_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(Chinchilla()).with_priors(alpha=0.35, nu=4.0)
    samples = type("Samples", (), {})()
    samples.stats = {"lp": np.zeros((2, 3))}
    samples.theta = {name: np.ones((2, 3)) for name in ("E", "a", "b", "beta", "sigma")}
    drawn = with_pinned(model, samples)
    assert list(drawn) == list(model.priors)
    np.testing.assert_array_equal(drawn["alpha"], np.full((2, 3), 0.35))
    np.testing.assert_array_equal(drawn["nu"], np.full((2, 3), 4.0))
