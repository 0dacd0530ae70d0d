"""Finding, adding and refusing laws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bayescale.errors import LawError
from bayescale.laws import Law, get, names
from bayescale.laws._law import REGISTRY
from bayescale.prior import Prior

PROMISED = {
    *("chinchilla", "chinchilla-tied", "power-N", "power-D", "power-C", "power-C-no-floor"),
    *("kaplan", "kaplan-N", "kaplan-D", "kaplan-C", "kaplan-steps", "kaplan-floor", "kappa", "over-training"),
    *("data-constrained", "data-constrained-D", "data-constrained-geometric", "shifted", "multiplicative", "bounded"),
    *("m1", "m2", "m3", "m4", "bnsl-1", "bnsl-2", "farseer"),
    *("log-linear", "sigmoid"),
    *("msl", "bimix", "data-mixing", "optimal-mixture", "optimal-mixture-joint"),
}
E = Prior("LogNormal", 0.5, 0.4)


def body(**changes: Any) -> dict[str, Any]:
    """The class body of a small law, with changes; None takes a line away."""

    def loss(self: Law, N: Any, *, E: Any, a: Any) -> Any:
        return E + a / N

    lines = {"name": "toy", "formula": "L = E + a/N", "citation": "a test", "priors": {"E": E, "a": E}, "loss": loss}
    return {name: value for name, value in (lines | changes).items() if value is not None}


def test_the_promised_laws_are_there_in_order() -> None:
    assert set(names()) >= PROMISED
    assert names() == sorted(names())


def test_an_unknown_law_is_answered_with_those_there_are() -> None:
    with pytest.raises(LawError, match=r"no law called 'chinchila' \(did you mean chinchilla\?\)") as error:
        get("chinchila")
    assert all(name in str(error.value) for name in PROMISED)
    with pytest.raises(LawError, match=r"no law called 'xyzzy'; the laws are"):
        get("xyzzy")


def test_one_class_is_a_whole_law(toy: Callable[[], type[Law]]) -> None:
    assert "toy-outer-exponent" not in names()
    made = toy()
    assert made.name in names()
    assert get(made.name) is made
    assert made.inputs == ("N", "D")
    assert made.parameters == ("E", "a", "b", "alpha", "beta", "kappa")
    assert made().splits_compute


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"priors": {"E": E}}, r"Toy.priors must name exactly .*: priors \['E'\], parameters \['E', 'a'\]"),
        ({"priors": {"E": E, "a": E, "alpha": E}}, r"priors \['E', 'a', 'alpha'\], parameters \['E', 'a'\]"),
        ({"priors": None}, r"priors \[\], parameters \['E', 'a'\]"),
        ({"loss": lambda self, N, E, a: E + a / N}, r"keyword-only .*parameters \[\]"),
        ({"falls_in": ("D",)}, r"Toy.falls_in names \('D',\), but the inputs are \('N',\)"),
        ({"formula": None}, "Toy needs a formula"),
        ({"formula": ""}, "Toy needs a formula"),
        ({"citation": None}, "Toy needs a citation"),
        ({"name": "chinchilla"}, "two laws are called 'chinchilla': Chinchilla and Toy"),
    ],
)
def test_a_class_that_does_not_line_up_is_refused_when_it_is_made(changes: dict[str, Any], said: str) -> None:
    before = dict(REGISTRY)
    with pytest.raises(TypeError, match=said):
        type("Toy", (Law,), body(**changes))
    assert before == REGISTRY


def test_a_law_without_a_name_is_a_step_on_the_way_and_not_listed() -> None:
    before = names()
    step = type("Step", (Law,), body(name=None))
    assert names() == before
    assert not hasattr(step, "name")


@pytest.mark.usefixtures("toy")
def test_a_module_that_is_run_again_replaces_its_law() -> None:
    first = type("Toy", (Law,), body())
    second = type("Toy", (Law,), body())
    assert first is not second
    assert get("toy") is second


def test_a_law_without_a_loss_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Law()
