"""IsoFLOP profiles: budgets, minima, the regression, the bootstrap, and what is refused.

Noise-free biases are held against the figures of Open-Athena (github.com/Open-Athena/scaling-law-analysis,
``results/article/*_data.csv``), which they print to fifteen digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

from bayescale.errors import BayescaleError, FitError, RunsError
from bayescale.fits import Fit
from bayescale.laws.chinchilla import Chinchilla
from bayescale.procedures import fit
from bayescale.procedures._frontier_fit import fit_frontier_loss
from bayescale.procedures.isoflop import regress_optima
from bayescale.runs import Runs

SURFACES = {
    "symmetric": (400.0, 400.0, 0.31, 0.31),
    "chinchilla": (406.4, 410.7, 0.34, 0.28),
    "asymmetric": (406.4, 410.7, 0.465, 0.155),
}
BUDGETS = np.logspace(17, 21, 5)


def surface(name: str) -> tuple[Chinchilla, dict[str, float]]:
    """A surface ``1.69 + A / N**alpha + B / D**beta``, with its constants at N0 = D0 = 1."""
    A, B, alpha, beta = SURFACES[name]
    return Chinchilla(N0=1.0, D0=1.0), {"E": 1.69, "a": A, "b": B, "alpha": alpha, "beta": beta}


def grid(name: str, half_width: float, off: float = 1.0, drift: float = 1.0) -> Runs:
    """15 token counts a budget, D* times ``off`` times 1 to ``drift``, over and under by ``half_width``."""
    law, theta = surface(name)
    best = np.asarray([float(law.optimum(C, **theta)[1]) for C in BUDGETS])
    centre = best * off * drift ** np.linspace(0.0, 1.0, len(BUDGETS))
    D = centre[:, None] * np.geomspace(1.0 / half_width, half_width, 15)
    C = np.broadcast_to(BUDGETS[:, None], D.shape)
    N = C / (6.0 * D)
    return Runs.from_arrays(N=N.ravel(), D=D.ravel(), C=C.ravel(), loss=law.loss(N, D, **theta).ravel())


def tokens(runs: Runs, **settings: Any) -> Fit:
    return fit(runs, procedure="isoflop", size="D", replicates=0, **settings)


def bias(name: str, *arguments: float) -> float:
    """Error of D* at 1e24 FLOPs, per cent."""
    law, theta = surface(name)
    found = tokens(grid(name, *arguments), interior=False).allocation([1e24])["D"].item()
    return 100.0 * (found / float(law.optimum(1e24, **theta)[1]) - 1.0)


class TestNoiseFreeBias:
    """Half-widths 2, 4, 8, 16. Their digits come from other routines and carry rounding: 1e-9 per cent at most."""

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("symmetric", (0.0, 0.0, 0.0, 0.0)),
            ("chinchilla", (-0.326937803732719, -1.301125043704300, -2.902904738135434, -5.100244551712022)),
            ("asymmetric", (-1.674747716507073, -6.497778742083532, -13.910418584294648, -23.116308048545221)),
        ],
    )
    def test_centred(self, name: str, expected: tuple[float, ...]) -> None:
        assert [bias(name, width) for width in (2, 4, 8, 16)] == pytest.approx(expected, abs=1e-8)

    @pytest.mark.parametrize(
        ("name", "expected", "digits"),
        [
            ("symmetric", (3.974243556888148, 3.471817881448564, 2.645165430356910, 1.509792259842919), 1e-8),
            # printed to three digits
            ("chinchilla", (7.110, 5.691, 3.376, 0.238), 5e-4),
        ],
    )
    def test_three_times_too_many_tokens(self, name: str, expected: tuple[float, ...], digits: float) -> None:
        assert [bias(name, width, 3.0) for width in (2, 4, 8, 16)] == pytest.approx(expected, abs=digits)

    @pytest.mark.parametrize(
        ("name", "expected", "digits"),
        [
            ("symmetric", (6.070971949665736, 5.171168143371758, 3.697903197519233, 1.689066535602950), 1e-8),
            ("chinchilla", (11.6, 9.8, 6.9, 3.0), 0.05),
        ],
    )
    def test_drifting(self, name: str, expected: tuple[float, ...], digits: float) -> None:
        assert [bias(name, width, 1.0, 3.0) for width in (2, 4, 8, 16)] == pytest.approx(expected, abs=digits)

    def test_a_drifting_grid_bends_the_exponent_and_no_other_does(self) -> None:
        slopes = [
            tokens(grid("chinchilla", width, 1.0, 3.0), interior=False).estimate["D_exponent"]  # type: ignore[index]
            for width in (2, 4, 8, 16)
        ]
        assert slopes == pytest.approx((0.55607, 0.55569, 0.55506, 0.55420), abs=5e-6)
        for off in (1.0, 3.0):
            exponent = tokens(grid("chinchilla", 8, off)).estimate["D_exponent"]  # type: ignore[index]
            assert exponent == pytest.approx(0.34 / 0.62, abs=1e-10)

    def test_a_grid_that_misses_the_minimum_is_refused_unless_asked(self) -> None:
        """D* is a third of the grid's centre, and the grid starts at a half of it."""
        with pytest.raises(FitError, match=r"has 0 of 5 .*vertex of its parabola is at D = .*, outside its sizes"):
            tokens(grid("chinchilla", 2, 3.0))

    def test_sizes_and_tokens_are_mirror_images(self) -> None:
        runs = grid("chinchilla", 8, 3.0)
        by_size = fit(runs, procedure="isoflop", size="N", replicates=0)
        np.testing.assert_allclose(by_size.allocation([1e24])["D"], tokens(runs).allocation([1e24])["D"], rtol=1e-9)


