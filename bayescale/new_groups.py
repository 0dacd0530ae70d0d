"""Parameters of runs that are to be forecast: those of their group, and of groups that were not in the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayescale.errors import TargetError
from bayescale.model import Model

__all__ = ["at_runs", "with_groups_of"]

Draws = Mapping[str, Any]


def with_groups_of(model: Model, labels: Any, theta: Draws, seed: int = 0) -> tuple[Model, dict[str, Any]]:
    """The model, and draws (sample, ...), with the groups of other runs too: what a new group is like, given these.

    Parameters
    ----------
    model : Model
        Settled on a table.
    labels : mapping of str to array (run, ...)
        Columns that make groups.
    theta : mapping of str to array
        Draws of all parameters.
    seed : int
        Seed of the values of new groups.
    """
    wider = replace(model, groups=tuple(groups.extended(labels) for groups in model.groups))
    generator, found = np.random.default_rng([seed, 3]), dict(theta)
    for name, pool in model.pools.items():
        known = len(model.groups_of[name])
        members, covariate = wider.structure(name)
        drawn = {part: np.asarray(theta[f"{name}_{part}"]) for part in pool.hyper} | {"": np.asarray(theta[name])}
        old, new = ((members[part], covariate[part]) for part in (slice(0, known), slice(known, None)))
        found[name] = np.concatenate([drawn[""], pool.more(generator, drawn, old, new)], axis=1)
    return wider, found


def at_runs(
    model: Model | None, theta: Draws, targets: Mapping[str, Any], seed: int
) -> tuple[Draws, dict[str, np.ndarray]]:
    """Draws with one value for each target where they have groups, (sample, run), and the labels of the targets.

    Raises
    ------
    TargetError
        A target does not say which group it belongs to.
    """
    if model is None or not model.groups:
        return theta, {}
    labels = model.law.labels(targets)
    columns = dict.fromkeys(column for groups in model.groups for column in groups.over)
    unknown = [column for column in columns if column not in labels]
    if unknown:
        raise TargetError(
            f"{model.law.name} was fitted with groups by {unknown[0]}: say of each target which it belongs to, e.g. "
            f"{unknown[0]}={model.groups[0].labels[0][0]}; one that was not in the table is forecast from the level"
        )
    wider, found = with_groups_of(model, labels, theta, seed)
    named = {column: np.atleast_1d(np.asarray(labels[column], dtype=object)) for column in columns}
    texts = {column: values.astype(str).astype(object) for column, values in named.items() if values.ndim == 1}
    return wider.per_run(found, wider.places(labels)), texts
