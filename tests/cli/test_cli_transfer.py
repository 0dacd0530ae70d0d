"""`bayescale transfer`: keys, exit status, files, and bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def curves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three seeds of German alone and beside English, whose tokens are worth a fifth."""
    generator, rows = np.random.default_rng(0), []
    for source, worth, end in (("", 1.0, 1.25), ("en", 0.6, 4.0)):
        tokens = 42e9 * end * np.linspace(0.1, 1.0, 30)
        for seed in range(3):
            loss = (1.0 + (worth * tokens / 42e9) ** -0.3) * np.exp(0.003 * generator.standard_normal(30))
            rows.append(pd.DataFrame({"target": "de", "source": source, "seed": seed, "tokens": tokens, "loss": loss}))
    path = tmp_path_factory.mktemp("transfer") / "curves.csv"
    pd.concat(rows).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = np.random.default_rng(1)
    names = list("abcdef")
    rows = [
        {"target": t, "source": s, "score": round(0.3 * i - 0.8 + 0.1 * generator.standard_normal(), 3)}
        for i, t in enumerate(names)
        for s in names
        if s != t
    ]
    frame = pd.DataFrame(rows)
    frame.loc[[3, 17], "score"] = np.nan
    path = tmp_path_factory.mktemp("transfer") / "pairs.csv"
    frame.to_csv(path, index=False)
    return path


def test_scores_as_json_and_as_a_file(run: Any, curves: Path, tmp_path: Path) -> None:
    said = run("transfer", "scores", curves, "--mono-tokens", "42B", "--json", "--out", tmp_path / "scores.csv")
    assert said.status == 0, said.err
    (pair,) = said.document["pairs"]
    assert (pair["target"], pair["source"]) == ("de", "en")
    assert set(pair["score"]) == {"q05", "q25", "median", "q75", "q95"}
    # 2 - 2 / 1.2, with three seeds that differ by .1 % on average
    assert pair["score"]["median"] == pytest.approx(1 / 3, abs=0.15)
    assert said.document["diagnostics"]["ok"] is True
    assert {"p_never", "p_beyond", "raw", "sd", "runs_mono", "runs_bi", "pareto_k"} <= set(pair)
    written = pd.read_csv(tmp_path / "scores.csv")
    assert list(written.columns[:4]) == ["target", "source", "score", "sd"]
    assert written["score"][0] == pytest.approx(pair["score"]["median"])


def test_one_seed_is_exit_status_1_and_a_known_sd_0(run: Any, curves: Path) -> None:
    one = ("transfer", "scores", curves, "--mono-tokens", "42B", "--where", "seed == 0")
    said = run(*one)
    assert said.status == 1
    assert "DO NOT TRUST THIS" in said.err
    assert "--run-sd" in said.err
    assert "en -> de" in said.out
    assert run(*one, "--run-sd", "0.003").status == 0


def test_matrix_as_json_with_files(run: Any, pairs: Path, tmp_path: Path) -> None:
    said = run(
        "transfer", "matrix", pairs, "--json", "--out", tmp_path / "all.csv", "--plots", tmp_path, "--holdout", 0.2,
        "--repeats", 1, "--draws", 400,
    )  # fmt: skip
    assert said.status == 0, said.err
    document = said.document
    assert (document["n_languages"], document["n_measured"]) == (6, 28)
    assert len(document["pairs"]) == 30
    unknown = [pair for pair in document["pairs"] if not pair["measured"]]
    assert len(unknown) == 2
    assert all(pair["sd"] > 0 for pair in unknown)
    assert set(document["parameters"]) == {"mean", "sd_target", "sd_source", "sd_pair", "sd_rest"}
    assert set(document["targets"]) == set("abcdef")
    assert set(document["holdout"]["summary"]) == {"posterior", "least-squares", "mean"}
    assert [Path(name).suffix for name in document["plots"]] == [".png", ".pdf"]
    assert len(pd.read_csv(tmp_path / "all.csv")) == 30


def test_matrix_as_text(run: Any, pairs: Path, tmp_path: Path) -> None:
    groups = tmp_path / "groups.csv"
    groups.write_text("language,script\n" + "\n".join(f"{name},{'x' if name < 'd' else 'y'}" for name in "abcdef"))
    said = run("transfer", "matrix", pairs, "--groups", groups, "--draws", 100)
    assert "28 of 30 pairs of 6 languages have a score" in said.out
    assert "same_script" in said.out
    assert "2 pairs predicted" in said.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["scores", "{curves}"], "needs --mono-tokens"),
        (["scores", "{pairs}", "--mono-tokens", "42B"], "no column holds D"),
        (["matrix", "{curves}"], "has no column 'score'"),
        (["matrix", "{pairs}", "--out", "x.txt"], "give a name that ends in .csv"),
        (["matrix", "{pairs}", "--holdout", "2"], "between 0 and 1"),
        (["matrix", "nothing.csv"], "there is no file"),
    ],
)
def test_bad_input_is_exit_status_2_with_a_reason(
    run: Any, curves: Path, pairs: Path, arguments: list[str], said: str
) -> None:
    found = run("transfer", *(text.format(curves=curves, pairs=pairs) for text in arguments))
    assert found.status == 2
    assert said in found.err
    assert found.out == ""
