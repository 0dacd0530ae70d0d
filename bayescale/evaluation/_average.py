"""The forecaster that an average of laws is, with priors and weights that have not seen the scored groups."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bayescale.averaging import Averaging, average
from bayescale.evaluation._forecaster import Draws
from bayescale.inference.sampler import Sampler
from bayescale.prior_sets import PriorSet
from bayescale.runs import Runs

__all__ = ["AverageOfLaws"]


@dataclass(frozen=True)
class AverageOfLaws:
    """Forecasts of several laws, weighed anew for each fold by its own training runs.

    Attributes
    ----------
    prior_set : PriorSet
        Re-learnt for each fold without the groups it is told to leave out.
    averaging : Averaging
        The laws, and how they are weighed.
    sampler : Sampler
        Settings of nuts.
    """

    prior_set: PriorSet
    averaging: Averaging = field(default_factory=Averaging)
    sampler: Sampler = field(default_factory=Sampler)
    name: str = "auto"

    def forecast(
        self, train: Runs, targets: Mapping[str, np.ndarray], *, seed: int, without: frozenset[str] = frozenset()
    ) -> Draws:
        """Weigh the laws, fit them, and push the draws of each through it in proportion to its weight."""
        began = time.perf_counter()
        made = average(train, self.prior_set, self.averaging, without=without, sampler=self.sampler, seed=seed)
        loss = made.forecast(dict(targets), seed=seed)["new_run_loss"].values
        return Draws(loss, made.warnings, time.perf_counter() - began, made.weights)
