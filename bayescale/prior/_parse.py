"""Priors as people write them: on the command line, in a TOML file, as text."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bayescale.errors import PriorError
from bayescale.prior._pooled import Pooled
from bayescale.prior._prior import Prior

__all__ = ["parse_assignments", "parse_prior", "read_toml"]


def parse_prior(text: str | float | Prior | Pooled) -> Prior | Pooled:
    """Read a prior, pooled or not: ``"LogNormal(0.5, 0.4)"``, ``"pooled(LogNormal(0.5, 0.4), corpus)"`` or a number.

    Raises
    ------
    PriorError
        The text is neither; the message shows the form that was expected.
    """
    if isinstance(text, Pooled):
        return text
    if isinstance(text, str) and text.strip().startswith(("pooled", "apart")):
        return Pooled.parse(text)
    return Prior.parse(text)


def parse_assignments(texts: Iterable[str]) -> dict[str, Prior | Pooled]:
    """Read ``["E=LogNormal(0.6, 0.2)", "alpha=0.35"]`` as typed after ``--prior``.

    Raises
    ------
    PriorError
        No ``=``, a prior that cannot be read, or the same parameter twice.
    """
    priors: dict[str, Prior | Pooled] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name or not value.strip():
            raise PriorError(f"cannot read the prior {text!r}: write it as name=prior, e.g. E=LogNormal(0.6, 0.2)")
        if name in priors:
            raise PriorError(f"two priors are given for {name}: {priors[name]} and {value.strip()}")
        priors[name] = parse_prior(value)
    return priors


def read_toml(path: str | Path) -> dict[str, Prior | Pooled]:
    """Read the ``[priors]`` table of a TOML file: ``E = "LogNormal(0.6, 0.2)"`` or ``alpha = 0.35``.

    Raises
    ------
    PriorError
        The file cannot be read, has no ``[priors]`` table, or holds something that is no prior.
    """
    try:
        document: dict[str, Any] = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise PriorError(f"cannot read the priors file {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PriorError(f"{path} is not a TOML file: {error}") from None
    table = document.get("priors")
    if not isinstance(table, dict):
        raise PriorError(
            f'{path} has no [priors] table; write [priors] and below it lines such as E = "LogNormal(0.6, 0.2)"'
        )
    priors: dict[str, Prior | Pooled] = {}
    for name, value in table.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise PriorError(f"{path}: the prior of {name} must be text or a number, got {value!r}")
        try:
            priors[name] = parse_prior(value)
        except PriorError as error:
            raise PriorError(f"{path}: the prior of {name}: {error}") from None
    return priors
