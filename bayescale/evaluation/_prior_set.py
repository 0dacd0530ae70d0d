"""The forecaster that a prior set is: its law, its priors without the scored groups, and its discrepancy."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bayescale.evaluation._forecaster import Draws
from bayescale.inference.sampler import Sampler
from bayescale.prior_sets import PriorSet
from bayescale.procedures import NUTS
from bayescale.runs import Runs

__all__ = ["WithPriorSet"]


@dataclass(frozen=True)
class WithPriorSet:
    """Posterior forecasts under a prior set.

    Attributes
    ----------
    prior_set : PriorSet
        Re-learnt for each fold without the groups it is told to leave out.
    sampler : Sampler
        Settings of nuts.
    """

    prior_set: PriorSet
    sampler: Sampler = field(default_factory=Sampler)

    @property
    def name(self) -> str:
        """What its rows are called."""
        return self.prior_set.name

    def forecast(
        self, train: Runs, targets: Mapping[str, np.ndarray], *, seed: int, without: frozenset[str] = frozenset()
    ) -> Draws:
        """Fit, rehearse, and push every draw through the law with its discrepancy and its noise."""
        began = time.perf_counter()
        made = NUTS(self.prior_set.model(train, without), self.sampler).fit(train, seed=seed)
        loss = made.forecast(dict(targets), seed=seed)["new_run_loss"].values
        return Draws(loss, made.diagnostics.warnings, time.perf_counter() - began)