def noisy(sd: float = 0.003, seed: int = 0, width: float = 6.0) -> Runs:
    runs = grid("chinchilla", width)
    noise = np.exp(sd * np.random.default_rng(seed).standard_normal(len(runs)))
    return Runs.from_arrays(N=runs["N"], D=runs["D"], C=runs["C"], loss=runs["loss"] * noise)


class TestBudgets:
    def test_by_tolerance_and_by_column(self) -> None:
        runs = noisy()
        jitter = np.exp(0.02 * np.random.default_rng(1).uniform(-1, 1, len(runs)))
        label = [f"{C:.0e}" for C in runs["C"]]
        spread = Runs.from_arrays(N=runs["N"], D=runs["D"] * jitter, loss=runs["loss"], group=label)
        by_tolerance = fit(spread, procedure="isoflop", tolerance=0.05, replicates=0)
        by_column = fit(spread, procedure="isoflop", budgets="group", replicates=0)
        # the runs come in another order, with other rounding; gamma is known to the root of that, and A is a power
        xr.testing.assert_allclose(by_tolerance.draws, by_column.draws, rtol=1e-5)
        assert by_tolerance.diagnostics.notes[0].startswith("5 budgets (runs in each): 1e+17 FLOPs (15)")
        assert any("FLOPs of one budget differ by up to 2." in note for note in by_tolerance.diagnostics.notes)

    def test_a_tolerance_that_splits_a_budget_shows_in_the_groups(self) -> None:
        runs = noisy()
        doubled = np.concatenate([runs["C"], runs["C"] * 1.15])
        twice = {name: np.tile(runs[name], 2) for name in ("N", "loss")}
        table = Runs.from_arrays(C=doubled, **twice)
        assert fit(table, procedure="isoflop", replicates=0).diagnostics.measures["budgets"] == 5
        narrow = fit(table, procedure="isoflop", replicates=0, tolerance=0.01)
        assert narrow.diagnostics.measures["budgets"] == 10

    def test_a_budget_without_a_minimum_or_with_few_sizes_is_left_out_and_named(self) -> None:
        runs = noisy(sd=0.0)
        small = runs["N"] < np.median(runs["N"][runs["C"] == BUDGETS[0]])
        few = np.cumsum(runs["C"] == BUDGETS[1]) <= 3
        keep = ((runs["C"] != BUDGETS[0]) | small) & ((runs["C"] != BUDGETS[1]) | few)
        made = fit(runs.subset(keep), procedure="isoflop", replicates=0)
        assert made.diagnostics.measures["budgets"] == 3
        assert made.diagnostics.ok
        (said,) = [note for note in made.diagnostics.notes if note.startswith("left out of the regression")]
        assert "1e+18 FLOPs: fewer than 4 sizes (3 runs in all)" in said
        assert "1e+17 FLOPs: the vertex of its parabola is at N =" in said
        assert "outside its sizes" in said

    def test_leaving_out_over_a_third_of_the_runs_is_a_reason_to_distrust(self) -> None:
        runs = noisy(sd=0.0)
        middle = {C: np.median(runs["N"][runs["C"] == C]) for C in BUDGETS}
        sloping = [C in BUDGETS[:3] and N >= middle[C] for N, C in zip(runs["N"], runs["C"], strict=True)]
        made = fit(runs.subset(~np.asarray(sloping)), procedure="isoflop", replicates=0)
        assert made.diagnostics.measures["budgets"] == 2
        (warning,) = made.diagnostics.warnings
        assert warning.startswith("left out of the regression, with 41% of the runs: 1e+17 FLOPs")

    def test_seeds_of_one_size_count_as_one_size(self) -> None:
        """Means over seeds and single runs give one parabola where all sizes have as many seeds."""
        runs = noisy()
        again = {name: np.tile(runs[name], 2) for name in ("N", "C")}
        up, down = runs["loss"] * 1.002, runs["loss"] * 0.998
        both = Runs.from_arrays(loss=np.concatenate([up, down]), **again)
        mean = Runs.from_arrays(N=runs["N"], C=runs["C"], loss=(up + down) / 2)
        for settings in ({}, {"window": 5}, {"method": "akima"}):
            one, other = (fit(table, procedure="isoflop", replicates=0, **settings) for table in (both, mean))
            assert one.estimate["N_star"] == pytest.approx(other.estimate["N_star"], rel=1e-9)  # type: ignore[index]

    def test_sizes_within_a_hundredth_are_one_to_an_interpolant(self) -> None:
        """Two that nearly coincide would send it far out of the data: their mean stands for both."""
        runs = noisy(sd=0.001)
        twin = np.argsort(runs["N"])[20]
        doubled = {name: np.append(runs[name], runs[name][twin]) for name in ("C", "loss")}
        N = np.append(runs["N"], runs["N"][twin] * 1.0001)
        doubled["loss"][-1] += 0.01
        near = Runs.from_arrays(N=N, **doubled)
        one, other = (fit(table, procedure="isoflop", method="akima", replicates=0) for table in (runs, near))
        assert other.estimate["N_exponent"] == pytest.approx(one.estimate["N_exponent"], abs=0.02)  # type: ignore[index]
        pairs = Runs.from_arrays(
            N=np.tile([1e8, 1e9], 8) * np.tile([1.0, 1.0, 1.001, 1.001], 4),
            C=np.repeat([1e19, 1e20], 8),
            loss=np.full(16, 3.0),
        )
        with pytest.raises(FitError, match="fewer than 4 sizes"):
            fit(pairs, procedure="isoflop", method="akima", replicates=0)


