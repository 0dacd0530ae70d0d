"""An independent check of the sampler: importance sampling from a Student-t around the mode."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from bayescale.inference import compiled
from bayescale.inference.convergence import pareto_smoothed
from bayescale.inference.density import Table
from bayescale.inference.frame import log_jacobian, to_z
from bayescale.inference.mode import Modes
from bayescale.model import Model

__all__ = ["Importance", "importance"]

DRAWS = 8 * compiled.BATCH
DEGREES = 6.0
# Beyond this many rows two thousand more evaluations cost more than they tell.
MAX_ROWS = 1 << 17


class Importance(NamedTuple):
    """What importance sampling says of the posterior.

    Attributes
    ----------
    pareto_k : float
        Shape of the tail of the weights; below .7 the estimates can be relied on (Vehtari et al., arXiv 1507.02646).
    ess : float
        Effective number of draws.
    mean, sd : dict of str to float
        Posterior mean and standard deviation of each sampled parameter, on its own scale.
    """

    pareto_k: float
    ess: float
    mean: dict[str, float]
    sd: dict[str, float]


def importance(model: Model, tables: Table, modes: Modes, seed: int) -> Importance | None:
    """Posterior means and sds of one table by Pareto-smoothed importance sampling; None for very long tables.

    Shares nothing with NUTS but the density: a sampler that went wrong shows as a difference.
    """
    if tables.weight.shape[1] > MAX_ROWS:
        return None
    generator = np.random.default_rng([seed, 1])
    dim = modes.frame.centre.size
    x = generator.standard_normal((DRAWS, dim)) / np.sqrt(generator.chisquare(DEGREES, (DRAWS, 1)) / DEGREES)
    z = to_z(modes.frame, x)
    potential = compiled.evaluate(model, tables, z[None])[0][0] - log_jacobian(modes.frame, x)
    theta = compiled.constrain(model, z, tables.anchors_of_first)
    log_proposal = gammaln((DEGREES + dim) / 2) - (DEGREES + dim) / 2 * np.log1p(np.square(x).sum(axis=1) / DEGREES)
    log_weight = np.where(np.isfinite(potential), -potential, -np.inf) - log_proposal
    finite = np.isfinite(log_weight)
    if finite.sum() < compiled.BATCH:
        return Importance(float("inf"), 0.0, {}, {})
    smooth, pareto_k = pareto_smoothed(log_weight[finite])
    weight = np.exp(smooth - smooth.max())
    weight /= weight.sum()
    kept = {name: values[finite] for name, values in theta.items()}
    mean = {name: float(weight @ values) for name, values in kept.items()}
    sd = {name: float(np.sqrt(weight @ np.square(values - mean[name]))) for name, values in kept.items()}
    return Importance(pareto_k, float(1.0 / np.square(weight).sum()), mean, sd)
