"""bayescale: the posterior by `bayescale.fit`."""

from __future__ import annotations

import time

import bayescale
from bayescale import Runs
from benchmarks.measured import Measured

__all__ = ["sample"]


def sample(runs: Runs, chains: int, draws: int, seed: int) -> Measured:
    """One fit.

    ``seconds`` ends when the draws are there: the search for the mode, the whitening, warm-up and all draws, and in a
    first fit the compilation. ``whole`` adds R-hat, effective sample sizes, the importance-sampling check, all other
    diagnostics, the prior predictive and the building of the Fit, of which the peers are asked nothing.
    """
    began = time.perf_counter()
    fit = bayescale.fit(runs, "chinchilla", chains=chains, draws=draws, seed=seed)
    whole = time.perf_counter() - began
    assert fit.model is not None
    theta = {name: fit.draws[name].values for name in fit.model.priors}
    spent = fit.record.seconds
    leapfrogs = float(fit.tree["sample_stats"]["n_steps"].mean())
    return Measured("bayescale", theta, spent["total"] - spent["check"], whole, leapfrogs)
