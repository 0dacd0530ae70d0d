"""A fit whose parameters differ between groups: what it says of each, of a new one, and on file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bayescale.cli import main
from bayescale.errors import FitError, TargetError
from bayescale.fits import Fit
from bayescale.runs import Runs


def test_it_converges_and_finds_each_group(corpora_fit: Fit, alphas: dict[str, float]) -> None:
    assert corpora_fit.diagnostics.ok, corpora_fit.diagnostics.warnings
    summary = corpora_fit.summary()
    for name, alpha in alphas.items():
        row = summary.loc[f"alpha[{name}]"]
        # four posterior sds: five groups, seen once
        assert abs(row["mean"] - alpha) < 4 * row["sd"], name
    assert {"alpha_level", "alpha_spread", "A[c4]", "N_exponent[wiki]", "B"} <= set(summary.index)


def test_few_runs_lean_on_the_others(corpora_fit: Fit) -> None:
    spread = corpora_fit.draws["alpha"].std(("chain", "draw"))
    assert spread.dims == ("corpus",)
    assert float(spread.sel(corpus="wiki")) > 2 * float(spread.sel(corpus="c4"))


def test_a_new_group_is_as_uncertain_as_the_groups_are_apart(corpora_fit: Fit) -> None:
    targets = {"N": [1e11] * 2, "D": [2e12] * 2, "corpus": ["c4", "arxiv"]}
    made = corpora_fit.forecast(targets)
    assert made["corpus"].values.tolist() == ["c4", "arxiv"]
    known, new = made["mean_loss"].std("sample").values
    assert new > 2 * known
    level = corpora_fit.draws["alpha_level"].values.ravel()
    new_alpha = corpora_fit.of(corpus="arxiv").theta["alpha"]
    # the median of 1,600 draws of a new group, whose log has the spread for its sd
    error = 1.25 * np.std(np.log(new_alpha)) / np.sqrt(len(level))
    assert abs(np.median(np.log(new_alpha)) - np.median(np.log(level))) < 5 * error


def test_one_group_answers_everything(corpora_fit: Fit) -> None:
    one = corpora_fit.of(corpus="rpj")
    assert one.model is not None
    assert not one.model.groups
    assert len(one.runs) == 28 or len(one.runs) == 30
    np.testing.assert_array_equal(one.theta["alpha"], corpora_fit.values["alpha[rpj]"].ravel())
    assert one.allocation([1e22])["N"].shape == (1600, 1)
    alone = one.forecast({"N": [1e10], "D": [2e11]})["mean_loss"]
    together = corpora_fit.forecast({"N": [1e10], "D": [2e11], "corpus": ["rpj"]})["mean_loss"]
    np.testing.assert_allclose(alone, together, rtol=1e-12)


def test_what_needs_one_group_says_so(corpora_fit: Fit) -> None:
    with pytest.raises(TargetError, match=r'alpha differ by corpus: ask it of one group, fit[.]of\(corpus="c4"\)'):
        corpora_fit.allocation([1e22])
    with pytest.raises(TargetError, match=r"say of each target which it belongs to, e[.]g[.] corpus=c4"):
        corpora_fit.forecast({"N": [1e10], "D": [2e11]})
    with pytest.raises(FitError, match=r"seed makes no groups here"):
        corpora_fit.of(seed="1")


def test_what_rests_on_the_prior_is_labelled(corpora_fit: Fit) -> None:
    """The same rule as without groups: a posterior more than half as wide as the prior is the prior's answer."""
    assert corpora_fit.rests_on is not None
    assert "prior-dominated" not in corpora_fit.rests_on.verdicts.values()
    document = corpora_fit.record.document()
    document["diagnostics"]["contraction"] |= {"alpha_spread": 0.3}
    tree = corpora_fit.tree.copy()
    tree.attrs["bayescale"] = json.dumps(document)
    doubted = Fit(tree)
    assert doubted.rests_on is not None
    assert doubted.rests_on.verdicts["alpha_spread"] == "prior-dominated"
    assert doubted.rests_on.verdicts["alpha[c4]"] == "not judged"
    line = next(line for line in repr(doubted.summary()).splitlines() if line.startswith("alpha_spread"))
    assert line.endswith("prior-dominated")


def test_on_file_it_is_the_same_fit(corpora_fit: Fit, tmp_path: Path) -> None:
    again = Fit.load(corpora_fit.save(tmp_path / "fit.nc"))
    assert again == corpora_fit
    assert again.model == corpora_fit.model
    assert again.draws["alpha"].dims == ("chain", "draw", "corpus")
    targets = {"N": [1e11], "D": [2e12], "corpus": ["arxiv"]}
    np.testing.assert_array_equal(again.forecast(targets)["mean_loss"], corpora_fit.forecast(targets)["mean_loss"])


def test_on_the_command_line(corpora: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, out = tmp_path / "corpora.csv", tmp_path / "fit.nc"
    corpora.table.to_dataframe()[["N", "D", "loss", "corpus"]].to_csv(table, index=False)
    flags = ["--pool", "alpha=corpus", "--noise", "normal", "--draws", "400", "--seed", "1", "--json"]
    assert main(["fit", str(table), *flags, "--out", str(out)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"alpha[c4]", "alpha_level", "alpha_spread"} <= set(document["parameters"])
    assert document["priors"]["alpha"].startswith("pooled(LogNormal(log(0.35), 0.5), over=corpus")
    assert main(["forecast", str(out), "--at", "N=1e10,D=2e11,corpus=c4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["forecasts"][0]["inputs"]["corpus"] == "c4"
    assert main(["allocate", str(out), "--flops", "1e22", "--group", "corpus=c4", "--json"]) == 0
    capsys.readouterr()
    assert main(["allocate", str(out), "--flops", "1e22"]) == 2
    assert "--group on the command line" in capsys.readouterr().err
