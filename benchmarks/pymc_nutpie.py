"""Draws by PyMC + nutpie with their defaults."""

from __future__ import annotations

import time
import warnings
from typing import Any

from benchmarks.measured import Measured

__all__ = ["sample"]


def sample(compiled: Any, chains: int, draws: int, seed: int) -> Measured:
    """One run of the compiled model; ``seconds`` and ``whole`` are both ``nutpie.sample``, warm-up included."""
    import nutpie

    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = nutpie.sample(compiled, chains=chains, draws=draws, seed=seed, progress_bar=False)
    seconds = time.perf_counter() - began
    theta = {name: tree.posterior[name].values for name in ("E", "a", "b", "alpha", "beta", "sigma", "nu")}
    return Measured("PyMC + nutpie", theta, seconds, seconds, float(tree.sample_stats["n_steps"].mean()))
