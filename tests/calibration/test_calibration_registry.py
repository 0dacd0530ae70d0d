"""No uncertainty without a coverage test: every public answer that is an interval, an sd or a probability names one.

The registry is `COVERED`: a name, and the test that would fail if what it says were too narrow or too wide. A name
whose documentation speaks of uncertainty and that gives none of its own stands in `EXEMPT`, under the reason. The walk
is over what packages and top-level modules export, the procedures and the commands, so that a new one is found by
itself.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import bayescale
from bayescale import procedures
from bayescale.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]

# What the documentation of a thing that gives an interval, an sd or a probability says.
SPEAKS = re.compile(
    r"\b(sds?|standard deviations?|intervals?|quantiles?|probabilit\w+|p-values?|bands?|draws|posterior)\b|\(sample, "
)
# The same in the source of a command.
SHOWN = re.compile(r"quantiles?|interval|\bsd\b|q05|fit_document|\.document\(\)|\.summary\(")
# Packages that answer nothing: pictures of answers, what procedures stand on, formulas and tables. Commands have a walk
# of their own.
NO_ANSWERS = {"cli", "datasets", "inference", "lab", "laws", "optimisation", "plots", "runs"}

FITS = "tests/calibration/test_fit_coverage.py::test_every_answer_covers_as_it_claims"
SDS = "tests/calibration/test_fit_coverage.py::test_every_sd_is_the_size_of_the_error"
BOOTSTRAP = "tests/calibration/test_procedure_coverage.py::test_bootstrap_intervals_hold_what_the_procedure_estimates"
FORECASTS = "tests/calibration/test_procedure_coverage.py::test_forecasts_of_runs_to_come_are_covered"
PRIOR_SET = "tests/calibration/test_prior_set_coverage.py::test_the_next_group_is_covered"
SBC = "tests/evaluation/test_sbc.py::test_chinchilla_is_calibrated"
SBC_ITSELF = "tests/evaluation/test_sbc.py::test_uniform_ranks_pass_and_crooked_ones_fail"
DISCREPANCY = "tests/test_discrepancy.py::test_coverage_when_slope_errors_are_drawn_as_the_discrepancy_says"
BACKTEST = "tests/evaluation/test_backtest_run.py::test_a_forecast_that_is_true_is_found_to_be"
PAIRED = "tests/comparison/test_known_answers.py::test_procedures_that_agree_in_truth_are_seldom_called_apart"
CURVES = "tests/curves/test_curve_forecasts.py::test_simulated_curves_are_forecast_to_the_noise_and_covered"
SCORES = "tests/transfer/test_transfer_scores.py::test_coverage_over_simulated_pairs"
MATRIX = "tests/transfer/test_transfer_matrix.py::test_intervals_cover_hidden_scores_of_simulated_tables"
EVALUATION_NOISE = "tests/test_evaluation_noise.py::test_sigma_is_covered_with_the_sds_and_not_without"
TARGETS = "tests/targets/test_target_fits.py::test_shared_and_own_parameters_are_covered"
DOWNSTREAM = "tests/downstream/test_downstream_chain.py::test_forecasts_of_accuracy_are_covered"
NEW_GROUP = "tests/pooling/test_grouped_fits.py::test_a_new_group_is_as_uncertain_as_the_groups_are_apart"

MIXTURE = "tests/fits/test_mixture_fits.py::test_the_best_mixture_is_covered"

COVERED = {
    "allocation.allocate": FITS,
    "averaging.Average": FORECASTS,
    "averaging.Average.allocation": FORECASTS,
    "averaging.Average.forecast": FORECASTS,
    "cli allocate": FITS,
    "cli backtest": BACKTEST,
    "cli compare": PAIRED,
    "cli curves": CURVES,
    "cli demo": FITS,
    "cli downstream": DOWNSTREAM,
    "cli fit": FITS,
    "cli forecast": FITS,
    "cli prior-set": PRIOR_SET,
    "cli transfer": SCORES,
    "comparison.Comparison": PAIRED,
    "comparison.Comparison.intervals": BOOTSTRAP,
    "comparison.Comparison.table": BOOTSTRAP,
    "curves.Calibration": CURVES,
    "curves.CurveForecasts": CURVES,
    "curves.Discrepancy": CURVES,
    "curves.Discrepancy.scales": CURVES,
    "discrepancy.Discrepancy": DISCREPANCY,
    "discrepancy.Discrepancy.offsets": DISCREPANCY,
    "downstream.Chain.forecast": DOWNSTREAM,
    "downstream.fit_chain": DOWNSTREAM,
    "evaluation.AverageOfLaws.forecast": FORECASTS,
    "evaluation.Backtest": BACKTEST,
    "evaluation.Backtest.pit": BACKTEST,
    "evaluation.Calibration": SBC_ITSELF,
    "evaluation.Calibration.coverage": SBC_ITSELF,
    "evaluation.Calibration.summary": SBC_ITSELF,
    "evaluation.Calibration.uniformity": SBC_ITSELF,
    "evaluation.Forecaster.forecast": FORECASTS,
    "fits.Fit.allocation": FITS,
    "fits.Fit.draws": FITS,
    "fits.Fit.forecast": FITS,
    "fits.Fit.isoflop_curves": FITS,
    "fits.Fit.path": FITS,
    "fits.Fit.summary": SDS,
    "fits.Fit.theta": FITS,
    "fits.Summary": SDS,
    "fits.optimal_mixture": MIXTURE,
    "forecast.forecast": FITS,
    "forecast.forecast_path": FITS,
    "forecast.isoflop_curves": FITS,
    "forecast.new_run": FORECASTS,
    "intervals.interval": SDS,
    "intervals.quantiles": FITS,
    "noise.evaluation_sd": EVALUATION_NOISE,
    "new_groups.at_runs": NEW_GROUP,
    "new_groups.with_groups_of": NEW_GROUP,
    "prior_sets.combine": PRIOR_SET,
    "procedures.NUTS": SBC,
    "procedures.NUTS.fit": SBC,
    "procedures.fit": SBC,
    "procedure envelope": BOOTSTRAP,
    "procedure huber": BOOTSTRAP,
    "procedure isoflop": BOOTSTRAP,
    "procedure least-squares": BOOTSTRAP,
    "procedure nuts": SBC,
    "procedure vpnls": BOOTSTRAP,
    "targets.TargetFits": TARGETS,
    "targets.TargetFits.summary": TARGETS,
    "targets.fit_targets": TARGETS,
    "transfer.HoldOut": MATRIX,
    "transfer.TransferMatrix": MATRIX,
    "transfer.TransferScores": SCORES,
    "transfer.complete": MATRIX,
    "transfer.hold_out": MATRIX,
    "transfer.transfer_scores": SCORES,
}

_EXEMPT = {
    "holds or takes what another gives": """
        averaging.LogDensity averaging.log_density averaging.predictive comparison.compare comparison.compare_laws
        curves.CurvePriors discrepancy.Discrepancy.distances discrepancy.Discrepancy.own_sds ladder.Rehearsal
        law_error.bumps law_error.bent model.Model.law_error
        evaluation.Draws evaluation.Request fits.Fit fits.Fit.assemble fits.Fit.estimate fits.Fit.kind
        fits.log_groups prior_sets.Family procedures.Procedure procedures.NUTS.Settings transfer.Pairs
        transfer.ScoreSettings transfer.read_pairs model.Model.data targets.Reading""",
    "a verdict in words on what another gives, tested against designs that are known": """
        diagnostics.Diagnostics diagnostics.contraction diagnostics.diagnose diagnostics.shift fits.Fit.rests_on
        fits.Fit.sensitivity fits.Sensitivity fits.allocation_verdicts fits.forecast_verdicts""",
    "the scores of a forecast, or a picture or file of it": """
        evaluation.Backtest.forecasts evaluation.Backtest.picture evaluation.Backtest.widening""",
    "a prior, which claims what it was told": """
        discrepancy.Discrepancy.priors prior.Prior prior.Prior.median prior.Prior.sample prior.Pooled prior.Pooled.more
        prior.Pooled.sample prior.pooled""",
    "a median alone": """forecast.surface""",
    "a command without intervals, or one that prints scores": """cli compare-laws cli languages""",
}
EXEMPT = {
    name: why for why, names in _EXEMPT.items() for name in re.findall(r"cli [\w-]+|procedure [\w-]+|[\w.]+", names)
}


def members(found: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that a class states itself."""
    for name, value in vars(found).items():
        plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        plain = getattr(plain, "func", plain)  # a cached property
        if not name.startswith("_") and (callable(plain) or isinstance(plain, property)):
            yield name, plain


