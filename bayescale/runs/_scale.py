"""Units that the numbers themselves give away: log10, billions, GFLOPs, summed losses."""

from __future__ import annotations

from itertools import product

import numpy as np

from bayescale.compute import FLOPS_PER_PF_DAY
from bayescale.errors import Problem
from bayescale.runs._columns import Resolution
from bayescale.runs._messages import column_option, row_list
from bayescale.runs._values import Values

__all__ = ["flops_problems", "loss_problems", "size_problems"]

# Below the first every value of the column is too small to be a count of that thing; below the second it is odd.
_SMALLEST = {"N": (50.0, 50.0), "D": (1e3, 2e4), "U": (1e3, 1e3), "C": (1e3, 1e6)}
_LARGEST = {"N": 1e17, "D": 1e20, "U": 1e20, "C": 1e40}
# ln of a vocabulary of 250,000 is 12.4: a median above this is not nats per token.
_LARGEST_MEDIAN_LOSS = 20.0
_LOG10_RANGE = {"N": (3.0, 16.0), "D": (4.0, 18.0), "U": (4.0, 18.0), "C": (6.0, 36.0)}
_UNITS = {
    "N": {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9},
    "D": {"": 1.0, "M": 1e6, "B": 1e9, "T": 1e12},
    "C": {"": 1.0, "GFLOPs": 1e9, "TFLOPs": 1e12, "PFLOPs": 1e15, "EFLOPs": 1e18, "1e21": 1e21}
    | {"PF-days": FLOPS_PER_PF_DAY},
}

_UNEXPLAINED = "The ratio is not the same in all rows, so no unit explains it. Leave one out,"


def size_problems(found: Resolution, values: Values, usable: np.ndarray) -> list[Problem]:
    """Columns of N, D, U or C whose numbers cannot be counts of parameters, tokens or FLOPs."""
    problems = []
    for name in _SMALLEST:
        if name in values.read and np.any(usable):
            seen = values[name][usable]
            column = found.sources[name].column
            too_small, odd = _SMALLEST[name]
            if seen.max() < odd:
                problems.append(_too_small(name, column, seen, fatal=bool(seen.max() < too_small)))
            elif seen.min() > _LARGEST[name]:
                message = (
                    f"every value is above {_LARGEST[name]:g} (smallest {seen.min():g}): the numbers, or the unit in "
                    f"the column's name, are off by a factor"
                )
                problems.append(Problem(message, column=column))
    return problems


def loss_problems(found: Resolution, values: Values, rows: np.ndarray) -> list[Problem]:
    """A loss column that is no cross-entropy in nats per token."""
    if "loss" not in values.read:
        return []
    loss = values["loss"]
    column = found.sources["loss"].column
    finite = np.isfinite(loss)
    negative = finite & (loss < 0)
    if negative.sum() * 2 > finite.sum():
        message = (
            f"{negative.sum():,} of {finite.sum():,} values are negative ({row_list(rows[negative].tolist())}; lowest "
            f"{loss[negative].min():g}): this is no cross-entropy; name another column with --column loss=COLUMN"
        )
        return [Problem(message, column=column)]
    positive = finite & (loss > 0)
    if np.any(positive) and np.median(loss[positive]) > _LARGEST_MEDIAN_LOSS:
        message = (
            f"half of the values are above {np.median(loss[positive]):.4g}, and a loss in nats per token stays below "
            f"the logarithm of the vocabulary (about 11): a loss summed over tokens must be divided by their number; a "
            f"perplexity is read with {column_option('loss', f'{column} (perplexity)')}"
        )
        return [Problem(message, column=column)]
    return []