class TestBootstrap:
    def test_intervals_hold_what_the_noise_free_parabola_gives(self) -> None:
        """Twenty tables: an interval of 90 % that held the target in fewer than 14 would have a chance of 1 %."""
        target = fit(noisy(sd=0.0), procedure="isoflop", replicates=0).estimate["N_exponent"]  # type: ignore[index]
        held = []
        for seed in range(20):
            draws = fit(noisy(seed=seed), procedure="isoflop", replicates=400, seed=seed).draws["N_exponent"]
            low, high = np.quantile(draws, (0.05, 0.95))
            held.append(low <= target <= high)
        assert sum(held) >= 14

    @pytest.mark.parametrize(
        "settings",
        [{}, {"resample": "rows"}, {"seed_noise_nats": 0.008}, {"method": "akima", "seed_noise_nats": 0.008}],
    )
    def test_every_way_scatters_the_minima_alike(self, settings: dict[str, Any]) -> None:
        """The sd of the exponent over twenty tables of this design, within a factor of two."""
        estimates = [
            fit(noisy(seed=seed), procedure="isoflop", replicates=0, method=settings.get("method", "parabola")).estimate
            for seed in range(20)
        ]
        spread = np.std([estimate["N_exponent"] for estimate in estimates if estimate])
        made = fit(noisy(seed=30), procedure="isoflop", excess_scatter=False, **settings)
        assert 0.5 < float(made.draws["N_exponent"].std()) / spread < 2.0

    def test_lost_minima_are_counted(self) -> None:
        made = fit(noisy(sd=0.02, seed=3, width=3.0), procedure="isoflop", seed_noise_nats=0.05)
        lost = [text for text in (*made.diagnostics.notes, *made.diagnostics.warnings) if "no interior minimum" in text]
        assert lost
        assert "of the replicates, which go on without it" in lost[0]

    def test_scatter_beyond_the_noise_widens_the_interval_and_is_said(self) -> None:
        runs = noisy(sd=0.0005)
        shift = dict(zip(BUDGETS, (1.0, 1.5, 0.7, 1.3, 0.8), strict=True))
        moved = Runs.from_arrays(N=runs["N"] * [shift[C] for C in runs["C"]], C=runs["C"], loss=runs["loss"])
        plain, wide = (fit(moved, procedure="isoflop", excess_scatter=on) for on in (False, True))
        assert wide.draws["N_exponent"].std() > 3.0 * plain.draws["N_exponent"].std()
        assert any("the intervals leave that out" in note for note in plain.diagnostics.notes)
        assert any("replicates scatter them by as much" in note for note in wide.diagnostics.notes)
        # sd of the shifts around their own line: 0.33 with three degrees of freedom
        assert wide.diagnostics.measures["excess_scatter"] == pytest.approx(0.33, abs=0.05)

    def test_weights_favour_the_budgets_whose_minima_are_sure(self) -> None:
        runs = noisy(sd=0.0)
        loud = runs["C"] == BUDGETS[-1]
        wild = np.where(loud, 0.02, 0.0005) * np.random.default_rng(5).standard_normal(len(runs))
        table = Runs.from_arrays(N=runs["N"], C=runs["C"], loss=runs["loss"] * np.exp(wild))
        truth = fit(runs, procedure="isoflop", replicates=0).estimate["N_exponent"]  # type: ignore[index]
        plain, weighted = (
            fit(table, procedure="isoflop", weighted=on, min_sd_spacings=0.0, excess_scatter=False).estimate
            for on in (False, True)
        )
        assert abs(weighted["N_exponent"] - truth) < 0.5 * abs(plain["N_exponent"] - truth)  # type: ignore[index]

    def test_no_replicates_is_a_point(self) -> None:
        made = fit(noisy(), procedure="isoflop", replicates=0)
        assert made.kind == "point"
        assert made.draws.sizes["draw"] == 1
        many = fit(noisy(), procedure="isoflop")
        assert (many.kind, many.draws.sizes["draw"]) == ("bootstrap", 1000)
        assert many.estimate == made.estimate


