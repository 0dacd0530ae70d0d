"""Simulation-based calibration: tables simulated from the prior, fitted, and the truth ranked among the draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import binom, chi2

from bayescale._float64 import jax, jnp
from bayescale.inference.batch import sample_tables
from bayescale.model import Model

__all__ = ["Calibration", "calibrate", "isoflop_design"]

# Ranks are uniform among independent draws only: many are made, and few kept.
DRAWS, THIN = 1600, 8
BINS = 20


@dataclass(frozen=True)
class Calibration:
    """Ranks of the truth among posterior draws, for each quantity.

    If the sampler is right, every rank is uniform on ``0 ... n_draws`` and a 90 % interval contains the truth in 90 %
    of the tables (Talts et al. 2018, arXiv 1804.06788).

    Attributes
    ----------
    ranks : mapping of str to array (table,)
        Rank of the truth among `n_draws` thinned draws.
    n_draws : int
        Thinned draws of each table.
    divergences : float
        Share of divergent transitions over all tables.
    """

    ranks: Mapping[str, np.ndarray]
    n_draws: int
    divergences: float

    def uniformity(self) -> dict[str, float]:
        """p-value of a chi-squared test of uniform ranks in 20 bins, for each quantity."""
        p_values = {}
        for name, ranks in self.ranks.items():
            # bins of whole ranks, as equal as n_draws + 1 ranks allow, with their exact probabilities
            edges = np.round(np.linspace(0, self.n_draws + 1, BINS + 1)).astype(int)
            expected = len(ranks) * np.diff(edges) / (self.n_draws + 1)
            seen = np.histogram(ranks, bins=edges - 0.5)[0]
            p_values[name] = float(chi2.sf(((seen - expected) ** 2 / expected).sum(), BINS - 1))
        return p_values

    def coverage(self, level: float) -> dict[str, float]:
        """Share of tables whose central interval of this level contains the truth, for each quantity."""
        low, high = self._inside(level)
        return {name: float(((ranks >= low) & (ranks <= high)).mean()) for name, ranks in self.ranks.items()}

    def _inside(self, level: float) -> tuple[int, int]:
        """Ranks that count as inside: as close to `level` of all ranks as whole ranks allow, and central."""
        outside = round((1.0 - level) / 2.0 * (self.n_draws + 1))
        return outside, self.n_draws - outside

    def summary(self) -> pd.DataFrame:
        """One row a quantity: p-value of uniformity, coverage at 50 and 90 %, and the binomial 99.9 % range of each."""
        rows = {}
        uniform = self.uniformity()
        for name, ranks in self.ranks.items():
            row = {"p_uniform": uniform[name]}
            for level in (0.5, 0.9):
                low, high = self._inside(level)
                nominal = (high - low + 1) / (self.n_draws + 1)
                row[f"cov{level * 100:.0f}"] = self.coverage(level)[name]
                ends = binom.ppf([0.0005, 0.9995], len(ranks), nominal) / len(ranks)
                row[f"cov{level * 100:.0f}_low"], row[f"cov{level * 100:.0f}_high"] = ends
            rows[name] = row
        return pd.DataFrame.from_dict(rows, orient="index")


def isoflop_design(budgets: int = 6, sizes: int = 8) -> dict[str, np.ndarray]:
    """A ladder of IsoFLOP sweeps, 1e18 to 1e21 FLOPs, each over a factor of 30 in N: ``N`` and ``D``, shape (run,)."""
    C = np.repeat(np.geomspace(1e18, 1e21, budgets), sizes)
    N = np.sqrt(C / 120.0) * np.tile(np.geomspace(30**-0.5, 30**0.5, sizes), budgets)
    return {"N": N, "D": C / (6.0 * N)}


def calibrate(model: Model, columns: Mapping[str, np.ndarray], tables: int = 500, seed: int = 0) -> Calibration:
    """Simulate tables from the priors, fit each, and rank the truth.

    Parameters
    ----------
    model : Model
        Law, noise and priors.
    columns : mapping of str to array (run,)
        The design; see `isoflop_design`.
    tables : int
        How many tables; a multiple of 50.
    seed : int
        Seed of truths, noise and chains.

    Returns
    -------
    Calibration
        Ranks of every parameter; of the compute-optimal exponent of N; of the law's loss at 100 times the compute of
        the largest run (``forecast``); of a new run there (``new_run``); and of the log likelihood, which a sampler
        that ignores the data cannot rank right.
    """
    truth = model.sample_priors(tables, seed + 1)
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    simulate = jax.jit(jax.vmap(lambda theta, key: model.predictive(columns, theta).sample(key)))
    log_losses = np.asarray(simulate(truth, jax.random.split(jax.random.key(seed + 2), tables)))
    theta, diverging = sample_tables(model, columns, log_losses, draws=DRAWS, seed=seed)
    draws = {name: theta.get(name, np.broadcast_to(truth[name][:, None], diverging.shape)) for name in model.priors}
    draws = {name: values[:, ::THIN] for name, values in draws.items()}
    keys = jax.random.split(jax.random.key(seed + 3), tables)
    ask = jax.jit(jax.vmap(lambda drawn, losses, key: _quantities(model, columns, drawn, losses, key)))
    asked = ask(draws, log_losses, keys)
    true = ask({name: values[:, None] for name, values in truth.items()}, log_losses, jax.random.split(keys[0], tables))
    free = [name for name, prior in model.priors.items() if not prior.fixed]
    ranks = {name: (draws[name] < truth[name][:, None]).sum(axis=1) for name in free}
    ranks |= {name: np.asarray((asked[name] < true[name]).sum(axis=1)) for name in asked}
    return Calibration(ranks, next(iter(draws.values())).shape[1], float(diverging.mean()))


def _quantities(
    model: Model, columns: Mapping[str, np.ndarray], draws: dict[str, jax.Array], log_losses: jax.Array, key: jax.Array
) -> dict[str, jax.Array]:
    """What is ranked beside the parameters, for draws of shape (draw,) of one table."""
    law = model.law
    far = {name: jnp.asarray([10.0 * float(np.max(values))]) for name, values in columns.items()}

    def one(theta: dict[str, jax.Array], key: jax.Array) -> dict[str, jax.Array]:
        of_law = {name: theta[name] for name in law.parameters}
        found = {
            "log_likelihood": model.predictive(columns, theta).log_prob(log_losses).sum(),
            "forecast": model.log_mean(far, theta)[0],
            "new_run": model.predictive(far, theta).sample(key)[0],
        }
        if law.splits_compute:
            found["N_exponent"] = jnp.asarray(law.exponents(1e21, **of_law)[0])
        return found

    size = next(iter(draws.values())).shape[0]
    return jax.vmap(one)(draws, jax.random.split(key, size))
