"""Real tables as people publish them: those that load, and what is wrong with those that do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bayescale.errors import Problem
from bayescale.runs import Check, Runs, RunsError, check

LOADS = {
    "epoch2024_chinchilla_svg_extracted.csv": ({}, None, 245),
    "kyotakano_llm_runs.csv": ({}, None, 234),
    "llama3_isoflop_digitised.csv": ({}, None, 133),
    "gadre2024_overtraining_runs.csv": ({"loss": "loss_c4_val", "N": "params"}, None, 104),
    "misfitting2025_last_checkpoint.csv": ({}, "peak_lr == 0.002", 84),
    "porian2024_isoflop_points.csv": ({}, "dataset == 'rw' and hparams == 'tuned' and val == 'val'", 121),
    "ladder_runs.csv": ({}, "group == 'chinchilla'", 247),
    "datablations2023_c4_runs.csv": ({}, "in_published_fit_182 == 1", 182),
    "gemstones2025_runs.csv": ({"C": "none"}, "subset == 'hot'", 220),
    "openathena2026_isoflops_extract.csv": ({}, "experiment == 'ml_scalefit__massivetext__chinchilla'", 124),
    "olmo_ladder2024_runs.csv": ({"loss": "c4_en_mean_last5"}, "role == 'train_in_paper'", 16),
    "marin202603_isoflop_comma_raw.csv": ({}, None, 92),
    "seed_isoflop_runs.csv": ({}, None, 81),
    "seed_isoflop_all_seeds.csv": ({}, "seed0_leak == 0", 138),
    "seed_dsweep.csv": ({}, None, 15),
    "seed_nsweep.csv": ({}, None, 27),
}


@pytest.mark.parametrize("name", LOADS)
def test_tables_that_load(name: str, shared_data: Path) -> None:
    columns, where, n_runs = LOADS[name]
    runs = Runs.read(shared_data / name, columns=columns, where=where)
    assert len(runs) == n_runs
    for quantity in ("N", "D", "C", "loss"):
        assert np.all(runs[quantity] > 0)
    if runs.columns["C"] == "6 N D":
        np.testing.assert_array_equal(runs["C"], 6.0 * runs["N"] * runs["D"])


def test_epoch(shared_data: Path) -> None:
    runs = Runs.read(shared_data / "epoch2024_chinchilla_svg_extracted.csv")
    assert runs.columns == {"N": "Model Size", "D": "C / (6 N)", "C": "Training FLOP", "loss": "loss"}
    assert runs.warnings == ()
    ratio = runs["D"] / runs["N"]
    # The range that the description of the table prints.
    assert (f"{ratio.min():.3f}", f"{ratio.max():.0f}") == ("0.036", "341")
    assert len(Runs.read(shared_data / "epoch2024_chinchilla_svg_extracted.csv", where="loss < 3.44")) == 240


def test_kyotakano_integers_agree_with_6nd(shared_data: Path) -> None:
    runs = Runs.read(shared_data / "kyotakano_llm_runs.csv")
    assert runs.warnings == ()
    # Written to ten digits or so; in int64 the ratio ran from -13862 to 16987.
    np.testing.assert_allclose(runs["C"] / (6 * runs["N"] * runs["D"]), 1.0, rtol=1e-7)


def test_llama3_parameters_follow(shared_data: Path) -> None:
    runs = Runs.read(shared_data / "llama3_isoflop_digitised.csv")
    assert runs.columns["N"] == "C / (6 D)"
    assert runs["N"][0] == pytest.approx(6e18 / (6 * 1579500858.99), rel=1e-15)


def test_gadre_is_refused_until_both_columns_are_named(shared_data: Path) -> None:
    path = shared_data / "gadre2024_overtraining_runs.csv"
    with pytest.raises(RunsError) as caught:
        Runs.read(path)
    messages = [problem.message for problem in caught.value.problems]
    assert len(messages) == 2
    assert "--column N=params or --column N=params_no_embed" in messages[0]
    assert messages[1].startswith("8 columns could be loss")
    with pytest.raises(RunsError, match="could be N"):
        Runs.read(path, columns={"loss": "loss_c4_val"})


def test_marin_gflops_are_converted(shared_data: Path) -> None:
    runs = Runs.read(shared_data / "marin202603_isoflop_comma_raw.csv")
    assert runs.columns["C"] == "1e+09 * throughput/total_gflops"
    assert runs["C"][0] == pytest.approx(3e19, rel=1e-4)
    assert any("C / (6 N D) runs from 0.742" in warning for warning in runs.warnings)


def test_misfitting_has_one_row_twice(shared_data: Path) -> None:
    path = shared_data / "misfitting2025_last_checkpoint.csv"
    with pytest.raises(RunsError, match="row 162: the same as row 157 in every column"):
        Runs.read(path)
    assert len(Runs.read(path, drop_bad=True)) == 260


def test_gemstones_flops_are_blank_in_most_rows(shared_data: Path) -> None:
    with pytest.raises(RunsError, match=r"2,315 of 2,343 rows with a problem"):
        Runs.read(shared_data / "gemstones2025_runs.csv")
    runs = Runs.read(shared_data / "gemstones2025_runs.csv", where="subset == 'hot'", needs=["N", "D", "loss"])
    assert len(runs) == 220
    assert any("several checkpoints" in warning for warning in runs.warnings)


def test_open_athena_holds_the_same_points_twice(shared_data: Path) -> None:
    verdict = check(shared_data / "openathena2026_isoflops_extract.csv")
    assert verdict.ok
    messages = " ".join(problem.message for problem in verdict.problems)
    assert "C / (6 N D) runs from 0.742" in messages


def _verdict(folder: Path, name: str) -> tuple[Check, list[Problem]]:
    verdict = check(folder / "bad_tables" / name)
    return verdict, [problem for problem in verdict.problems if problem.fatal]


def _place(problem: Problem) -> tuple[int | None, str | None]:
    return problem.row, problem.column


def test_bad_ibm_moe(shared_data: Path) -> None:
    verdict, fatal = _verdict(shared_data, "colpret_IBM_MoE.csv")
    assert verdict.columns == {"D": "tokens_seen"}
    assert "'Params', 'Effective Params'" in fatal[0].message
    assert "--column 'loss=wikitext ppl (perplexity)'" in fatal[1].message
    rows = {problem.row: problem.message for problem in fatal[2:]}
    assert sorted(rows) == [11, 12, 21, 22, 28, 29, 41, 42, 57, 58, 67]
    assert [row for row, message in rows.items() if message == "the row is empty"] == [12, 22, 29, 42, 58, 67]
    named = [(problem.row, problem.value) for problem in fatal if problem.column == "tokens_seen"]
    assert named == [(11, "Pile"), (21, "IBM Pile"), (28, "Pile"), (41, "Pile"), (57, "Pile")]


def test_bad_bom_graph(shared_data: Path) -> None:
    verdict, fatal = _verdict(shared_data, "colpret_bom_graph_extracted.csv")
    assert not verdict.ok
    assert [_place(problem) for problem in fatal] == [(None, None), (None, None)]
    # The mark is not part of the first name.
    assert all("Columns: 'x', 'y', 'model'" in problem.message for problem in fatal)


def test_bad_datablations_code(shared_data: Path) -> None:
    _, fatal = _verdict(shared_data, "colpret_datablations_code_losses.csv")
    assert [_place(problem) for problem in fatal] == [(None, "flops")]
    assert "from 0.9921 to 254.7 (median 3.144" in fatal[0].message
    assert "--column C=none" in fatal[0].message
    repaired = Runs.read(shared_data / "bad_tables" / "colpret_datablations_code_losses.csv", columns={"C": "none"})
    assert len(repaired) == 296
    assert np.all(repaired["N"] == 4.2e9)
    assert np.all(repaired["U"] == 85e9)


def test_bad_datablations_contour(shared_data: Path) -> None:
    verdict, fatal = _verdict(shared_data, "colpret_datablations_contour_losses.csv")
    assert fatal == []
    assert verdict.n_runs == 229
    assert verdict.columns["loss"] == "openLM_loss"
    (warning,) = verdict.problems
    assert "look diverged" in warning.message
    assert "11.02" in warning.message


def test_bad_datablations_flops(shared_data: Path) -> None:
    verdict, fatal = _verdict(shared_data, "colpret_datablations_losses_flops_inconsistent.csv")
    assert verdict.n_read == 9261
    assert [_place(problem) for problem in fatal] == [(None, "flops")]
    assert "from 0.9921 to 2.769e+05 (median 5.774" in fatal[0].message
    path = shared_data / "bad_tables" / "colpret_datablations_losses_flops_inconsistent.csv"
    assert set(Runs.read(path, columns={"C": "none"})["N"]) == {2.8e9, 4.2e9, 8.7e9}


def test_bad_olmo_wandb_export(shared_data: Path) -> None:
    _, fatal = _verdict(shared_data, "colpret_olmo_wandb_export.csv")
    assert [_place(problem) for problem in fatal] == [(None, None), (None, None)]
    # 31 columns: the step and ten runs, each with a copy of its minimum and its maximum.
    assert fatal[0].message.startswith("10 columns could be loss")
    assert "no column holds N (parameters), D (training tokens) or C (training FLOPs)" in fatal[1].message


def test_bad_opt_log10(shared_data: Path) -> None:
    path = shared_data / "bad_tables" / "colpret_opt_trajectories_log10.csv"
    _, fatal = _verdict(shared_data, "colpret_opt_trajectories_log10.csv")
    assert [_place(problem) for problem in fatal] == [(None, None), (None, "num_token"), (None, "flops")]
    for problem, option in zip(
        fatal,
        ("--column 'loss=ppl (perplexity)'", "--column 'D=num_token (log10)'", "--column 'C=flops (log10)'"),
        strict=True,
    ):
        assert option in problem.message
    # What the messages say to type works.
    given = {"loss": "ppl (perplexity)", "D": "num_token (log10)", "C": "flops (log10)"}
    runs = Runs.read(path, columns=given)
    assert len(runs) == 142
    assert runs["N"].min() == 125e6
    assert runs["loss"].min() == pytest.approx(np.log(9.8), abs=0.01)


def test_bad_t5_pile(shared_data: Path) -> None:
    path = shared_data / "bad_tables" / "colpret_t5_pile_negative_loss.csv"
    _, fatal = _verdict(shared_data, "colpret_t5_pile_negative_loss.csv")
    assert [_place(problem) for problem in fatal] == [(None, None), (None, "loss")]
    assert "summed over tokens" in fatal[1].message
    negative = check(path, columns={"loss": "cross_ent_loss_per_all_target_tokens"}, needs=["loss"])
    (problem,) = [problem for problem in negative.problems if problem.fatal]
    assert "793 of 800 values are negative" in problem.message


def test_bad_marin_wandb(shared_data: Path) -> None:
    verdict, fatal = _verdict(shared_data, "openathena_marin_isoflop_comma_wandb.csv")
    assert fatal == []
    assert verdict.n_runs == 92
    assert verdict.columns == {
        "N": "parameter_count",
        "D": "throughput/total_tokens",
        "C": "1e+09 * throughput/total_gflops",
        "loss": "eval/paloma/macro_loss",
    }
    (warning,) = verdict.problems
    assert "more than 1 % in 83 of 92 rows" in warning.message


def test_every_bad_table_is_covered(shared_data: Path) -> None:
    names = {path.name for path in (shared_data / "bad_tables").glob("*.csv")}
    text = Path(__file__).read_text()
    assert {name for name in names if name not in text} == set()
