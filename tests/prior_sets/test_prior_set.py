"""Prior sets: what they say, that they leave groups out, that they survive their file, and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bayescale import prior_sets
from bayescale.discrepancy import Discrepancy
from bayescale.errors import PriorError, RunsError
from bayescale.prior import Prior
from bayescale.prior_sets import Effect, Family, PriorSet, combine, load
from bayescale.runs import Runs


def test_location_and_scale_of_many_groups() -> None:
    """Groups drawn from a Student-t with three degrees of freedom give its location and scale back."""
    generator = np.random.default_rng(0)
    values = 0.5 + 0.3 * generator.standard_t(3, 400)
    df, location, scale = combine(
        Effect(str(i), value + 0.05 * generator.standard_normal(), 0.05) for i, value in enumerate(values)
    )
    # 400 values: sds of about .02 each
    assert location == pytest.approx(0.5, abs=0.06)
    assert scale == pytest.approx(0.3, abs=0.06)
    assert df == pytest.approx(3.0, abs=0.5)


def test_tables_of_one_group_count_as_one() -> None:
    alone = [Effect("a", 0.0, 0.1), Effect("b", 1.0, 0.1), Effect("c", 2.0, 0.1), Effect("d", 1.1, 0.1)]
    copies = [*alone, Effect("d", 1.1, 0.1), Effect("d", 1.1, 0.1)]
    assert combine(copies) == pytest.approx(combine(alone))


def test_one_exceptional_group_does_not_widen_the_prior_of_all() -> None:
    usual = [Effect(str(i), value, 0.02) for i, value in enumerate((0.0, 0.1, -0.1, 0.05, -0.05, 0.08))]
    _, _, scale = combine(usual)
    _, location, robust = combine([*usual, Effect("odd", 5.0, 0.02)])
    assert abs(location) < 0.1
    assert robust < 3 * scale


def test_a_group_that_says_nothing_changes_nothing() -> None:
    """However far off what it has for a value, and however wide: the close groups are still told apart."""
    close = [Effect(str(i), value, 0.02) for i, value in enumerate((0.0, 0.1, -0.1, 0.05, -0.05, 0.08))]
    assert combine([*close, Effect("silent", 3.0, 20.0)]) == pytest.approx(combine(close), rel=0.02, abs=2e-3)


def test_two_groups_are_too_few() -> None:
    with pytest.raises(PriorError, match="learnt from 3 groups of runs or more, and there are 2"):
        combine([Effect("a", 0.0, 0.1), Effect("b", 0.0, 0.1), Effect("b", 0.0, 0.1)])


@pytest.mark.parametrize("name", prior_sets.names())
def test_bundled_sets(name: str) -> None:
    prior_set = load(name)
    assert prior_set.name == name
    assert prior_set.about
    assert len(prior_set.groups) >= 3
    for without in (frozenset(), *(frozenset([group]) for group in prior_set.groups)):
        assert set(prior_set.priors(without)) >= set(prior_set.learnt)
    again = PriorSet.from_toml(prior_set.to_toml(), "text")
    assert again.priors() == prior_set.priors()
    assert again.discrepancy == prior_set.discrepancy


@pytest.fixture
def small() -> PriorSet:
    families = tuple(
        Family(f"{group}-{i}", group, {"gamma": (-1.8 + 0.1 * place, 0.05), "kappa": (-0.5 + 0.2 * place, 0.1)})
        for place, group in enumerate("abcd")
        for i in range(2)
    )
    given = {"R": Prior("LogNormal", 0.0, 1.0)}
    return PriorSet(
        "small", "kappa", "student-t", {"gamma": "LogStudentT", "kappa": "LogStudentT"}, given, Discrepancy(), families
    )


def test_a_group_left_out_says_nothing(small: PriorSet) -> None:
    moved = replace(
        small, families=tuple(replace(f, told={"gamma": (9.0, 0.1), "kappa": (9.0, 0.1)}) if f.group == "a" else f
                              for f in small.families)
    )  # fmt: skip
    assert moved.priors() != small.priors()
    assert moved.priors(frozenset("a")) == small.priors(frozenset("a"))
    # a data set takes its whole group with it
    assert small.priors(frozenset(["a-1"])) == small.priors(frozenset("a"))
    with pytest.raises(PriorError, match="there are 2"):
        small.priors(frozenset("ab"))


def test_the_model_stands_at_the_top_of_the_ladder(small: PriorSet) -> None:
    runs = Runs.from_arrays(N=[1e8, 1e9, 2e9], D=[1e10, 2e10, 4e10], loss=[3.0, 2.5, 2.4])
    model = small.model(runs)
    assert model.law.C0 == pytest.approx(6 * 2e9 * 4e10)
    assert model.law.D0 / model.law.N0 == pytest.approx(20.0)
    assert model.discrepancy == small.discrepancy
    assert str(model.priors["gamma"]).startswith("LogStudentT(")
    with pytest.raises(RunsError, match="reads how far a forecast reaches from the FLOPs"):
        small.model(Runs.from_arrays(N=[1e8, 1e9], loss=[3.0, 2.5]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = [", "is not a TOML file"),
        ('name = "a"\nlaw = "kappa"', "it has no 'learnt'"),
        ('name = "a"\nlaw = "kappa"\n[learnt]\nE = "Cauchy"', "a learnt prior is one of"),
        ('name = "a"\nlaw = "kappa"\n[learnt]\n[discrepancy]\nlevel = 0.0', "level must be above 0"),
        (
            'name = "a"\nlaw = "kappa"\n[learnt]\n[discrepancy]\nsmooth = 1.0',
            "has no 'smooth'; it has near, bend, wings",
        ),
    ],
)
def test_a_file_that_is_no_prior_set(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "set.toml"
    path.write_text(text)
    with pytest.raises(PriorError, match=said):
        load(path)


def test_names_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(PriorError, match="there is no prior set called 'nobody'; the bundled ones are public"):
        load("nobody")
    with pytest.raises(PriorError, match="No such file"):
        load(tmp_path / "missing.toml")
