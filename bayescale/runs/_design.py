"""What the runs as a set let a law learn, and what looks odd among them. All of it is said, none of it is fatal."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from bayescale.errors import Problem
from bayescale.runs._messages import row_list
from bayescale.runs._raw import RawTable

__all__ = ["design_warnings", "diverged"]

_DIVERGED = 1.10
_MAX_GRID = 2_000
_SERIES_NAMES = {
    *("dataset", "datasetname", "data", "dataname", "corpus", "source", "sourcefile", "experiment", "group", "series"),
    *("family", "subset", "split", "condition", "task", "domain", "language", "lang", "tokenizer", "val", "eval"),
    *("hparams", "warmup", "decay", "paramcount", "optimizer", "mixture"),
}
_RUN_NAMES = {"run", "runname", "runid", "name", "wandbid", "wandbname"}
_MODEL_NAMES = {"model", "modelname"}
_STEP_NAMES = {"step", "steps", "trainstep", "trainingstep", "globalstep"}


def design_warnings(raw: RawTable, numbers: Mapping[str, np.ndarray], wanted: Collection[str]) -> list[Problem]:
    """Warnings about a table whose rows are each sound.

    Parameters
    ----------
    raw : RawTable
        The rows that will be used.
    numbers : mapping
        Standard name -> float64 of the same length.
    wanted : collection of str
        The inputs that will be used: only of these does it matter that they vary.

    Returns
    -------
    list of Problem
        None of them fatal.
    """
    messages = [
        *_one_size({name: values for name, values in numbers.items() if name in wanted}),
        _repeated_numbers(raw, numbers),
        _checkpoints(raw, numbers),
        _diverged_message(raw, numbers),
    ]
    return [Problem(message, fatal=False) for message in messages if message]


def diverged(numbers: Mapping[str, np.ndarray], series: np.ndarray | None = None) -> np.ndarray:
    """Runs whose loss is more than 10 % above that of a run with no more parameters and no more tokens.

    Only runs of one series are compared. Where a column has more than 2,000 different
    values the comparison is by quantile, and then finds a little less.

    Parameters
    ----------
    numbers : mapping
        ``loss`` and whichever of ``N``, ``D``, ``C`` the table has.
    series : numpy.ndarray, optional
        Series of each run as whole numbers from 0; by default all are of one.

    Returns
    -------
    numpy.ndarray
        One bool a run.
    """
    loss = numbers["loss"]
    axes = [numbers[name] for name in ("N", "D") if name in numbers] or [numbers["C"]]
    axes = axes if len(axes) == 2 else [axes[0], np.zeros_like(loss)]
    flagged = np.zeros(loss.shape, dtype=bool)
    for rows in _by_series(np.zeros(loss.size, dtype=int) if series is None else series):
        flagged[rows] = loss[rows] > _DIVERGED * _best_no_larger(axes[0][rows], axes[1][rows], loss[rows])
    return flagged


def _by_series(series: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(series, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(series[order])) + 1)


def _series(raw: RawTable, numbers: Mapping[str, np.ndarray]) -> tuple[np.ndarray, list[str]]:
    """Which runs were trained and scored alike, by the columns that say so, and their names."""
    columns = [column for column in raw.frame.columns if _squeezed(column) in _SERIES_NAMES]
    labels = {column: raw.frame[column].map(str).to_numpy() for column in columns}
    if "U" in numbers:
        labels["U"] = numbers["U"]
    labels = {column: cells for column, cells in labels.items() if pd.unique(cells).size > 1}
    if not labels:
        return np.zeros(len(raw.frame), dtype=int), []
    return pd.DataFrame(labels).groupby(list(labels), sort=False).ngroup().to_numpy(), list(labels)


def _best_no_larger(first: np.ndarray, second: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Lowest loss among the runs that are no larger in both directions."""
    i, exact_i = _places(first)
    j, exact_j = _places(second)
    grid = np.full((i.max() + 2, j.max() + 2), np.inf)
    np.minimum.at(grid, (i + 1, j + 1), loss)
    grid = np.minimum.accumulate(np.minimum.accumulate(grid, axis=0), axis=1)
    # Within one quantile bin the order is not known: only bins below count there.
    return grid[i + exact_i, j + exact_j]


