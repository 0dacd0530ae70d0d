"""One group of a fit whose parameters differ between groups."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayescale.errors import FitError, TargetError
from bayescale.model import Model
from bayescale.new_groups import with_groups_of
from bayescale.runs import Runs

__all__ = ["group_runs", "one_group", "refuse_groups"]


def one_group(
    model: Model, theta: Mapping[str, np.ndarray], labels: Mapping[str, str], seed: int
) -> dict[str, np.ndarray]:
    """Draws of the parameters of one group, each (sample,).

    Raises
    ------
    FitError
        A label that makes no groups, or parameters that stay open.
    """
    columns = dict.fromkeys(column for groups in model.groups for column in groups.over)
    unknown = [name for name in labels if name not in columns]
    open_ones = [name for name in columns if name not in labels]
    _refuse_slots(model)
    if unknown or open_ones:
        what = f"{unknown[0]} makes no groups here" if unknown else f"{open_ones[0]} is not given"
        raise FitError(f"{what}: this fit has groups by {' and '.join(columns)}, give one label of each")
    one = {name: [str(label)] for name, label in labels.items()}
    wider, found = with_groups_of(model, one, theta, seed)
    each = wider.per_run(found, wider.places(one))
    return {name: values[..., 0] if name in model.pools else values for name, values in each.items()}


def refuse_groups(model: Model | None) -> None:
    """Refuse what only one group can be asked.

    Raises
    ------
    TargetError
        The model has groups.
    """
    if model is None or not model.groups:
        return
    _refuse_slots(model)
    columns = dict.fromkeys(column for groups in model.groups for column in groups.over)
    example = ", ".join(
        f'{column}="{label}"' for column, label in zip(columns, model.groups[0].labels[0], strict=False)
    )
    raise TargetError(
        f"{', '.join(model.pools)} differ by {' and '.join(columns)}: ask it of one group, fit.of({example}), or "
        "--group on the command line"
    )


def _refuse_slots(model: Model) -> None:
    """Refuse to single out what all runs have a part of."""
    slots = [column for groups in model.groups for column in groups.over if column in model.law.slots]
    if slots:
        raise TargetError(
            f"{model.law.name} has parameters of each {slots[0]}, and every run is of all: it splits no budget, "
            f"and there is no fit of one {slots[0]}. Forecast runs of a mixture"
        )


def group_runs(runs: Runs, labels: Mapping[str, str]) -> Runs:
    """The runs of the group; all of them where it has none."""
    mask = np.ones(len(runs), dtype=bool)
    for name, label in labels.items():
        mask &= np.array([str(cell) == str(label) for cell in runs[name]]) if name in runs else True
    return runs.subset(mask) if mask.any() else runs