class TestFrontierLoss:
    def test_it_is_the_frontier_of_the_surface(self) -> None:
        law, theta = surface("chinchilla")
        # narrow grids: the parabola's height is off by a millionth of the loss
        made = tokens(grid("chinchilla", 1.2)).estimate
        assert made is not None
        assert made["E"] == pytest.approx(1.69, abs=1e-3)
        assert made["gamma"] == pytest.approx(0.34 * 0.28 / 0.62, rel=1e-3)
        found = tokens(grid("chinchilla", 1.2)).path([1e24])["mean_loss"].item()
        assert found == pytest.approx(float(law.frontier(1e24, **theta)), rel=1e-4)

    def test_exact_curves_come_back(self) -> None:
        log_C = np.log(10.0) * np.array([-2.0, -1.0, 0.0, 1.0, 2.5])
        E, c, gamma = np.array([1.2, 0.3]), np.array([0.5, 2.0]), np.array([0.16, 0.07])
        found = fit_frontier_loss(log_C, E[:, None] + c[:, None] * np.exp(-gamma[:, None] * log_C))
        # a least-squares optimum found by comparing values is known to the root of the precision
        for name, expected in {"E": E, "c": c, "gamma": gamma}.items():
            np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-6)
        assert found.identified.all()
        assert (found.sigma < 1e-8).all()

    def test_missing_losses_are_left_out(self) -> None:
        log_C = np.linspace(-3.0, 3.0, 6)
        losses = 1.5 + 0.4 * np.exp(-0.2 * log_C)
        with_gap = np.where(np.arange(6) == 2, np.nan, losses)
        found = fit_frontier_loss(log_C, np.stack([losses, with_gap]))
        np.testing.assert_allclose(found.E, 1.5, rtol=1e-6)

    def test_three_minima_give_no_loss_and_say_so(self) -> None:
        made = fit(noisy().subset(noisy()["C"] < 2e19), procedure="isoflop")
        assert np.isnan(made.draws["E"]).all()
        assert np.isfinite(made.allocation([1e22])["N"]).all()
        (said,) = [note for note in made.diagnostics.notes if "forecasts are refused" in note]
        assert said.startswith("3 minima do not fix a floor, a coefficient and an exponent")
        with pytest.raises(BayescaleError, match="gives no loss along the frontier"):
            made.law.check_targets(["C"], made.theta)  # type: ignore[attr-defined]

    def test_losses_that_do_not_level_off_give_no_floor(self) -> None:
        C, off = (axis.ravel() for axis in np.meshgrid(BUDGETS, np.geomspace(0.2, 5.0, 7)))
        # linear in log C, so that a power law would need a floor below zero
        loss = 4.0 - 0.15 * np.log(C / 1e17) + 0.05 * np.log(off) ** 2
        made = fit(Runs.from_arrays(N=0.4 * C**0.5 * off, C=C, loss=loss), procedure="isoflop", replicates=0)
        assert made.estimate["N_exponent"] == pytest.approx(0.5)  # type: ignore[index]
        assert np.isnan(made.draws["gamma"]).all()
        assert any("show no levelling off towards a floor above 0" in note for note in made.diagnostics.notes)


