"""`bayescale compare`: its document, its flags, its exit status, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bayescale.errors import FitError
from bayescale.fits import Fit
from bayescale.procedures import names
from bayescale.procedures._procedure import REGISTRY, Procedure

KEYS = {"rows", "verdict"}
ROW = {"procedure", "kind", "N_exponent", "N", "D", "E", "heldout", "seconds", "warnings"}
QUANTILES = {"q05", "q25", "median", "q75", "q95"}


@dataclass(frozen=True)
class FakeSettings:
    """Settings of a procedure that bootstraps."""

    replicates: int = 1000
    delta: float = 1e-3


@pytest.fixture
def fake() -> Iterator[Callable[[str], str]]:
    """``fake("name")``: a procedure in the registry while the test runs; `fitted` answers for it."""
    made: list[str] = []

    def make(name: str) -> str:
        body = {"name": name, "kind": "bootstrap", "summary": "a test", "citation": "none", "Settings": FakeSettings}
        type("Fake", (Procedure,), body)
        made.append(name)
        return name

    yield make
    for name in made:
        del REGISTRY[name]


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch, simulated_fit: Fit, one_size_fit: Fit) -> dict[str, Any]:
    """What the command asks of the library by procedure; the answers are fits that are there already.

    ``nuts`` gives a good fit; what stands in ``bad`` gives one that is not to be trusted, and the others refuse.
    """
    import bayescale.comparison._plan

    seen: dict[str, Any] = {"bad": (), "asked": {}}

    def answer(runs: Any, law: Any, procedure: str, **settings: Any) -> Fit:
        seen["asked"][procedure] = {"runs": runs, "law": law} | settings
        if procedure in seen["bad"]:
            return one_size_fit
        if procedure == "nuts":
            return simulated_fit
        raise FitError(f"{procedure} does not apply to this table")

    monkeypatch.setattr(bayescale.comparison._plan, "fit", answer)
    return seen


def test_json(run: Any, fitted: dict[str, Any], table: Path) -> None:
    said = run("compare", table, "--flops", "1e24", "--json")
    assert said.status == 0, said.err
    made = said.document
    assert set(made) >= KEYS
    assert [row["procedure"] for row in made["rows"]] == names()
    for row in made["rows"]:
        assert set(row) >= ROW
    (nuts,) = [row for row in made["rows"] if row["procedure"] == "nuts"]
    assert nuts["kind"] == "posterior"
    for name in ("N_exponent", "N", "D", "E"):
        assert set(nuts[name]) >= QUANTILES
    assert nuts["heldout"] is None
    assert nuts["warnings"] == []
    assert isinstance(made["verdict"], str)
    others = [row for row in made["rows"] if row["procedure"] != "nuts"]
    assert all(row["N"] is None and "does not apply" in row["warnings"][0] for row in others)
    # refusals are no distrust: nothing on stderr
    assert said.err == ""


def test_a_fit_that_may_not_be_trusted(run: Any, fitted: dict[str, Any], table: Path) -> None:
    fitted["bad"] = ("nuts",)
    said = run("compare", table, "--procedures", "nuts", "--json")
    assert said.status == 1
    assert said.document["rows"][0]["N_exponent"] is not None
    assert said.document["diagnostics"]["untrusted"] == ["nuts"]
    assert "DO NOT TRUST THE FIT OF nuts" in said.err
    assert "alpha is answered by its prior" in said.err


def test_nothing_can_be_fitted(run: Any, fitted: dict[str, Any], table: Path, fake: Callable[..., str]) -> None:
    said = run("compare", table, "--procedures", fake("picky"), "--json")
    assert said.status == 2
    assert said.out == ""
    assert "no procedure can fit this table" in said.err
    assert "picky does not apply to this table" in said.err


def test_what_reaches_the_library(run: Any, fitted: dict[str, Any], table: Path, fake: Callable[..., str]) -> None:
    said = run(
        "compare", table, "--procedures", f"nuts,{fake('boots')}", "--draws", "200", "--replicates", "50", "--noise",
        "normal", "--where", "loss < 3", "--seed", "5", "--set", "boots.delta=1e-2",
    )  # fmt: skip
    assert said.status == 0, said.err
    nuts, boots = fitted["asked"]["nuts"], fitted["asked"]["boots"]
    assert (nuts["law"], nuts["noise"], nuts["seed"], nuts["draws"]) == ("chinchilla", "normal", 5, 200)
    assert "replicates" not in nuts
    # a procedure without a likelihood has no use for a noise
    assert boots["noise"] is None
    assert (boots["replicates"], boots["delta"]) == (50, 1e-2)
    assert (nuts["runs"]["loss"] < 3).all()


def test_text_for_a_person(run: Any, fitted: dict[str, Any], table: Path) -> None:
    said = run("compare", table, "--flops", "1e24", "3e24")
    assert said.status == 0
    lines = said.out.splitlines()
    assert lines[0].startswith("chinchilla on 200 runs of ")
    assert any(line.startswith("nuts ") and "posterior" in line for line in lines)
    assert "at 3e+24 FLOPs" in said.out
    assert "Whether procedures disagree cannot be said" in said.out


def test_pictures(run: Any, fitted: dict[str, Any], table: Path, tmp_path: Path) -> None:
    said = run("compare", table, "--procedures", "nuts", "--plots", tmp_path / "out", "--json")
    assert said.status == 0
    assert [Path(path).name for path in said.document["plots"]] == ["procedures.png", "procedures.pdf"]
    assert all(Path(path).stat().st_size > 1000 for path in said.document["plots"])


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--procedures", "mcmc"], "there is no procedure called 'mcmc'"),
        (["--law", "chinchila"], "did you mean chinchilla"),
        (["--set", "draws=5"], "say whose setting it is, as in isoflop.window=5"),
        (["--set", "huber"], "write it as isoflop.window=5"),
        (["--holdout", "1.5"], "give a factor above 2"),
        (["--holdout", "x"], "x"),
        (["--flops", "0"], "0 is not above 0"),
        (["--procedures", "nuts", "--sensitivity"], "sensitivity is that of fast point answers"),
        (["--alternative", "N=nothing"], "has no column 'nothing'"),
        (["--where", "loss < 1"], "selects none of the rows"),
        (["--column", "loss=nothing"], "has no column 'nothing'"),
    ],
)
def test_wrong_use_gets_an_answer(
    run: Any, fitted: dict[str, Any], table: Path, fake: Callable[..., str], flags: list[str], said: str
) -> None:
    if "--alternative" in flags:
        flags = [*flags, "--procedures", fake("boots")]
    found = run("compare", table, *flags)
    assert found.status == 2
    assert found.out == ""
    assert said in found.err
    assert not fitted["asked"]


def test_bad_rows_are_named_or_dropped(run: Any, fitted: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    rows = "".join(f"{1e8 * 2**i:g},{2e9 * 2**i:g},{3 - 0.1 * i:g}\n" for i in range(10))
    path.write_text("N,D,loss\n" + rows + "1e9,2e10,-4\n")
    said = run("compare", path, "--procedures", "nuts")
    assert said.status == 2
    assert "row 11" in said.err
    assert run("compare", path, "--procedures", "nuts", "--drop-bad").status == 0
    assert len(fitted["asked"]["nuts"]["runs"]) == 10
