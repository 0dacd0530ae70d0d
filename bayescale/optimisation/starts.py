"""Where searches start."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from bayescale.laws import Law
from bayescale.optimisation.coordinates import Coordinates

__all__ = ["HOFFMANN", "from_priors", "grid_of", "hoffmann", "is_chinchilla"]

# Up to so many dimensions a grid is denser than a sequence where it matters, along the axes.
FEW = 3

# Hoffmann et al. 2022, Appendix D.3: logarithms of E, A and B, and the exponents; 4,500 starts.
HOFFMANN = {
    "alpha": (0.0, 0.5, 1.0, 1.5, 2.0),
    "beta": (0.0, 0.5, 1.0, 1.5, 2.0),
    "e": (-1.0, -0.5, 0.0, 0.5, 1.0),
    "a": (0.0, 5.0, 10.0, 15.0, 20.0, 25.0),
    "b": (0.0, 5.0, 10.0, 15.0, 20.0, 25.0),
}


def is_chinchilla(law: Law) -> bool:
    """Whether a law has the inputs and parameters of Hoffmann et al., so that their grid means something for it."""
    return law.inputs == ("N", "D") and set(law.parameters) == {"E", "a", "b", "alpha", "beta"} and bool(law.linear)


def hoffmann(law: Law, coordinates: Coordinates) -> np.ndarray:
    """The 4,500 starts (start, dim) of Hoffmann et al., in the coordinates of a law of the Chinchilla shape."""
    alpha, beta, e, a, b = np.array(list(product(*HOFFMANN.values()))).T
    at = {"E": e, "a": a - alpha * np.log(law.N0), "b": b - beta * np.log(law.D0), "alpha": alpha, "beta": beta}
    return np.stack([at[name] for name in coordinates.names], axis=1)


def from_priors(law: Law, coordinates: Coordinates, count: int, seed: int = 0) -> np.ndarray:
    """Starts (start, dim) spread over what the law's default priors hold possible; the priors take no other part.

    The quantiles are a scrambled Sobol' sequence, so that a few hundred fill the space evenly.
    """
    order = max(count - 1, 1).bit_length()
    from scipy.stats import qmc  # takes half a second to load

    quantiles = qmc.Sobol(len(coordinates.names), rng=np.random.default_rng(seed)).random_base2(order)[:count]
    generator = np.random.default_rng(seed)
    columns = []
    for name, log, levels in zip(coordinates.names, coordinates.logs, quantiles.T, strict=True):
        # quantiles of many draws: a family of priors need not have a quantile function
        values = np.quantile(law.priors[name].sample(generator, 1 << 14), levels)
        columns.append(np.log(values) if log else values)
    return np.stack(columns, axis=1)


def grid_of(law: Law, coordinates: Coordinates, count: int, seed: int = 0) -> np.ndarray:
    """About `count` points (point, dim) over what the law's default priors hold possible: a grid where there are few
    dimensions, and a Sobol' sequence where there are many."""
    dim = len(coordinates.names)
    if dim > FEW:
        return from_priors(law, coordinates, count, seed)
    side = max(2, math.ceil(count ** (1.0 / dim)))
    generator = np.random.default_rng(seed)
    levels = np.linspace(0.0, 1.0, side + 2)[1:-1]
    axes = []
    for name, log in zip(coordinates.names, coordinates.logs, strict=True):
        low, high = np.quantile(law.priors[name].sample(generator, 1 << 14), [0.001, 0.999])
        even = np.exp(np.log(low) + levels * np.log(high / low)) if low > 0 else low + levels * (high - low)
        axes.append(np.log(even) if log else even)
    return np.array(list(product(*axes)))
