"""Arguments that several commands share, and what is made of them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bayescale.errors import BayescaleError

__all__ = [
    "add_table",
    "assignments",
    "at_least",
    "column_names",
    "folder",
    "output_file",
    "procedure_settings",
    "quantity",
    "seed",
]


def add_table(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """RUNS and how to read it."""
    parser.add_argument(
        "runs",
        metavar="RUNS",
        nargs="?" if optional else None,
        help="table of runs: CSV, TSV, JSON lines or Parquet; - for stdin",
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="which column is N, D, C or loss: loss=eval/loss, D='tokens (B)', C=none, 'share[*]=weight_*'",
    )
    parser.add_argument("--where", metavar="EXPRESSION", help='rows to use, e.g. "loss < 3.44"')


def assignments(texts: Sequence[str], flag: str, example: str) -> dict[str, str]:
    """``["a=b"]`` as a mapping.

    Raises
    ------
    BayescaleError
        A text without ``=``, or a name given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise BayescaleError(f"cannot read {flag} {text!r}: write it as {example}")
        if name.strip() in found:
            raise BayescaleError(f"{flag} gives {name.strip()} twice: {found[name.strip()]} and {value.strip()}")
        found[name.strip()] = value.strip()
    return found


def column_names(arguments: argparse.Namespace) -> dict[str, str]:
    """The ``--column`` flags as a mapping from standard name to column."""
    return assignments(arguments.column, "--column", "loss=eval/loss")


def quantity(text: str) -> float:
    """A positive number as people write it: 70B, 1.4T, 3e21. For argparse's ``type``."""
    from bayescale.compute import QuantityError, parse_quantity

    try:
        value = parse_quantity(text)
    except QuantityError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def at_least(least: int) -> Any:
    """An integer of at least `least`, for argparse's ``type``."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is below {least}")
        return value

    return parse


def seed(text: str) -> int:
    """A seed, for argparse's ``type``: what every generator of random numbers takes."""
    value: int = at_least(0)(text)
    if value >= 2**32:
        raise argparse.ArgumentTypeError(f"{value} is not below 2**32")
    return value


def folder(text: str, flag: str) -> Path:
    """The folder that files will be written to, made where it is missing.

    Raises
    ------
    BayescaleError
        It cannot be made: a file has its name, or a folder above it cannot be written.
    """
    path = Path(text)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BayescaleError(f"{flag} {text}: cannot make this folder: {error.strerror or error}") from None
    return path


def output_file(text: str | None, ending: str, what: str, flag: str = "--out") -> Path | None:
    """Where a result goes, refused before the work is done if no file can be written there.

    Parameters
    ----------
    text : str or None
        What was given after `flag`.
    ending : str
        That its name must have.
    what : str
        What is written, for the message: "a fit is a netCDF file".

    Raises
    ------
    BayescaleError
        The message says what to give in its place.
    """
    if text is None:
        return None
    path = Path(text)
    if not path.name.endswith(ending):
        raise BayescaleError(f"{flag} {text}: {what}; give a name that ends in {ending}")
    if not path.parent.is_dir():
        raise BayescaleError(f"{flag} {text}: the folder {path.parent} does not exist")
    if path.is_dir():
        example = path / f"result{ending}"
        raise BayescaleError(f"{flag} {text}: this is a folder; give the name of a file in it, such as {example}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BayescaleError(f"{flag} {text}: cannot be written: permission denied")
    return path


def procedure_settings(texts: Sequence[str], example: str) -> dict[str, dict[str, str]]:
    """``["huber.delta=1e-4"]`` as settings of each procedure.

    Raises
    ------
    BayescaleError
        A text that does not say whose setting it is.
    """
    settings: dict[str, dict[str, str]] = {}
    for name, value in assignments(texts, "--set", example).items():
        procedure, dot, setting = name.partition(".")
        if not dot:
            raise BayescaleError(f"--set {name}={value}: say whose setting it is, as in {example}")
        settings.setdefault(procedure, {})[setting] = value
    return settings
