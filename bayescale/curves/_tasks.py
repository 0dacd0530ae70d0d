"""A table of curves: what is known of each, and where it is to be forecast."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescale.errors import RunsError

__all__ = ["Task", "families", "read_tasks"]

KNOWN, WANTED = "ctx", "tgt"


@dataclass(frozen=True)
class Task:
    """One curve.

    Attributes
    ----------
    name : str
        Its group and task, as the table spells them.
    family : str
        What `--family` names, or the group: curves that share what they could learn from each other.
    x, y : array (point,)
        What is known, sorted by x.
    rows : array (target,)
        Rows of the table that are forecast: its column ``row``, or the number of the data row counted from 1.
    at : array (target,)
        Their x.
    truth : array (target,)
        Their y where the table has it, NaN elsewhere.
    unit : float
        The density of y over this is what is scored.
    """

    name: str
    family: str
    x: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    rows: np.ndarray = field(repr=False)
    at: np.ndarray = field(repr=False)
    truth: np.ndarray = field(repr=False)
    unit: float = 1.0


def read_tasks(source: Any, family: str | None = None) -> list[Task]:
    """Read a table of curves.

    Parameters
    ----------
    source : path, "-" or DataFrame
        CSV (also compressed) with ``x``, ``y``, and ``task`` where there are several curves. Rows whose ``y`` is empty
        are forecast; or, with a column ``split``, those that say ``tgt``, and their ``y`` is then compared with the
        forecast. Optional: ``row``, ``group`` and ``y_scale``.
    family : str, optional
        Column of the families for cross-fitting; the group by default.

    Raises
    ------
    RunsError
        The table cannot be used: what is wrong, where, and what to try.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"task": "a", "x": [1, 2, 4, 8, 16], "y": [3.0, 2.6, 2.3, 2.1, None]})
    >>> [task] = read_tasks(table)
    >>> task.name, len(task.x), task.at.tolist()
    ('a', 4, [16.0])
    """
    label = source if isinstance(source, str | Path) else "the table"
    frame = _checked(_read(source), label, family)
    tasks = [_task(str(name), part, label) for name, part in frame.groupby("__name", sort=False)]
    if not tasks:
        raise RunsError(f"{label}: no rows")
    return tasks


def _read(source: Any) -> pd.DataFrame:
    if isinstance(source, pd.DataFrame):
        return source.copy()
    try:
        return pd.read_csv(sys.stdin if source == "-" else source)
    except (OSError, ValueError, UnicodeDecodeError) as error:
        # pandas' errors of parsing are ValueErrors
        raise RunsError(f"{source}: cannot be read as CSV ({error}); expected columns task, x and y") from None


def _checked(frame: pd.DataFrame, label: Any, family: str | None) -> pd.DataFrame:
    frame = frame.rename(columns={name: str(name).strip() for name in frame.columns})
    for column in ("x", "y", *([family] if family else [])):
        if column not in frame:
            raise RunsError(
                f"{label}: no column {column}; expected task, x and y (y empty where a forecast is wanted), or also "
                f"split with {KNOWN} and {WANTED}. Columns: {', '.join(map(str, frame.columns))}"
            )
    if frame.empty:
        raise RunsError(f"{label}: no rows")
    frame["__number"] = np.arange(1, len(frame) + 1)
    for column in ("x", "y", *(["y_scale"] if "y_scale" in frame else [])):
        frame[column] = _numbers(frame, column, label)
    if "split" in frame:
        split = frame["split"].astype(str).str.strip()
        strange = ~split.isin([KNOWN, WANTED])
        _refuse(frame, strange, "split", f"expected {KNOWN} or {WANTED}", label)
        frame["__known"] = split == KNOWN
    else:
        frame["__known"] = frame["y"].notna()
    _refuse(frame, ~(frame["x"] > 0), "x", "expected a positive number", label)
    _refuse(frame, frame["__known"] & frame["y"].isna(), "y", "expected a positive number in the context", label)
    hint = "errors and losses are forecast on the log scale; add an offset, or leave the row out"
    _refuse(frame, frame["y"].notna() & ~(frame["y"] > 0), "y", f"expected a positive number: {hint}", label)
    for column in ("group", "task", *([family] if family else [])):
        if column in frame:
            _refuse(frame, frame[column].isna(), column, "expected a name", label)
    names = [frame[column].astype(str) for column in ("group", "task") if column in frame]
    frame["__name"] = names[0] + "|" + names[1] if len(names) == 2 else names[0] if names else "curve"
    frame["__family"] = frame[family].astype(str) if family else frame.get("group", frame["__name"]).astype(str)
    if "row" in frame:
        _refuse(frame, frame["row"].duplicated() | frame["row"].isna(), "row", "expected one number a row", label)
    else:
        frame["row"] = frame["__number"]
    return frame


def _numbers(frame: pd.DataFrame, column: str, label: Any) -> pd.Series:
    numbers = pd.to_numeric(frame[column], errors="coerce")
    strange = (numbers.isna() & frame[column].notna()) | np.isinf(numbers.fillna(0.0))
    _refuse(frame, strange, column, "expected a finite number", label)
    return numbers.astype(np.float64)


def _refuse(frame: pd.DataFrame, strange: Any, column: str, expected: str, label: Any) -> None:
    if not strange.any():
        return
    first = frame[strange].iloc[0]
    more = int(strange.sum()) - 1
    raise RunsError(
        f"{label}, row {first['__number']}, column {column}: {first[column]!s}; {expected}"
        + (f" ({more} more such row{'s' * (more > 1)})" if more else "")
    )


def _task(name: str, part: pd.DataFrame, label: Any) -> Task:
    known, wanted = part[part["__known"]], part[~part["__known"]]
    where = f"{label}, task {name}"
    if known["x"].nunique() < 2:
        raise RunsError(
            f"{where}: {known['x'].nunique()} different x with a known y; a forecast needs at least 2, and is worth "
            "little with fewer than 4. Add points, or leave the task out"
        )
    if wanted.empty:
        raise RunsError(
            f"{where}: no row to forecast; add rows with the x you want and an empty y"
            + (f", or with split = {WANTED}" if "split" in part else "")
        )
    end = known["x"].max()
    if not (wanted["x"] > end).any():
        raise RunsError(
            f"{where}: every row to forecast has x <= {end:g}, the last known one; this "
            "command extrapolates, so give x beyond it"
        )
    units = part["y_scale"].to_numpy() if "y_scale" in part else np.ones(1)
    if not (units > 0).all() or np.ptp(units) > 0:
        raise RunsError(f"{where}, column y_scale: expected one positive number a task")
    if part["__family"].nunique() > 1:
        raise RunsError(f"{where}: in {part['__family'].nunique()} families; a task belongs to one")
    order = np.argsort(known["x"].to_numpy(), kind="stable")
    return Task(
        name,
        str(part["__family"].iloc[0]),
        known["x"].to_numpy()[order],
        known["y"].to_numpy()[order],
        wanted["row"].to_numpy(),
        wanted["x"].to_numpy(),
        wanted["y"].to_numpy(),
        float(units[0]),
    )


def families(tasks: list[Task]) -> Mapping[str, list[int]]:
    """Family to the places of its tasks."""
    found: dict[str, list[int]] = {}
    for place, task in enumerate(tasks):
        found.setdefault(task.family, []).append(place)
    return found
