"""bayescale: the posterior by `bayescale.fit`."""

from __future__ import annotations

import time

import bayescale
from bayescale import Runs
from benchmarks.measured import Measured

__all__ = ["sample"]


def sample(runs: Runs, chains: int, draws: int, seed: int) -> Measured:
    """One fit.

    ``seconds`` holds the search for the mode, the whitening, warm-up, all draws and the importance-sampling check, and
    in a first fit the compilation; ``whole`` adds the diagnostics, the prior predictive and the building of the Fit.
    """
    began = time.perf_counter()
    fit = bayescale.fit(runs, "chinchilla", chains=chains, draws=draws, seed=seed)
    whole = time.perf_counter() - began
    assert fit.model is not None
    theta = {name: fit.draws[name].values for name in fit.model.priors}
    leapfrogs = float(fit.tree["sample_stats"]["n_steps"].mean())
    return Measured("bayescale", theta, fit.record.seconds["total"], whole, leapfrogs)
