"""One point of the growth curves, in a process of its own so that its peak memory is its own; prints one JSON line."""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

import numpy as np

from bayescale import Model, Runs
from bayescale._float64 import jax, jnp
from bayescale.inference.anchors import anchors_of
from bayescale.inference.density import Density, Table, pad
from benchmarks import ours, tables

__all__ = ["measure"]

# Gradients are timed for this many chains at once, and over loops of this many rows.
GRADIENTS = 4
EVALUATIONS = 200_000


def _seconds_per_gradient(model: Model, table: Table, chains: int) -> float:
    """Of one gradient of one chain, `chains` at a time and many in one compiled loop, as in sampling."""
    count = max(1, EVALUATIONS // len(table.weight))
    at = jnp.stack([Density(model, table).unconstrain(tables.TRUTH)] * chains)

    def gradients(z: Any, table: Table) -> Any:
        gradient = jax.vmap(lambda z: Density(model, table).measure(z)[1])
        # each depends on the one before, or the loop would be left out
        return jax.lax.fori_loop(0, count, lambda _, z: z - 1e-16 * gradient(z), z)

    compiled = jax.jit(gradients).lower(at, table).compile()
    jax.block_until_ready(compiled(at, table))
    spent = []
    for _ in range(9):
        began = time.perf_counter()
        jax.block_until_ready(compiled(at, table))
        spent.append(time.perf_counter() - began)
    return float(np.median(spent)) / (chains * count)


def _table(model: Model, runs: Runs) -> Table:
    table: Table = jax.device_put(pad(model.data(runs), np.log(runs["loss"]), anchors_of(model, model.data(runs))))
    return table


def measure(rows: int, chains: int, draws: int, warm: bool) -> dict[str, Any]:
    """Fit a simulated table, twice where `warm`.

    Returns
    -------
    dict
        ``first`` and ``warm`` are seconds of sampling with the search for the mode, ``whole`` of the last call of
        ``bayescale.fit``, ``gradient`` of one gradient of one chain, ``memory`` is the peak resident set in GB.
    """
    runs = tables.simulate(rows)
    first = ours.sample(runs, chains, draws, 0)
    last = ours.sample(runs, chains, draws, 1) if warm else first
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9
    return {
        "rows": rows,
        "chains": chains,
        "draws": draws,
        "first": first.seconds,
        "warm": last.seconds if warm else float("nan"),
        "whole": last.whole,
        "leapfrogs": last.leapfrogs,
        "min_ess": last.min_ess,
        "max_rhat": last.convergence.max_rhat,
        "draws_per_second": chains * draws / last.seconds,
        "gradient": _seconds_per_gradient(tables.model(), _table(tables.model(), runs), min(chains, GRADIENTS)),
        "memory": memory,
    }


if __name__ == "__main__":
    rows, chains, draws, warm = map(int, sys.argv[1:5])
    print(json.dumps(measure(rows, chains, draws, bool(warm))))
