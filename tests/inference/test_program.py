"""Traced programs that are kept on disk: the same numbers, no second trace, and no file where it could be wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayescale._float64 import jax, jnp
from bayescale.inference import compiled
from bayescale.inference import program as programs
from bayescale.inference.density import Table
from bayescale.inference.program import TRACES, program
from bayescale.inference.sample import sample
from bayescale.inference.sampler import Sampler
from bayescale.laws import parse
from bayescale.laws.power_c import PowerC
from bayescale.model import Model
from bayescale.prior import Prior

Make = Callable[[], Callable[..., Any]]
POINTS = {"E": np.array([1.5, 2.0]), "c": np.array([0.1, 0.2])}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where programs are kept while a test runs."""
    monkeypatch.setattr(programs, "kept_in", lambda: tmp_path / "traced")
    return tmp_path / "traced"


@pytest.fixture
def fresh() -> Make:
    """A program as a new process has it: nothing loaded yet."""

    def priors(model: Model, theta: dict[str, Any]) -> Any:
        return jnp.exp(model.scalars["E"].distribution().log_prob(theta["E"])) + theta["c"]

    return lambda: program(1)(priors)


def traces() -> int:
    """How often the function of these tests has been traced."""
    return TRACES["priors"]


def test_a_second_process_does_not_trace(folder: Path, fresh: Make) -> None:
    model, before = Model(PowerC()), traces()
    first = fresh()(model, POINTS)
    assert traces() == before + 1
    np.testing.assert_array_equal(fresh()(Model(PowerC()), POINTS), first)
    assert traces() == before + 1
    assert [path.name.split("-")[0] for path in folder.iterdir()] == ["priors"]


@pytest.mark.parametrize("other", ["prior", "shape", "source"])
def test_whatever_was_traced_otherwise_is_traced_again(
    other: str, folder: Path, fresh: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model(PowerC())
    first, before = np.asarray(fresh()(model, POINTS)), traces()
    points = POINTS
    if other == "prior":
        model = model.with_priors(E=Prior("LogNormal", 0.6, 0.2))
    elif other == "shape":
        points = {name: values[:1] for name, values in POINTS.items()}
    else:
        monkeypatch.setattr(programs, "_source", lambda: "another version")
    found = np.asarray(fresh()(model, points))
    assert traces() == before + 1
    assert len(list(folder.iterdir())) == 2
    assert (found != first[: len(found)]).any() == (other == "prior")


@pytest.mark.parametrize("damage", [b"", b"no program"], ids=["empty", "foreign"])
def test_a_damaged_file_is_made_again(damage: bytes, folder: Path, fresh: Make) -> None:
    model = Model(PowerC())
    first = fresh()(model, POINTS)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    for content in (damage, whole[: len(whole) // 2]):
        path.write_bytes(content)
        np.testing.assert_array_equal(fresh()(model, POINTS), first)
        assert len(path.read_bytes()) == len(whole)


def test_a_folder_that_cannot_be_written_is_done_without(folder: Path, fresh: Make) -> None:
    folder.write_text("a file in its place")
    assert np.isfinite(fresh()(Model(PowerC()), POINTS)).all()
    assert folder.read_text() == "a file in its place"


def test_laws_made_elsewhere_are_not_kept(folder: Path, fresh: Make) -> None:
    # their source may change while ours, and so the digest, stays as it is
    class Elsewhere(PowerC):
        pass

    assert np.isfinite(fresh()(Model(Elsewhere()), POINTS)).all()
    assert not folder.exists()


def test_draws_are_the_same_to_the_last_bit(
    chinchilla: Model, table: Table, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Sampler(draws=60, fallback=False)
    kept = sample(chinchilla, table, settings, seed=3)
    names = {path.name.split("-")[0] for path in folder.iterdir()}
    assert names == {"unconstrain", "evaluate", "start_chains", "step_chains", "constrain"}
    monkeypatch.setattr(programs, "kept_in", lambda: None)
    plain = sample(chinchilla, table, settings, seed=3)
    for name, draws in plain.theta.items():
        np.testing.assert_array_equal(draws, kept.theta[name])


def test_code_that_changed_since_it_was_loaded_is_not_kept(
    folder: Path, fresh: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a program traced from what was loaded must not go by the digest of what is there now
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "edited.py").write_text("")
    monkeypatch.setattr(programs, "PACKAGE", tmp_path / "package")
    programs._source.cache_clear()
    assert programs._source() is None
    monkeypatch.undo()
    monkeypatch.setattr(programs, "_source", lambda: None)
    monkeypatch.setattr(programs, "kept_in", lambda: folder)
    assert np.isfinite(fresh()(Model(PowerC()), POINTS)).all()
    assert not folder.exists()
    monkeypatch.undo()
    programs._source.cache_clear()


def test_random_keys_pass_by(folder: Path) -> None:
    # the last try takes them, and JAX does not write them down: it is traced as ever
    kernel = Sampler().ladder(5)[-1]
    assert kernel.dense
    frame = compiled.Frame(
        *(np.zeros((1, *shape)) for shape in ((5,), (2, 2), (3, 2), (3, 3), (3,), (2,), (5,), (5, 5)))
    )
    keys = jax.random.split(jax.random.key(0), 2)[None]
    compiled.start_chains(kernel, frame, np.zeros((1, 2, 5)), np.zeros((1, 2)), np.zeros((1, 2, 5)), keys)
    assert not folder.exists()


@pytest.mark.parametrize(
    "less", [{"law": "no law"}, {"overrides": [], "priors": {}}, {"noise": object()}], ids=["law", "priors", "noise"]
)
def test_a_model_that_says_less_than_it_is_is_not_kept(
    less: dict[str, Any], folder: Path, fresh: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, whole = Model(PowerC()).with_priors(E=Prior("LogNormal", 0.6, 0.2)), Model.spec
    monkeypatch.setattr(Model, "spec", lambda self: whole(self) | less)
    assert np.isfinite(fresh()(model, POINTS)).all()
    assert not folder.exists()


@pytest.mark.parametrize("law", ["chinchilla", "kappa", "power-C", "atlas(k=5)", "bnsl-1"])
def test_models_of_the_library_are_kept(law: str) -> None:
    assert programs._told(Model(parse(law))) is not None