def flops_problems(found: Resolution, values: Values, rows: np.ndarray, usable: np.ndarray) -> list[Problem]:
    """Where a table gives all of N, D and C: whether C is 6 N D.

    A disagreement is a warning; a median ratio outside [0.5, 2] means that one of the three is not what its name
    says, and is fatal.
    """
    if not {"N", "D", "C"} <= set(values.read) or not np.any(usable):
        return []
    with np.errstate(all="ignore"):
        # Through logarithms: 6 N D may be out of range where each of them is not.
        log_ratio = np.log(values["C"]) - np.log(6.0) - np.log(values["N"]) - np.log(values["D"])
    log_ratio = log_ratio[usable]
    off = np.abs(log_ratio) > np.log(1.01)
    if not np.any(off):
        return []
    worst = int(np.argmax(np.abs(log_ratio)))
    spread = float(np.quantile(log_ratio, 0.9) - np.quantile(log_ratio, 0.1))
    span = (
        f"C and 6 N D differ by more than 1 % in {off.sum():,} of {off.size:,} rows: C / (6 N D) runs from "
        f"{np.exp(log_ratio.min()):.4g} to {np.exp(log_ratio.max()):.4g} (median {np.exp(np.median(log_ratio)):.4g}; "
        f"worst in row {rows[usable][worst]})"
    )
    column = found.sources["C"].column
    if abs(np.median(log_ratio)) > np.log(2.0):
        why = _explained(found, values, usable) if spread < np.log(2.0) else _UNEXPLAINED
        return [Problem(f"{span}. {why}{_leave_one_out()}", column=column)]
    message = (
        f"{span}. Nothing is changed: a law reads the columns it names, one in N and D not C. To have C computed as "
        f"6 N D instead: {column_option('C', 'none')}"
    )
    return [Problem(message, column=column, fatal=False)]


def _too_small(name: str, column: str, seen: np.ndarray, *, fatal: bool) -> Problem:
    what = {"N": "parameters", "D": "tokens", "U": "tokens", "C": "FLOPs"}[name]
    span = f"values run from {seen.min():.6g} to {seen.max():.6g}, which are no counts of {what}"
    if not fatal:
        message = f"values run from {seen.min():.6g} to {seen.max():.6g}, few for {what}; is this another unit?"
        return Problem(message, column=column, fatal=False)
    options = []
    low, high = _LOG10_RANGE[name]
    if low <= seen.min() and seen.max() <= high and seen.max() < _SMALLEST[name][0]:
        options.append(f"if they are log10: {column_option(name, f'{column} (log10)')}")
    unit = "EFLOPs" if name == "C" else "B"
    options.append(f"if they are in {unit}: {column_option(name, f'{column} ({unit})')}")
    return Problem(f"{span}; {'; '.join(options)}", column=column)


def _explained(found: Resolution, values: Values, usable: np.ndarray) -> str:
    """The units that would bring C to 6 N D, and the options to type."""
    middle = {name: float(np.median(np.log10(values[name][usable]))) for name in ("N", "D", "C")}
    fits = []
    for units in product(*(_UNITS[name] for name in ("N", "D", "C"))):
        powers = [np.log10(_UNITS[name][unit]) for name, unit in zip("NDC", units, strict=True)]
        N, D, C = (middle[name] + power for name, power in zip("NDC", powers, strict=True))
        changed = [(name, unit) for name, unit in zip("NDC", units, strict=True) if unit]
        if changed and abs(C - np.log10(6.0) - N - D) < np.log10(1.5) and 0 < N < 14 and 0 < D - N + 3 < 10:
            fits.append((len(changed), abs(D - N - 1.3), changed))
    if fits:
        _, _, changed = min(fits)
        options = " ".join(column_option(name, f"{found.sources[name].column} ({unit})") for name, unit in changed)
        units_text = " and ".join(f"{name} is in {unit}" for name, unit in changed)
        return f"That would fit if {units_text}: {options}. Otherwise leave one out,"
    ratio = middle["C"] - np.log10(6.0) - middle["N"] - middle["D"]
    cause = "One of the three is not what its name says"
    if abs(ratio - np.log10(1 / 3)) < np.log10(1.25):
        cause = "A third is what forward-only FLOPs (2 N D) give"
    elif abs(ratio - np.log10(3)) < np.log10(1.25):
        cause = "Three times is what tokens or parameters counted for the forward pass alone give"
    return f"{cause}. Leave one out,"


def _leave_one_out() -> str:
    options = " or ".join(column_option(name, "none") for name in ("C", "D", "N"))
    return f" and it is computed from the other two: {options}"
