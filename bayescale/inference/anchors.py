"""What coordinates stand on: a run typical of the table, or of each group, settled before a search or near its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescale.grouping import Groups
from bayescale.inference.pools import Pools
from bayescale.model import Model

__all__ = ["FLOOR", "anchors_of"]

# What every law calls the loss that no run goes below.
FLOOR = "E"

# A floor is almost zero below this fraction of its usual size.
ALMOST_ZERO = 1.0 / 32.0


def anchors_of(
    model: Model, columns: Mapping[str, np.ndarray], theta: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What the coordinates of a model are fixed to, for a table.

    Parameters
    ----------
    model : Model
        Settled on the table.
    columns : mapping of str to array (run, ...)
        What the model reads, and the places of groups.
    theta : mapping of str to float or array (group,), optional
        Parameters near which the coordinates are to be good; the medians of their priors if absent.

    Returns
    -------
    dict
        ``run``: the inputs of a run typical of the table, if none of them is zero; with groups only where the floor has
        none, and then ``held``: what pooled parameters are taken to be on it. With groups, ``own``: for each pooled
        parameter, 1 where a group's value is sampled as its own, 0 where as a deviation, (group,). ``typical``: for
        each grouping, the inputs of a run typical of each group, (group, ...). ``usual``: what each linear parameter
        usually contributes to the loss of that run, (group,). ``inside``: for each grouping, which groups of a
        parameter with other groups that run is in, (group, ...), where all runs of a group agree.
        ``bounded``: there, and empty, where the floor of some group is almost zero.
    """
    near: dict[str, Any] = {name: prior.median for name, prior in model.priors.items()}
    if not model.pools:
        return _run(model, columns, near | dict(theta or {}))
    near |= {name: np.full(len(groups), model.pools[name].median) for name, groups in model.groups_of.items()}
    near |= dict(theta or {})
    each = model.per_run(near, columns)
    by_run = [groups for groups in model.groups if columns[groups.key].ndim == 1]
    typical = {groups.key: _typical(model, groups, columns, each) for groups in by_run}
    inside = {groups.key: _inside(model, groups, columns) for groups in by_run}
    bare = Pools(model, {"typical": typical, "inside": inside})
    usual, floor = bare.usual(), bare.floor
    found: dict[str, Any] = {
        "own": {name: np.ones(len(groups)) for name, groups in model.groups_of.items()},
        "typical": typical,
        "inside": inside,
        "usual": usual,
    }
    # the floor is linear in itself: what it contributes to a loss is what it is
    if floor is not None and (near[floor] < ALMOST_ZERO * usual[floor]).any():
        found["bounded"] = {}
    if FLOOR in model.law.linear and FLOOR not in model.groups_of:
        found |= _run(model, columns, each) | {"held": {name: each[name].mean(axis=0) for name in model.groups_of}}
    return found


def _run(model: Model, columns: Mapping[str, np.ndarray], theta: Mapping[str, Any]) -> dict[str, Any]:
    run = model.law.typical({name: columns[name] for name in model.law.inputs}, theta)
    # a geometric mean is zero where one run's input is, and a law may have no loss there
    return {"run": run} if all(np.all(np.asarray(value) > 0) for value in run.values()) else {}


def _inside(model: Model, groups: Groups, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    first = [np.flatnonzero(columns[groups.key] == place) for place in range(len(groups))]
    if not all(rows.size for rows in first):
        return {}
    found = {}
    for name, other in model.groups_of.items():
        places = columns[other.key]
        chosen = places[[rows[0] for rows in first]]
        if other.key != groups.key and (places == chosen[columns[groups.key]]).all():
            found[name] = chosen
    return found


def _typical(
    model: Model, groups: Groups, columns: Mapping[str, np.ndarray], theta: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    places = columns[groups.key]
    read = {name: columns[name] for name in model.law.inputs}
    # a group without a run in this table is like all of them
    runs = [places == place if (places == place).any() else places >= 0 for place in range(len(groups))]
    found = [
        model.law.typical(
            {name: values[rows] for name, values in read.items()},
            {name: value[rows] if np.ndim(value) else value for name, value in theta.items()},
        )
        for rows in runs
    ]
    return {name: np.stack([one[name] for one in found]) for name in model.law.inputs}
