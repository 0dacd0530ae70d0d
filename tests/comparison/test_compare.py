"""`bayescale.compare`: a row a procedure, refusals, and what is refused before anything is fitted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bayescale
from bayescale.comparison import Comparison
from bayescale.errors import BayescaleError, FitError, LawError, RunsError
from bayescale.laws.chinchilla import Chinchilla
from bayescale.runs import Runs

QUANTILES = {"q05", "q25", "median", "q75", "q95"}
ROW = {"procedure", "kind", "N_exponent", "N", "D", "E", "heldout", "seconds", "warnings"}


@pytest.fixture
def table(simulate: Callable[..., Runs]) -> Runs:
    return simulate(size=40)


@pytest.fixture
def three(fake: Callable[..., str], table: Runs) -> Comparison:
    """A bootstrap, a posterior, and a procedure that refuses."""
    names = [fake("boots"), fake("post", kind="posterior", beta=0.42), fake("picky", least=1000)]
    return bayescale.compare(table, procedures=names, flops=[1e24, 1e22])


def test_a_row_a_procedure(three: Comparison, table: Runs) -> None:
    document = json.loads(json.dumps(three.document()))
    rows = {row["procedure"]: row for row in document["rows"]}
    assert list(rows) == ["boots", "post", "picky"]
    assert [row["kind"] for row in rows.values()] == ["bootstrap", "posterior", "bootstrap"]
    for row in rows.values():
        assert set(row) >= ROW
        assert row["heldout"] is None
    for name in ("N_exponent", "D_exponent", "N", "D", "E", "loss"):
        for procedure in ("boots", "post"):
            assert set(rows[procedure][name]) == QUANTILES | {"estimate"}
            assert rows[procedure][name]["q05"] < rows[procedure][name]["median"] < rows[procedure][name]["q95"]
    assert rows["post"]["E"]["estimate"] is None
    # the optimum of the closed form at the estimate, at the first budget
    theta = {name: three.fits["boots"].estimate[name] for name in Chinchilla.parameters}
    N, D = Chinchilla().optimum(1e24, **theta)
    assert rows["boots"]["N"]["estimate"] == pytest.approx(float(N), rel=1e-9)
    assert rows["boots"]["D"]["estimate"] == pytest.approx(float(D), rel=1e-9)
    assert [allocation["flops"] for allocation in rows["boots"]["allocations"]] == [1e24, 1e22]
    assert rows["boots"]["allocations"][0]["N"] == rows["boots"]["N"]
    assert rows["boots"]["allocations"][1]["N"]["estimate"] == pytest.approx(
        float(Chinchilla().optimum(1e22, **theta)[0]), rel=1e-9
    )
    assert document["n_runs"] == 40
    assert isinstance(document["verdict"], str)


def test_a_procedure_that_refuses_has_its_sentence_and_is_no_reason_for_distrust(three: Comparison) -> None:
    row = three.document()["rows"][2]
    assert row["refused"] is True
    assert row["warnings"] == ["picky needs 1000 runs, and simulated-0.csv has 40"]
    assert [row[name] for name in ("N_exponent", "N", "D", "E", "loss", "heldout", "seconds")] == [None] * 7
    assert three.ok
    assert "No answer from picky." in three.verdict
    assert "picky gives no answer: picky needs 1000 runs" in repr(three)


def test_a_fit_that_is_not_to_be_trusted(fake: Callable[..., str], table: Runs) -> None:
    made = bayescale.compare(table, procedures=[fake("good"), fake("bad", warnings=("it did not converge.",))])
    assert not made.ok
    assert made.untrusted == ("bad",)
    assert made.document()["diagnostics"] == {"ok": False, "untrusted": ["bad"]}
    assert "bad (!)" in repr(made)
    assert "bad ! it did not converge." in repr(made)


def test_the_budget_is_ten_times_the_largest_without_one(fake: Callable[..., str], table: Runs) -> None:
    made = bayescale.compare(table, procedures=[fake("boots")])
    assert made.flops == (pytest.approx(10 * table["C"].max()),)
    assert "(10 times the largest run)" in repr(made)


def test_a_point_fills_the_median_only(fake: Callable[..., str], table: Runs) -> None:
    made = bayescale.compare(table, procedures=[fake("boots")], replicates=0)
    row = made.document()["rows"][0]
    assert row["kind"] == "point"
    assert row["N_exponent"]["median"] == row["N_exponent"]["estimate"]
    assert row["N_exponent"]["q05"] is None


def test_a_law_of_compute_alone_gives_the_loss_and_says_why_not_the_rest() -> None:
    C = np.geomspace(1e18, 1e21, 12)
    runs = Runs.from_arrays(C=C, loss=1.8 + 1.2 * (C / 1e18) ** -0.2 * np.exp(0.002 * np.sin(np.arange(12.0))))
    made = bayescale.compare(runs, "power-C", ["nuts"], flops=[1e22], draws=100)
    row = made.document()["rows"][0]
    assert row["N"] is None
    assert row["N_exponent"] is None
    assert row["loss"]["q05"] < 1.8 + 1.2 * 1e4**-0.2 < row["loss"]["q95"]
    assert any(note.startswith("no N, D: power-C") and "cannot split a budget" in note for note in row["notes"])


def test_table_and_intervals_hold_the_same_numbers(three: Comparison) -> None:
    row = three.document()["rows"][0]
    assert three.table.loc["boots", "N_exponent"] == row["N_exponent"]["estimate"]
    assert three.table.loc["boots", "N_q95"] == row["N"]["q95"]
    assert np.isnan(three.table.loc["picky", "N"])
    shown = three.intervals.sel(procedure="boots", quantity="N")
    assert shown["interval"].sel(level=0.95).item() == row["N"]["q95"]
    assert three.intervals["refused"].values.tolist() == [False, False, True]
    assert three.intervals["trusted"].values.tolist() == [True, True, False]


def test_the_same_seed_gives_the_same_comparison(fake: Callable[..., str], table: Runs) -> None:
    names = [fake("one"), fake("other", beta=0.4)]
    first, again = (bayescale.compare(table, procedures=names, seed=3).document() for _ in range(2))
    assert first == again
    assert bayescale.compare(table, procedures=names, seed=4).document() != first


def test_settings_reach_their_procedure_alone(fake: Callable[..., str], table: Runs) -> None:
    names = [fake("one"), fake("other")]
    made = bayescale.compare(table, procedures=names, settings={"one": {"delta": "1e-2"}}, replicates=7)
    assert made.fits["one"].record.settings == {"replicates": 7, "delta": 1e-2}
    assert made.fits["other"].record.settings == {"replicates": 7, "delta": 1e-3}


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"procedures": ["boots", "bayes"]}, FitError, "there is no procedure called 'bayes'"),
        ({"procedures": []}, FitError, "no procedure is named"),
        ({"law": "chincilla"}, LawError, "did you mean chinchilla"),
        ({"noise": "gauss"}, BayescaleError, "unknown noise 'gauss'"),
        ({"settings": {"boots": {"dlta": 1}}}, FitError, "boots has no setting 'dlta'"),
        ({"settings": {"nuts": {"draws": 1}}}, FitError, "settings are given for nuts, which is not compared here"),
        ({"paired": 20}, FitError, "20 tables say little of an interval; give at least 100, or 0"),
        ({"chains": 2}, FitError, "compare takes no 'chains'"),
        ({"flops": [-1.0]}, BayescaleError, "budgets must be finite FLOPs above 0"),
        ({"holdout": 1.5}, RunsError, "give a factor above 2"),
        ({"holdout": 1e6}, RunsError, "at least 8 are needed: the largest factor that does is"),
        ({"alternatives": {"N": "params"}}, RunsError, "has no column 'params'"),
        ({"alternatives": {"loss": "N"}}, RunsError, "stands for N, D or C, not for 'loss'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_the_work(
    fake: Callable[..., str], table: Runs, given: dict[str, Any], error: type[BayescaleError], said: str
) -> None:
    name = fake("boots")
    with pytest.raises(error, match=said):
        bayescale.compare(table, **{"procedures": [name]} | given)


def test_sensitivity_of_a_posterior_alone_is_refused(table: Runs) -> None:
    with pytest.raises(FitError, match="sensitivity is that of fast point answers, and none of these"):
        bayescale.compare(table, procedures=["nuts"], sensitivity=True)


def test_nothing_can_be_fitted(fake: Callable[..., str], table: Runs) -> None:
    names = [fake("picky", least=1000), fake("choosy", least=2000)]
    with pytest.raises(FitError, match=r"no procedure can fit this table:\n  picky: .*\n  choosy: choosy needs 2000"):
        bayescale.compare(table, procedures=names)


def test_a_mapping_or_a_frame_is_a_table(fake: Callable[..., str], table: Runs) -> None:
    name = fake("boots")
    columns = {key: table[key] for key in ("N", "D", "loss")}
    assert bayescale.compare(columns, procedures=[name]).n_runs == 40


def test_refits_to_common_tables(fake: Callable[..., str], table: Runs) -> None:
    # what the made-up procedures say of a table follows from its losses alone, so that their differences there are
    # constant but for the share that their centres differ by; their own replicates are drawn apart
    names = [fake("one", beta=0.38), fake("other", beta=0.40)]
    made = bayescale.compare(table, procedures=names)
    assert (made.pairs["how"] == "tables").all()
    assert "refitted to the same tables" in made.verdict
    apart = bayescale.compare(table, procedures=names, paired=0)
    assert (apart.pairs["how"] == "independent").all()
    width = (made.pairs["q95"] - made.pairs["q05"]).max()
    assert width < 0.2 * (apart.pairs["q95"] - apart.pairs["q05"]).max()
    # the rows are those of the procedures' own replicates either way
    columns = [name for name in made.table if name != "seconds"]
    assert made.table[columns].equals(apart.table[columns])


def test_procedures_that_bootstrap_alike_are_paired_as_they_are(table: Runs) -> None:
    made = bayescale.compare(table, procedures=["least-squares", "vpnls"], replicates=50)
    assert (made.pairs["how"] == "resamples").all()
    # two ways to one optimum
    assert (made.pairs["standardised"] == 0).all()
