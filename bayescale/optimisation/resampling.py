"""Which runs a bootstrap replicate holds, or which signs its residuals return with."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["RESAMPLES", "groups_of", "resample_counts", "resample_signs"]

RESAMPLES = ("rows", "clusters", "wild")


def groups_of(labels: Any) -> np.ndarray:
    """Number (run,) of the group that each run belongs to, from labels of any kind."""
    return np.unique(np.asarray(labels).astype(str), return_inverse=True)[1].ravel()


def resample_counts(groups: np.ndarray, replicates: int, generator: np.random.Generator) -> np.ndarray:
    """How often each run is in each replicate, (replicate, run): groups are drawn whole, with replacement.

    Parameters
    ----------
    groups : array of int (run,)
        The group of each run, from 0; one run a group for the ordinary bootstrap.
    replicates : int
    generator : numpy.random.Generator
    """
    many = int(groups.max()) + 1
    drawn = generator.multinomial(many, np.full(many, 1.0 / many), size=replicates)
    return drawn[:, groups].astype(np.uint16)


def resample_signs(groups: np.ndarray, replicates: int, generator: np.random.Generator) -> np.ndarray:
    """Signs (replicate, run) of residuals in each replicate of a wild bootstrap (Rademacher), alike within a group."""
    many = int(groups.max()) + 1
    return (2 * generator.integers(0, 2, size=(replicates, many)) - 1)[:, groups].astype(np.int8)
