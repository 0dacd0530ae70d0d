"""NumPyro's `MCMC(NUTS(model))` with its defaults (diagonal mass matrix, 1000 warm-up steps), in float64."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

from bayescale.inference.compile_time import compile_seconds
from benchmarks.measured import Measured

__all__ = ["program", "sample", "sampler"]


def program(log_N: Any, log_D: Any, log_loss: Any) -> None:
    """The model as a user of NumPyro writes it."""
    E = numpyro.sample("E", dist.LogNormal(np.log(1.7), 0.5))
    a = numpyro.sample("a", dist.LogNormal(np.log(0.3), 1.5))
    b = numpyro.sample("b", dist.LogNormal(np.log(0.3), 1.5))
    alpha = numpyro.sample("alpha", dist.LogNormal(np.log(0.35), 0.5))
    beta = numpyro.sample("beta", dist.LogNormal(np.log(0.35), 0.5))
    sigma = numpyro.sample("sigma", dist.HalfNormal(0.1))
    nu = numpyro.sample("nu", dist.Gamma(2.0, 0.1))
    mean = jnp.log(E + a * jnp.exp(-alpha * log_N) + b * jnp.exp(-beta * log_D))
    numpyro.sample("log_loss", dist.StudentT(nu, mean, sigma), obs=log_loss)


def sampler(chains: int, draws: int, chain_method: str) -> MCMC:
    """A fresh sampler, as each new fit in a user's script makes one."""
    return MCMC(
        NUTS(program),
        num_warmup=1000,
        num_samples=draws,
        num_chains=chains,
        chain_method=chain_method,
        progress_bar=False,
    )


def sample(mcmc: MCMC, columns: tuple[Any, Any, Any], seed: int, label: str) -> tuple[Measured, float]:
    """One ``run``; returns it and the seconds of it that went into tracing and compiling.

    ``whole`` is the call; ``seconds``, what effective samples are divided by, leaves the compiling out.
    """
    N, D, loss = columns
    data = jnp.log(N / 1e9), jnp.log(D / 2e10), jnp.log(loss)
    began = time.perf_counter()
    with compile_seconds() as compiling:
        mcmc.run(jax.random.key(seed), *data, extra_fields=("num_steps",))
        theta = jax.device_get(mcmc.get_samples(group_by_chain=True))
    whole = time.perf_counter() - began
    leapfrogs = float(np.mean(mcmc.get_extra_fields()["num_steps"]))
    measured = Measured(label, theta, whole - compiling.seconds, whole, leapfrogs)
    return measured, compiling.seconds
