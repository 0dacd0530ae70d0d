"""How cost grows with rows and with chains."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["CHAINS", "ROWS", "by_chains", "by_rows"]

ROWS = (100, 1_000, 10_000, 100_000, 1_000_000)
CHAINS = (1, 4, 16, 64, 256, 1024)
# From here on fewer draws, and no second fit: the curve is read off gradients, not off effective samples.
LONG = 100_000
TABLE = 245
ROOT = Path(__file__).resolve().parents[1]


def _point(rows: int, chains: int, draws: int, warm: bool, limit: float) -> dict[str, Any] | None:
    command = [sys.executable, "-m", "benchmarks.one_size", str(rows), str(chains), str(draws), str(int(warm))]
    label = f"  {rows} rows, {chains} chains x {draws} draws: "
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        print(f"{label}not done after {limit:.0f} s, left out", flush=True)
        return None
    if done.returncode:
        print(f"{label}failed\n{done.stderr[-1500:]}", flush=True)
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{label}{found['first']:.1f} s first, {found['warm']:.2f} s warm, {found['leapfrogs']:.1f} leapfrogs a draw, "
        f"{found['gradient'] * 1e6:.0f} us a gradient, {found['memory']:.2f} GB",
        flush=True,
    )
    return found


def by_rows(rows: Iterable[int], limit: float) -> Iterator[dict[str, Any]]:
    """4 chains; 1000 draws each, 100 from 100,000 rows on. Points that take over `limit` seconds are left out."""
    for size in rows:
        found = _point(size, 4, 1000 if size < LONG else 100, size < LONG, limit)
        if found is not None:
            yield found


def by_chains(chains: Iterable[int], limit: float) -> Iterator[dict[str, Any]]:
    """250 draws of each chain on a table of the Epoch table's size."""
    for count in chains:
        found = _point(TABLE, count, 250, True, limit)
        if found is not None:
            yield found
