"""List the fitting procedures, and what the draws of each are."""

from __future__ import annotations

import argparse
from typing import Any

from bayescale.cli._output import emit

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale procedures` takes: nothing of its own."""


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale procedures`."""
    from bayescale.procedures import describe_settings, get, names

    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "kind": get(name).kind,
            "summary": get(name).summary,
            "reference": get(name).citation,
            "settings": describe_settings(get(name)),
        }
        for name in names()
    ]
    lines = []
    for row in rows:
        lines.append(f"{row['name']:<14}{row['kind']:<12}{row['summary']} ({row['reference']})")
        settings = ", ".join(f"{name}={str(value).lower()}" for name, value in row["settings"].items())
        lines.append(f"{'':<26}settings: {settings or 'none'}")
    text = "\n".join(lines)
    emit(rows, text, arguments.json)
    return 0
