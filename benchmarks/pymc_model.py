"""The model in PyMC, and nutpie's compilation of it. Imports nothing of bayescale: a cold process reads this too."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

__all__ = ["build", "compile_model"]


def build(N: Any, D: Any, loss: Any) -> Any:
    """The same law, priors, noise and reference run as ours, as a user of PyMC writes them."""
    import pymc as pm

    log_N, log_D = np.log(N / 1e9), np.log(D / 2e10)
    with pm.Model() as made:
        E = pm.LogNormal("E", np.log(1.7), 0.5)
        a = pm.LogNormal("a", np.log(0.3), 1.5)
        b = pm.LogNormal("b", np.log(0.3), 1.5)
        alpha = pm.LogNormal("alpha", np.log(0.35), 0.5)
        beta = pm.LogNormal("beta", np.log(0.35), 0.5)
        sigma = pm.HalfNormal("sigma", 0.1)
        nu = pm.Gamma("nu", alpha=2.0, beta=0.1)
        mean = pm.math.log(E + a * pm.math.exp(-alpha * log_N) + b * pm.math.exp(-beta * log_D))
        pm.StudentT("log_loss", nu=nu, mu=mean, sigma=sigma, observed=np.log(loss))
    return made


def compile_model(N: Any, D: Any, loss: Any) -> tuple[Any, float]:
    """nutpie's compiled model (numba, its default), and the seconds that building and compiling took."""
    import nutpie

    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = nutpie.compile_pymc_model(build(N, D, loss))
    return compiled, time.perf_counter() - began
