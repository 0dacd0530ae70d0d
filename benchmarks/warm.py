"""Effective samples per second in a process that has compiled already, all methods in turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bayescale import Runs
from bayescale.inference.program import TRACES
from benchmarks import ours, pymc_nutpie
from benchmarks.measured import Measured
from benchmarks.pymc_model import compile_model

__all__ = ["NUMPYRO", "NUTPIE", "OURS", "Line", "numpyro", "ours_and_nutpie", "second_table"]

OURS, NUTPIE, NUMPYRO = "bayescale", "PyMC + nutpie", "NumPyro MCMC(NUTS)"


class Line(NamedTuple):
    """One timed run: whose, of which state of the process, its draws, and the seconds spent compiling."""

    method: str
    state: str
    repeat: int
    run: Measured
    compile: float


def _columns(runs: Runs) -> tuple[Any, Any, Any]:
    return runs["N"], runs["D"], runs["loss"]


def ours_and_nutpie(runs: Runs, chains: int, draws: int, repeats: int) -> Iterator[Line]:
    """A first run of each, then `repeats` warm runs in turn, with another seed each."""
    first = ours.sample(runs, chains, draws, 0)
    again = ours.sample(runs, chains, draws, 0)
    yield Line(OURS, "first", 0, first, first.whole - again.whole)
    compiled, seconds = compile_model(*_columns(runs))
    yield Line(NUTPIE, "first", 0, pymc_nutpie.sample(compiled, chains, draws, 0), seconds)
    for repeat in range(1, repeats + 1):
        yield Line(OURS, "warm", repeat, ours.sample(runs, chains, draws, repeat), 0.0)
        yield Line(NUTPIE, "warm", repeat, pymc_nutpie.sample(compiled, chains, draws, repeat), 0.0)


def numpyro(runs: Runs, chains: int, draws: int) -> Iterator[Line]:
    """A fresh sampler by each chain method; then the faster afresh, to see it compile again, and once more as is."""
    from benchmarks import numpyro_mcmc

    spent = {}
    for method in ("vectorized", "sequential"):
        mcmc = numpyro_mcmc.sampler(chains, draws, method)
        run, compiling = numpyro_mcmc.sample(mcmc, _columns(runs), 0, NUMPYRO)
        spent[method] = run.seconds
        yield Line(NUMPYRO, f"first, {method}", 0, run, compiling)
    faster = min(spent, key=lambda method: spent[method])
    mcmc = numpyro_mcmc.sampler(chains, draws, faster)
    for repeat, state in ((1, f"fresh sampler, {faster}"), (2, f"same sampler, {faster}")):
        run, compiling = numpyro_mcmc.sample(mcmc, _columns(runs), repeat, NUMPYRO)
        yield Line(NUMPYRO, state, repeat, run, compiling)


def second_table(runs: Runs, chains: int, draws: int) -> tuple[Line, int]:
    """A first fit to another table in the same process, and how many functions it traced."""
    before = sum(TRACES.values())
    run = ours.sample(runs, chains, draws, 1)
    return Line(OURS, "second table", 0, run, 0.0), sum(TRACES.values()) - before


def median(lines: list[Line], method: str, state: str, field: str) -> float:
    """Median of ``seconds``, ``whole``, ``min_ess``, ``ess_per_second`` or ``leapfrogs`` over runs of that state."""
    values = [getattr(line.run, field) for line in lines if line.method == method and line.state.startswith(state)]
    return float(np.median(values)) if values else float("nan")
