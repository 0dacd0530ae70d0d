"""Names: exact ones, aliases, units in a name, and tables where two columns could be meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayescale.runs import Runs, RunsError, check

N, D, LOSS = [1e8, 4e8, 1e9], [2e9, 8e9, 2e10], [3.3, 3.0, 2.8]
U = [1e9, 4e9, 1e10]
C = [6 * n * d for n, d in zip(N, D, strict=True)]
SEEN = {
    "N": [
        *("params", "params_active_precise", "param_count", "n_params", "num_params", "parameter_count", "Params"),
        *("Model Size", "model_size", "size", "Effective Params", "params_no_embed", "N", "PARAMETERS", "n params"),
        *("model/params", "non_embedding_params", "Params (params)"),
    ],
    "D": [
        *("tokens", "training_tokens", "n_tokens", "num_token", "num_tokens", "token_num", "tokens_seen", "D"),
        *("throughput/total_tokens", "Training Tokens", "train-tokens", "tokens (tokens)"),
    ],
    "C": [
        *("flops", "FLOPs", "compute_budget", "budget", "Training FLOP", "C", "total_flops", "training compute"),
        *("FLOPs (FLOP)",),
    ],
    "U": ["unique_tokens", "tokens_per_epoch", "unique", "U", "Unique Tokens"],
    "loss": [
        *("loss", "val_loss", "validation_loss", "final_loss", "lm loss", "train/loss", "val/loss", "loss_c4_val"),
        *(
            "openLM_loss",
            "eval/twitterAEE-validation/CrossEntropyLoss",
            "eval/paloma/macro_loss",
            "Loss",
            "C4 Eval Loss",
        ),
        *("log_perplexity", "loss (nats)"),
    ],
}


def _frame(**renamed: str) -> pd.DataFrame:
    return pd.DataFrame({"N": N, "D": D, "C": C, "U": U, "loss": LOSS}).rename(columns=renamed)


@pytest.mark.parametrize(("name", "column"), [(name, column) for name, columns in SEEN.items() for column in columns])
def test_names_as_people_write_them(name: str, column: str) -> None:
    runs = Runs.read(_frame(**{name: column}))
    assert runs.columns[name] == column
    np.testing.assert_array_equal(runs[name], {"N": N, "D": D, "C": C, "U": U, "loss": LOSS}[name])


@pytest.mark.parametrize(
    ("name", "column", "factor"),
    [
        ("N", "Model Size (B)", 1e9),
        ("N", "params (M)", 1e6),
        ("N", "params_millions", 1e6),
        ("N", "params [billions]", 1e9),
        ("N", "N (1e6)", 1e6),
        ("D", "Pretraining Data Size (T)", 1e12),
        ("D", "tokens_B", 1e9),
        ("D", "tokens (billion tokens)", 1e9),
        ("D", "Tokens in billions", 1e9),
        ("C", "FLOPs (1E21)", 1e21),
        ("C", "flops (10^21)", 1e21),
        ("C", "throughput/total_gflops", 1e9),
        ("C", "compute (PF-days)", 8.64e19),
        ("C", "Training compute (EFLOPs)", 1e18),
        ("loss", "loss (bits)", np.log(2)),
    ],
)
def test_a_unit_in_the_name_is_converted_and_recorded(name: str, column: str, factor: float) -> None:
    frame = _frame(**{name: column})
    frame[column] = frame[column] / factor
    runs = Runs.read(frame)
    # One division and one multiplication.
    np.testing.assert_allclose(runs[name], {"N": N, "D": D, "C": C, "loss": LOSS}[name], rtol=4e-16)
    assert runs.columns[name] == f"{factor:g} * {column}"


def test_a_name_that_says_log10_is_converted() -> None:
    frame = _frame(D="log10_tokens")
    frame["log10_tokens"] = np.log10(frame["log10_tokens"])
    runs = Runs.read(frame)
    # An absolute error of 1e-15 in log10 of about 10 is a relative error of about 2e-15.
    np.testing.assert_allclose(runs["D"], D, rtol=1e-14)
    assert runs.columns["D"] == "10^(log10_tokens)"


def test_an_unknown_unit_in_a_name_is_refused_and_not_guessed() -> None:
    frame = _frame(N="Params (gazillions)").drop(columns=["C", "D"])
    with pytest.raises(RunsError, match="no column holds N"):
        Runs.read(frame)
    frame = _frame(N="Params (gazillions)")
    assert Runs.read(frame).columns["N"] == "C / (6 D)"


def test_numbers_with_a_suffix_under_a_unit_are_refused() -> None:
    frame = pd.DataFrame({"Model Size (B)": ["2.8B", "7", "70"], "D": D, "loss": LOSS})
    with pytest.raises(RunsError, match=r"row 1, column 'Model Size \(B\)', value '2.8B': is not a plain number"):
        Runs.read(frame)


def test_exact_names_win_over_aliases() -> None:
    frame = _frame().assign(params=1.0, val_loss=9.0, tokens=1.0, flops=1.0)
    runs = Runs.read(frame)
    np.testing.assert_array_equal(runs["loss"], LOSS)
    assert runs.columns == {"N": "N", "D": "D", "C": "C", "U": "U", "loss": "loss"}


def test_two_candidates_are_refused_with_the_option_to_type() -> None:
    frame = _frame(N="params").assign(params_no_embed=[9e7, 3.8e8, 9e8])
    with pytest.raises(RunsError, match="--column N=params or --column N=params_no_embed"):
        Runs.read(frame)
    np.testing.assert_array_equal(Runs.read(frame, columns={"N": "params_no_embed"})["N"], [9e7, 3.8e8, 9e8])
    assert Runs.read(frame, columns={"N": "params_no_embed"})["params"].tolist() == N


def test_options_are_quoted_for_the_shell() -> None:
    frame = _frame(loss="C4 loss").assign(**{"val/loss": LOSS})
    with pytest.raises(RunsError, match="--column 'loss=C4 loss' or --column loss=val/loss"):
        Runs.read(frame)


def test_eight_losses_are_refused_and_error_bars_are_not_candidates() -> None:
    frame = _frame(loss="loss_0").assign(**{f"loss_{place}": LOSS for place in range(1, 8)})
    with pytest.raises(RunsError, match="8 columns could be loss"):
        Runs.read(frame)
    bars = _frame(loss="val_loss").assign(loss_lower95_val=0.1, loss_upper95_val=9.0, val_loss__MIN=0.1, z_loss=1e-4)
    np.testing.assert_array_equal(Runs.read(bars)["loss"], LOSS)


def test_a_candidate_without_any_number_is_none() -> None:
    frame = _frame(N="n").assign(param_count=["kaplan", "standard", "attention"])
    assert Runs.read(frame).columns["N"] == "n"
    only = pd.DataFrame({"model_size": ["small", "base", "large"], "loss": LOSS})
    with pytest.raises(RunsError, match=r"column 'model_size' holds no number \(first value 'small'\)"):
        Runs.read(only)


def test_an_empty_column_counts_as_absent() -> None:
    frame = _frame().astype(object)
    frame["C"] = [None, None, None]
    assert Runs.read(frame).columns["C"] == "6 N D"
    frame["loss"] = ""
    with pytest.raises(RunsError, match=r"no column holds loss .* column 'loss' is empty"):
        Runs.read(frame)


def test_columns_settle_the_rest() -> None:
    frame = _frame(N="width2", loss="eval/nll")
    with pytest.raises(RunsError, match="no column holds loss"):
        Runs.read(frame)
    runs = Runs.read(frame, columns={"n": "width2", "loss": "eval/nll", "C": "none"})
    assert runs.columns == {"N": "width2", "D": "D", "C": "6 N D", "U": "U", "loss": "eval/nll"}


def test_columns_take_a_unit() -> None:
    frame = pd.DataFrame({"size": [0.1, 0.4, 1.0], "num_token": np.log10(D), "ppl": np.exp(LOSS)})
    given = {"N": "size (B)", "D": "num_token (log10)", "loss": "ppl (perplexity)"}
    runs = Runs.read(frame, columns=given)
    np.testing.assert_allclose(runs["N"], N, rtol=4e-16)
    np.testing.assert_allclose(runs["D"], D, rtol=1e-14)
    np.testing.assert_allclose(runs["loss"], LOSS, rtol=4e-16)
    assert runs.columns["loss"] == "ln(ppl)"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"loss": "val_los"}, "has no column 'val_los'; did you mean --column loss=val_loss"),
        ({"los": "val_loss"}, "'los' is not a quantity that a law reads; expected one of N, D, C, U, loss"),
        ({"N": "D"}, "the one column is taken for N and D"),
        ({"N": "val_loss (parsecs)"}, "'parsecs' is not a known unit for N"),
        ({"loss": "none"}, "set aside with --column loss=none"),
    ],
)
def test_columns_that_cannot_be_meant(columns: dict[str, str], said: str) -> None:
    with pytest.raises(RunsError, match=said):
        Runs.read(_frame(loss="val_loss"), columns=columns)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("ppl", "--column 'loss=ppl \\(perplexity\\)'"),
        ("val_perplexity", "--column 'loss=val_perplexity \\(perplexity\\)'"),
        ("hellaswag acc", "is an accuracy"),
        ("bpb", "--column loss=bpb"),
    ],
)
def test_a_metric_that_is_no_loss_is_refused_with_a_remedy(column: str, said: str) -> None:
    frame = _frame(loss=column)
    with pytest.raises(RunsError, match=said):
        Runs.read(frame)
    if column == "bpb":
        assert any("bits per byte" in warning for warning in Runs.read(frame, columns={"loss": column}).warnings)
    else:
        with pytest.raises(RunsError, match=r"is not a loss"):
            Runs.read(frame, columns={"loss": column})


def test_needs_decide_what_must_be_there() -> None:
    frame = _frame().drop(columns=["C", "D", "U"]).assign(params=N)
    assert Runs.read(frame, needs=["N", "loss"]).columns == {"N": "N", "loss": "loss"}
    with pytest.raises(RunsError, match=r"no column holds D .* or give C and N, from which D = C / \(6 N\)"):
        Runs.read(frame, needs=["N", "D", "loss"])
    ambiguous = pd.DataFrame({"params": N, "size": N, "D": D, "loss": LOSS})
    assert len(Runs.read(ambiguous, needs=["D", "loss"])) == 3
    with pytest.raises(RunsError, match="2 columns could be N"):
        Runs.read(ambiguous, needs=["C", "loss"])


def test_needs_without_the_loss_reads_targets() -> None:
    runs = Runs.read(pd.DataFrame({"N": ["70B"], "D": ["1.4T"]}), needs=["N", "D"])
    assert len(runs) == 1
    assert "loss" not in runs
    assert runs["C"][0] == 5.88e23


def test_needs_may_name_another_column() -> None:
    frame = _frame().assign(**{"tokens[en]": [1.0, 0.0, -2.0]})
    runs = Runs.read(frame, needs=["N", "tokens[en]", "loss"])
    assert runs["tokens[en]"].tolist() == [1.0, 0.0, -2.0]
    assert runs.columns["tokens[en]"] == "tokens[en]"
    with pytest.raises(RunsError, match=r"there is no column 'tokens\[fr\]'"):
        Runs.read(frame, needs=["N", "tokens[fr]", "loss"])
    frame["tokens[en]"] = ["1", "x", "3"]
    with pytest.raises(RunsError, match=r"row 2, column 'tokens\[en\]', value 'x'"):
        Runs.read(frame, needs=["N", "tokens[en]", "loss"])


def test_check_tells_what_a_law_could_use(written: Callable[..., Path]) -> None:
    path = written("params,Training FLOP,val_loss\n1e8,1.2e18,3.3\n1e9,1.2e20,2.8\n")
    verdict = check(path)
    assert verdict.ok
    assert verdict.n_runs == 2
    assert verdict.available == {"N", "D", "C", "loss"}
    assert verdict.columns == {"N": "params", "D": "C / (6 N)", "C": "Training FLOP", "loss": "val_loss"}
    assert verdict.runs is not None
    np.testing.assert_allclose(verdict.runs["D"], [2e9, 2e10], rtol=4e-16)
    assert "can be used: 2 of 2 rows" in str(verdict)
