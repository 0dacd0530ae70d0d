"""Which runs are learnt from and which are forecast: hold-out by compute, rolling origin, leave a group out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescale.comparison._heldout import LEAST, split
from bayescale.errors import RunsError
from bayescale.runs import Runs

__all__ = ["INTERRUPTED", "PROTOCOLS", "Design", "Fold", "Skipped", "folds"]

# Why a fold was skipped that the table allows.
INTERRUPTED = "interrupted"

# A run that stands on a limit up to rounding belongs to it.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Design:
    """How a table is divided into folds.

    Attributes
    ----------
    by : str or None
        Column that names the data set of each run; one law is fitted to each. None: the table is one data set.
    group : str or None
        Column that names what data sets share, so that their errors are not independent: one figure read twice, one
        design run on three corpora. Intervals are over groups, and priors learnt from data leave the scored group out.
    holdout : tuple of float
        How many times beyond the compute that is learnt from the forecasts reach.
    protocol : {"holdout", "rolling-origin", "leave-group-out"}
        See `bayescale.evaluation.backtest`.
    seed : int
    """

    by: str | None = None
    group: str | None = None
    holdout: tuple[float, ...] = (10.0, 30.0, 100.0, 300.0)
    protocol: str = "holdout"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise RunsError(f"there is no protocol {self.protocol!r}; the protocols are {', '.join(PROTOCOLS)}")
        least = 2.0 if self.protocol == "holdout" else 1.0
        for factor in self.holdout:
            if not (factor > least and np.isfinite(factor)):
                why = "would learn from runs that it scores" if factor <= least else "is no number of times"
                raise RunsError(f"a hold-out of {factor:g} {why}: give factors above {least:g}, e.g. 10,30,100")
        if not self.holdout:
            raise RunsError("no hold-out factor is given: name at least one, e.g. 10")
        if self.protocol == "leave-group-out" and self.group is None:
            raise RunsError("leave-group-out leaves out one group at a time: name the column of the groups (--group)")


@dataclass(frozen=True)
class Fold:
    """One question to a forecaster.

    Attributes
    ----------
    dataset, group : str
        Which data set, and the group it belongs to (leave-group-out: the group that is left out).
    k : float or None
        How many times beyond its compute; None where groups are left out.
    part : str
        Which of several folds of one data set and k.
    train, test : Runs
    """

    dataset: str
    group: str
    k: float | None
    part: str
    train: Runs
    test: Runs

    @property
    def at(self) -> str:
        """The hold-out as text, by which folds are pooled."""
        return "group" if self.k is None else f"{self.k:g}"

    @property
    def targets(self) -> dict[str, np.ndarray]:
        """Numeric columns of the test runs, without the loss and the column that it was read from."""
        table, columns = self.test.table, self.test.columns
        numeric = [str(name) for name in table.data_vars if table[name].dtype.kind == "f" and name != "loss"]
        read = columns.get("loss", "loss")
        return {
            name: np.asarray(table[name].values) for name in numeric if name in columns or not _mentions(read, name)
        }


def _mentions(formula: str, column: str) -> bool:
    """Whether a loss that is given by a formula was read from this column."""
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", formula) is not None


@dataclass(frozen=True)
class Skipped:
    """A fold that the table does not allow, and why."""

    dataset: str
    k: float | None
    why: str


@dataclass(frozen=True)
class _Family:
    """The runs of one data set."""

    dataset: str
    group: str
    runs: Runs


def folds(runs: Runs, design: Design) -> tuple[list[Fold], list[Skipped]]:
    """Divide a table.

    Parameters
    ----------
    runs : Runs
        With losses, and FLOPs unless groups are left out.
    design : Design

    Returns
    -------
    folds, skipped
        What can be asked, in the order of the data sets' names, and what cannot with the reason.

    Raises
    ------
    RunsError
        A column is missing or has empty cells, a data set lies in two groups, or no fold is possible.
    """
    if design.protocol != "leave-group-out" and "C" not in runs:
        raise RunsError(
            f"runs are held out by their FLOPs, and {runs.source} has neither a column of FLOPs nor both N and D: name "
            "it with --column C=<its name in the table>"
        )
    made = [one for family in _families(runs, design) for one in PROTOCOLS[design.protocol](family, design)]
    possible = [one for one in made if isinstance(one, Fold)]
    skipped = [one for one in made if isinstance(one, Skipped)]
    if not possible:
        reasons = "\n".join(f"  {one.dataset}: {one.why}" for one in skipped[:6])
        raise RunsError(f"no fold of {runs.source} can be made:\n{reasons}")
    return possible, skipped


def _families(runs: Runs, design: Design) -> list[_Family]:
    datasets = np.full(len(runs), runs.source, dtype=object) if design.by is None else _labels(runs, design.by)
    groups = datasets if design.group is None else _labels(runs, design.group)
    families = []
    for dataset in sorted(set(datasets.tolist())):
        mask = datasets == dataset
        within = sorted(set(groups[mask].tolist()))
        if len(within) > 1 and design.protocol != "leave-group-out":
            raise RunsError(
                f"the runs of {dataset} ({design.by or 'the table'}) lie in {len(within)} groups of {design.group}: "
                f"{', '.join(within[:3])}. A data set is forecast whole, so it belongs to one group; leave --group "
                "out, or leave one group out at a time with --protocol leave-group-out"
            )
        families.append(_Family(dataset, within[0], runs.subset(mask)))
    return families


def _labels(runs: Runs, column: str) -> np.ndarray:
    """Labels (run,) as text.

    Raises
    ------
    RunsError
        There is no such column, or a run has no label.
    """
    if column not in runs:
        known = ", ".join(str(name) for name in runs.table.data_vars)
        raise RunsError(f"{runs.source} has no column {column!r} to tell data sets or groups apart; it has {known}")
    cells = runs[column]
    if cells.dtype.kind == "f":
        labels = np.array(["" if np.isnan(cell) else f"{cell:.12g}" for cell in cells.tolist()], dtype=object)
    else:
        labels = np.array([str(cell).strip() for cell in cells.tolist()], dtype=object)
    empty = np.flatnonzero(labels == "")
    if empty.size:
        row = int(runs.table["row"].values[empty[0]])
        raise RunsError(
            f"{runs.source}, row {row}: {column} is empty, so it cannot be told which data set or group the run "
            f"belongs to ({empty.size} row{'s' * (empty.size > 1)} in all); fill it in, or leave such rows out with "
            "--where"
        )
    return labels


def _by_compute(family: _Family, design: Design) -> Iterator[Fold | Skipped]:
    """Learn from C <= Cmax / k, forecast C >= Cmax / 2."""
    for k in design.holdout:
        try:
            train, test = split(family.runs, k)
        except RunsError as error:
            yield Skipped(family.dataset, k, str(error))
        else:
            yield Fold(family.dataset, family.group, k, "", train, test)


def _rolling(family: _Family, design: Design) -> Iterator[Fold | Skipped]:
    """Cuts a factor of k apart, down from Cmax: learn from all below one, forecast from there to the next."""
    compute = np.asarray(family.runs["C"], dtype=np.float64)
    for k in design.holdout:
        found = 0
        high = compute.max()
        while (train := compute <= high / k * (1 + ROUNDING)).sum() >= LEAST:
            test = ~train & (compute <= high * (1 + ROUNDING))
            high /= k
            if test.any():
                found += 1
                part = f"C <= {high:.3g}"
                yield Fold(family.dataset, family.group, k, part, family.runs.subset(train), family.runs.subset(test))
        if not found:
            yield Skipped(
                family.dataset, k, f"a cut {k:g} times below its largest compute leaves {train.sum()} runs to learn "
                f"from; at least {LEAST} are needed",
            )  # fmt: skip


def _leaving_groups(family: _Family, design: Design) -> Iterator[Fold | Skipped]:
    """Learn from all groups of a data set but one, forecast that one."""
    labels = _labels(family.runs, str(design.group))
    groups = sorted(set(labels.tolist()))
    for group in groups:
        train, test = labels != group, labels == group
        if train.sum() < LEAST:
            yield Skipped(
                family.dataset, None, f"without the group {group} it has {train.sum()} runs to learn from; at least "
                f"{LEAST} are needed",
            )  # fmt: skip
        else:
            yield Fold(family.dataset, group, None, group, family.runs.subset(train), family.runs.subset(test))


PROTOCOLS: Mapping[str, Callable[[_Family, Design], Iterator[Any]]] = {
    "holdout": _by_compute,
    "rolling-origin": _rolling,
    "leave-group-out": _leaving_groups,
}
