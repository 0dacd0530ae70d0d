"""Wall seconds of whole processes: Python started, table read, law fitted, summary printed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["CACHED", "FRESH", "PEER_CACHED", "PEER_FRESH", "Process", "processes", "wall"]

FRESH = "bayescale, no compilation cache"
CACHED = "bayescale command line, cache filled by an earlier process"
PEER_FRESH = "PyMC + nutpie, no compilation cache"
PEER_CACHED = "PyMC + nutpie, caches filled by an earlier process"
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Process:
    """A command to be timed.

    Attributes
    ----------
    label : str
        What it is called in the results.
    arguments : tuple of str
        Of the Python interpreter.
    environment : mapping of str to str
        Added to ours; an empty string removes a variable.
    fresh : str
        Variable that is given a new, empty folder each time, as ``{}`` in its value; none where empty.
    """

    label: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    fresh: tuple[str, str] = ("", "")


def wall(process: Process, folder: Path) -> float:
    """Run it once.

    Raises
    ------
    RuntimeError
        It failed; the message ends in what it wrote on stderr.
    """
    environment = {**os.environ, **process.environment}
    name, value = process.fresh
    if name:
        environment[name] = value.format(folder / f"fresh-{time.monotonic_ns()}")
    environment = {name: value for name, value in environment.items() if value}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *process.arguments], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        raise RuntimeError(f"{process.label} ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return seconds


def _all(table: Path, folder: Path) -> list[Process]:
    """Ours and theirs in turn."""
    ours = ("-m", "benchmarks.cold_bayescale", str(table))
    theirs = ("-m", "benchmarks.cold_pymc_nutpie", str(table))
    line = ("-m", "bayescale", "fit", str(table), "--law", "chinchilla")
    cache, compiled = str(folder / "jax"), f"base_compiledir={folder / 'pytensor'}"
    return [
        Process(FRESH, ours, {"JAX_COMPILATION_CACHE_DIR": ""}),
        Process(PEER_FRESH, theirs, fresh=("PYTENSOR_FLAGS", "base_compiledir={}")),
        Process(CACHED, line, {"JAX_COMPILATION_CACHE_DIR": cache}),
        Process(PEER_CACHED, theirs, {"PYTENSOR_FLAGS": compiled}),
    ]


def processes(table: Path, folder: Path, repeats: int) -> Iterator[tuple[str, int, float]]:
    """Time every process `repeats` times, in turn, after one untimed round that fills caches and reads the disk.

    Parameters
    ----------
    table : Path
        CSV with N, D, loss.
    folder : Path
        For the caches; empty.
    repeats : int
        Timed rounds.

    Yields
    ------
    label, repeat, seconds
        Repeat 0 is the untimed round: of the command line, the process that fills its cache.
    """
    for repeat in range(repeats + 1):
        for process in _all(table, folder):
            seconds = wall(process, folder)
            print(f"  {process.label}: {seconds:.1f} s{'' if repeat else ' (fills caches, not counted)'}", flush=True)
            yield process.label, repeat, seconds