class TestRefused:
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda r: r.subset(r["C"] == BUDGETS[2]), r"All 15 runs are of one budget, 1e\+19 FLOPs"),
            (
                lambda r: Runs.from_arrays(N=np.full(len(r), 1e9), C=r["C"], loss=r["loss"]),
                r"All runs have N = 1e\+09, so no profile has a minimum",
            ),
            (
                lambda r: Runs.from_arrays(N=r["N"], C=r["C"], loss=5.0 - r["loss"]),
                r"has 0 of 5 .*Refused: 1e\+17 FLOPs: its parabola opens downward",
            ),
            (
                lambda r: Runs.from_arrays(N=r["N"], C=r["C"], loss=10.0 * r["N"] ** -0.1),
                r"has 0 of 5 .*the vertex of its parabola is at N = .*outside its sizes",
            ),
        ],
    )
    def test_tables_without_two_minima(self, change: Any, said: str) -> None:
        with pytest.raises(FitError, match=said) as error:
            fit(change(noisy()), procedure="isoflop")
        assert "fit a law of N and D, which needs no budgets" in str(error.value)

    def test_scattered_runs_are_on_no_budgets(self) -> None:
        generator = np.random.default_rng(2)
        N, D = np.exp(generator.uniform(np.log(1e7), np.log(1e10), (2, 40)))
        with pytest.raises(FitError, match=r"fewer than 4 sizes .*name the budgets with budgets=COLUMN"):
            fit(Runs.from_arrays(N=N, D=D, loss=2.0 + 1e3 / N**0.5), procedure="isoflop", tolerance=0.001)

    def test_no_N(self) -> None:
        with pytest.raises(RunsError, match=r"isoflop needs the columns N, D and C \(two are enough\)"):
            fit(Runs.from_arrays(C=[1e18, 1e19], loss=[3.0, 2.5]), procedure="isoflop")

    @pytest.mark.parametrize(
        ("settings", "said"),
        [
            ({"size": "tokens"}, r"size='tokens'; expected N or D"),
            ({"method": "spline"}, r"method='spline'; expected parabola or akima"),
            ({"window": 2}, r"window=2; a parabola takes three sizes or more"),
            ({"method": "akima"}, r"give seed_noise_nats, the sd of a run's loss"),
            ({"method": "akima", "seed_noise_nats": 0.01, "window": 5}, r"window is for the parabola"),
            ({"method": "akima", "seed_noise_nats": 0.01, "interior": False}, r"no minimum outside the sizes"),
            ({"weighted": True, "replicates": 0}, r"takes its weights from the bootstrap"),
            ({"seed_noise_nats": -0.1}, r"seed_noise_nats=-0.1; expected a finite number of at least 0"),
            ({"tolerance": float("nan")}, r"tolerance=nan"),
            ({"budgets": "group"}, r"has no column 'group'"),
        ],
    )
    def test_settings(self, settings: dict[str, Any], said: str) -> None:
        with pytest.raises(BayescaleError, match=said):
            fit(noisy(), procedure="isoflop", **settings)


