"""The ratios, and what they are meant to be."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks import cold, warm

__all__ = ["ratios"]


def _row(what: str, value: float, target: float, at_least: bool, kind: str = "target") -> dict[str, object]:
    met = value >= target if at_least else value <= target
    return {
        "what": what,
        "value": value,
        "target": f"{'>=' if at_least else '<='} {target:g}" if kind == "target" else "",
        "met": "" if kind != "target" or np.isnan(value) else ("yes" if met else "NO"),
    }


def _warm(lines: list[warm.Line], traced: int) -> list[dict[str, object]]:
    ours = warm.median(lines, warm.OURS, "warm", "ess_per_second")
    theirs = warm.median(lines, warm.NUTPIE, "warm", "ess_per_second")
    best = max(line.run.ess_per_second for line in lines if line.method == warm.NUMPYRO)
    calls = [line.run.min_ess / line.run.whole for line in lines if line.state.startswith("fresh sampler")]
    whole = [line.run.min_ess / line.run.whole for line in lines if line.method == warm.OURS and line.state == "warm"]
    return [
        _row("warm min-ESS/s over nutpie's sampling alone", ours / theirs, 50, True),
        _row("warm min-ESS/s over the best NumPyro run, its compiling left out", ours / best, 100, True),
        _row("warm min-ESS/s over a fresh NumPyro MCMC.run, which compiles again", ours / calls[0], 100, True, ""),
        _row(
            "the first, by the whole of fit() with its diagnostics",
            np.median(whole) / theirs,
            50,
            True,
            "",
        ),
        _row("functions traced for a second table of similar size", traced, 0, False),
    ]


def _cold(processes: pd.DataFrame) -> list[dict[str, object]]:
    timed = processes[processes["repeat"] > 0]
    seconds = timed.groupby("process")["seconds"].median()
    fresh, cached, peer_fresh, peer = (
        float(seconds[label]) for label in (cold.FRESH, cold.CACHED, cold.PEER_FRESH, cold.PEER_CACHED)
    )
    return [
        _row("whole process, no compilation cache on either side", fresh / peer_fresh, 0.6, False),
        _row("whole process, ours without a cache, nutpie's with its own filled", fresh / peer, 0.6, False, ""),
        _row("whole process, both caches filled", cached / peer, 0.35, False),
        _row("whole process, our cache filled, nutpie's not", cached / peer_fresh, 0.35, False, ""),
    ]


def ratios(lines: list[warm.Line], traced: int, processes: pd.DataFrame) -> pd.DataFrame:
    """Ours over theirs, of medians, with the target where there is one; sections that were not run are left out."""
    rows = _warm(lines, traced) if lines else []
    rows += _cold(processes) if not processes.empty else []
    return pd.DataFrame(rows)
