"""Scaling laws, one a file. A module here that defines a `Law` with a name is found, listed and tested by itself."""

from __future__ import annotations

import difflib
import importlib
import pkgutil

from bayescale.errors import LawError
from bayescale.laws._law import REGISTRY, Law
from bayescale.laws._named import made, named, parts, settings_of

__all__ = ["Law", "get", "names", "parse", "parts", "settings_of"]


def _discover() -> None:
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__name__}.{module.name}")


def names() -> list[str]:
    """Names of all laws, in alphabetical order.

    Examples
    --------
    >>> "chinchilla" in names()
    True
    """
    _discover()
    return sorted(REGISTRY)


def get(name: str) -> type[Law]:
    """The law class registered under ``name``.

    Raises
    ------
    LawError
        No law has that name; the message lists those there are.
    """
    _discover()
    if name not in REGISTRY:
        close = difflib.get_close_matches(name, REGISTRY, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise LawError(f"there is no law called {name!r}{hint}; the laws are {', '.join(sorted(REGISTRY))}")
    return REGISTRY[name]


def parse(text: str) -> Law:
    """The law that a text names, at the usual reference run: its name, with settings in brackets where it has any.

    Raises
    ------
    LawError
        No law has that name, or it has no such setting; the message lists those there are.

    Examples
    --------
    >>> parse("chinchilla").name, parse("atlas(k=5)").settings["k"]
    ('chinchilla', 5)
    """
    name, settings = named(text)
    return made(get(name), settings)
