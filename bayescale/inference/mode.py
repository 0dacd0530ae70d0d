"""Where the posterior is highest: the ends of a search from many starts, and the curvature there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayescale.inference import compiled
from bayescale.inference.climb import Measure, apart, climb, curved, newton, spectrum
from bayescale.inference.density import Density, Table
from bayescale.inference.frame import Frame, frame_at, rescaled, to_whitened
from bayescale.model import Model

__all__ = ["Modes", "find_modes", "judged"]

STARTS = 16
# For long tables few starts are enough: a posterior that so many runs leave with several modes has them far apart.
FEW_STARTS = 4
# Two optima closer than APART posterior standard deviations are one; an optimum with less than a twentieth (GAP on the
# log scale) of the best one's probability is not worth a chain.
APART = 3.0
GAP = 3.0


class Modes(NamedTuple):
    """What the search found for one table.

    Attributes
    ----------
    frame : Frame
        The whitening at the mode that holds the most probability (by the Laplace approximation).
    positive_definite : bool
        Whether the curvature there is that of a maximum; the frame uses absolute eigenvalues where it is not.
    gradient_norm : float
        Norm of the gradient at the mode in posterior standard deviations; 0 at a true mode.
    ends : array (start, dim)
        Where each start ended, the mode first, on the unconstrained scale.
    centres : array (start, dim)
        The same in whitened coordinates.
    masses : array (start,)
        Minus the log of the probability around each end, by the Laplace approximation, up to a constant.
    distinct : array of bool (start,)
        Ends that are separate modes and hold a share worth a chain, each the best of its own; the first is the mode.
    anchors : dict or None
        The table's, with the coordinates that the search chose for the values of groups; None without groups.
    """

    frame: Frame
    positive_definite: bool
    gradient_norm: float
    ends: np.ndarray
    centres: np.ndarray
    masses: np.ndarray
    distinct: np.ndarray
    anchors: dict[str, Any] | None = None


def _starts(model: Model, tables: Table, measure: Measure, candidates: Mapping[str, np.ndarray]) -> np.ndarray:
    """The best of many candidates for each table, on the unconstrained scale (table, start, dim)."""
    rows = tables.weight.shape[1]
    z = np.asarray(compiled.unconstrain(model, dict(candidates), tables.anchors_of_first))
    heights, _ = measure(z)
    best = np.argsort(np.where(np.isfinite(heights), heights, np.inf), axis=1, kind="stable")
    return z[best[:, : STARTS if rows <= compiled.LONG_TABLE else FEW_STARTS]]


def find_modes(model: Model, tables: Table, candidates: Mapping[str, np.ndarray]) -> list[Modes]:
    """Search for the modes of the posterior of each table.

    Parameters
    ----------
    model : Model
        Law, noise and priors.
    tables : Table
        Several tables of one padded size, the first axis of every array; their typical runs are alike.
    candidates : mapping of str to array (candidate,)
        Draws from the prior of every sampled parameter; the search starts from the best of them, so in every basin that
        the prior takes seriously.
    """

    def measure(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return compiled.evaluate(model, tables, np.broadcast_to(z, (count, *z.shape[-2:])))

    count = len(tables.weight)
    starts = _starts(model, tables, measure, candidates)
    vectors, sizes, _ = spectrum(curved(measure, starts)[2])
    inverse = (vectors / sizes[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    # a pass costs as much for one start as for all, and Newton takes fewer of them
    climbed = climb(measure, starts, inverse=inverse, stragglers=starts.shape[1] // 4)
    return judged(model, tables, *newton(measure, climbed))


def judged(
    model: Model,
    tables: Table,
    ends: np.ndarray,
    potentials: np.ndarray,
    gradients: np.ndarray,
    hessians: np.ndarray,
    units: np.ndarray | None = None,
) -> list[Modes]:
    """The modes of each table, given where its searches ended (table, start, ...), in `units` (dim,) of a parameter."""

    def measure_prior(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        silent = tables._replace(weight=np.zeros(tables.weight.shape, dtype=bool))
        values, found = compiled.evaluate(model, silent, z if units is None else z * units)
        return values, found if units is None else found * units

    vectors, sizes, positive = spectrum(hessians)
    masses = potentials + 0.5 * np.log(sizes).sum(axis=-1)
    slopes = np.linalg.norm(np.einsum("...ji,...j->...i", vectors, gradients) / np.sqrt(sizes), axis=-1)
    # an end that is no optimum may come first only where no start reached one
    settled = np.isfinite(masses) & (slopes < 0.1) & positive
    order = np.lexsort((np.where(np.isfinite(masses), masses, np.inf), ~settled), axis=-1)
    first = np.take_along_axis(ends, order[:, :1, None], axis=1)
    prior_hessians = curved(measure_prior, first)[2][:, 0]
    density = Density(model, None, tables.anchors_of_first)
    found = []
    for table, best in enumerate(order):
        frame = frame_at(
            ends[table, best[0]], hessians[table, best[0]], prior_hessians[table], density.n_law, density.sigma_at
        )
        whole = ends[table, best] if units is None else ends[table, best] * units
        frame = frame if units is None else rescaled(frame, units)
        found.append(
            Modes(
                frame,
                bool(positive[table, best[0]]),
                float(slopes[table, best[0]]),
                whole,
                to_whitened(frame, whole),
                masses[table, best],
                _distinct(ends[table, best], masses[table, best], settled[table, best], hessians[table, best[0]]),
            )
        )
    return found


def _distinct(ends: np.ndarray, masses: np.ndarray, settled: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Which ends, the best first, are modes of their own and hold a share worth a chain."""
    near = apart(ends, hessian) < APART
    earlier = np.tri(len(ends), k=-1, dtype=bool)
    distinct = ~(near & earlier).any(axis=1) & (masses < masses[0] + GAP) & settled
    distinct[0] = True
    return distinct
