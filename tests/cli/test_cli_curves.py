"""`bayescale curves`: what it writes, says and exits with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Two plain curves, one target each."""
    x = np.array([1e6, 2e6, 4e6, 8e6, 16e6, 32e6])
    parts = [
        pd.DataFrame({"task": name, "x": x, "y": [*(floor + (x[:5] / 1e6) ** -0.4), None]})
        for name, floor in (("a", 0.5), ("b", 1.5))
    ]
    path = tmp_path / "tasks.csv"
    pd.concat(parts).to_csv(path, index=False)
    return path


def test_forecasts_are_written_and_counted(run: Any, tasks: Path, tmp_path: Path) -> None:
    out = tmp_path / "pred.csv"
    said = run("curves", str(tasks), "--out", str(out), "--json")
    assert said.status == 0, said.err
    assert said.document["n_tasks"] == 2
    assert said.document["seconds"] > 0
    assert said.document["untrusted"] == {}
    written = pd.read_csv(out)
    assert list(written.row) == [6, 12]
    assert written.logp.isna().all()
    truth = np.array([0.5, 1.5]) + 32**-0.4
    assert ((written.q005 < truth) & (truth < written.q995)).all()


def test_doubts_exit_1_and_are_named(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "far.csv"
    path.write_text("task,x,y\nz,1,3\nz,2,2.5\nz,3,2.3\nz,4,2.2\nz,900,\n")
    said = run("curves", str(path))
    assert said.status == 1
    assert "DO NOT TRUST 1 OF 1" in said.err
    assert "z: x is extrapolated 225 times" in said.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.csv"], "cannot be read as CSV"),
        (["{tasks}", "--prior-set", "none.json"], "cannot be read"),
        (["{tasks}", "--cross-fit"], "learning needs at least 2"),
        (["{tasks}", "--out", "no/such/folder.csv"], "--out no/such/folder.csv: the folder no/such does not exist"),
    ],
)
def test_bad_input_exits_2_with_one_line(run: Any, tasks: Path, arguments: list[str], words: str) -> None:
    said = run("curves", *(argument.format(tasks=tasks) for argument in arguments))
    assert said.status == 2
    assert said.out == ""
    assert words in said.err
    assert len(said.err.splitlines()) == 1


def test_a_prior_set_is_learnt_and_used(run: Any, tasks: Path, tmp_path: Path) -> None:
    table = pd.read_csv(tasks)
    table["split"] = np.where(table.y.isna(), "tgt", "ctx")
    table["y"] = table.y.fillna(1.0)
    path, learnt = tmp_path / "known.csv", tmp_path / "mine.json"
    table.to_csv(path, index=False)
    assert run("curves", str(path), "--learn", str(learnt)).status == 0
    said = run("curves", str(tasks), "--prior-set", str(learnt), "--json")
    assert said.status == 0
    assert said.document["prior_set"] == "learnt"
