"""The posterior of one law for many curves at a time, in coordinates that are standard normal a priori."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bayescale._float64 import assert_float64, jax
from bayescale.curves._discrepancy import (
    Discrepancy,
    Rows,
    State,
    final_states,
    log_densities,
    log_densities_and_gradients,
)
from bayescale.curves._shapes import SHAPES, pull_back, values

__all__ = ["LANES", "Posterior", "filled"]

# curves and draws side by side in one call: two sizes, so that two compilations serve every table
LANES, FEW_LANES = 1024, 128
# where a density is not a number
NOWHERE = 1e8
# coordinates before those of the law: its level, and the logs of s, tau, omega and early
BEFORE = 5


def filled(array: np.ndarray, length: int) -> np.ndarray:
    """The array with its last entry repeated until it is this long."""
    return np.concatenate([array, np.repeat(array[-1:], length - len(array), axis=0)]) if len(array) < length else array


class Posterior:
    """Minus the log posterior density of one law, and its gradient.

    Parameters
    ----------
    law : str
        A name of `SHAPES`.
    rows : Rows
        The curves.
    settings : Discrepancy
        Priors and constants of the residual.
    """

    def __init__(self, law: str, rows: Rows, settings: Discrepancy) -> None:
        assert_float64()
        self.law, self.rows, self.settings = law, rows, settings
        self.size = BEFORE + SHAPES[law].size

    def log_scales(self, z: np.ndarray) -> np.ndarray:
        """Logs of s, tau, omega and early, each row one draw; shape (lane, 4)."""
        return self.settings.locations + self.settings.scales * z[:, 1:BEFORE]

    def _blocks(self, z: np.ndarray, curve: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray, Rows]]:
        lanes = LANES if len(z) > LANES // 2 else FEW_LANES
        for start in range(0, len(z), lanes):
            part = slice(start, start + lanes)
            count = len(z[part])
            block, which = filled(z[part], lanes), filled(curve[part], lanes)
            rows = jax.tree.map(lambda array, which=which: array[which], self.rows)
            law = np.asarray(values(self.law, block[:, BEFORE:], rows.u))
            yield count, block, rows.log_y - self.settings.level * block[:, :1] - law, rows

    def potential(self, z: np.ndarray, curve: np.ndarray) -> np.ndarray:
        """Minus the log density, up to the constant of the normal prior.

        Parameters
        ----------
        z : array (lane, size)
            Coordinates.
        curve : array (lane,)
            Which curve each lane belongs to.
        """
        parts = []
        for count, block, residuals, rows in self._blocks(z, curve):
            density = np.asarray(log_densities(residuals, self.log_scales(block), rows, self.settings))
            parts.append((0.5 * (block**2).sum(axis=1) - density)[:count])
        potential = np.concatenate(parts)
        return np.where(np.isfinite(potential), potential, NOWHERE)

    def measure(self, z: np.ndarray, curve: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The potential (lane,) and its gradient (lane, size)."""
        parts = []
        for count, block, residuals, rows in self._blocks(z, curve):
            density, slopes = log_densities_and_gradients(residuals, self.log_scales(block), rows, self.settings)
            by_residual, by_scale = (np.asarray(slope) for slope in slopes)
            gradient = block.copy()
            gradient[:, 0] += self.settings.level * by_residual.sum(axis=1)
            gradient[:, 1:BEFORE] -= by_scale * self.settings.scales
            if self.size > BEFORE:
                gradient[:, BEFORE:] += np.asarray(pull_back(self.law, block[:, BEFORE:], rows.u, by_residual))
            potential = 0.5 * (block**2).sum(axis=1) - np.asarray(density)
            parts.append((potential[:count], gradient[:count]))
        potential, gradient = (np.concatenate(part) for part in zip(*parts, strict=True))
        sound = np.isfinite(potential) & np.isfinite(gradient).all(axis=1)
        return np.where(sound, potential, NOWHERE), np.where(sound[:, None], gradient, 0.0)

    def states(self, z: np.ndarray, curve: np.ndarray) -> State:
        """Where the discrepancy of each lane ends; every number of the state is (lane,)."""
        parts = []
        for count, block, residuals, rows in self._blocks(z, curve):
            state = final_states(residuals, self.log_scales(block), rows, self.settings)
            parts.append(jax.tree.map(lambda array, count=count: np.asarray(array)[:count], state))
        return jax.tree.map(lambda *arrays: np.concatenate(arrays), *parts)
