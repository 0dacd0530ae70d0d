"""What a fit says: its parts, its summary, its verdict, its derived quantities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayescale.errors import FitError
from bayescale.fits import Fit
from bayescale.inference.convergence import convergence
from bayescale.laws.chinchilla import Chinchilla
from bayescale.runs import Runs

COLUMNS = ["mean", "sd", "q05", "q25", "median", "q75", "q95", "rhat", "ess_bulk", "ess_tail"]
PARAMETERS = ["E", "a", "b", "alpha", "beta"]


@pytest.fixture
def theta() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    return {name: np.exp(0.1 * generator.standard_normal((1, 40))) for name in PARAMETERS}


class TestParts:
    def test_groups_are_arviz_groups(self, simulated_fit: Fit) -> None:
        assert set(simulated_fit.tree.children) == {"posterior", "sample_stats", "observed_data", "constant_data"}
        posterior = simulated_fit.tree["posterior"]
        assert dict(posterior.sizes) == {"chain": 4, "draw": 500}
        assert posterior["chain"].values.tolist() == [0, 1, 2, 3]
        assert {"lp", "diverging", "tree_depth", "energy", "n_steps"} <= set(
            simulated_fit.tree["sample_stats"].data_vars
        )
        assert set(simulated_fit.tree["constant_data"].data_vars) == {"N", "D", "C"}

    def test_arviz_reads_it(self, simulated_fit: Fit) -> None:
        import arviz_stats

        summary = arviz_stats.summary(simulated_fit.tree, var_names=["alpha"], round_to=None)
        ours = convergence({"alpha": simulated_fit.draws["alpha"].values})
        assert float(summary.loc["alpha", "r_hat"]) == pytest.approx(ours.rhat["alpha"], abs=0.01)

    def test_theta_joins_the_chains(self, simulated_fit: Fit) -> None:
        assert list(simulated_fit.theta) == [*PARAMETERS, "sigma", "nu"]
        np.testing.assert_array_equal(simulated_fit.theta["E"], simulated_fit.draws["E"].values.ravel())

    def test_derived_quantities_follow_from_each_draw(self, simulated_fit: Fit) -> None:
        drawn = {name: simulated_fit.draws[name].values for name in simulated_fit.draws}
        np.testing.assert_allclose(drawn["A"], drawn["a"] * 1e9 ** drawn["alpha"], rtol=1e-13)
        np.testing.assert_allclose(drawn["B"], drawn["b"] * 2e10 ** drawn["beta"], rtol=1e-13)
        np.testing.assert_allclose(drawn["N_exponent"], drawn["beta"] / (drawn["alpha"] + drawn["beta"]), rtol=1e-13)
        np.testing.assert_allclose(drawn["N_exponent"] + drawn["D_exponent"], 1.0, rtol=1e-13)

    def test_a_kind_that_is_none(
        self, assemble: Callable[..., Fit], simulate: Callable[..., Runs], theta: dict[str, np.ndarray]
    ) -> None:
        with pytest.raises(FitError, match="the kind of a fit is one of posterior, bootstrap, point; got 'guess'"):
            assemble(simulate(size=20), Chinchilla(), theta, kind="guess")

    def test_it_remembers_where_it_came_from(self, simulated_fit: Fit) -> None:
        record = simulated_fit.record
        assert record.procedure == "nuts"
        assert record.seed == 3
        assert record.settings["draws"] == 500
        assert record.table["source"] == "simulated-0.csv"
        assert record.table["n_runs"] == 200
        assert record.versions["jax"]
        assert record.versions["bayescale"]
        low, high = record.prior_predictive["q05"], record.prior_predictive["q95"]
        assert 0 < low < record.prior_predictive["observed"] < high

    def test_it_cannot_be_hashed(self, simulated_fit: Fit) -> None:
        with pytest.raises(TypeError, match="unhashable"):
            hash(simulated_fit)


class TestSummary:
    def test_columns_and_rows(self, simulated_fit: Fit) -> None:
        summary = simulated_fit.summary()
        assert isinstance(summary, pd.DataFrame)
        assert list(summary.columns) == COLUMNS
        assert list(summary.index) == [*PARAMETERS, "sigma", "nu", "A", "B", "G", "N_exponent", "D_exponent"]
        assert np.isfinite(summary).all(axis=None)

    def test_numbers_are_those_of_the_draws(self, simulated_fit: Fit) -> None:
        row = simulated_fit.summary().loc["alpha"]
        draws = simulated_fit.draws["alpha"].values
        assert row["mean"] == pytest.approx(draws.mean(), rel=1e-12)
        assert row["sd"] == pytest.approx(draws.std(ddof=1), rel=1e-12)
        assert row["q95"] == np.quantile(draws, 0.95)
        found = convergence({"alpha": draws})
        assert row["rhat"] == found.rhat["alpha"]
        assert row["ess_tail"] == found.ess_tail["alpha"]

    def test_a_pinned_parameter_has_no_rhat(
        self, assemble: Callable[..., Fit], simulate: Callable[..., Runs], theta: dict[str, np.ndarray]
    ) -> None:
        chains = {name: values.reshape(4, 10) for name, values in theta.items()} | {"alpha": np.full((4, 10), 0.35)}
        summary = assemble(simulate(size=20), Chinchilla(), chains).summary()
        assert summary.loc["alpha", ["rhat", "ess_bulk", "ess_tail"]].isna().all()
        assert summary.loc["alpha", "q05"] == summary.loc["alpha", "q95"] == 0.35
        assert summary.loc["beta", ["rhat", "ess_bulk"]].notna().all()

    def test_replicates_have_no_rhat(
        self, assemble: Callable[..., Fit], simulate: Callable[..., Runs], theta: dict[str, np.ndarray]
    ) -> None:
        fit = assemble(simulate(size=20), Chinchilla(), theta, kind="bootstrap")
        summary = fit.summary()
        assert summary[["rhat", "ess_bulk", "ess_tail"]].isna().all(axis=None)
        assert summary[["mean", "q05"]].notna().all(axis=None)
        assert "bootstrap replicates (not a posterior)" in repr(summary)
        assert "bootstrap replicates (not a posterior)" in repr(fit)
        assert "rhat" not in repr(fit)

    def test_a_point_has_no_intervals(self, assemble: Callable[..., Fit], simulate: Callable[..., Runs]) -> None:
        fit = assemble(simulate(size=20), Chinchilla(), dict.fromkeys(PARAMETERS, 0.4), kind="point")
        summary = fit.summary()
        assert (summary.loc[PARAMETERS, "median"] == 0.4).all()
        assert (summary.loc[PARAMETERS, "estimate"] == 0.4).all()
        assert summary.drop(columns=["estimate", "median"]).isna().all(axis=None)
        assert "a point estimate (no uncertainty)" in repr(fit)

    def test_replicates_stand_beside_their_estimate(
        self, simulated_fit: Fit, simulate: Callable[..., Runs], tmp_path: Path
    ) -> None:
        record = replace(simulated_fit.record, kind="bootstrap")
        theta = {name: values[None, :] for name, values in simulated_fit.theta.items()}
        estimate = {name: float(values.mean()) for name, values in simulated_fit.theta.items()}
        fit = Fit.assemble(record, simulated_fit.law, theta, simulate(size=20), estimate=estimate)
        assert fit.estimate is not None
        assert fit.summary().loc["alpha", "estimate"] == estimate["alpha"]
        assert fit.estimate["N_exponent"] == estimate["beta"] / (estimate["alpha"] + estimate["beta"])
        at = fit.at_estimate
        assert (at.kind, at.theta["E"].tolist()) == ("point", [estimate["E"]])
        assert at.allocation([1e22])["N"].shape == (1, 1)
        assert Fit.load(fit.save(tmp_path / "fit.nc")).estimate == fit.estimate
        assert "bootstrap replicates (not a posterior)" in repr(fit)

    def test_slices_are_plain_frames(self, simulated_fit: Fit) -> None:
        summary = simulated_fit.summary()
        for part in (summary[["mean"]], summary.loc[["E"]], summary.round(3), summary.copy()):
            assert "diagnostics" not in repr(part)


class TestVerdict:
    def test_comes_first(self, simulated_fit: Fit) -> None:
        for shown in (repr(simulated_fit), repr(simulated_fit.summary())):
            assert shown.startswith("diagnostics: ok (posterior draws)\n")
        assert simulated_fit.summary()._repr_html_().startswith("<pre>diagnostics: ok")

    def test_every_reason_is_given(
        self, assemble: Callable[..., Fit], simulate: Callable[..., Runs], theta: dict[str, np.ndarray]
    ) -> None:
        bad = assemble(simulate(size=20), Chinchilla(), theta, warnings=("first <reason>.", "second reason."))
        head = "DO NOT TRUST THIS FIT: 2 warnings\n  ! first <reason>.\n  ! second reason.\n"
        assert repr(bad).startswith(head)
        assert repr(bad.summary()).startswith(head)
        assert "&lt;reason&gt;" in bad.summary()._repr_html_()
        one = assemble(simulate(size=20), Chinchilla(), theta, warnings=("only reason.",))
        assert repr(one).startswith("DO NOT TRUST THIS FIT: 1 warning\n")

    def test_results_carry_it_along(
        self, assemble: Callable[..., Fit], simulate: Callable[..., Runs], theta: dict[str, np.ndarray]
    ) -> None:
        bad = assemble(simulate(size=20), Chinchilla(), theta, warnings=("a reason.",))
        results = (
            bad.forecast({"N": [1e9], "D": [2e10]}),
            bad.forecast({"C": [1e21]}),
            bad.path([1e21]),
            bad.allocation([1e21]),
            bad.isoflop_curves([1e21]),
            bad.surface([1e8, 1e9], [2e10]),
        )
        for result in results:
            assert result.attrs == {"law": "chinchilla", "kind": "posterior", "warnings": ["a reason."]}

    def test_what_was_fitted_to_what_is_printed(self, simulated_fit: Fit) -> None:
        shown = repr(simulated_fit)
        for part in (
            Chinchilla.formula,
            "reference run: N0 = 1e+09, D0 = 2e+10",
            "table: simulated-0.csv, 200 runs",
            "procedure: nuts, student-t noise on log loss; posterior draws, seed 3",
            f"E ~ {Chinchilla.priors['E']}",
            "before the data, the priors put the loss of the run with the most compute between",
        ):
            assert part in shown

    def test_warnings_of_the_table_are_printed(
        self, assemble: Callable[..., Fit], theta: dict[str, np.ndarray]
    ) -> None:
        frame = pd.DataFrame({"N": ["1e8", "1e9", "1e9", "x"], "D": [2e9, 2e10, 2e10, 1e9], "loss": [3, 2.5, 2.5, 2.7]})
        runs = Runs.read(frame, drop_bad=True)
        shown = repr(assemble(runs, Chinchilla(), theta))
        assert "rows dropped" in shown
        assert all(f"note: {warning}" in shown for warning in runs.warnings)
