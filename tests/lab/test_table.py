"""The table: schema, which cells are in it, determinism, the file and the messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayescale.errors import BayescaleError
from bayescale.lab import FULL, QUICK, LabResult, Source, Sweeps, make_table, n_params, write_table
from bayescale.lab import _table as table_module

COLUMNS = ["sweep", "budget", "width", "N", "D", "C", "seed", "loss", "entropy", "attainable_floor"]
SMALL = Sweeps(budgets=(3e7,), widths=(8,), smallest_D=2_000, D_sweep=(4_000, 8_000), D_sweep_width=8, N_sweep_D=8_000)


@pytest.fixture(scope="module")
def table(source: Source) -> pd.DataFrame:
    return make_table(source, sweeps=SMALL, seeds=3)


def test_schema(table: pd.DataFrame, source: Source) -> None:
    assert list(table.columns) == COLUMNS
    assert len(table) == 3 * 4
    assert table["sweep"].value_counts().to_dict() == {"D": 6, "N": 3, "isoflop": 3}
    assert table["budget"].isna().eq(table["sweep"] != "isoflop").all()
    assert table["N"].eq(table["width"].map(n_params)).all()
    assert table["C"].eq(6 * table["N"] * table["D"]).all()
    assert sorted(table["seed"].unique()) == [0, 1, 2]
    assert np.isfinite(table["loss"]).all()
    assert table["attainable_floor"].unique() == pytest.approx([source.attainable_floor], abs=1e-6)


def test_isoflop_runs_cost_their_budget(table: pd.DataFrame) -> None:
    isoflop = table[table["sweep"] == "isoflop"]
    # D is cut to whole tokens, so C falls short by less than 6 N.
    shortfall = isoflop["budget"] - isoflop["C"]
    assert shortfall.ge(0).all()
    assert (shortfall < 6 * isoflop["N"]).all()


def test_the_same_configuration_in_two_sweeps_is_two_runs(table: pd.DataFrame) -> None:
    same = table[(table["width"] == 8) & (table["D"] == 8_000) & (table["seed"] == 0)]
    assert list(same["sweep"]) == ["D", "N"]
    assert same["loss"].nunique() == 2


def test_same_seed_same_table(table: pd.DataFrame, source: Source) -> None:
    pd.testing.assert_frame_equal(make_table(source, sweeps=SMALL, seeds=3), table, check_exact=True)


def test_progress_counts_runs(source: Source) -> None:
    sweeps = Sweeps(budgets=(), widths=(8,), D_sweep=(4_000,), D_sweep_width=8, N_sweep_D=4_000)
    calls: list[tuple[int, int]] = []
    make_table(source, sweeps=sweeps, seeds=3, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(0, 6), (3, 6), (6, 6)]


def test_full_sweeps_are_the_ones_of_the_text() -> None:
    cells = FULL.cells(pool=4_400_000)
    isoflop = [cell for cell in cells if cell.sweep == "isoflop"]
    by_budget = {budget: [c for c in isoflop if c.budget == budget] for budget in FULL.budgets}
    assert [len(found) for found in by_budget.values()] == [9, 8, 6, 4]
    # The table printed for C = 4.8e9 in the text that the toy source comes from.
    assert [(c.N, c.D) for c in by_budget[4.8e9]] == [
        (212, 3_773_584),
        (408, 1_960_784),
        (800, 1_000_000),
        (1_584, 505_050),
        (3_152, 253_807),
        (6_288, 127_226),
        (12_560, 63_694),
        (25_104, 31_867),
    ]
    assert all(5_000 <= cell.D <= 4_400_000 for cell in isoflop)


def test_quick_sweeps_are_few_and_hold_every_sweep() -> None:
    cells = QUICK.cells(pool=4_400_000)
    assert {cell.sweep for cell in cells} == {"D", "N", "isoflop"}
    assert sum(cell.D for cell in cells) < 0.1 * sum(cell.D for cell in FULL.cells(pool=4_400_000))


def test_written_file_reads_back_as_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Source, table: pd.DataFrame
) -> None:
    monkeypatch.setattr(table_module, "QUICK", SMALL)
    monkeypatch.setattr(Source, "draw", lambda seed: source)
    result = write_table(tmp_path / "runs.csv", seeds=3, quick=True)
    assert result == LabResult(str(tmp_path / "runs.csv"), 12, source.entropy, source.attainable_floor)
    pd.testing.assert_frame_equal(pd.read_csv(result.out), table, check_exact=True)


def test_bad_requests_are_refused(tmp_path: Path, source: Source) -> None:
    with pytest.raises(BayescaleError, match="0 training seeds asked for; expected at least 1"):
        make_table(source, seeds=0)
    with pytest.raises(BayescaleError, match="no run of these sweeps fits a pool of 200,000 tokens"):
        make_table(source, sweeps=Sweeps(budgets=(), D_sweep=()))
    with pytest.raises(BayescaleError, match=r"folder .*absent does not exist"):
        write_table(tmp_path / "absent" / "runs.csv")
    with pytest.raises(BayescaleError, match="it is a folder"):
        write_table(tmp_path)
