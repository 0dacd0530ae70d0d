"""Settings of a procedure, from keywords or from text."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from bayescale.compute import QuantityError, parse_quantity
from bayescale.errors import FitError
from bayescale.procedures._procedure import Procedure

__all__ = ["describe_settings", "parse_settings"]

SWITCHES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def parse_settings(procedure: type[Procedure], given: Mapping[str, Any]) -> Any:
    """The procedure's settings with those given replaced; text is read as the type of the field.

    Raises
    ------
    FitError
        An unknown setting (the message lists those there are), or text that cannot be read.
    """
    known = [field.name for field in fields(procedure.Settings)]
    unknown = [name for name in given if name not in known]
    if unknown:
        has = f"its settings are {', '.join(known)}" if known else "it has none"
        raise FitError(f"{procedure.name} has no setting {unknown[0]!r}; {has}")
    hints = typing.get_type_hints(procedure.Settings)
    return procedure.Settings(**{name: _read(procedure, name, hints[name], value) for name, value in given.items()})


def describe_settings(procedure: type[Procedure]) -> dict[str, Any]:
    """Every setting of a procedure with its default."""
    defaults = procedure.Settings()
    return {field.name: getattr(defaults, field.name) for field in fields(procedure.Settings)}


def _read(procedure: type[Procedure], name: str, hint: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    text = value.strip()
    if type(None) in kinds and text.lower() in ("none", ""):
        return None
    if bool in kinds and text.lower() in SWITCHES:
        return SWITCHES[text.lower()]
    for number in (int, float):
        if number in kinds:
            try:
                quantity = parse_quantity(text)
            except QuantityError:
                continue
            if number is float or quantity == int(quantity):
                return number(quantity)
    if str in kinds:
        return text
    expected = " or ".join("none" if kind is type(None) else kind.__name__ for kind in kinds)
    raise FitError(f"{procedure.name}: {name}={value!r} cannot be read; expected {expected}")
