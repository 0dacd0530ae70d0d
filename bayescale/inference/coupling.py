"""Which values of groups a posterior ties to each other, and its Hessian from as few gradients as that allows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescale.inference.climb import DIFFERENCE, Measure
from bayescale.inference.density import Density
from bayescale.model import Model

__all__ = ["Coupling"]


@dataclass(frozen=True)
class Coupling:
    """The pattern of the Hessian of a model with groups, and a colouring of its columns.

    Given levels, spreads and what else is one number, the values of a group meet only those with which they share a
    run, or a coordinate. So the Hessian is an arrow: full rows and columns for the few numbers that all share, and
    small blocks. Columns that have no row in common can be measured together, all by one difference of gradients
    (Curtis, Powell and Reid 1974, doi 10.1093/imamat/13.1.117): 38 languages with 359 parameters take 26 of them.

    Attributes
    ----------
    pattern : array of bool (value, value)
        Whether two values of groups meet.
    colours : array of int (dim,)
        Parameters of one colour are moved together.
    inside : slice
        Where the values are in the flat vector.
    """

    pattern: np.ndarray
    colours: np.ndarray
    inside: slice

    @classmethod
    def of(cls, model: Model, anchors: Mapping[str, Any], columns: Mapping[str, np.ndarray]) -> Coupling:
        """Of a model settled on a table, given the columns (run, ...) with the places of its groups."""
        density = Density(model, None, anchors)
        sizes, of = density.pools.sizes, model.groups_of
        first = dict(zip(sizes, np.cumsum([0, *sizes.values()]), strict=False))
        places = {name: columns[of[name].key] for name in sizes}
        # a run without sources has none, and an array of none has no length to be worked out
        runs = [first[n] + at.reshape(len(at), math.prod(at.shape[1:])) for n, at in places.items()]
        meeting = _meeting(np.unique(np.concatenate(runs, axis=1), axis=0), sum(sizes.values()))
        along = _meeting(_cliques(model, anchors, first), len(meeting)) | np.eye(len(meeting), dtype=bool)
        # a value stands on the coordinates of others, which so meet whatever that value meets
        pattern = _product(_product(along, meeting | along), along)
        inside = slice(density.n_law - len(pattern), density.n_law)
        colours = np.arange(density.dim)
        colours[inside] = density.dim + _coloured(_product(pattern, pattern))
        return cls(pattern, np.unique(colours, return_inverse=True)[1], inside)

    def curved(self, measure: Measure, z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Potential, gradient (dim,) and Hessian (dim, dim) of the one table at ``z`` (dim,)."""
        moved = DIFFERENCE * (self.colours == np.arange(self.colours.max() + 1)[:, None])
        values, gradients = measure(z + np.concatenate([np.zeros((1, z.size)), moved, -moved])[None])
        after, before = np.split(gradients[0, 1:], 2)
        slopes = (after - before) / (2.0 * DIFFERENCE)
        hessian = slopes[self.colours].T
        values_at, shared = np.arange(z.size)[self.inside], np.ones(z.size, dtype=bool)
        shared[self.inside] = False
        hessian[np.ix_(values_at, values_at)] *= self.pattern
        # what all share is moved alone, which gives its columns; its rows are the same
        hessian[shared] = hessian[:, shared].T
        return float(values[0, 0]), gradients[0, 0], 0.5 * (hessian + hessian.T)


def _cliques(model: Model, anchors: Mapping[str, Any], first: Mapping[str, int]) -> Iterable[list[int]]:
    """Values whose coordinates stand on each other: of one typical run, or with a deviation in common."""
    of = model.groups_of
    for key in anchors.get("typical", {}):
        names = [name for name in first if of[name].key == key]
        within = anchors["inside"][key].items()
        for place in range(len(of[names[0]]) if names else 0):
            others = [first[name] + at for name, places in within for at in np.atleast_1d(places[place]).tolist()]
            yield [*(first[name] + place for name in names), *others]
    for name, pool in model.pools.items():
        if pool.shared is not None:
            members, _ = model.structure(name)
            yield from ((first[name] + np.flatnonzero(members == member)).tolist() for member in set(members.tolist()))


def _meeting(cliques: Iterable[Any], count: int) -> np.ndarray:
    met = np.zeros((count, count), dtype=bool)
    for places in cliques:
        met[np.ix_(places, places)] = True
    return met


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(float) @ b.astype(float) > 0


def _coloured(near: np.ndarray) -> np.ndarray:
    """The first colour free for each, those with most neighbours first; neighbours never have the same."""
    colours = np.full(len(near), -1)
    for place in np.argsort(-near.sum(axis=1), kind="stable"):
        taken = set(colours[near[place]].tolist())
        colours[place] = next(colour for colour in range(len(near)) if colour not in taken)
    return colours
