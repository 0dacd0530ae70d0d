"""IsoFLOP profiles and envelopes on the tables that published exponents were read from.

Sources: Porian et al. 2024 (arXiv 2406.19146) and their repository; Llama 3 (arXiv 2407.21783), section 3.2.1, from
digitised points; Gemstones (arXiv 2502.06857). The toy table's figures are those of its own page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayescale.errors import FitError
from bayescale.fits import Fit
from bayescale.procedures import fit
from bayescale.procedures.isoflop import regress_optima
from bayescale.runs import Runs

CONFIGURATION = ["source_file", "dataset", "hparams", "warmup", "decay", "param_count", "val"]


@pytest.fixture(scope="module")
def runs(shared_data: Path) -> Runs:
    """The points of Llama 3's figure."""
    return Runs.read(shared_data / "llama3_isoflop_digitised.csv")


@pytest.fixture(scope="module")
def whole(runs: Runs) -> Fit:
    """Parabolas in log tokens through all of them."""
    return fit(runs, procedure="isoflop", size="D")


class TestLlama3:
    def test_all_points(self, whole: Fit) -> None:
        assert len(whole.runs) == 133
        assert whole.estimate is not None
        # printed to four and three digits; Meta prints .53 and .29 (.537 and .299 in a legend)
        assert whole.estimate["D_exponent"] == pytest.approx(0.5368, abs=5e-5)
        assert whole.estimate["D_coefficient"] == pytest.approx(0.299, abs=5e-4)
        at = whole.at_estimate.allocation([3.8e25])
        assert at["D"].item() == pytest.approx(16.10e12, abs=5e9)
        assert at["N"].item() == pytest.approx(393e9, abs=5e8)
        assert whole.diagnostics.ok

    def test_metas_answer_lies_inside_the_interval(self, whole: Fit) -> None:
        draws = whole.allocation([3.8e25])["D"]
        low, high = np.quantile(draws, (0.05, 0.95))
        assert low < 16.55e12 < high
        # and so does what other windows give, bar the narrowest but one
        assert low < 12.17e12 < high

    def test_windows(self, runs: Runs) -> None:
        found = {}
        for window in range(3, 12):
            made = fit(runs, procedure="isoflop", size="D", window=window, replicates=0)
            found[window] = made.allocation([3.8e25])["D"].item() / 1e12
            assert made.diagnostics.measures["budgets"] == 10
        assert min(found.values()) == found[3] == pytest.approx(12.2, abs=0.05)
        assert max(found.values()) == found[11] == pytest.approx(16.3, abs=0.05)


@pytest.fixture(scope="module")
def cells(shared_data: Path) -> pd.DataFrame:
    """Means over three training seeds of the toy source's 27 cells."""
    table = pd.read_csv(shared_data / "seed_isoflop_runs.csv")
    means = table.groupby(["C", "N", "D"], as_index=False)["loss"].mean()
    assert len(means) == 27
    return means


class TestToySource:
    @pytest.mark.parametrize(
        ("window", "exponent"), [(3, 0.577), (4, 0.563), (5, 0.482), (6, 0.445), (7, 0.388), (None, 0.311)]
    )
    def test_windows(self, cells: pd.DataFrame, window: int | None, exponent: float) -> None:
        made = fit(cells, procedure="isoflop", window=window)
        assert made.estimate is not None
        assert made.estimate["N_exponent"] == pytest.approx(exponent, abs=5e-4)
        # one interval of 90 % holds the exponents of all windows but the widest and the narrowest two
        low, high = np.quantile(made.draws["N_exponent"], (0.05, 0.95))
        assert low < 0.388 < 0.482 < high

    def test_minima_of_five_points(self, cells: pd.DataFrame) -> None:
        notes = fit(cells, procedure="isoflop", window=5, replicates=0).diagnostics.notes
        assert "minima at 1220, 1522, 4511, 7874." in notes

    def test_a_parametric_fits_exponent_is_no_disagreement(self, cells: pd.DataFrame) -> None:
        """Least squares on the same cells gives .362."""
        low, high = np.quantile(fit(cells, procedure="isoflop", window=5).draws["N_exponent"], (0.05, 0.95))
        assert low < 0.362 < high


@pytest.fixture(scope="module")
def published(shared_data: Path) -> pd.DataFrame:
    """What Porian et al. saved, by configuration."""
    return pd.read_csv(shared_data / "porian2024_published_fits.csv").set_index(CONFIGURATION)


