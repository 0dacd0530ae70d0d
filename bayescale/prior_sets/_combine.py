"""From one estimate a group to the distribution of the next group's: robust random effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.stats import t

from bayescale.errors import PriorError

__all__ = ["Effect", "combine"]

# Degrees of freedom of the distribution over groups: one exceptional group must not widen the prior of all others, and
# a table of the next exceptional one must be able to leave it.
DF = 3.0
LEVELS = (0.05, 0.25, 0.75, 0.95)
# Degrees of freedom that a prior may have, and the 90 over the 50 % interval of the fewest.
DFS = (1.0, 1e3)
HEAVIEST = float(t.ppf(0.95, DFS[0]) / t.ppf(0.75, DFS[0]))
FEWEST = 3
# Scales between groups that are looked at, ends and number: from what no table would show to what none would survive.
SCALES = (0.02, 10.0, 60)
# Locations that are looked at: over all values, around each, and at most.
LOCATIONS, AROUND, MOST = 61, 21, 250
FAR = 1e3


class Effect(NamedTuple):
    """What one table says of a parameter, on the scale on which it is real: logarithm, or logit of a share."""

    group: str
    mean: float
    sd: float


def _of_groups(effects: Iterable[Effect]) -> tuple[np.ndarray, np.ndarray]:
    """One value and one variance a group: tables that share a design are one observation of it, not several."""
    grouped: dict[str, list[Effect]] = {}
    for effect in effects:
        grouped.setdefault(effect.group, []).append(effect)
    values, variances = [], []
    for members in grouped.values():
        precision = np.array([1.0 / member.sd**2 for member in members])
        values.append(float(precision @ [member.mean for member in members] / precision.sum()))
        variances.append(len(members) / precision.sum())
    return np.array(values), np.array(variances)


def combine(effects: Iterable[Effect]) -> tuple[float, float, float]:
    """Degrees of freedom, location and scale of the Student-t that the next group's parameter comes from.

    Group values scatter around a common location by a Student-t of three degrees of freedom and their own posterior sd.
    The posterior of location and scale is computed on a grid, flat in the location and in the logarithm of the scale:
    with this prior the interval of the next value covers what it claims at any location and scale, where values are
    known exactly (Severini et al. 2002). What is returned has the central 50 and 90 % intervals of the next group's
    value under that posterior, so that what a few groups leave open is in it.

    Raises
    ------
    PriorError
        Fewer than three groups.

    References
    ----------
    Severini, Mukerjee and Ghosh 2002, DOI 10.1093/biomet/89.4.952 (predictive intervals under the right Haar prior).

    Examples
    --------
    >>> df, location, scale = combine([Effect("a", 0.0, 0.1), Effect("b", 0.2, 0.1), Effect("c", 0.1, 0.1)])
    >>> round(location, 3)
    0.1
    """
    values, variances = _of_groups(effects)
    if len(values) < FEWEST:
        raise PriorError(
            f"a prior is learnt from {FEWEST} groups of runs or more, and there are {len(values)}: one group says how "
            "its own parameter is known, not how far the next group's may lie"
        )
    locations = _locations(values, np.sqrt(variances))[:, None]
    scales = np.geomspace(*SCALES)[:, None, None]
    # a Student-t seen with a normal error is close to one of the joint scale
    total = np.sqrt(scales**2 + variances)
    kernel = -0.5 * (DF + 1.0) * np.log1p(((values - locations) / total) ** 2 / DF) - np.log(total)
    log_weight = kernel.sum(axis=-1)
    weight = np.exp(log_weight - log_weight.max()) * np.gradient(locations[:, 0])
    weight /= weight.sum()
    low, lower, upper, high = (_quantile(level, weight, locations[:, 0], scales[..., 0]) for level in LEVELS)
    wide, half = high - low, upper - lower
    df = brentq(lambda df: t.ppf(0.95, df) / t.ppf(0.75, df) - wide / half, *DFS) if wide / half < HEAVIEST else DFS[0]
    return float(df), 0.5 * (lower + upper), half / (2.0 * float(t.ppf(0.75, df)))


def _locations(values: np.ndarray, sds: np.ndarray) -> np.ndarray:
    """Locations to look at: all over the values, and closely around each, since sds may differ a hundredfold."""
    margin = max(float(np.ptp(values)), 3.0 * float(sds.max()))
    over = np.linspace(values.min() - margin, values.max() + margin, LOCATIONS)
    around = values[:, None] + np.hypot(sds, SCALES[0])[:, None] * np.linspace(-6.0, 6.0, AROUND)
    found = np.unique(np.concatenate([over, around.ravel()]))
    return found[:: 1 + len(found) // MOST]


def _quantile(level: float, weight: np.ndarray, locations: np.ndarray, scales: np.ndarray) -> float:
    """Quantile of the mixture of Student-t distributions with three degrees of freedom."""

    def below(value: float) -> float:
        x = (value - locations) / scales / np.sqrt(DF)
        return float((weight * (0.5 + (x / (1.0 + x * x) + np.arctan(x)) / np.pi)).sum()) - level

    return float(brentq(below, locations[0] - FAR, locations[-1] + FAR, xtol=1e-9))


def by_parameter(families: Iterable[tuple[str, Mapping[str, tuple[float, float]]]]) -> dict[str, list[Effect]]:
    """Effects of each parameter from (group, {parameter: (mean, sd)}) of each table."""
    found: dict[str, list[Effect]] = {}
    for group, told in families:
        for name, (mean, sd) in told.items():
            found.setdefault(name, []).append(Effect(group, mean, sd))
    return found
