"""List the scaling laws: formula, inputs, parameters with their default priors, and source."""

from __future__ import annotations

import argparse
from typing import Any

from bayescale.cli._output import emit

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale laws` takes: nothing of its own."""


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale laws`."""
    from bayescale.laws import get, names, settings_of

    rows = []
    for name in names():
        law = get(name)
        rows.append(
            {
                "name": name,
                "formula": law.formula,
                "inputs": list(law.inputs),
                "parameters": list(law.parameters),
                "settings": settings_of(law),
                "reference": law.citation,
                "priors": {parameter: str(prior) for parameter, prior in law.priors.items()},
                "loss_unit": law.loss_unit,
                "N_convention": law.N_convention,
            }
        )
    wide = 2 + max(len(name) for name in names())
    text = "\n".join(_lines(row, wide) for row in rows)
    emit(rows, text, arguments.json)
    return 0


def _lines(row: dict[str, Any], wide: int) -> str:
    settings = ", ".join(row["settings"])
    more = f"; settings: {settings}" if settings else ""
    return f"{row['name']:<{wide}}{row['formula']}\n{'':<{wide}}{row['reference']}{more}"
