"""Loss of runs that have not been trained: inputs, reach, the law's loss, and the noise of a new run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayescale.errors import TargetError
from bayescale.fits import Fit
from bayescale.forecast import (
    check_budgets,
    complete_inputs,
    extrapolation,
    forecast,
    forecast_path,
    isoflop_curves,
    surface,
)
from bayescale.laws.chinchilla import Chinchilla
from bayescale.laws.power_c import PowerC
from bayescale.laws.power_n import PowerN
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.runs import Runs

ND = ("N", "D")
SAMPLES = 2000


@pytest.fixture(scope="module")
def theta(truth: dict[str, float]) -> dict[str, np.ndarray]:
    """Draws of a narrow posterior, with noise of 2 % and three degrees of freedom; each (sample,)."""
    generator = np.random.default_rng(3)
    drawn = {name: value * np.exp(0.01 * generator.standard_normal(SAMPLES)) for name, value in truth.items()}
    fixed = {"sigma": 0.02, "nu": 3.0, "sigma_D": -0.4, "sigma_batch": 0.1}
    return drawn | {name: np.full(SAMPLES, value) for name, value in fixed.items()}


@pytest.fixture(scope="module")
def table(simulate: Callable[..., Runs]) -> Runs:
    return simulate(size=20)


class TestInputs:
    @pytest.mark.parametrize("given", [("N", "D"), ("N", "C"), ("D", "C")])
    def test_the_third_of_three_follows(self, given: tuple[str, str]) -> None:
        whole = {"N": np.array([7e10, 1e9]), "D": np.array([1.4e12, 2e10]), "C": np.array([5.88e23, 1.2e20])}
        made = complete_inputs({name: whole[name] for name in given}, ND)
        assert set(made) == {"N", "D", "C"}
        for name, values in whole.items():
            np.testing.assert_allclose(made[name], values, rtol=1e-15)
            assert made[name].dtype == np.float64

    def test_integers_do_not_overflow(self) -> None:
        made = complete_inputs({"N": np.array([7_000_000_000]), "D": np.array([2_000_000_000_000])}, ND)
        assert made["C"][0] == 8.4e22

    def test_one_run_may_be_given_as_numbers(self) -> None:
        assert complete_inputs({"N": 7e10, "D": 1.4e12}, ND)["N"].shape == (1,)

    def test_quantities_as_people_write_them(self) -> None:
        made = complete_inputs({"N": ["70B", "1e9"], "D": "1.4T"} | {"D": ["1.4T", "20B"]}, ND)
        assert made["N"].tolist() == [7e10, 1e9]
        assert made["D"].tolist() == [1.4e12, 2e10]

    def test_columns_that_nothing_reads_are_left_out(self) -> None:
        made = complete_inputs({"N": [1e9], "D": [2e10], "name": ["small"], "batch": [512.0]}, (*ND, "batch"))
        assert set(made) == {"N", "D", "C", "batch"}

    @pytest.mark.parametrize(
        ("targets", "said"),
        [
            ({"N": [7e10]}, r"the forecast needs N, D and was given N: add D, e\.g\. D=1\.4T"),
            ({"D": [7e10]}, r"was given D: add N"),
            ({}, r"was given nothing: add N, D"),
            ({"C": [1e24]}, r"was given C: add N, D"),
            ({"N": [7e10, -1.0], "D": [1e12, 1e12]}, r"target 2: N is .*-1\.0.*; expected a finite number above 0"),
            ({"N": [7e10], "D": [0.0]}, r"target 1: D is .*0\.0"),
            ({"N": [np.nan], "D": [1e12]}, r"target 1: N is .*nan"),
            ({"N": [1e9], "D": [np.inf]}, r"target 1: D is .*inf"),
            ({"N": [1e9, 2e9], "D": [1e12]}, r"the targets differ in length: .*'N': 2, 'D': 1"),
            ({"N": ["seventy"], "D": [1e12]}, r"target 1: N is .*seventy"),
        ],
    )
    def test_what_cannot_be_a_target(self, targets: dict[str, Any], said: str) -> None:
        with pytest.raises(TargetError, match=said):
            complete_inputs(targets, ND)


class TestReach:
    def test_ratio_of_flops_and_inside(self) -> None:
        table = Runs.from_arrays(N=[1e8, 1e9], D=[2e9, 2e10], loss=[3.0, 2.5])
        N, D = np.array([1e9, 5e8, 1e9, 1e10]), np.array([2e10, 1e10, 4e10, 1e10])
        found = extrapolation(table, {"N": N, "D": D, "C": 6 * N * D})
        np.testing.assert_allclose(found["flops_ratio"], [1.0, 0.25, 2.0, 5.0])
        # the last two leave the table in D and in N
        assert found["inside"].tolist() == [True, True, False, False]

    def test_rounding_is_not_outside(self) -> None:
        table = Runs.from_arrays(N=[1e8, 1e9], D=[2e9, 2e10], loss=[3.0, 2.5])
        nearly = {"N": np.array([1e9 * (1 + 1e-12)]), "D": np.array([2e10])}
        assert extrapolation(table, nearly)["inside"].tolist() == [True]

    def test_without_flops_the_largest_ratio_of_any_input(self) -> None:
        table = Runs.from_arrays(N=[1e8, 1e9], loss=[3.0, 2.5])
        assert extrapolation(table, {"N": np.array([1e11])})["flops_ratio"].tolist() == [100.0]

    def test_without_a_table_nothing_is_known(self) -> None:
        assert np.isnan(extrapolation(None, {"N": np.array([1e11])})["flops_ratio"]).all()


class TestForecast:
    def test_the_law_is_the_law(self, theta: dict[str, np.ndarray], table: Runs, truth: dict[str, float]) -> None:
        made = forecast(Chinchilla(), None, theta, {"N": [7e10, 1e9], "D": [1.4e12, 2e10]}, table)
        assert made["mean_loss"].dims == ("sample", "run")
        for place, (N, D) in enumerate([(7e10, 1.4e12), (1e9, 2e10)]):
            by_hand = theta["E"] + theta["a"] * (N / 1e9) ** -theta["alpha"] + theta["b"] * (D / 2e10) ** -theta["beta"]
            np.testing.assert_allclose(made["mean_loss"].values[:, place], by_hand, rtol=1e-13)
        assert np.isnan(made["new_run_loss"]).all()
        assert set(made.coords) == {"N", "D", "C", "flops_ratio", "inside"}
        assert made["C"].values.tolist() == pytest.approx([5.88e23, 1.2e20])

    def test_a_new_run_is_the_law_with_its_noise(self, theta: dict[str, np.ndarray], table: Runs) -> None:
        model = Model(Chinchilla(), Noise("student-t", ("D",)))
        targets = {"N": [1e9, 1e9], "D": [2e10, 2e13]}
        made = forecast(Chinchilla(), model, theta, targets, table, seed=5)
        residual = np.log(made["new_run_loss"].values) - np.log(made["mean_loss"].values)
        for place, ratio in enumerate([1.0, 1000.0]):
            scale = 0.02 * ratio**-0.4
            assert stats.kstest(residual[:, place] / scale, stats.t(3.0).cdf).pvalue > 1e-4
        # each run has noise of its own
        assert abs(stats.spearmanr(residual[:, 0], residual[:, 1]).statistic) < 5 / np.sqrt(SAMPLES)
        again, other = (forecast(Chinchilla(), model, theta, targets, table, seed=seed) for seed in (5, 6))
        assert made.identical(again)
        assert (made["new_run_loss"] != other["new_run_loss"]).all()
        assert made["mean_loss"].identical(other["mean_loss"])

    @pytest.mark.parametrize("family", ["normal", "laplace"])
    def test_other_noises(self, theta: dict[str, np.ndarray], table: Runs, family: str) -> None:
        made = forecast(Chinchilla(), Model(Chinchilla(), Noise(family)), theta, {"N": [1e9], "D": [2e10]}, table)
        residual = np.log(made["new_run_loss"].values) - np.log(made["mean_loss"].values)
        reference = {"normal": stats.norm(0, 0.02), "laplace": stats.laplace(0, 0.02)}[family]
        assert stats.kstest(residual.ravel(), reference.cdf).pvalue > 1e-4

    def test_a_run_has_a_loss_whatever_the_noise(self, theta: dict[str, np.ndarray], table: Runs) -> None:
        """Draws of a Student-t with .3 degrees of freedom go beyond all numbers; its usual quantiles do not."""
        wild = theta | {"nu": np.full(SAMPLES, 0.3)}
        made = forecast(Chinchilla(), Model(Chinchilla(), Noise()), wild, {"N": [1e9], "D": [2e10]}, table)
        residual = np.log(made["new_run_loss"].values) - np.log(made["mean_loss"].values)
        assert np.isfinite(residual).all()
        low, high = np.quantile(residual, [0.4, 0.6])
        assert high == pytest.approx(0.02 * stats.t(0.3).ppf(0.6), rel=0.25)
        assert low == pytest.approx(-high, rel=0.35)

    def test_a_noise_column_is_needed_too(self, theta: dict[str, np.ndarray], table: Runs) -> None:
        model = Model(Chinchilla(), Noise("normal", ("batch",)))
        with pytest.raises(TargetError, match="needs N, D, batch and was given N, D: add batch"):
            forecast(Chinchilla(), model, theta, {"N": [1e9], "D": [2e10]}, table)


class TestPath:
    def test_each_draw_spends_the_budget_as_it_finds_best(self, theta: dict[str, np.ndarray], table: Runs) -> None:
        made = forecast_path(Chinchilla(), None, theta, [1e21, 1e24], table)
        assert made["mean_loss"].dims == ("sample", "budget")
        draws = {name: theta[name][:, None] for name in ("E", "a", "b", "alpha", "beta")}
        frontier = Chinchilla().frontier(np.array([[1e21, 1e24]]), **draws)
        np.testing.assert_allclose(made["mean_loss"], frontier, rtol=1e-12)
        np.testing.assert_allclose(6 * made["N"] * made["D"], np.broadcast_to([1e21, 1e24], (SAMPLES, 2)), rtol=1e-12)
        np.testing.assert_allclose(made["flops_ratio"], np.array([1e21, 1e24]) / table["C"].max())

    def test_noise_along_the_path_is_that_of_the_run_each_draw_chooses(
        self, theta: dict[str, np.ndarray], table: Runs
    ) -> None:
        made = forecast_path(Chinchilla(), Model(Chinchilla(), Noise("normal", ("D",))), theta, [1e23], table)
        scale = 0.02 * (made["D"].values / 2e10) ** -0.4
        residual = (np.log(made["new_run_loss"].values) - np.log(made["mean_loss"].values)) / scale
        assert stats.kstest(residual.ravel(), stats.norm.cdf).pvalue > 1e-4

    def test_a_law_of_compute_needs_no_split(self, theta: dict[str, np.ndarray]) -> None:
        power = {"E": theta["E"], "c": theta["a"], "gamma": theta["beta"]}
        made = forecast_path(PowerC(), None, power, [1.2e20, 1.2e23], None)
        assert "N" not in made
        np.testing.assert_allclose(made["mean_loss"][:, 0], power["E"] + power["c"], rtol=1e-13)

    def test_a_law_of_parameters_has_no_path(self, theta: dict[str, np.ndarray]) -> None:
        power = {"E": theta["E"], "a": theta["a"], "alpha": theta["alpha"]}
        with pytest.raises(TargetError, match="power-N gives loss as a function of N: give those, not a budget"):
            forecast_path(PowerN(), None, power, [1e21], None)

    def test_noise_of_a_column_that_a_budget_does_not_give(self, theta: dict[str, np.ndarray]) -> None:
        model = Model(Chinchilla(), Noise("normal", ("batch",)))
        with pytest.raises(TargetError, match="batch"):
            forecast_path(Chinchilla(), model, theta, [1e21], None)

    @pytest.mark.parametrize("budgets", [0, -1e24, np.nan, np.inf, [1e24, 0.0], []])
    def test_budgets_that_are_none(self, budgets: Any) -> None:
        with pytest.raises(TargetError, match="budgets must be finite FLOPs above 0"):
            check_budgets(budgets)


class TestPictures:
    def test_isoflop_curves_lie_on_their_budget_and_touch_the_frontier(self, theta: dict[str, np.ndarray]) -> None:
        made = isoflop_curves(Chinchilla(), theta, [1e20, 1e22])
        np.testing.assert_allclose(6 * made["N"] * made["D"], np.array([[1e20], [1e22]]) * np.ones((1, 60)), rtol=1e-12)
        lowest = made["mean_loss"].min("size")
        frontier = forecast_path(Chinchilla(), None, theta, [1e20, 1e22], None)["mean_loss"]
        assert (lowest >= frontier - 1e-12).all()
        # the grid steps by 12 % in N, and the curve is flat at its lowest point
        np.testing.assert_allclose(lowest, frontier, rtol=1e-3)

    def test_surface_is_the_median_over_draws(self, theta: dict[str, np.ndarray]) -> None:
        made = surface(Chinchilla(), theta, [1e8, 1e9, 1e10], [2e10, 2e11])
        assert made["loss"].dims == ("N", "D")
        single = forecast(Chinchilla(), None, theta, {"N": [1e10], "D": [2e10]}, None)["mean_loss"]
        assert float(made["loss"].sel(N=1e10, D=2e10)) == pytest.approx(float(single.median()), rel=1e-13)

    def test_a_law_of_one_input_has_neither(self, theta: dict[str, np.ndarray]) -> None:
        power = {"E": theta["E"], "c": theta["a"], "gamma": theta["beta"]}
        with pytest.raises(TargetError, match="no IsoFLOP curves"):
            isoflop_curves(PowerC(), power, [1e20])
        with pytest.raises(TargetError, match="no function of both"):
            surface(PowerC(), power, [1e8], [1e9])


class TestOfAFit:
    """What a fit adds: its own table and draws, tables of targets, and its verdict."""

    def test_bands_in_order_and_a_new_run_wider(self, simulated_fit: Fit) -> None:
        made = simulated_fit.forecast({"N": [7e10], "D": [1.4e12]})
        assert made["mean_loss"].sizes == {"sample": 2000, "run": 1}
        widths = [np.subtract(*np.quantile(made[name], [0.95, 0.05])) for name in ("mean_loss", "new_run_loss")]
        assert 0 < widths[0] < widths[1]
        assert made.attrs == {"law": "chinchilla", "kind": "posterior", "warnings": []}
        assert not made["inside"].values.any()

    def test_compute_alone_is_the_compute_optimal_run(self, simulated_fit: Fit) -> None:
        made = simulated_fit.forecast({"C": [1e24]})
        allocation = simulated_fit.allocation([1e24])
        np.testing.assert_allclose(made["mean_loss"].values, allocation["loss"].values, rtol=1e-13)
        assert made["C"].values.tolist() == [1e24]
        assert made["mean_loss"].dims == ("sample", "run")

    def test_targets_as_a_frame_and_as_runs_are_the_same(self, simulated_fit: Fit) -> None:
        frame = pd.DataFrame({"N": [7e10], "D": [1.4e12]})
        runs = Runs.from_arrays(N=[7e10], D=[1.4e12])
        plain = simulated_fit.forecast({"N": [7e10], "D": [1.4e12]})
        assert simulated_fit.forecast(frame).identical(plain)
        assert simulated_fit.forecast(frame.assign(name="big", loss=2.0)).identical(plain)
        assert simulated_fit.forecast(runs).identical(plain)

    def test_its_own_runs_are_covered(self, simulated_fit: Fit) -> None:
        runs = simulated_fit.runs
        made = simulated_fit.forecast(runs)
        low, high = np.quantile(made["new_run_loss"], [0.05, 0.95], axis=0)
        covered = ((runs["loss"] > low) & (runs["loss"] < high)).mean()
        # 200 runs, five binomial standard errors
        assert abs(covered - 0.9) < 5 * np.sqrt(0.09 / 200)
        assert made["inside"].values.all()

    def test_without_noise_there_is_no_new_run(self, assemble: Callable[..., Fit], table: Runs) -> None:
        point = assemble(table, Chinchilla(), dict.fromkeys(["E", "a", "b", "alpha", "beta"], 0.4), kind="point")
        made = point.forecast({"N": [1e9], "D": [2e10]})
        assert made["mean_loss"].values.tolist() == [[pytest.approx(1.2)]]
        assert np.isnan(made["new_run_loss"]).all()
        assert made.attrs["kind"] == "point"