class TestGivenOptima:
    C = 10.0 ** np.arange(18, 24)
    N = 3.0 * C**0.5

    def test_weights_are_one_over_the_squared_sd(self) -> None:
        off = self.N * np.exp([0.0, 0.0, 0.0, 0.0, 0.0, 0.5])
        assert regress_optima(self.C, off).exponent == pytest.approx(np.polyfit(np.log(self.C), np.log(off), 1)[0])
        found = regress_optima(self.C, off, [0.1, 0.1, 0.1, 0.1, 0.1, 1.0])
        w = np.array([10.0] * 5 + [1.0])
        assert found.exponent == pytest.approx(np.polyfit(np.log(self.C), np.log(off), 1, w=w)[0], rel=1e-12)
        assert found.coefficient == pytest.approx(3.0, rel=0.2)
        assert found.scatter is not None
        assert found.scatter < 1.0

    def test_exponent_sd_is_that_of_the_sds(self) -> None:
        generator, sd = np.random.default_rng(0), np.array([0.05, 0.1, 0.1, 0.1, 0.2, 0.3])
        drawn = [
            regress_optima(self.C, self.N * np.exp(sd * generator.standard_normal(6)), sd).exponent for _ in range(2000)
        ]
        # the sd of 2,000 draws is known to 1.6 %, and three of those
        assert regress_optima(self.C, self.N, sd).exponent_sd == pytest.approx(np.std(drawn), rel=0.05)

    def test_unusable_pairs_are_left_out_and_named(self) -> None:
        N = np.where(np.arange(6) == 1, np.nan, self.N)
        sd = np.where(np.arange(6) == 4, 0.0, 0.1)
        found = regress_optima(self.C, N, sd)
        assert found.exponent == pytest.approx(0.5)
        assert found.used.tolist() == [True, False, True, True, False, True]
        assert [warning.split(" (")[0] for warning in found.warnings] == ["pair 2 is left out", "pair 5 is left out"]
        assert "log_N_star_sd 0" in found.warnings[1]

    def test_weights_or_sds_in_parameters_are_refused(self) -> None:
        sd = np.full(6, 0.1)
        for wrong in (1.0 / sd**2, sd * self.N):
            with pytest.raises(FitError, match=r"it is the standard deviation of ln N\*, not a weight \(1/sd\^2\)"):
                regress_optima(self.C, self.N, wrong)

    def test_variances_are_told_by_the_scatter(self) -> None:
        sd = np.full(6, 0.1)
        scattered = self.N * np.exp(sd * [1.3, -0.9, -1.1, 1.0, 0.9, -1.2])
        assert regress_optima(self.C, scattered, sd).warnings == ()
        (said,) = regress_optima(self.C, scattered, sd**2).warnings
        assert "If they are variances, give their square roots" in said

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (([1e18, 1e19], [1e8]), "columns of one length"),
            (([1e18, 1e18], [1e8, 1e9]), r"1 budget\(s\) with a usable optimum"),
            (([1e18, 1e19], [1e8, -1.0]), r"1 budget\(s\) with a usable optimum"),
        ],
    )
    def test_too_little(self, arguments: Any, said: str) -> None:
        with pytest.raises(FitError, match=said):
            regress_optima(*arguments)
