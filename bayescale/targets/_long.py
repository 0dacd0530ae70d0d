"""All targets of a table in one, a row for each run and target; and whether these rows are independent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from scipy.stats import spearmanr

from bayescale.errors import RunsError
from bayescale.fits import Fit
from bayescale.noise import LOSS_SD, evaluation_sd
from bayescale.runs import Runs

__all__ = ["TARGET", "long_table", "together"]

# Sd of losses that nobody gave one, nats, beside columns that have some.
NO_SD = 1e-9

TARGET = "target"
# Intervals that are too narrow by less than this factor are left alone.
NARROW = 1.2
# Runs in common below which two targets say nothing of each other.
LEAST = 8


def long_table(runs: Mapping[str, Runs]) -> Runs:
    """The tables below each other, with a column that says of which target a row is.

    Raises
    ------
    RunsError
        The table has a column of that name already.
    """
    tables = [each.table for each in runs.values()]
    if any(TARGET in table for table in tables):
        raise RunsError(f"the table has a column called {TARGET!r}, which names the targets here; rename it")
    names = [str(name) for name in tables[0].data_vars if all(name in table for table in tables)]
    columns = {name: np.concatenate([np.asarray(table[name].values) for table in tables]) for name in names}
    if any(LOSS_SD in table for table in tables):
        # the evaluation of a target without an sd is taken to be exact
        sds = [each[LOSS_SD] if LOSS_SD in each else np.full(len(each), NO_SD) for each in runs.values()]
        columns[LOSS_SD] = np.concatenate(sds)
    labels = np.repeat(np.array(list(runs), dtype=object), [len(each) for each in runs.values()])
    source = f"{next(iter(runs.values())).source}, {len(runs)} targets"
    return Runs.from_arrays(**columns, **{TARGET: labels}, source=source)


def together(joint: Fit, runs: Mapping[str, Runs], common: Sequence[str]) -> str:
    """What is to be said where the errors of one run on several targets go together; empty where they do not."""
    away = {name: _residuals(joint.of(**{TARGET: name}), each) for name, each in runs.items()}
    found = []
    for one, other in combinations(away, 2):
        rows = sorted(set(away[one]) & set(away[other]))
        if len(rows) >= LEAST:
            pairs = [[away[name][row] for row in rows] for name in (one, other)]
            # ranks, since a few runs may lie far off
            found.append(float(spearmanr(*pairs).statistic))
    correlation = float(np.mean(found)) if found else 0.0
    factor = np.sqrt(max(1.0 + (len(runs) - 1) * correlation, 0.0))
    if factor < NARROW:
        return ""
    return (
        f"the {len(runs)} targets are read from the same runs, and their errors go together (rank correlation "
        f"{correlation:.2f} on average): the fit counts them as independent, so that intervals of "
        f"{', '.join(common)} are too narrow, by up to a factor of {factor:.2g}. Those of each target alone are not: "
        "leave share and pool out for these."
    )


def _residuals(fit: Fit, runs: Runs) -> dict[int, float]:
    """Row of the table -> residual of log loss in units of its scale."""
    assert fit.model is not None
    middle = {name: np.asarray(np.median(values)) for name, values in fit.theta.items()}
    away = np.log(runs["loss"]) - np.asarray(fit.model.log_mean(fit.model.data(runs), middle))
    scale = np.hypot(middle["sigma"], evaluation_sd(runs))
    return dict(zip(runs.table["row"].values.tolist(), (away / scale).tolist(), strict=True))