@pytest.fixture(scope="module")
def own(shared_data: Path) -> dict[Any, Fit]:
    """Their procedure on their points: Akima, their seed noise, their weights, no scatter beyond the noise."""
    points = pd.read_csv(shared_data / "porian2024_isoflop_points.csv")
    assert len(points) == 1745
    settings: dict[str, Any] = {"method": "akima", "weighted": True, "excess_scatter": False}
    made = {}
    for configuration, group in points.groupby(CONFIGURATION):
        runs = Runs.from_arrays(N=group["n"], C=group["flops"], loss=group["loss"])
        noise = 0.002 if configuration[1] == "rw" else 0.01
        made[configuration] = fit(runs, procedure="isoflop", seed_noise_nats=noise, **settings)
    return made


class TestPorian:
    def test_the_regression_gives_all_fifteen_exponents(self, shared_data: Path, published: pd.DataFrame) -> None:
        pairs = pd.read_csv(shared_data / "porian2024_optimal_pairs.csv")
        left_out = 0
        for configuration, group in pairs.groupby(CONFIGURATION):
            # n_star_std is the sd of ln n
            found = regress_optima(group["flops"], group["n"], group["n_star_std"])
            assert found.exponent == pytest.approx(
                published.loc[configuration, "bs_median_weighted.n_exponent"], abs=5e-5
            ), configuration
            left_out += len(found.warnings)
            assert len(found.warnings) == (~found.used).sum()
        assert len(published) == 15
        assert left_out == 4

    def test_weights_that_are_inverted_do_not(self, shared_data: Path) -> None:
        pairs = pd.read_csv(shared_data / "porian2024_optimal_pairs.csv").dropna(subset=["n", "n_star_std"])
        first = pairs[pairs["source_file"] == "summary_df_owt2"]
        with pytest.raises(FitError, match="not a weight"):
            regress_optima(first["flops"], first["n"], first["n_star_std"] ** -2.0)

    def test_our_minima_give_intervals_that_hold_the_published_exponents(
        self, own: dict[Any, Fit], published: pd.DataFrame
    ) -> None:
        assert len(own) == 15
        for configuration, made in own.items():
            exponent = published.loc[configuration, "bs_median_weighted.n_exponent"]
            low, high = np.quantile(made.draws["N_exponent"], (0.025, 0.975))
            assert low <= exponent <= high, configuration
            # of the interval they print, which is no wider
            ends = [published.loc[configuration, f"bootstrap_weighted.n_exponent.{q}"] for q in ("q025", "q975")]
            assert high - low == pytest.approx(ends[1] - ends[0], rel=0.25), configuration

    def test_the_path_from_kaplan_to_chinchilla(self, own: dict[Any, Fit]) -> None:
        steps = {
            ("base", "long", "kaplan", "kaplan", "train"): (0.835, 0.864),
            ("base", "long", "kaplan", "standard", "val"): (0.706, 0.699),
            ("base", "short", "kaplan", "standard", "val"): (0.602, 0.603),
            ("base", "short", "chinchilla", "standard", "val"): (0.571, 0.574),
            ("tuned", "short", "const", "standard", "val"): (0.497, 0.518),
        }
        for step, expected in steps.items():
            for source, exponent in zip([("summary_df", "rw"), ("summary_df_owt2", "owt2")], expected, strict=True):
                estimate = own[(*source, *step)].estimate
                assert estimate is not None
                # theirs are medians of replicates on a grid of sizes, ours the minimum of the table
                assert estimate["N_exponent"] == pytest.approx(exponent, abs=4e-3), (source, step)

    def test_a_budget_whose_lowest_loss_is_at_an_end_is_named(self, own: dict[Any, Fit]) -> None:
        """The three configurations in which they have no optimum either."""
        left_out = [
            note for made in own.values() for note in made.diagnostics.notes if note.startswith("left out of the regr")
        ]
        assert len(left_out) == 3
        assert all("1.25e+16 FLOPs: the loss is lowest at an end of its sizes" in note for note in left_out)


