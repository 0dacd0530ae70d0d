"""The mode of a model with groups: first at fixed spreads, where it always exists, then of everything together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescale._float64 import jax
from bayescale.inference import compiled
from bayescale.inference.anchors import anchors_of
from bayescale.inference.density import Density, Table
from bayescale.inference.mode import Measure, Modes, climb, curved, judged, newton, spectrum
from bayescale.laws._positive import Positive
from bayescale.model import Model

__all__ = ["find_grouped_mode"]

STARTS = 4
# A group that leaves less than this share of the variance between groups speaks for itself.
INFORMED = 0.5
# A combination of values that the table knows this many times as precisely as its prior is fixed.
FIXED = 20.0
# Nats that a further round or step would gain: where the mode is only to be approached, and at the mode.
ROUGH, EXACT = 0.1, 1e-6
ROUNDS = 6
# How far the first step may go, in standard deviations.
FAR = 1e3
# A curvature below this is none, in a direction that is not to move.
LEAST = 1e-2


def find_grouped_mode(model: Model, tables: Table, drawn: Mapping[str, np.ndarray]) -> Modes:
    """Search for the mode of the posterior of one table, and settle how the values of its groups are sampled.

    Where the spread of a parameter is small, many values of groups fall into little volume, and the joint density of a
    level, a spread and values that the table does not determine rises without end. At a fixed spread it does not: there
    the values are found; then what the table says of each, and so its coordinate (`pools`); then the mode of all.

    Parameters
    ----------
    model : Model
        Settled on the table.
    tables : Table
        One table, the first axis of every array.
    drawn : mapping of str to array
        Draws from the prior, where the search starts from the best.

    Returns
    -------
    Modes
        With the anchors of the coordinates that were chosen.
    """
    anchors = jax.tree.map(lambda values: np.asarray(values)[0], tables.anchors)
    density = Density(model, None, anchors)
    spreads = {f"{name}_{part}" for name, pool in model.pools.items() for part in pool.hyper if "spread" in part}
    frozen = np.array([name in spreads for name in density.names])
    z = _values_first(model, tables, anchors, drawn, frozen)
    theta = {name: values[0] for name, values in compiled.constrain(model, z[0], anchors).items()}
    anchors = anchors_of(model, _rows(tables), theta)
    theta, own = _informed(model, tables, anchors, theta)
    anchors = anchors | {"own": own}
    tables = tables._replace(anchors=jax.device_put(jax.tree.map(lambda values: np.asarray(values)[None], anchors)))
    start = _flat(model, {name: np.asarray(values)[None] for name, values in theta.items()}, anchors)
    start = _descend(_measure(model, tables), start)
    return judged(model, tables, *_newton(_measure(model, tables), start, EXACT))[0]._replace(anchors=tables.anchors)


def _rows(tables: Table) -> dict[str, np.ndarray]:
    """The columns (run, ...) of the one table, without padding."""
    real = np.asarray(tables.weight)[0]
    return {n: np.asarray(c.value if isinstance(c, Positive) else c)[0][real] for n, c in tables.columns.items()}


def _units(hessian: np.ndarray) -> np.ndarray:
    """The size of each parameter whose others are known."""
    return 1.0 / np.sqrt(np.maximum(np.abs(np.diag(hessian)), LEAST))


def _descend(measure: Measure, z: np.ndarray) -> np.ndarray:
    """A climb from ``z`` (1, 1, dim) in coordinates whitened where it starts, and again from where it ends.

    A Hessian costs twice as many gradients as there are parameters, a step of the climb one: with hundreds of
    parameters Newton's own steps would take minutes.
    """
    value = measure(z)[0][0, 0]
    for _ in range(ROUNDS):
        hessian = curved(measure, z)[2][0, 0]
        units = _units(hessian)
        vectors, sizes, _ = spectrum(hessian * units * units[:, None])
        root = units[:, None] * vectors / np.sqrt(sizes)

        def white(y: np.ndarray, z: np.ndarray = z, root: np.ndarray = root) -> tuple[np.ndarray, np.ndarray]:
            values, gradients = measure(z + y @ root.T)
            # a step too far has no finite gradient, and is not taken
            with np.errstate(invalid="ignore", over="ignore"):
                return values, gradients @ root

        z = z + climb(white, np.zeros_like(z), FAR) @ root.T
        before, value = value, measure(z)[0][0, 0]
        if not before - value > ROUGH:
            break
    return z


def _newton(
    measure: Measure, z: np.ndarray, gain: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Newton from ``z`` (1, 1, dim) in units in which every parameter alone has curvature one, and those units.

    Curvatures of a contribution that thousands of runs share and of a level that a few groups share differ by 1e8, more
    than eigenvalues of one matrix may.
    """
    hessian = curved(measure, z)[2][0, 0]
    units = _units(hessian)

    def scaled(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = measure(y * units)
        return values, gradients * units

    return *newton(scaled, z / units, gain, FAR), units


def _measure(model: Model, tables: Table, held: np.ndarray | None = None) -> Measure:
    """Potentials and gradients; parameters at which `held` (dim,) is a number stay there."""
    still = np.zeros(1, dtype=bool) if held is None else ~np.isnan(held)

    def measure(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = compiled.evaluate(model, tables, z if held is None else np.where(still, held, z))
        return values, np.where(still, 0.0, gradients)

    return measure


def _flat(model: Model, theta: Mapping[str, np.ndarray], anchors: Mapping[str, Any]) -> np.ndarray:
    """Flat vectors (1, point, dim)."""
    free = {name: theta[name] for name in (*model.scalars, *model.pools) if name in theta}
    return np.asarray(compiled.unconstrain(model, free, dict(anchors)))[None]


def _values_first(
    model: Model, tables: Table, anchors: Mapping[str, Any], drawn: Mapping[str, np.ndarray], frozen: np.ndarray
) -> np.ndarray:
    """The best values of all but the spreads, which stay at the medians of their priors; (1, 1, dim)."""
    candidates = {name: values for name, values in drawn.items() if name in model.scalars}
    for name, pool in model.pools.items():
        for part in pool.hyper:
            if "spread" in part:
                candidates[f"{name}_{part}"] = np.full_like(drawn[f"{name}_{part}"], pool.hyper[part].median)
        # every group starts as the level does, or as the first of groups without one
        start = drawn[name][:, 0] if pool.apart else drawn[f"{name}_level"]
        candidates[name] = np.repeat(start[:, None], drawn[name].shape[1], axis=1)
    z = _flat(model, candidates, anchors)
    measure = _measure(model, tables, np.where(frozen, z[0, 0], np.nan))
    heights = measure(z)[0][0]
    best = np.argsort(np.where(np.isfinite(heights), heights, np.inf), kind="stable")[:STARTS]
    climbed = climb(measure, z[:, best])
    first = np.nanargmin(measure(climbed)[0][0])
    return _descend(measure, climbed[:, first : first + 1])


def _informed(
    model: Model, tables: Table, anchors: Mapping[str, Any], theta: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The parameters with the spreads that their values show, and which values are sampled as their own."""
    apart = dict(anchors) | {"own": {name: np.zeros_like(own) for name, own in anchors["own"].items()}}
    tables = tables._replace(anchors=jax.tree.map(lambda values: np.asarray(values)[None], apart))
    z = _flat(model, {name: np.asarray(values)[None] for name, values in theta.items()}, apart)
    density = Density(model, None, apart)
    inside = slice(density.n_law - density.pools.dim, density.n_law)
    hessian = curved(_measure(model, tables), z)[2][0, 0][: density.n_law, : density.n_law]
    vectors, sizes, _ = spectrum(hessian)
    shares = (np.square(vectors) / sizes).sum(axis=1)[inside]
    deviations = z[0, 0, inside]
    theta, own, start = dict(theta), {}, 0
    for name, size in density.pools.sizes.items():
        share, deviation = shares[start : start + size], deviations[start : start + size]
        start += size
        if model.pools[name].apart:
            own[name] = np.ones(size)
            continue
        # the share of the prior variance that the table leaves; one step of EM gives the spread that goes with it
        scale = np.sqrt(np.clip(np.mean(np.square(deviation) + np.minimum(share, 1.0)), 0.05, 20.0))
        for part in (part for part in model.pools[name].hyper if "spread" in part):
            theta[f"{name}_{part}"] = theta[f"{name}_{part}"] * scale
        left = 1.0 / (1.0 + np.maximum(1.0 / share - 1.0, 0.0) * np.square(scale))
        if name in density.pools.kept:
            own[name] = np.ones(size)
            continue
        if model.pools[name].shared is None:
            own[name] = (left < INFORMED).astype(float)
            continue
        # groups with a deviation in common are sampled alike: as their own where the table fixes what they add up to,
        # given all else, for in deviations that sum would be a product with the spread, and bent
        members, block = model.structure(name)[0], hessian[inside, inside][start - size : start, start - size : start]
        most = {m: np.linalg.eigvalsh(block[np.ix_(members == m, members == m)])[-1] for m in set(members.tolist())}
        own[name] = np.array([float(most[member] > FIXED) for member in members.tolist()])
    return theta, own
