"""List the fitting procedures, and what the draws of each are."""

from __future__ import annotations

import argparse

from bayescale.cli._output import emit

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale procedures` takes: nothing of its own."""


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale procedures`."""
    from bayescale.procedures import get, names

    rows = [
        {"name": name, "kind": get(name).kind, "summary": get(name).summary, "reference": get(name).citation}
        for name in names()
    ]
    text = "\n".join(f"{row['name']:<14}{row['kind']:<12}{row['summary']} ({row['reference']})" for row in rows)
    emit(rows, text, arguments.json)
    return 0
