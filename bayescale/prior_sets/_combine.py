"""From one estimate a group to the distribution of the next group's: robust random effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from bayescale.errors import PriorError

__all__ = ["DF", "Effect", "combine"]

# Degrees of freedom of the distribution over groups: one exceptional group must not widen the prior of all others, and
# a table of the next exceptional one must be able to leave it.
DF = 3.0
SMALLEST_SCALE = 0.05
FEWEST = 3
STEPS = 300


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


def combine(effects: Iterable[Effect]) -> tuple[float, float]:
    """Location and scale of the Student-t (three degrees of freedom) that the next group's parameter comes from.

    Group values scatter around a common location by a Student-t and their own posterior sd; location and scale by EM.
    The scale includes what is not known of the location.

    Raises
    ------
    PriorError
        Fewer than three groups.

    References
    ----------
    Lange, Little and Taylor 1989, DOI 10.1080/01621459.1989.10478852 (EM for the Student-t).

    Examples
    --------
    >>> location, scale = combine([Effect("a", 0.0, 0.1), Effect("b", 0.2, 0.1), Effect("c", 0.1, 0.1)])
    >>> round(location, 3)
    0.1
    """
    values, variances = _of_groups(effects)
    if len(values) < FEWEST:
        raise PriorError(
            f"a prior is learnt from {FEWEST} groups of runs or more, and there are {len(values)}: one group says how "
            "its own parameter is known, not how far the next group's may lie"
        )
    location = float(np.median(values))
    between = max(float(np.median(np.abs(values - location))) * 1.48, SMALLEST_SCALE) ** 2
    for _ in range(STEPS):
        total = between + variances
        weight = (DF + 1.0) / (DF + (values - location) ** 2 / total)
        location = float((weight / total) @ values / (weight / total).sum())
        own = (between / total) ** 2 * (values - location) ** 2 * weight + between * variances / total
        between = max(float(own.mean()), SMALLEST_SCALE**2)
    return location, float(np.sqrt(between + 1.0 / (weight / total).sum()))


def by_parameter(families: Iterable[tuple[str, Mapping[str, tuple[float, float]]]]) -> dict[str, list[Effect]]:
    """Effects of each parameter from (group, {parameter: (mean, sd)}) of each table."""
    found: dict[str, list[Effect]] = {}
    for group, told in families:
        for name, (mean, sd) in told.items():
            found.setdefault(name, []).append(Effect(group, mean, sd))
    return found
