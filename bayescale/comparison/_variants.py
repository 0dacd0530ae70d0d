"""What one could as well have done otherwise: other runs, another setting, another column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayescale.comparison._plan import Plan, has_setting
from bayescale.compute import training_flops
from bayescale.errors import FitError, RunsError
from bayescale.procedures import describe_settings, get
from bayescale.runs import Runs

__all__ = ["Variant", "arrays_of", "variants"]

DROPPED = (1, 2, 3, 4, 5)
# Settings by their name, whichever procedure has them; the value that is compared already is left out.
SETTINGS: Mapping[str, tuple[Any, ...]] = {"delta": (1e-4, 1e-3, 1e-2), "window": (3, 4, 5, 6, 7, 9, 11, None)}
SAME_FLOPS = 0.01
# How `Runs.columns` says that a quantity has no column of its own.
FOLLOWS = ("6 N D", "C / (6 N)", "C / (6 D)")


@dataclass(frozen=True)
class Variant:
    """One thing done otherwise, by one procedure.

    Attributes
    ----------
    what, setting : str
        The choice, and what it is here.
    procedure : str
        Who makes it.
    runs : Runs
        The table.
    settings : mapping
        Settings of the procedure that differ.
    """

    what: str
    setting: str
    procedure: str
    runs: Runs
    settings: Mapping[str, Any] = field(default_factory=dict)


def variants(runs: Runs, procedures: Sequence[str], plan: Plan) -> list[Variant]:
    """Everything that is varied, each run by itself apart.

    Parameters
    ----------
    runs : Runs
        The table as given.
    procedures : sequence of str
        Who is asked.
    plan : Plan
        The settings as compared, and the other columns for N, D or C.

    Raises
    ------
    FitError
        There is nobody to ask.
    RunsError
        An alternative column that is not in the table, or is not N, D or C, or has a value that is no size.
    """
    if not procedures:
        raise FitError(
            "sensitivity is that of fast point answers, and none of these procedures gives one: compare one that "
            "bootstraps as well"
        )
    return [
        *(
            Variant(what, setting, name, table)
            for what, setting, table in _tables(runs, plan.alternatives)
            for name in procedures
        ),
        *_settings(runs, procedures, plan),
    ]


def _tables(runs: Runs, alternatives: Mapping[str, str]) -> Iterator[tuple[str, str, Runs]]:
    order = np.argsort(-np.asarray(runs["loss"]), kind="stable")
    for count in DROPPED:
        if count < len(runs) - 1:
            kept = np.ones(len(runs), dtype=bool)
            kept[order[:count]] = False
            yield "without the highest losses", str(count), runs.subset(kept)
    for name, column in alternatives.items():
        yield "another column", f"{name}={column}", _with_column(runs, name, column)
    if (exact := _six_ND(runs)) is not None:
        yield "6 N D in place of the FLOPs column", runs.columns["C"], exact


def _settings(runs: Runs, procedures: Sequence[str], plan: Plan) -> Iterator[Variant]:
    for setting, values in SETTINGS.items():
        for name in procedures:
            if not has_setting(name, setting):
                continue
            usual = (describe_settings(get(name)) | plan.settings_of(name))[setting]
            for value in values:
                if value != usual:
                    yield Variant(setting, "all" if value is None else f"{value:g}", name, runs, {setting: value})


def _with_column(runs: Runs, name: str, column: str) -> Runs:
    """The runs with another column for N, D or C; FLOPs that followed from 6 N D follow the new one."""
    if name not in ("N", "D", "C"):
        raise RunsError(f"an alternative column stands for N, D or C, not for {name!r}")
    values = np.asarray(runs[column])
    if not _sizes(values):
        raise RunsError(
            f"{runs.source}: column {column!r} cannot stand for {name}: expected numbers above 0 in every row"
        )
    arrays = arrays_of(runs) | {name: values}
    if name != "C" and "C" in arrays and not _own(runs, "C"):
        arrays["C"] = training_flops(arrays["N"], arrays["D"])
    return Runs.from_arrays(**arrays, source=f"{runs.source}, {name}={column}")


def _six_ND(runs: Runs) -> Runs | None:
    """The runs with 6 N D for FLOPs, where all three are columns of the table and they differ."""
    if not all(_own(runs, name) for name in ("N", "D", "C")):
        return None
    exact = training_flops(runs["N"], runs["D"])
    if np.abs(runs["C"] / exact - 1.0).max() <= SAME_FLOPS:
        return None
    return Runs.from_arrays(**arrays_of(runs) | {"C": exact}, source=f"{runs.source}, C = 6 N D")


def _own(runs: Runs, name: str) -> bool:
    """Whether the table has a column for it, so that it does not follow from the other two."""
    return runs.columns.get(name, FOLLOWS[0]) not in FOLLOWS


def arrays_of(runs: Runs) -> dict[str, np.ndarray]:
    """The columns of the table under their own names; what is no size, or cannot be an argument's name, is left out."""
    names = [str(name).removesuffix(" (column)") for name in runs.table.data_vars]
    unsound = {name for name in ("N", "D", "C", "U") if name in runs and not _sizes(runs[name])}
    return {name: runs[name] for name in names if name not in unsound | {"source"}}


def _sizes(values: np.ndarray) -> bool:
    return values.dtype.kind == "f" and bool((np.isfinite(values) & (values > 0)).all())
