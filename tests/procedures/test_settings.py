"""Settings of a procedure, from keywords and from text."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from bayescale.errors import FitError
from bayescale.procedures import describe_settings, get
from bayescale.procedures._settings import parse_settings


@dataclass(frozen=True)
class Settings:
    """One field of each kind."""

    count: int = 1
    delta: float = 1e-3
    window: int | None = None
    weighted: bool = False
    size: str = "N"
    starts: int | str = "hoffmann"


TOY: Any = SimpleNamespace(name="toy", Settings=Settings)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("count", "5", 5),
        ("count", "4k", 4000),
        ("delta", "1e-4", 1e-4),
        ("window", "none", None),
        ("window", "7", 7),
        ("weighted", "yes", True),
        ("weighted", "False", False),
        ("size", "D", "D"),
        ("starts", "64", 64),
        ("starts", "hoffmann", "hoffmann"),
    ],
)
def test_text_is_read_as_the_type_of_its_field(name: str, text: str, value: Any) -> None:
    found = getattr(parse_settings(TOY, {name: text}), name)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("count", "many", r"toy: count='many' cannot be read; expected int"),
        ("count", "1.5", r"toy: count='1.5' cannot be read; expected int"),
        ("window", "wide", r"toy: window='wide' cannot be read; expected int or none"),
        ("weighted", "maybe", r"toy: weighted='maybe' cannot be read; expected bool"),
        ("windw", "3", r"toy has no setting 'windw'; its settings are count, delta, window, weighted, size, starts"),
    ],
)
def test_what_cannot_be_read_is_named(name: str, text: str, said: str) -> None:
    with pytest.raises(FitError, match=said):
        parse_settings(TOY, {name: text})


def test_values_pass_as_they_are() -> None:
    assert parse_settings(TOY, {"delta": 0.5, "window": 3}) == Settings(delta=0.5, window=3)


def test_the_settings_of_nuts() -> None:
    assert describe_settings(get("nuts"))["draws"] == 1000
    assert parse_settings(get("nuts"), {"draws": "50"}).draws == 50
