"""The mode of a model with groups: first at fixed spreads, where it always exists, then of everything together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescale._float64 import jax
from bayescale.inference import compiled
from bayescale.inference.anchors import anchors_of
from bayescale.inference.climb import Measure, climb, spectrum
from bayescale.inference.coupling import Coupling
from bayescale.inference.density import Density, Table
from bayescale.inference.mode import Modes, judged
from bayescale.laws._positive import Positive
from bayescale.model import Model

__all__ = ["find_grouped_mode"]

STARTS = 2
# A group that leaves less than this share of the variance between groups speaks for itself.
INFORMED = 0.5
# A combination of values that the table knows this many times as precisely as its prior is fixed.
FIXED = 20.0
# Nats that a further step would gain: where the mode is only to be approached, and at the mode.
ROUGH, EXACT = 0.1, 1e-6
BATCH = 64
STEPS = 200
# How far the first step may go along each eigenvector, in standard deviations.
FAR = 1e3
# A step this short, in the same units, leads nowhere.
NEAR = 1e-8
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
    anchors = tables.anchors_of_first
    rows = _rows(tables)
    coupling = Coupling.of(model, anchors, rows)
    z = _values_first(model, tables, coupling, drawn)
    theta = {name: values[0] for name, values in compiled.constrain(model, z[None], anchors).items()}
    anchors = anchors_of(model, rows, theta)
    coupling = Coupling.of(model, anchors, rows)
    theta, own = _informed(model, tables, coupling, anchors, theta)
    anchors = anchors | {"own": own}
    tables = _anchored(tables, anchors)
    start = _flat(model, {name: np.asarray(values)[None] for name, values in theta.items()}, anchors)[0]
    end, value, gradient, hessian, units = _newton(coupling, _measure(model, tables), start, EXACT)
    scaled = (end / units, np.array(value), gradient * units, hessian * _outer(units))
    at, height, slope, curve = (part[None, None] for part in scaled)
    return judged(model, tables, at, height, slope, curve, units)[0]._replace(anchors=tables.anchors)


def _anchored(tables: Table, anchors: Mapping[str, Any]) -> Table:
    """The one table with other anchors."""
    return tables._replace(anchors=jax.device_put(jax.tree.map(lambda values: np.asarray(values)[None], dict(anchors))))


def _rows(tables: Table) -> dict[str, np.ndarray]:
    """The columns (run, ...) of the one table, without padding."""
    real = np.asarray(tables.weight)[0]
    return {n: np.asarray(c.value if isinstance(c, Positive) else c)[0][real] for n, c in tables.columns.items()}


def _units(hessian: np.ndarray) -> np.ndarray:
    """The size of each parameter whose others are known."""
    return 1.0 / np.sqrt(np.maximum(np.abs(np.diag(hessian)), LEAST))


def _outer(units: np.ndarray) -> np.ndarray:
    return units * units[:, None]


def _newton(
    coupling: Coupling, measure: Measure, z: np.ndarray, gain: float
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray, np.ndarray]:
    """Newton on the absolute Hessian from ``z`` (dim,): the end, potential, gradient, Hessian and units there.

    It works in units in which every parameter alone has curvature one: curvatures of a contribution that thousands of
    runs share and of a level that a few groups share differ by 1e8, more than eigenvalues of one matrix may. A step too
    far is cut along each eigenvector by itself, so that one direction that bends does not hold up the others.
    """
    value, gradient, hessian = coupling.curved(measure, z)
    reach = FAR
    for _ in range(STEPS):
        units = _units(hessian)
        vectors, sizes, _ = spectrum(hessian * _outer(units))
        along = -(vectors.T @ (gradient * units)) / sizes
        if not 0.5 * (np.square(along) * sizes).sum() > gain:
            break
        while reach > NEAR:
            trial = z + units * (vectors @ np.clip(along, -reach, reach))
            if _finite_at(measure, trial) < value:
                break
            reach = 0.25 * min(reach, np.abs(along).max())
        else:
            break
        z, reach = trial, 3.0 * reach
        value, gradient, hessian = coupling.curved(measure, z)
    return z, value, gradient, hessian, _units(hessian)


def _finite_at(measure: Measure, z: np.ndarray) -> float:
    """The potential at ``z`` (dim,); infinite where it or its gradient is no number."""
    values, gradients = measure(z[None, None])
    return float(values[0, 0]) if np.isfinite(values).all() and np.isfinite(gradients).all() else np.inf


def _measure(model: Model, tables: Table, held: np.ndarray | None = None) -> Measure:
    """Potentials and gradients; parameters at which `held` (dim,) is a number stay there."""
    still = np.zeros(1, dtype=bool) if held is None else ~np.isnan(held)

    def measure(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = compiled.evaluate(model, tables, z if held is None else np.where(still, held, z))
        return values, np.where(still, 0.0, gradients)

    return measure


def _flat(model: Model, theta: Mapping[str, np.ndarray], anchors: Mapping[str, Any]) -> np.ndarray:
    """Flat vectors (point, dim); BATCH points at a time, so that there is one shape to compile."""
    free = {name: np.asarray(theta[name]) for name in (*model.scalars, *model.pools) if name in theta}
    count = len(next(iter(free.values())))
    rows = np.minimum(np.arange(count + -count % BATCH), count - 1).reshape(-1, BATCH)
    flat = [compiled.unconstrain(model, {n: v[part] for n, v in free.items()}, dict(anchors)) for part in rows]
    return np.concatenate(flat)[:count]


def _values_first(model: Model, tables: Table, coupling: Coupling, drawn: Mapping[str, np.ndarray]) -> np.ndarray:
    """The best values of all but the spreads, which stay at the medians of their priors; (dim,)."""
    candidates = {name: values for name, values in drawn.items() if name in model.scalars}
    spreads = set()
    for name, pool in model.pools.items():
        for part in (part for part in pool.hyper if "spread" in part):
            spreads.add(f"{name}_{part}")
            candidates[f"{name}_{part}"] = np.full_like(drawn[f"{name}_{part}"], pool.hyper[part].median)
        # every group starts as the level does, or as the first of groups without one
        start = drawn[name][:, 0] if pool.apart else drawn[f"{name}_level"]
        candidates[name] = np.repeat(start[:, None], drawn[name].shape[1], axis=1)
    anchors = tables.anchors_of_first
    z = _flat(model, candidates, anchors)
    frozen = np.array([name in spreads for name in Density(model, None, anchors).names])
    measure = _measure(model, tables, np.where(frozen, z[0], np.nan))
    heights = measure(z[None])[0][0]
    best = np.argsort(np.where(np.isfinite(heights), heights, np.inf), kind="stable")[:STARTS]
    climbed = climb(measure, z[None, best])
    first = int(np.nanargmin(measure(climbed)[0][0]))
    return _newton(coupling, measure, climbed[0, first], ROUGH)[0]


def _deviations(model: Model, name: str, theta: Mapping[str, Any]) -> np.ndarray:
    """How far the groups are from the level, in units of the spread."""
    link = model.pools[name].link
    level, values = (link.inner(np.asarray(theta[part]), np) for part in (f"{name}_level", name))
    return np.asarray((values - level) / np.asarray(theta[f"{name}_spread"]))


def _informed(
    model: Model, tables: Table, coupling: Coupling, anchors: Mapping[str, Any], theta: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The parameters with the spreads that their values show, and which values are sampled as their own."""
    apart = dict(anchors) | {"own": {name: np.zeros_like(own) for name, own in anchors["own"].items()}}
    tables = _anchored(tables, apart)
    z = _flat(model, {name: np.asarray(values)[None] for name, values in theta.items()}, apart)[0]
    density = Density(model, None, apart)
    inside = coupling.inside
    hessian = coupling.curved(_measure(model, tables), z)[2][: density.n_law, : density.n_law]
    vectors, sizes, _ = spectrum(hessian)
    shares = (np.square(vectors) / sizes).sum(axis=1)[inside]
    deviations = z[inside]
    theta, own, start = dict(theta), {}, 0
    for name, size in density.pools.sizes.items():
        share, deviation = shares[start : start + size], deviations[start : start + size]
        start += size
        if model.pools[name].apart:
            own[name] = np.ones(size)
            continue
        if name in density.pools.kept:
            share, deviation = np.zeros(size), _deviations(model, name, theta)
        # the share of the prior variance that the table leaves; one step of EM gives the spread that goes with it
        scale = np.sqrt(np.clip(np.mean(np.square(deviation) + np.minimum(share, 1.0)), 0.05, 20.0))
        for part in (part for part in model.pools[name].hyper if "spread" in part):
            theta[f"{name}_{part}"] = theta[f"{name}_{part}"] * scale
        if name in density.pools.kept:
            own[name] = np.ones(size)
            continue
        left = 1.0 / (1.0 + np.maximum(1.0 / share - 1.0, 0.0) * np.square(scale))
        if model.pools[name].shared is None:
            own[name] = (left < INFORMED).astype(float)
            continue
        # groups with a deviation in common are sampled alike: as their own where the table fixes what they add up to,
        # given all else, for in deviations that sum would be a product with the spread, and bent
        members, block = model.structure(name)[0], hessian[inside, inside][start - size : start, start - size : start]
        most = {m: np.linalg.eigvalsh(block[np.ix_(members == m, members == m)])[-1] for m in set(members.tolist())}
        own[name] = np.array([float(most[member] > FIXED) for member in members.tolist()])
    return theta, own
