"""Laws of many languages on held-out runs: what is held out, and that the law behind the runs comes first."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayescale.cli import main
from bayescale.evaluation._language_laws import LAWS
from bayescale.evaluation.languages import SPLITS, _held_out
from bayescale.lab import MultilingualDesign, simulate_runs
from bayescale.laws._mixtures import Mixture
from bayescale.laws.atlas import Atlas
from bayescale.model import Model
from bayescale.noise import Noise


@pytest.fixture(scope="module")
def simulated() -> pd.DataFrame:
    """Runs of three languages that follow ATLAS, transfer large enough to see."""
    design = MultilingualDesign(languages=3, mono=60, bilingual=60, even=40, unimax=20).frame()
    truth = {"sigma": 0.002, "tau": 0.3, "tau_other": 0.1, "lambda_D": 0.15, "beta": 0.45, "b": 0.4}
    return simulate_runs(Model(Atlas(k=2), Noise("normal")), design, truth, seed=1).frame


def test_what_each_split_holds_out() -> None:
    table = {
        "target": ["en"] * 6,
        "tokens[en]": [1e9, 1e9, 1e9, 1e9, 1e9, 9e9],
        "tokens[fr]": [0.0, 1e9, 1e9, 5e9, 0.0, 0.0],
        "tokens[sw]": [0.0, 0.0, 1e9, 1e9, 0.0, 0.0],
    }
    N = np.array([1e8, 7e8, 1e8, 1e8, 9e9, 2e9])
    held = _held_out(N, Mixture(table), 0)
    assert set(held) == set(SPLITS)
    # an even mixture of three; the fourth run, as wide and uneven, is the flattened mixture of all
    assert held["R2(M)"].tolist() == [False, False, True, False, False, False]
    assert held["R2(N)"].tolist() == [False, True, False, False, True, False]
    assert held["R2(D)"].tolist() == [False, False, False, False, False, True]
    assert held["R2(C)"].tolist() == [False, False, False, False, False, True]


def test_the_law_behind_the_runs_is_ahead(
    simulated: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "runs.csv", tmp_path / "r2.csv"
    simulated[simulated["target"] == "fr"].to_csv(path, index=False)
    assert main(["languages", str(path), "--sources", "2", "--json", "--out", str(out)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(out.read_text().splitlines()) == 1 + len(document["by_language"])
    r2 = {row["law"]: row for row in document["table"]}
    assert list(r2) == list(LAWS)
    for split in ("R2", "R2(C)", "R2(M)"):
        # noise of .2 % is some thousandth of the variance of losses that differ by a tenth
        assert r2["atlas"][split] > 0.98
        assert r2["chinchilla"][split] < r2["atlas"][split]
    assert r2["atlas, D_t"]["R2"] < r2["atlas, D_t + D_other"]["R2"] < r2["atlas"]["R2"]


def test_tables_that_are_none(simulated: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.csv"
    simulated.drop(columns="target").to_csv(path, index=False)
    assert main(["languages", str(path)]) == 2
    assert "target is missing" in capsys.readouterr().err
    simulated.head(8).to_csv(path, index=False)
    assert main(["languages", str(path)]) == 2
    assert "no language has 3 runs to hold out" in capsys.readouterr().err
