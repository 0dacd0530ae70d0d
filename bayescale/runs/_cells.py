"""Cells into float64, keeping for every cell that is no number the reason why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from bayescale.compute import QuantityError, parse_quantity

__all__ = ["Numbers", "is_blank", "numbers", "shown"]

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}
_PLAIN_ONLY = (
    "is not a plain number; write digits with a decimal point, without suffix or thousands separator"
    " (a comma could be either)"
)


@dataclass(frozen=True)
class Numbers:
    """A column as float64; `reasons` says for each place without a number what is wrong with it."""

    values: np.ndarray
    reasons: dict[int, str]

    @property
    def any_readable(self) -> bool:
        return len(self.reasons) < len(self.values)


def numbers(cells: np.ndarray, *, quantities: bool) -> Numbers:
    """Read a column.

    Parameters
    ----------
    cells : numpy.ndarray
        Objects: text as written, or Python numbers.
    quantities : bool
        Whether ``70B`` and ``1,300,000,000`` are numbers here. They are not in a loss column, nor where the column's
        name already states a unit.

    Returns
    -------
    Numbers
        NaN where there is no number; infinities are kept, they are numbers that the row check refuses.
    """
    fast = _all_plain(cells)
    if fast is not None:
        return fast
    values = np.full(len(cells), np.nan)
    reasons: dict[int, str] = {}
    seen: dict[str, float | str] = {}
    for place, cell in enumerate(cells):
        if isinstance(cell, str):
            read = seen[cell] if cell in seen else seen.setdefault(cell, _read_text(cell, quantities))
        else:
            read = _read_object(cell)
        if isinstance(read, str):
            reasons[place] = read
        else:
            values[place] = read
    return Numbers(values, reasons)


def is_blank(cell: Any) -> bool:
    """Whether a cell holds nothing."""
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or type(cell).__name__ in {"NAType", "NaTType"}


def shown(cell: Any) -> str:
    """A cell as a person wrote it, short enough for a message."""
    if is_blank(cell):
        return ""
    text = cell if isinstance(cell, str) else _text_of(cell)
    text = " ".join(text.split()) if len(text) < 10_000 else text[:100]
    return text if len(text) <= 60 else text[:57] + "..."


def _all_plain(cells: np.ndarray) -> Numbers | None:
    """The whole column at once where every cell is a plain finite number: the usual case, and a million rows of it."""
    kinds = set(map(type, cells))
    if kinds <= {int, float}:
        pass
    elif kinds != {str} or any("_" in cell for cell in cells):
        return None
    try:
        values = cells.astype(np.float64)
    except (ValueError, OverflowError, TypeError):
        return None
    return Numbers(values, {}) if np.isfinite(values).all() else None


def _read_text(cell: str, quantities: bool) -> float | str:
    text = cell.strip()
    if not text:
        return "is blank"
    name = text.lstrip("+-").lower()
    if name in _NOT_FINITE:
        return "is NaN" if name == "nan" else math.copysign(math.inf, -1.0 if text[0] == "-" else 1.0)
    try:
        value = float(text) if "_" not in text else math.nan
    except ValueError:
        value = math.nan
    if not math.isnan(value):
        return value
    if not quantities:
        return _PLAIN_ONLY
    try:
        return parse_quantity(text)
    except QuantityError as error:
        return error.reason


def _read_object(cell: Any) -> float | str:
    if is_blank(cell):
        return "is blank"
    if isinstance(cell, bool | np.bool_) or not isinstance(cell, Real | Decimal | np.generic):
        return f"is not a number but a {type(cell).__name__}"
    try:
        value = float(cell)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return f"is not a number but a {type(cell).__name__}"
    return "is NaN" if math.isnan(value) else value


def _text_of(cell: Any) -> str:
    try:
        return str(cell)
    except ValueError:
        return "an integer of thousands of digits"
