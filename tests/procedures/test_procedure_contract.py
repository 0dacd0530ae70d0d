"""What every procedure of the registry promises, whatever it does inside.

Parameters are recovered and seeds repeat on the table that other tests fit, so that little is compiled.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bayescale import laws
from bayescale.errors import BayescaleError, FitError
from bayescale.fits import Fit
from bayescale.fits._record import KINDS
from bayescale.laws.chinchilla import Chinchilla
from bayescale.procedures import Procedure, fit, get, names
from bayescale.runs import Runs


@pytest.fixture(scope="module", params=names())
def procedure(request: pytest.FixtureRequest) -> type[Procedure]:
    return get(request.param)


@pytest.fixture(scope="module")
def table(procedure: type[Procedure], simulate: Callable[..., Runs], truth: dict[str, float]) -> Runs:
    """Scattered runs; for procedures that find the best run of each budget, budgets and curves to find it on."""
    return simulate() if procedure.default_law == "chinchilla" else on_budgets(simulate(), truth)


@pytest.fixture(scope="module")
def fitted(procedure: type[Procedure], table: Runs) -> Fit:
    return fit(table, procedure=procedure.name, seed=11)


def on_budgets(runs: Runs, truth: dict[str, float]) -> Runs:
    """Ten budgets of twenty sizes with the scatter of `runs` around the law they came from, each size a curve."""
    N, C = (grid.ravel() for grid in np.meshgrid(np.geomspace(2e7, 2e10, 20), np.geomspace(1e18, 1e21, 10)))
    noise = runs["loss"] / Chinchilla().loss(runs["N"], runs["D"], **truth)
    D = C / (6.0 * N)
    names = [f"run-{size:.3g}" for size in N]
    return Runs.from_arrays(N=N, D=D, C=C, loss=Chinchilla().loss(N, D, **truth) * noise, run_name=names)


def gives_a_law_of_runs(fitted: Fit) -> bool:
    """Whether the fit says what a run of any N and D would lose, and not only the best run of a budget."""
    return {"N", "D"} <= set(fitted.law.inputs)


def test_it_says_what_it_is(procedure: type[Procedure]) -> None:
    assert issubclass(procedure, Procedure)
    assert procedure.kind in KINDS
    assert procedure.summary
    assert not procedure.summary.endswith(".")
    assert procedure.citation
    assert (procedure.__doc__ or "").strip()


def test_fit_takes_runs_seed_and_progress(procedure: type[Procedure]) -> None:
    parameters = inspect.signature(procedure.fit).parameters
    assert list(parameters)[:4] == ["self", "runs", "seed", "progress"]
    assert parameters["seed"].default == 0
    assert parameters["progress"].default is None


def test_the_fit_is_complete(fitted: Fit, procedure: type[Procedure]) -> None:
    assert fitted.kind == procedure.kind
    assert fitted.record.procedure == procedure.name
    assert fitted.record.seed == 11
    assert set(fitted.law.parameters) <= set(fitted.theta)
    constants = {"A", "B"} if gives_a_law_of_runs(fitted) else {"N_coefficient", "D_coefficient"}
    assert {*constants, "N_exponent", "D_exponent"} <= set(fitted.draws.data_vars)
    assert {"total", "compile", "sample"} <= set(fitted.record.seconds)
    for values in fitted.theta.values():
        assert values.dtype == np.float64
        assert np.isfinite(values).all()
    if fitted.kind != "posterior":
        assert fitted.draws.sizes["chain"] == 1
    if fitted.kind == "point":
        assert fitted.draws.sizes["draw"] == 1


def test_it_recovers_what_the_table_was_made_from(fitted: Fit, truth: dict[str, float]) -> None:
    frontier = {"E": truth["E"], "N_exponent": truth["beta"] / (truth["alpha"] + truth["beta"])}
    for name, value in (truth if gives_a_law_of_runs(fitted) else frontier).items():
        draws = fitted.theta[name]
        # four standard deviations; and 2 % where there is no spread (200 runs, noise of half a per cent)
        allowed = 4.0 * draws.std() if draws.size > 1 else 0.02 * value
        assert abs(np.median(draws) - value) < allowed, name
        assert abs(np.median(draws) / value - 1.0) < 0.1, name


def test_equal_seeds_give_equal_fits(fitted: Fit, procedure: type[Procedure], table: Runs) -> None:
    again = fit(table, procedure=procedure.name, seed=11)
    for name, draws in fitted.theta.items():
        np.testing.assert_array_equal(draws, again.theta[name])


def test_every_question_has_an_answer(fitted: Fit, tmp_path: Path) -> None:
    if gives_a_law_of_runs(fitted):
        assert fitted.forecast({"N": [7e10], "D": [1.4e12]})["mean_loss"].notnull().all()
        assert fitted.forecast({"C": [1e24]})["mean_loss"].notnull().all()
    assert fitted.path([1e24])["mean_loss"].notnull().all()
    assert fitted.allocation([1e24])["N"].notnull().all()
    assert fitted.summary()["median"].notna().all()
    assert Fit.load(fitted.save(tmp_path / "fit.nc")) == fitted


def test_rhat_is_given_for_markov_chains_only(fitted: Fit) -> None:
    rhat = fitted.summary().loc[list(fitted.theta), "rhat"]
    assert rhat.notna().all() if fitted.kind == "posterior" else rhat.isna().all()
    assert (fitted.diagnostics.max_rhat is None) == (fitted.kind != "posterior")


def test_a_table_without_its_columns_is_refused(procedure: type[Procedure]) -> None:
    table = Runs.from_arrays(C=[1e17, 1e18, 1e19], loss=[3.9, 3.4, 3.0])
    with pytest.raises(BayescaleError, match="N, D"):
        fit(table, procedure=procedure.name)


def test_a_law_that_it_cannot_give_is_refused(procedure: type[Procedure], table: Runs) -> None:
    refused = [law for law in laws.names() if laws.get(law).fitted_by and procedure.name not in laws.get(law).fitted_by]
    refused += ["chinchilla"] * (procedure.default_law != "chinchilla")
    for law in refused:
        with pytest.raises(FitError, match=f"{procedure.name} .*cannot fit {law}.* leave the law out"):
            fit(table, law, procedure.name)


def test_an_unknown_procedure() -> None:
    with pytest.raises(FitError, match=r"there is no procedure called 'mcmc'; the procedures are .*nuts"):
        get("mcmc")


def test_nuts_is_there() -> None:
    assert "nuts" in names()
    assert names() == sorted(names())
    assert get("nuts").kind == "posterior"


def test_a_procedure_that_does_not_say_what_it_is_is_refused() -> None:
    said = {"name": "nameless-test"}
    with pytest.raises(TypeError, match="Nameless needs a summary"):
        type("Nameless", (Procedure,), dict(said))
    said |= {"summary": "none", "citation": "none"}
    with pytest.raises(TypeError, match="kind must be one of posterior, bootstrap, point"):
        type("Nameless", (Procedure,), dict(said))
    with pytest.raises(TypeError, match="Settings must be a dataclass"):
        type("Nameless", (Procedure,), said | {"kind": "point"})
    assert "nameless-test" not in names()


def test_a_step_on_the_way_is_not_listed() -> None:
    before = names()
    type("Step", (Procedure,), {})
    assert names() == before
