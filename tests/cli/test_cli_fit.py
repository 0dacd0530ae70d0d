"""`bayescale fit`: its document, its flags, its exit status, and what it refuses."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayescale.fits import Fit
from bayescale.laws.chinchilla import Chinchilla
from bayescale.prior import Prior

KEYS = {"law", "procedure", "n_runs", "parameters", "diagnostics", "seconds", "out"}
PARAMETER_KEYS = {"mean", "sd", "q05", "median", "q95", "rhat", "ess_bulk", "ess_tail"}
DIAGNOSTICS_KEYS = {"ok", "max_rhat", "min_ess", "divergences", "warnings"}
PARAMETERS = {"E", "a", "b", "alpha", "beta", "sigma", "nu", "A", "B", "N_exponent", "D_exponent"}


class TestEndToEnd:
    def test_json(self, run: Any, table: Path, tmp_path: Path, simulated_fit: Fit) -> None:
        # seed and draws of the fit that the library made of the same numbers, which must be the same fit
        out = tmp_path / "fit.nc"
        said = run("fit", table, "--draws", "500", "--seed", "3", "--json", "--out", out)
        assert said.status == 0, said.err
        made = said.document
        assert set(made) >= KEYS
        assert made["law"] == "chinchilla"
        assert made["procedure"] == "nuts"
        assert made["n_runs"] == 200
        assert made["out"] == str(out)
        assert set(made["parameters"]) >= PARAMETERS
        for row in made["parameters"].values():
            assert set(row) >= PARAMETER_KEYS
            assert row["q05"] < row["median"] < row["q95"]
        assert set(made["diagnostics"]) >= DIAGNOSTICS_KEYS
        assert made["diagnostics"]["ok"] is True
        assert made["diagnostics"]["warnings"] == []
        assert set(made["seconds"]) >= {"total", "compile", "sample"}
        summary = simulated_fit.summary()
        for name in PARAMETERS:
            assert made["parameters"][name]["median"] == pytest.approx(summary.loc[name, "median"], rel=1e-9)
            assert made["parameters"][name]["rhat"] == pytest.approx(summary.loc[name, "rhat"], rel=1e-9)
        assert Fit.load(out).theta["E"].tolist() == simulated_fit.theta["E"].tolist()

    def test_a_fit_that_may_not_be_trusted(
        self, run: Any, one_size_fit: Fit, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bayescale.procedures.fit", lambda *_, **__: one_size_fit)
        out = tmp_path / "fit.nc"
        said = run("fit", table, "--json", "--out", out)
        assert said.status == 1
        assert said.document["diagnostics"]["ok"] is False
        assert any(w.startswith("alpha is answered by its prior") for w in said.document["diagnostics"]["warnings"])
        assert "DO NOT TRUST THIS FIT" in said.err
        assert "alpha is answered by its prior" in said.err
        # the result is written all the same
        assert Fit.load(out) == one_size_fit

    def test_what_the_answers_rest_on(
        self, run: Any, one_size_fit: Fit, table: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bayescale.procedures.fit", lambda *_, **__: one_size_fit)
        rows = {row["quantity"]: row for row in run("fit", table, "--json").document["sensitivity"]["quantities"]}
        assert set(rows) >= PARAMETERS
        assert set(rows["alpha"]) == {"quantity", "contraction", "prior", "likelihood", "verdict"}
        assert rows["N_exponent"]["verdict"] == rows["alpha"]["verdict"] == "prior-dominated"
        plain, asked = run("fit", table).out, run("fit", table, "--sensitivity").out
        assert "contraction  prior" not in plain
        assert "what each answer rests on" in asked
        assert "ridge: E and a (rank correlation -" in asked


class TestFlags:
    """What reaches the library."""

    def test_defaults(self, run: Any, asked: dict[str, Any], table: Path) -> None:
        said = run("fit", table)
        assert said.status == 0
        assert asked["law"] == Chinchilla()
        assert asked["procedure"] == "nuts"
        # the procedure's own defaults
        assert asked["noise"] is None
        assert asked["priors"] == {}
        assert not {"draws", "chains", "warmup", "target_accept", "replicates"} & set(asked)
        assert asked["seed"] == 0
        assert len(asked["runs"]) == 200
        # for a person: the verdict first, and what to do next
        assert said.out.startswith("diagnostics: ok")
        assert "add --out fit.nc" in said.out

    def test_sampler(self, run: Any, asked: dict[str, Any], table: Path) -> None:
        run("fit", table, "--draws", 9, "--chains", 2, "--warmup", 30, "--target-accept", 0.9, "--seed", 4)
        assert (asked["draws"], asked["chains"], asked["warmup"]) == (9, 2, 30)
        assert asked["target_accept"] == 0.9
        assert asked["seed"] == 4

    def test_law_and_noise(self, run: Any, asked: dict[str, Any], table: Path) -> None:
        run("fit", table, "--law", "chinchilla-tied", "--noise", "normal(N,D)", "--procedure", "nuts")
        assert asked["law"].name == "chinchilla-tied"
        assert asked["noise"] == "normal(N,D)"
        said = run("fit", table, "--law", "chinchilla(k=3)")
        assert said.status == 2
        assert "chinchilla has no setting 'k'" in said.err

    def test_priors_on_the_line_go_before_those_in_a_file(
        self, run: Any, asked: dict[str, Any], table: Path, tmp_path: Path
    ) -> None:
        file = tmp_path / "priors.toml"
        file.write_text('[priors]\nE = "LogNormal(log(1.7), 0.5)"\nbeta = 0.37\n')
        run("fit", table, "--priors", file, "--prior", "E=LogNormal(0.6,0.2)", "--prior", "alpha=0.35")
        assert asked["priors"] == {
            "E": Prior("LogNormal", 0.6, 0.2),
            "beta": Prior("Fixed", 0.37),
            "alpha": Prior("Fixed", 0.35),
        }

    def test_reference_run(self, run: Any, asked: dict[str, Any], table: Path) -> None:
        run("fit", table, "--reference", "N=350M,D=7B")
        assert asked["law"] == Chinchilla(N0=350e6, D0=7e9)

    def test_where(self, run: Any, asked: dict[str, Any], table: Path) -> None:
        run("fit", table, "--where", "params < 1e9")
        assert 0 < len(asked["runs"]) < 200
        assert asked["runs"]["N"].max() < 1e9

    def test_column(self, run: Any, asked: dict[str, Any], tmp_path: Path) -> None:
        path = tmp_path / "wandb.csv"
        path.write_text("params,tokens (B),eval/a,eval/b\n1e8,2,3.1,4\n1e9,20,2.6,3\n1e10,200,2.2,2\n")
        said = run("fit", path, "--column", "loss=eval/a", "--column", "D=tokens (B)")
        assert said.status == 0, said.err
        assert asked["runs"]["loss"].tolist() == [3.1, 2.6, 2.2]
        assert asked["runs"]["D"].tolist() == [2e9, 2e10, 2e11]

    def test_bad_rows_stop_a_fit_until_they_are_dropped(self, run: Any, asked: dict[str, Any], tmp_path: Path) -> None:
        path = tmp_path / "bad.csv"
        path.write_text("N,D,loss\n1e8,2e9,3.1\n1e9,2e10,nan\n1e10,2e11,2.2\n-1,2e11,2.2\n")
        said = run("fit", path)
        assert said.status == 2
        assert not asked
        for part in ("row 2", "loss", "row 4", "N", "--drop-bad"):
            assert part in said.err
        said = run("fit", path, "--drop-bad")
        assert said.status == 0
        assert len(asked["runs"]) == 2
        assert asked["runs"].n_dropped == 2

    def test_standard_input(
        self, run: Any, asked: dict[str, Any], table: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
        assert run("fit", "-").status == 0
        assert len(asked["runs"]) == 200

    def test_warnings_of_the_table_go_to_stderr(self, run: Any, asked: dict[str, Any], tmp_path: Path) -> None:
        path = tmp_path / "twice.csv"
        path.write_text("N,D,C,loss\n1e8,2e9,1.5e18,3.1\n1e9,2e10,1.5e20,2.6\n1e10,2e11,1.5e22,2.2\n")
        said = run("fit", path, "--json")
        assert asked["runs"].warnings
        for warning in asked["runs"].warnings:
            assert warning in said.err
        assert said.document["law"] == "chinchilla"

    def test_pictures(self, run: Any, asked: dict[str, Any], table: Path, tmp_path: Path) -> None:
        folder = tmp_path / "new" / "pictures"
        said = run("fit", table, "--plots", folder, "--json")
        assert said.status == 0, said.err
        files = [Path(path) for path in said.document["plots"]]
        assert {file.suffix for file in files} == {".png", ".pdf"}
        assert {file.stem for file in files} == {"posteriors", "forecast", "isoflop", "frontier"}
        assert all(file.parent == folder and file.stat().st_size > 1000 for file in files)


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--nosuch"], "unrecognized arguments: --nosuch"),
            (["--law", "chinchila"], "there is no law called 'chinchila' (did you mean chinchilla?)"),
            (["--procedure", "mcmc"], "there is no procedure called 'mcmc'; the procedures are envelope, huber"),
            (["--noise", "gauss"], "unknown noise 'gauss'; the noises are laplace, normal, student-t"),
            (["--noise", "normal(D"], "cannot read the noise 'normal(D'"),
            (["--noise", "normal(batch)"], "batch"),
            (["--prior", "alhpa=0.3"], "no parameter 'alhpa' (did you mean alpha?)"),
            (["--prior", "E=Lognorm(0,1)"], "unknown prior family 'Lognorm'"),
            (["--prior", "E"], "cannot read the prior 'E'"),
            (["--prior", "E=1", "--prior", "E=2"], "two priors are given for E"),
            (["--priors", "none.toml"], "cannot read the priors file none.toml"),
            (["--column", "loss"], "cannot read --column 'loss': write it as loss=eval/loss"),
            (["--column", "loss=nowhere"], "nowhere"),
            (["--where", "nowhere < 3"], "nowhere"),
            (["--where", "val_loss <"], "--where"),
            (["--where", "val_loss < 0"], "val_loss < 0"),
            (["--draws", "2"], "argument --draws: 2 is below 4"),
            (["--draws", "1e3"], "argument --draws: '1e3' is not a whole number"),
            (["--chains", "0"], "argument --chains: 0 is below 1"),
            (["--seed", "-1"], "argument --seed"),
            (["--seed", "99999999999999999999"], "argument --seed"),
            (["--target-accept", "2"], "target_accept must lie between 0 and 1, got 2.0"),
            (["--target-accept", "high"], "argument --target-accept"),
            (["--reference", "N"], "cannot read --reference 'N': write it as N=1e9,D=2e10"),
            (["--reference", "X=3"], "--reference names 'X'"),
            (["--reference", "N=many"], "--reference N: 'many' is not a number"),
            (["--reference", "N=0"], "--reference N: 0 is not above 0"),
            (["--out", "fit.csv"], "--out fit.csv: a fit is a netCDF file; give a name that ends in .nc"),
            (["--out", "nowhere/fit.nc"], "--out nowhere/fit.nc: the folder nowhere does not exist"),
            (["--out", "folder.nc"], "--out folder.nc: this is a folder"),
            (["--plots", "file"], "--plots file: cannot make this folder"),
        ],
    )
    def test_in_one_message(
        self,
        run: Any,
        table: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
        said: str,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("folder.nc").mkdir()
        Path("file").touch()
        found = run("fit", table, *arguments, "--json")
        assert found.status == 2
        assert found.out == ""
        assert said in found.err
        assert found.err.startswith("bayescale")

    @pytest.mark.parametrize("content", [None, b"", b"\x00\xff" * 50, b"N,D\n1e9,2e10\n", b"{"])
    def test_tables(self, run: Any, tmp_path: Path, content: bytes | None) -> None:
        path = tmp_path / "table.csv"
        if content is not None:
            path.write_bytes(content)
        found = run("fit", path)
        assert found.status == 2
        assert found.out == ""
        assert "table.csv" in found.err

    def test_empty_standard_input(self, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
        found = run("fit", "-")
        assert found.status == 2
        assert "standard input" in found.err or "stdin" in found.err

    def test_nothing_is_fitted_before_the_result_can_be_written(
        self, run: Any, asked: dict[str, Any], table: Path, tmp_path: Path
    ) -> None:
        assert run("fit", table, "--out", tmp_path / "none" / "fit.nc").status == 2
        assert not asked

    def test_an_interrupt_is_no_traceback(self, run: Any, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import bayescale.procedures

        def stop(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(bayescale.procedures, "fit", stop)
        found = run("fit", table)
        assert found.status == 130
        assert found.err == "bayescale fit: interrupted\n"


def test_a_number_that_is_not_finite_is_null(
    run: Any, asked: dict[str, Any], simulated_fit: Fit, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = simulated_fit.summary()
    summary.loc["nu", ["rhat", "ess_bulk"]] = [np.nan, np.inf]
    monkeypatch.setattr(Fit, "summary", lambda self: summary)
    made = run("fit", table, "--json").document
    assert made["parameters"]["nu"]["rhat"] is None
    assert made["parameters"]["nu"]["ess_bulk"] is None