def public() -> Iterator[tuple[str, str]]:
    """Every function, class and method that the package offers: its name, and what its documentation says."""
    for module in pkgutil.iter_modules(bayescale.__path__):
        if module.name in NO_ANSWERS or module.name.startswith("_"):
            continue
        found = importlib.import_module(f"bayescale.{module.name}")
        for name in found.__all__:
            value = getattr(found, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                yield f"{module.name}.{name}", value.__doc__ or ""
            if inspect.isclass(value):
                yield from ((f"{module.name}.{name}.{key}", each.__doc__ or "") for key, each in members(value))


def uncertain() -> set[str]:
    """Names whose documentation speaks of uncertainty; procedures that give draws; commands that show them."""
    names = {name for name, documentation in public() if SPEAKS.search(documentation)}
    names |= {f"procedure {name}" for name in procedures.names() if procedures.get(name).kind != "point"}
    for name in COMMANDS:
        source = (ROOT / "bayescale" / "cli" / f"{name.replace('-', '_')}.py").read_text()
        names |= {f"cli {name}"} if SHOWN.search(source) else set()
    return names


@cache
def functions_in(path: str) -> dict[str, ast.FunctionDef]:
    """The functions of a file, as ``name`` or ``Class::name``; none where there is no such file."""
    file = ROOT / path
    if not file.is_file():
        return {}
    found: dict[str, ast.FunctionDef] = {}
    for node in ast.parse(file.read_text()).body:
        within = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        found |= {f"{prefix}{one.name}": one for one in within if isinstance(one, ast.FunctionDef)}
    return found


def problem(test: str) -> str:
    """Why a name of a test is no coverage test; empty if it may be one."""
    path, _, name = test.partition("::")
    found = functions_in(path).get(name)
    if found is None or not found.name.startswith("test_"):
        return f"there is no {test}"
    marks = " ".join(ast.unparse(mark) for mark in found.decorator_list)
    if "skip" in marks or "xfail" in marks:
        return f"{test} does not run"
    return "" if any(isinstance(node, ast.Assert) for node in ast.walk(found)) else f"{test} asserts nothing"


def test_everything_that_gives_uncertainty_names_a_coverage_test() -> None:
    missing = sorted(uncertain() - set(COVERED) - set(EXEMPT))
    assert not missing, (
        f"{', '.join(missing)}: the documentation speaks of intervals, sds or probabilities, and no test says that "
        "they cover what they claim. Write one in tests/calibration (or beside the code) and name it in COVERED, or "
        "put it in EXEMPT with the reason why there is nothing to cover."
    )


@pytest.mark.parametrize("test", sorted(set(COVERED.values())))
def test_every_coverage_test_is_there_and_can_fail(test: str) -> None:
    assert not problem(test)


def test_the_registry_holds_nothing_that_is_gone() -> None:
    there = {name for name, _ in public()} | {f"cli {name}" for name in COMMANDS}
    there |= {f"procedure {name}" for name in procedures.names()}
    assert sorted((set(COVERED) | set(EXEMPT)) - there) == []
    assert sorted(set(COVERED) & set(EXEMPT)) == []


def test_the_walk_sees_what_it_should() -> None:
    seen = uncertain()
    assert {"fits.Fit.forecast", "fits.Fit.path", "fits.Fit.allocation", "fits.Fit.summary"} <= seen
    assert {"discrepancy.Discrepancy.offsets", "prior_sets.combine", "transfer.transfer_scores"} <= seen
    assert {"procedure huber", "procedure nuts", "cli fit", "cli forecast", "cli allocate"} <= seen
    assert not {"cli laws", "cli procedures", "cli lab"} & seen


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("tests/no_such_file.py::test_it", "there is no"),
        ("tests/calibration/test_fit_coverage.py::test_that_is_not_there", "there is no"),
        ("tests/calibration/test_fit_coverage.py::covered", "there is no"),
    ],
)
def test_a_name_that_is_no_coverage_test_is_found(test: str, said: str) -> None:
    assert said in problem(test)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("@pytest.mark.xfail\ndef test_it():\n    assert True\n", "does not run"),
        ("@pytest.mark.skip\ndef test_it():\n    assert True\n", "does not run"),
        ("def test_it():\n    pass\n", "asserts nothing"),
    ],
)
def test_a_test_that_cannot_fail_is_no_coverage_test(tmp_path: Path, source: str, said: str) -> None:
    (tmp_path / "test_it.py").write_text(source)
    assert said in problem(f"{tmp_path / 'test_it.py'}::test_it")
