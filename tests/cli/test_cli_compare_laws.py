"""`bayescale compare-laws`: its document, its flags, its exit status, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayescale.comparison
from bayescale.comparison import LawComparison
from bayescale.comparison._laws import LawAnswer
from bayescale.comparison._loo import LeaveOneOut
from bayescale.fits import Fit


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch, simulated_fit: Fit) -> dict[str, Any]:
    """What the command asks of the library; the answer stands there already, with the warnings in ``warnings``."""
    seen: dict[str, Any] = {"warnings": ()}

    def answer(runs: Any, laws: list[str], **settings: Any) -> LawComparison:
        seen.update(settings, runs=runs, laws=laws)
        elpd = np.linspace(2.0, 4.0, len(runs))
        made = LawAnswer(laws[0], simulated_fit, LeaveOneOut(elpd, np.full(len(elpd), 0.2), 0.7), 3.0)
        other = replace(made, law=laws[1], loo=LeaveOneOut(elpd - 0.1, np.full(len(elpd), 0.2), 0.7), beyond=5.0)
        return LawComparison(runs.source, len(runs), 5, 1, (replace(made, warnings=seen["warnings"]), other))

    monkeypatch.setattr(bayescale.comparison, "compare_laws", answer)
    return seen


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "runs.csv"
    rows = [f"{N:g},{20 * N:g},{2 + 1e3 / N**0.4:.4f}" for N in np.geomspace(1e7, 1e9, 9)]
    path.write_text("\n".join(["N,D,loss", *rows]))
    return path


def test_document(run: Any, answered: dict[str, Any], table: Path) -> None:
    said = run("compare-laws", table, "--laws", "kappa, chinchilla", "--draws", "100", "--refits", "3", "--json")
    assert said.status == 0, said.err
    rows = said.document["laws"]
    assert [row["law"] for row in rows] == ["kappa", "chinchilla"]
    assert rows[1]["difference"] == pytest.approx(-0.9)
    assert rows[1]["beyond"] == 5.0
    assert "chinchilla forecasts the top of the ladder best" in said.document["verdict"]
    assert answered["laws"] == ["kappa", "chinchilla"]
    assert (answered["refits"], answered["sampler"].draws, answered["noise"]) == (3, 100, "student-t")


def test_a_row_that_is_not_to_be_trusted(run: Any, answered: dict[str, Any], table: Path) -> None:
    answered["warnings"] = ("R-hat is 2",)
    said = run("compare-laws", table)
    assert said.status == 1
    assert "DO NOT TRUST THE ROW OF chinchilla" in said.err
    assert "chinchilla (!)" in said.out
    assert "elpd_loo measures interpolation" in said.out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--laws", "chinchila"], "did you mean chinchilla"),
        (["--laws", ","], "no law is named"),
        (["--noise", "cauchy"], "unknown noise 'cauchy'"),
        (["--refits", "-1"], "-1 is below 0"),
    ],
)
def test_bad_input_is_one_message(run: Any, table: Path, flags: list[str], said: str) -> None:
    found = run("compare-laws", table, *flags, "--json")
    assert found.status == 2
    assert found.out == ""
    assert said in found.err