class TestGemstones:
    """Checkpoints of 20 and 22 runs, with the authors' FLOPs; their Approach 1 takes the convex hull."""

    @staticmethod
    def flops_per_token(width: pd.Series, depth: pd.Series) -> pd.Series:
        """Training FLOPs a token of their architecture (vocabulary 50,304, 2,048 tokens, heads of 128, grouped)."""
        context, head, vocabulary = 2048.0, 128.0, 50304.0
        heads = width / head
        attention = 2.0 * context * (2.0 * heads) * width * head + 3.5 * context * 1.5 * heads * head
        logits, softmax = context**2 * head * heads, 3.0 * context**2 * heads
        reduction, out = 2.0 * context**2 * head * heads, 2.0 * context * width * head * heads
        backward = 2.0 * attention + 2.5 * (logits + softmax + reduction) + 2.0 * out
        forward = attention + logits + softmax + reduction + out
        dense = 6.0 * context * width * 4.0 * width + 10.0 * context * 4.0 * width + 2.0 * width * context
        norms, last = 14.0 * width * context, 7.0 * width * context + 2.0 * context * width * vocabulary
        return (depth * (forward + backward) + 3.0 * (depth * (dense + norms) + last)) / context

    def fit(self, shared_data: Path, subset: str, **settings: Any) -> Fit:
        table = pd.read_csv(shared_data / "gemstones2025_runs.csv").query(f"subset == '{subset}'")
        runs = pd.DataFrame(
            {
                "run_name": table["run_name"],
                "N": table["params_active_precise"],
                "D": table["tokens"],
                "C": self.flops_per_token(table["width"], table["depth"]) * table["tokens"],
                "loss": table["final_loss"],
            }
        )
        return fit(runs, procedure="envelope", **settings)

    def test_the_hull_of_the_cooled_down_runs(self, shared_data: Path) -> None:
        made = self.fit(shared_data, "cool_end", winners="hull", replicates=0)
        assert made.estimate is not None
        assert made.estimate["N_exponent"] == pytest.approx(0.59698, abs=5e-6)

    def test_the_hull_of_all_checkpoints(self, shared_data: Path) -> None:
        """Printed .49938, from checkpoints every 2B tokens; the table has every fifth of them."""
        made = self.fit(shared_data, "hot_100b+", winners="hull", replicates=0)
        assert made.estimate is not None
        assert made.estimate["N_exponent"] == pytest.approx(0.49938, abs=1e-3)

    def test_replicates_of_runs(self, shared_data: Path) -> None:
        made = self.fit(shared_data, "hot")
        low, high = np.quantile(made.draws["N_exponent"], (0.025, 0.975))
        assert low < made.estimate["N_exponent"] < high  # type: ignore[index]
        # 22 runs, each in two thirds of the replicates
        assert 0.02 < high - low < 0.2


# Mixed families, near-duplicate sizes, budgets that are none, checkpoints: whatever comes, a finite fit or a sentence.
# A warning of numpy on the way fails the test.
TABLES = {
    "epoch2024_chinchilla_svg_extracted.csv": {},
    "datablations2023_c4_runs.csv": {},
    "misfitting2025_last_checkpoint.csv": {},
    "ladder_runs.csv": {},
    "seed_isoflop_all_seeds.csv": {},
    "gemstones2025_runs.csv": {"columns": {"C": "none"}, "where": "subset == 'hot'"},
}
SETTINGS: dict[str, dict[str, Any]] = {
    "isoflop": {},
    "window": {"window": 5},
    "akima": {"method": "akima", "seed_noise_nats": 0.005, "weighted": True},
    "rows": {"resample": "rows"},
    "tokens": {"size": "D", "weighted": True},
    "envelope": {},
    "hull": {"winners": "hull"},
}


@pytest.mark.parametrize("table", TABLES)
def test_every_real_table_gets_numbers_or_a_sentence(shared_data: Path, table: str) -> None:
    runs = Runs.read(shared_data / table, needs=["N", "D", "C", "loss"], drop_bad=True, **TABLES[table])
    answered = 0
    for name, settings in SETTINGS.items():
        procedure = "envelope" if name in ("envelope", "hull") else "isoflop"
        if procedure == "envelope" and table != "gemstones2025_runs.csv":
            with pytest.raises(FitError, match="use isoflop"):
                fit(runs, procedure=procedure, **settings)
            continue
        made = fit(runs, procedure=procedure, replicates=200, **settings)
        answered += 1
        for parameter in ("N_star", "N_exponent"):
            assert np.isfinite(made.draws[parameter]).all()
        given = np.isfinite(made.draws["E"])
        assert given.all() or (not given.any() and "forecasts are refused" in " ".join(made.diagnostics.notes))
        assert np.isfinite(made.allocation([1e24])["N"]).all()
    assert answered >= 5
