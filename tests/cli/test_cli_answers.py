"""`forecast`, `allocate`, `check`, `laws`, `procedures`, `lab`, `demo`: their documents and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayescale import laws
from bayescale.fits import Fit
from bayescale.laws.power_c import PowerC
from bayescale.runs import Runs

QUANTILES = {"q05", "q25", "median", "q75", "q95"}


def in_order(row: dict[str, float]) -> bool:
    return row["q05"] < row["q25"] < row["median"] < row["q75"] < row["q95"]


class TestForecast:
    def test_json(self, run: Any, fit_file: Path, simulated_fit: Fit) -> None:
        said = run("forecast", fit_file, "--at", "N=70B,D=1.4T", "--json")
        assert said.status == 0, said.err
        (row,) = said.document["forecasts"]
        assert set(row) == {"inputs", "mean_loss", "new_run_loss", "extrapolation", "verdict"}
        assert row["inputs"] == {"N": 7e10, "D": 1.4e12, "C": pytest.approx(5.88e23)}
        assert set(row["mean_loss"]) == set(row["new_run_loss"]) == QUANTILES
        assert in_order(row["mean_loss"])
        assert in_order(row["new_run_loss"])
        made = simulated_fit.forecast({"N": [7e10], "D": [1.4e12]})
        assert row["mean_loss"]["q95"] == np.quantile(made["mean_loss"], 0.95)
        assert row["new_run_loss"]["median"] == np.median(made["new_run_loss"])
        assert row["extrapolation"] == {
            "flops_ratio": pytest.approx(5.88e23 / simulated_fit.runs["C"].max()),
            "inside": False,
            # further out in decades than the table spans
            "longer_than_ladder": bool(
                np.log10(5.88e23 / simulated_fit.runs["C"].max()) > np.ptp(np.log10(simulated_fit.runs["C"]))
            ),
        }

    def test_several_targets_in_order(self, run: Any, fit_file: Path) -> None:
        said = run("forecast", fit_file, "--at", "N=1B,D=20B", "D=20B,C=1.2e20", "--at", "C=1e24", "--json")
        rows = said.document["forecasts"]
        assert [row["inputs"].get("N") for row in rows] == [1e9, 1e9, None]
        assert rows[0]["mean_loss"] == rows[1]["mean_loss"]
        assert rows[2]["inputs"] == {"C": 1e24}
        assert rows[0]["extrapolation"]["inside"] is True

    def test_seed(self, run: Any, fit_file: Path) -> None:
        made = [
            run("forecast", fit_file, "--at", "N=70B,D=1.4T", "--json", "--seed", seed).document["forecasts"][0]
            for seed in (0, 0, 1)
        ]
        assert made[0] == made[1]
        assert made[0]["mean_loss"] == made[2]["mean_loss"]
        assert made[0]["new_run_loss"] != made[2]["new_run_loss"]

    def test_a_table_of_targets(self, run: Any, fit_file: Path, tmp_path: Path) -> None:
        path = tmp_path / "targets.csv"
        path.write_text("name,model size,tokens\nsmall,1e9,20B\nbig,70B,1.4T\n")
        said = run("forecast", fit_file, "--runs", path, "--column", "N=model size", "--json")
        assert said.status == 0, said.err
        assert [row["inputs"]["N"] for row in said.document["forecasts"]] == [1e9, 7e10]

    def test_for_a_person(self, run: Any, fit_file: Path, point_file: Path) -> None:
        said = run("forecast", fit_file, "--at", "N=70B,D=1.4T")
        assert "N = 70B, D = 1.4T" in said.out
        assert "outside the table" in said.out
        assert "90 % [" in said.out
        said = run("forecast", point_file, "--at", "N=1B,D=20B")
        assert "(a point, no interval)" in said.out
        assert "no noise model in this fit" in said.out

    def test_a_point_fills_the_median_only(self, run: Any, point_file: Path) -> None:
        document = run("forecast", point_file, "--at", "N=1B,D=20B", "--json").document
        assert document["kind"] == "point"
        (row,) = document["forecasts"]
        nothing = dict.fromkeys(QUANTILES)
        assert row["mean_loss"] == nothing | {"median": pytest.approx(2.5)}
        assert row["new_run_loss"] == nothing

    def test_a_fit_not_to_be_trusted_says_so_again(self, run: Any, bad_fit_file: Path) -> None:
        said = run("forecast", bad_fit_file, "--at", "N=70B,D=1.4T", "--json")
        assert said.status == 1
        assert said.document["diagnostics"]["ok"] is False
        assert "bayescale forecast: DO NOT TRUST THIS FIT" in said.err

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ([], "one of the arguments --at --runs is required"),
            (["--at", "N=70B"], "the forecast needs N, D and was given N: add D, e.g. D=1.4T"),
            (["--at", "70B"], "cannot read --at '70B': write it as N=70B,D=1.4T"),
            (["--at", "N=70B,N=7B"], "--at gives N twice"),
            (["--at", "N=seventy,D=1T"], "--at N=seventy,D=1T: 'seventy' is not a number"),
            (["--at", "N=0,D=1T"], "0 is not above 0"),
            (["--at", "N=70B,D=-1T"], "not above 0"),
            (["--at", "N=70B,D=1T,x=3"], "this fit knows no x; it reads N, D"),
            (["--at", "N=70B,D=1.4T,C=1e10"], "6 N D is 5.88e+23 FLOPs, not 1e+10; leave one of the three out"),
            (["--at", "N=70B,D=1T", "--runs", "x.csv"], "not allowed with argument"),
            (["--runs", "none.csv"], "none.csv"),
        ],
    )
    def test_what_is_refused(self, run: Any, fit_file: Path, arguments: list[str], said: str) -> None:
        found = run("forecast", fit_file, *arguments, "--json")
        assert found.status == 2
        assert found.out == ""
        assert said in found.err


class TestAllocate:
    def test_json(self, run: Any, fit_file: Path, simulated_fit: Fit) -> None:
        said = run("allocate", fit_file, "--flops", "5.76e23", "1e24", "--json")
        assert said.status == 0, said.err
        document = said.document
        assert set(document["exponents"]) == {"N", "D"}
        assert in_order(document["exponents"]["N"])
        assert document["exponents"]["N"]["median"] + document["exponents"]["D"]["median"] == pytest.approx(1.0)
        rows = document["allocations"]
        assert [row["flops"] for row in rows] == [5.76e23, 1e24]
        for row in rows:
            assert {"flops", "N", "D", "D_per_N", "loss"} <= set(row)
            for name in ("N", "D", "D_per_N", "loss"):
                assert set(row[name]) == QUANTILES
                assert in_order(row[name])
        made = simulated_fit.allocation([5.76e23])
        assert rows[0]["D_per_N"]["q05"] == pytest.approx(np.quantile(made["D_per_N"], 0.05), rel=1e-12)

    def test_for_a_person(self, run: Any, fit_file: Path) -> None:
        out = run("allocate", fit_file, "--flops", "1e24").out
        for part in ("N* grows as C^a", "tokens per parameter", "times the largest run", "90 % ["):
            assert part in out

    def test_a_point_fills_the_median_only(self, run: Any, point_file: Path) -> None:
        (row,) = run("allocate", point_file, "--flops", "1e24", "--json").document["allocations"]
        assert [key for key, value in row["N"].items() if value is not None] == ["median"]
        assert "(a point, no interval)" in run("allocate", point_file, "--flops", "1e24").out

    def test_a_fit_not_to_be_trusted_says_so_again(self, run: Any, bad_fit_file: Path) -> None:
        said = run("allocate", bad_fit_file, "--flops", "1e24", "--json")
        assert said.status == 1
        assert said.document["allocations"]
        assert "bayescale allocate: DO NOT TRUST THIS FIT" in said.err

    @pytest.mark.parametrize("flops", ["0", "-1e24", "many", "1e400", "nan"])
    def test_budgets_that_are_none(self, run: Any, fit_file: Path, flops: str) -> None:
        found = run("allocate", fit_file, f"--flops={flops}")
        assert found.status == 2
        assert "argument --flops" in found.err

    def test_a_law_that_cannot_split_a_budget(self, run: Any, assemble: Callable[..., Fit], tmp_path: Path) -> None:
        runs = Runs.from_arrays(C=[1e17, 1e18, 1e19], loss=[3.9, 3.4, 3.0])
        path = assemble(runs, PowerC(), {"E": 1.8, "c": 0.5, "gamma": 0.15}, kind="point").save(tmp_path / "c.nc")
        found = run("allocate", path, "--flops", "1e24")
        assert found.status == 2
        assert "power-C gives loss as a function of C alone" in found.err


@pytest.mark.parametrize("command", ["forecast", "allocate"])
@pytest.mark.parametrize("content", [None, b"", b"N,D,loss\n1,2,3\n"])
def test_a_fit_that_is_none(run: Any, tmp_path: Path, command: str, content: bytes | None) -> None:
    path = tmp_path / "runs.csv"
    if content is not None:
        path.write_bytes(content)
    rest = ("--at", "N=1B,D=20B") if command == "forecast" else ("--flops", "1e24")
    found = run(command, path, *rest, "--json")
    assert found.status == 2
    assert found.out == ""
    assert "runs.csv" in found.err


class TestCheck:
    def test_a_good_table(self, run: Any, table: Path) -> None:
        said = run("check", table, "--json")
        assert said.status == 0, said.err
        document = said.document
        assert set(document) >= {"ok", "n_runs", "columns", "problems", "laws"}
        assert document["ok"] is True
        assert document["n_runs"] == 200
        assert document["columns"]["N"] == "params"
        assert set(document["laws"]) == set(laws.names())
        for law in document["laws"].values():
            assert set(law) == {"fits", "why"}
        assert document["laws"]["chinchilla"]["fits"] is True

    def test_a_bad_one_prints_its_document_all_the_same(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "bad.csv"
        path.write_text("N,D,loss\n1e8,2e9,3.1\n1e9,2e10,-4\n1e10,2e11,2.2\n")
        said = run("check", path, "--json")
        assert said.status == 2
        document = said.document
        assert document["ok"] is False
        problem = next(problem for problem in document["problems"] if problem["row"] == 2)
        assert set(problem) >= {"row", "column", "value", "message"}
        assert (problem["column"], problem["value"]) == ("loss", "-4")

    def test_a_file_that_is_not_there(self, run: Any, tmp_path: Path) -> None:
        said = run("check", tmp_path / "none.csv", "--json")
        assert said.status == 2
        assert said.document["ok"] is False
        assert "none.csv" in said.document["problems"][0]["message"]

    def test_what_a_law_could_not_learn(self, run: Any, tmp_path: Path) -> None:
        path = tmp_path / "one-size.csv"
        pd.DataFrame({"N": [1e9] * 4, "D": [2e9, 4e9, 8e9, 2e10], "loss": [3.1, 2.9, 2.8, 2.7]}).to_csv(
            path, index=False
        )
        document = run("check", path, "--json").document
        assert "N never varies" in document["laws"]["chinchilla"]["why"]
        assert "D spans a factor of 10" in document["laws"]["power-D"]["why"]
        assert document["ok"] is True

    def test_flags(self, run: Any, table: Path) -> None:
        document = run("check", table, "--where", "params < 1e9", "--column", "loss=val_loss", "--json").document
        assert 0 < document["n_runs"] < 200
        assert run("check", table, "--where", "nowhere < 1").status == 2
        assert "each law could learn" in run("check", table).out


class TestRegistries:
    def test_laws(self, run: Any) -> None:
        rows = run("laws", "--json").document
        assert [row["name"] for row in rows] == laws.names()
        for row in rows:
            assert set(row) >= {"name", "formula", "inputs", "parameters", "reference"}
        chinchilla = next(row for row in rows if row["name"] == "chinchilla")
        assert chinchilla["inputs"] == ["N", "D"]
        assert chinchilla["parameters"] == ["E", "a", "b", "alpha", "beta"]
        assert chinchilla["reference"] == "arXiv:2203.15556"
        assert all(row["name"] in run("laws").out for row in rows)

    def test_procedures(self, run: Any) -> None:
        rows = run("procedures", "--json").document
        nuts = next(row for row in rows if row["name"] == "nuts")
        assert set(nuts) >= {"name", "kind", "reference"}
        assert nuts["kind"] == "posterior"
        assert "nuts" in run("procedures").out


class TestLab:
    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from bayescale.lab import Source, Sweeps, _table

        tiny = Sweeps(budgets=(1e8,), widths=(8,), D_sweep=(), N_sweep_D=20_000)
        source = Source.draw(seed=0, pool=50_000, held_out=10_000)
        monkeypatch.setattr(_table, "QUICK", tiny)
        monkeypatch.setattr(_table.Source, "draw", classmethod(lambda cls, seed=0: source))

    def test_json(self, run: Any, tmp_path: Path) -> None:
        out = tmp_path / "toy.csv"
        said = run("lab", "--quick", "--seeds", "1", "--out", out, "--json")
        assert said.status == 0, said.err
        document = said.document
        assert set(document) >= {"out", "n_runs", "entropy", "attainable_floor"}
        assert document["out"] == str(out)
        assert document["n_runs"] == len(pd.read_csv(out)) == 2
        assert document["entropy"] == pytest.approx(2.0, abs=1e-4)
        # and the table is one that can be fitted
        assert run("check", out, "--json").document["laws"]["chinchilla"]["fits"] is True

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [(["--out", "none/toy.csv"], "none"), (["--seeds", "0"], "argument --seeds"), (["--seed", "-1"], "--seed")],
    )
    def test_what_is_refused(
        self, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        found = run("lab", "--quick", *arguments)
        assert found.status == 2
        assert said in found.err


class TestDemo:
    def test_end_to_end(self, run: Any, tmp_path: Path, toy_fit: Fit) -> None:
        out = tmp_path / "demo"
        said = run("demo", "--out", out, "--draws", "250", "--json")
        document = said.document
        assert said.status == (0 if document["diagnostics"]["ok"] else 1)
        paths = [Path(path) for path in document["paths"]]
        assert all(path.is_file() for path in paths)
        assert {path.suffix for path in paths} == {".nc", ".png", ".pdf"}
        assert document["law"] == "chinchilla"
        assert document["noise"] == "student-t(D)"
        # the same runs, noise, seed and draws as in Python
        assert Fit.load(out / "fit.nc").theta["E"].tolist() == toy_fit.theta["E"].tolist()
        # the known floor is about where it should be
        E = document["parameters"]["E"]
        assert abs(E["mean"] - document["attainable_floor"]) < 3 * E["sd"]

    def test_a_file_where_the_folder_should_be(self, run: Any, tmp_path: Path) -> None:
        (tmp_path / "demo").touch()
        found = run("demo", "--out", tmp_path / "demo")
        assert found.status == 2
        assert "cannot make this folder" in found.err