def _places(values: np.ndarray) -> tuple[np.ndarray, int]:
    sizes, which = np.unique(values, return_inverse=True)
    if sizes.size <= _MAX_GRID:
        return which, 1
    edges = np.unique(np.quantile(values, np.linspace(0, 1, 1_000)[1:-1]))
    return np.searchsorted(edges, values, side="left"), 0


def _diverged_message(raw: RawTable, numbers: Mapping[str, np.ndarray]) -> str:
    if "loss" not in numbers or not {"N", "D", "C"} & set(numbers):
        return ""
    series, labels = _series(raw, numbers)
    flagged = np.flatnonzero(diverged(numbers, series))
    if not flagged.size:
        return ""
    loss = numbers["loss"]
    axes = [numbers[name] for name in ("N", "D") if name in numbers] or [numbers["C"]]
    worst = flagged[np.argmax(loss[flagged])]
    no_larger = np.logical_and.reduce([series == series[worst], *(axis <= axis[worst] for axis in axes)])
    better = int(np.flatnonzero(no_larger)[np.argmin(loss[no_larger])])
    alike = f" of the same {' and '.join(labels[:3])}{' and so on' if labels[3:] else ''}" if labels else ""
    return (
        f"{flagged.size:,} of {loss.size:,} runs look diverged or belong to another series "
        f"({row_list(raw.rows[flagged].tolist())}): the loss is more than 10 % above that of a run{alike} that is no "
        f"larger (row {raw.rows[worst]}: {loss[worst]:.4g}, row {raw.rows[better]}: {loss[better]:.4g}). "
        f"If they are, leave them out with --where"
    )


def _one_size(numbers: Mapping[str, np.ndarray]) -> list[str]:
    messages = []
    for name, what, rests in (
        ("N", "parameters", "how the loss falls with N (alpha)"),
        ("D", "training tokens", "how the loss falls with D (beta)"),
        ("C", "training FLOPs", "how the loss falls with C"),
    ):
        values = numbers.get(name)
        others = {"N", "D"} & set(numbers)
        if values is None or values.size < 2 or (name == "C" and others):
            continue
        if values.max() <= values.min() * (1 + 1e-9):
            messages.append(
                f"all {values.size:,} runs have one number of {what} ({name} = {values[0]:.6g}): {rests} cannot be "
                f"learnt from them and rests on the prior alone"
            )
    return messages


def _repeated_numbers(raw: RawTable, numbers: Mapping[str, np.ndarray]) -> str:
    if "loss" not in numbers:
        return ""
    frame = pd.DataFrame({name: values for name, values in numbers.items() if name in {"N", "D", "C", "U", "loss"}})
    if len(frame.columns) < 2:
        return ""
    again = frame.duplicated().to_numpy()
    if not again.any():
        return ""
    place = int(np.flatnonzero(again)[0])
    twin = int(np.flatnonzero((frame == frame.iloc[place]).all(axis=1).to_numpy())[0])
    return (
        f"{again.sum():,} rows repeat the size and the loss of another row under other labels "
        f"({row_list(raw.rows[again].tolist())}; row {raw.rows[place]} repeats row {raw.rows[twin]}): if they are the "
        f"same runs, intervals come out too narrow; select one copy with --where"
    )


def _checkpoints(raw: RawTable, numbers: Mapping[str, np.ndarray]) -> str:
    squeezed = {_squeezed(column): column for column in raw.frame.columns}
    named = [squeezed[name] for name in squeezed if name in _RUN_NAMES]
    if not named and any(name in _STEP_NAMES for name in squeezed):
        named = [squeezed[name] for name in squeezed if name in _MODEL_NAMES]
    along = next((numbers[name] for name in ("D", "C") if name in numbers), None)
    if not named or along is None:
        return ""
    frame = pd.DataFrame({"run": raw.frame[named[0]].map(str), "along": along})
    if "N" in numbers:
        frame["N"] = numbers["N"]
    counts = frame.groupby([column for column in frame.columns if column != "along"])["along"].nunique()
    several = counts[counts > 1]
    if several.empty:
        return ""
    name = several.index[0][0] if "N" in frame else several.index[0]
    return (
        f"{len(several):,} runs come with several checkpoints (column {named[0]!r}; {str(name)[:60]!r} has "
        f"{several.iloc[0]}): rows of one run are not independent, and counting them as such makes intervals too narrow"
    )


def _squeezed(column: str) -> str:
    return column.lower().replace("_", "").replace(" ", "").replace("-", "")
