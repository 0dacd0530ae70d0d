"""A law as a person names it: its name, with its settings in brackets."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from bayescale.errors import LawError
from bayescale.laws._law import Law

__all__ = ["made", "named", "parts", "settings_of"]

_NAMED = re.compile(r"\s*([^\s()]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_WORDS: Mapping[str, Any] = {"none": None, "all": None, "true": True, "false": False}


def parts(text: str) -> list[str]:
    """What stands between the commas that are in no bracket: ``"msl,atlas(k=3,transfer=t.csv)"`` names two laws."""
    return [part.strip() for part in re.split(r",(?![^()]*\))", text) if part.strip()]


def settings_of(law: type[Law]) -> dict[str, Any]:
    """The settings of a law beside its reference run, and their defaults."""
    accepted = inspect.signature(law.__init__).parameters.values()
    return {p.name: p.default for p in accepted if p.kind is p.KEYWORD_ONLY}


def named(text: str) -> tuple[str, dict[str, Any]]:
    """Name and settings, ``"atlas(k=5)"``.

    Raises
    ------
    LawError
        Brackets that do not close, a setting without a value, or one that is given twice.
    """
    match = _NAMED.fullmatch(text)
    if match is None:
        raise LawError(f'cannot read the law {text!r}: write its name, and settings in brackets, "atlas(k=5)"')
    found: dict[str, Any] = {}
    for part in parts(match[2] or ""):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not name or not value:
            raise LawError(f'cannot read {part!r} in the law {text!r}: write settings as in "atlas(k=5)"')
        if name in found:
            raise LawError(f"the law {text!r} gives {name} twice")
        found[name] = _value(value)
    return match[1], found


def made(law: type[Law], settings: Mapping[str, Any]) -> Law:
    """The law with these settings, at the usual reference run.

    Raises
    ------
    LawError
        It has no such setting, or not such a value.
    """
    accepted = settings_of(law)
    for name in settings:
        if name not in accepted:
            known = f"its settings are {', '.join(accepted)}" if accepted else "it has none"
            raise LawError(f"{law.name} has no setting {name!r}; {known}")
    return law(**settings)


def _value(text: str) -> Any:
    """A number, nothing, yes or no; any other text as it is."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
