"""Posterior draws of a model given a table of runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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
    scaled = {name: values * factors.get(name, 1.0) for name, values in columns.items()}
    if "C" in scaled and factors:
        scaled["C"] = scaled["C"] * law.C0 / model.law.C0
    return sample(replace(model, law=law), pad(scaled, log_losses, like), sampler, seed, progress)


def with_pinned(model: Model, samples: Samples) -> dict[str, np.ndarray]:
    """All parameters in the model's order (chain, draw), pinned ones as constant draws."""
    shape = samples.stats["lp"].shape
    return {
        name: np.full(shape, prior.arguments[0]) if prior.fixed else samples.theta[name]
        for name, prior in model.priors.items()
    }
