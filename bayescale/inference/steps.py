"""What chains measured at each of their steps: kept with the draws that are kept, and named as people know it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

__all__ = ["stats_of", "thinned"]


def thinned(
    theta: Mapping[str, np.ndarray], steps: Mapping[str, np.ndarray], thin: int
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Every `thin`-th draw; one counts as divergent when any of the transitions since the last one was."""
    diverging = steps["diverging"]
    whole = diverging.shape[1] // thin * thin
    grouped = diverging[:, :whole].reshape(len(diverging), -1, thin).any(axis=2)
    kept = {name: values[:, thin - 1 : whole : thin] for name, values in steps.items()}
    return {name: values[:, thin - 1 : whole : thin] for name, values in theta.items()}, kept | {"diverging": grouped}


def stats_of(steps: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Statistics (chain, draw) under ArviZ's names."""
    leapfrogs = steps["leapfrogs"]
    return {
        "acceptance_rate": steps["accept"],
        "diverging": steps["diverging"],
        "n_steps": leapfrogs,
        "tree_depth": np.floor(np.log2(np.maximum(leapfrogs, 1))).astype(np.int64) + 1,
        "energy": steps["energy"],
        "lp": -steps["potential"],
        "step_size": steps["step_size"],
    }
