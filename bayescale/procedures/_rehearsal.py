"""The rehearsal: the law fitted to the lower part of a ladder, and how it forecasts the top that is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from bayescale.diagnostics import Diagnostics
from bayescale.fits._record import Record
from bayescale.fits._widened import bends
from bayescale.forecast import forecast
from bayescale.grouping import gathered
from bayescale.inference.sampler import Sampler
from bayescale.ladder import Ladder, Rehearsal
from bayescale.model import Model
from bayescale.new_groups import at_runs
from bayescale.noise import evaluation_sd
from bayescale.procedures._posterior import draw, with_pinned
from bayescale.runs import Runs

__all__ = ["on_ladder", "rehearse"]

LOWER, UPPER = 3.0, 2.0
LEAST = 8  # runs of the lower part; with fewer, the rehearsal is of the priors
# The runs nearest to the frontier: this share of those at the top, and no fewer than three.
SHARE, FEWEST = 0.25, 3
# Variance of Student-t noise over that of its scale, for the few degrees of freedom that tables show.
TAILS = 2.0
BROKEN = 0.5


def rehearse(model: Model, runs: Runs, sampler: Sampler, seed: int = 0) -> Rehearsal | None:
    """Fit the runs below a third of the top compute, and forecast those above half of it.

    None where fewer than eight runs are left below.
    """
    compute = np.asarray(runs["C"], dtype=np.float64)
    below = compute <= compute.max() / LOWER * (1 + 1e-9)
    if below.sum() < LEAST:
        return None
    lower, upper = runs.subset(below), runs.subset(compute >= compute.max() / UPPER * (1 - 1e-9))
    ladder = Ladder.of(lower["C"])
    model = replace(model, law=model.law.at(**ladder.reference), groups=()).on(lower)
    samples = draw(model, lower, sampler, seed, like=len(runs))
    theta = {name: values.ravel() for name, values in with_pinned(model, samples).items()}
    columns = {str(name): upper[str(name)] for name in upper.table.data_vars}
    values, labels = at_runs(model, gathered(theta, model.groups_of), columns, seed)
    targets = {name: upper[name] for name in model.law.inputs}
    predicted = np.log(forecast(model.law, None, values, targets, lower)["mean_loss"].values)
    nearest = _nearest(np.median(predicted, axis=0), list(labels.values()))
    predicted = predicted + bends(model, ladder, columns, values)
    error = (np.log(upper["loss"])[nearest] - predicted[:, nearest]).mean(axis=1)
    noise = TAILS * float(np.median(theta["sigma"])) ** 2 / len(nearest)
    noise += float(np.mean(evaluation_sd(upper)[nearest] ** 2)) / len(nearest)
    decades = ladder.beyond(upper["C"])[nearest].mean()
    sd = float(np.sqrt(error.var() + noise))
    converged = samples.convergence.good and not samples.stats["diverging"].any()
    return Rehearsal(float(decades), float(np.median(error)), sd, len(nearest), bool(converged))


def _nearest(predicted: np.ndarray, labels: Sequence[np.ndarray]) -> np.ndarray:
    """Places of the runs (run,) that are expected nearest to the frontier, in every group of runs alike."""
    order = np.argsort(predicted, kind="stable")
    group = pd.Series([""] * len(order)) if not labels else pd.Series(list(zip(*labels, strict=True)))
    members = [order[(group[order] == one).to_numpy()] for one in dict.fromkeys(group[order])]
    fewest = math.ceil(FEWEST / len(members))
    return np.concatenate([places[: max(round(SHARE * len(places)), fewest)] for places in members])


def on_ladder(record: Record, model: Model, runs: Runs, sampler: Sampler, seed: int) -> Record:
    """The record with the ladder of the table, and what the rehearsal says against its forecasts."""
    assert model.discrepancy is not None
    ladder = Ladder.of(runs["C"], rehearse(model, runs, sampler, seed))
    return replace(record, ladder=ladder.document(), diagnostics=_warned(record.diagnostics, model, ladder))


def _warned(diagnostics: Diagnostics, model: Model, ladder: Ladder) -> Diagnostics:
    told = ladder.rehearsal
    assert model.discrepancy is not None
    if told is None:
        note = (
            f"the ladder is too short to rehearse a forecast on it (fewer than {LEAST} runs below a third of its top "
            "compute): the width of a forecast beyond it rests on the prior set"
        )
        return replace(diagnostics, notes=(*diagnostics.notes, note))
    if not told.converged:
        note = (
            "the draws of the rehearsal on the lower part of the ladder did not converge: how likely it is that the "
            "law breaks, and so how wide a forecast beyond the ladder is, is known roughly only; see whether another "
            "--seed changes it, or raise --draws"
        )
        diagnostics = replace(diagnostics, notes=(*diagnostics.notes, note))
    chance = model.discrepancy.broken(ladder)
    if chance < BROKEN:
        return diagnostics
    side = "below" if told.error < 0 else "above"
    warning = (
        f"{model.law.name} does not describe how the loss falls with compute here: fitted to the lower part of the "
        f"ladder it forecast the top {told.decades:.2g} decades further on, and the runs came out "
        f"{abs(100 * told.error):.1f} % {side} it, {abs(told.error) / told.sd:.1f} sds. Forecasts beyond the table "
        "carry a band for a law that breaks; leave out runs that are not yet on a power law, or train a longer ladder"
    )
    return replace(diagnostics, warnings=(*diagnostics.warnings, warning))
