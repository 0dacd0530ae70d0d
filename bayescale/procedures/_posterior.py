"""Posterior draws of a model given a table of runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayescale.inference.anchors import anchors_of
from bayescale.inference.density import pad
from bayescale.inference.sample import Samples, sample
from bayescale.inference.sampler import Sampler
from bayescale.model import Model
from bayescale.procedures._procedure import Progress, losses
from bayescale.runs import Runs

__all__ = ["draw", "with_pinned"]


def draw(
    model: Model, runs: Runs, sampler: Sampler, seed: int = 0, progress: Progress | None = None, *, like: int = 0
) -> Samples:
    """Sample the posterior, in code compiled for the law at its usual reference run where the law allows that.

    The table is padded as one of `like` runs would be.

    Raises
    ------
    RunsError
        The table lacks a column that the model reads, or a loss is not a number above 0.
    FitError
        No finite likelihood anywhere, or interrupted before the first draw.
    """
    columns, log_losses = model.data(runs), np.log(losses(runs))
    law, factors = model.law.at_usual_scale()
    scaled = columns | {name: columns[name] * factor for name, factor in factors.items() if name in columns}
    if "C" in scaled and factors:
        scaled["C"] = scaled["C"] * law.C0 / model.law.C0
    usual = replace(model, law=law)
    return sample(usual, pad(scaled, log_losses, anchors_of(usual, scaled), like), sampler, seed, progress)


def with_pinned(model: Model, samples: Samples) -> dict[str, np.ndarray]:
    """All parameters in the model's order, pinned ones as constant draws, values of groups under their own names."""
    shape = samples.stats["lp"].shape
    pinned = {name: np.full(shape, prior.arguments[0]) for name, prior in model.scalars.items() if prior.fixed}
    names = [name for name in model.scalars if name in model.priors]
    grouped = [label for name, groups in model.groups_of.items() for label in groups.names(name)]
    hyper = [name for name in model.scalars if name not in model.priors]
    return {name: (samples.theta | pinned)[name] for name in (*names, *grouped, *hyper)}
