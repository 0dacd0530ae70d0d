"""A table of learning curves, sorted into runs: who was trained on which second language, and with which seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bayescale.errors import RunsError
from bayescale.runs import Runs

__all__ = ["Measured", "measured_curves"]

FEWEST = 5
SEEDS = ("seed", "run")

Measured = dict[tuple[str, str], list[tuple[np.ndarray, np.ndarray]]]
"""(target, source) -> its runs, each as tokens and losses by rising tokens; the source is "" in monolingual runs."""


def measured_curves(runs: Runs, first: float) -> Measured:
    """The runs of every (target, source).

    Parameters
    ----------
    runs : Runs
        One row a checkpoint: ``D``, ``loss`` on the target, ``target``, ``source`` (empty, or the target, in a
        monolingual run), and ``seed`` or ``run`` where a cell has several.
    first : float
        Checkpoints with fewer tokens are left out.

    Raises
    ------
    RunsError
        A column is missing, a run has two losses at the same tokens or fewer than five checkpoints, or a bilingual run
        has no monolingual one of its target.
    """
    frame = _frame(runs)
    found: Measured = {}
    for (target, source, seed), rows in frame.groupby(["target", "source", "seed"], sort=True):
        kept = rows[rows["D"] >= first].sort_values("D")
        where = f"{target}, {f'with {source}' if source else 'monolingual'}" + (f", run {seed}" if seed else "")
        repeated = kept["D"].duplicated()
        if repeated.any():
            raise RunsError(
                f"{runs.source}: {where} has two losses at {kept['D'][repeated].iloc[0]:.6g} tokens: if these are two "
                "runs, tell them apart by a column named seed"
            )
        if len(kept) < FEWEST:
            raise RunsError(
                f"{runs.source}: {where} has {len(kept)} of {len(rows)} checkpoints from {first:.3g} tokens on; a "
                f"curve needs {FEWEST}. Give more checkpoints, or use earlier ones with --start"
            )
        found.setdefault((target, source), []).append((kept["D"].to_numpy(), kept["loss"].to_numpy()))
    for target, source in found:
        if (target, "") not in found:
            raise RunsError(
                f"{runs.source}: {target} with {source} has no monolingual run of {target} to be compared with: add "
                f"one, with the source left empty or {target}"
            )
    if not any(source for _, source in found):
        raise RunsError(f"{runs.source}: all runs are monolingual; a score needs runs that name a source other than "
                        "their target")  # fmt: skip
    return found


def _frame(runs: Runs) -> pd.DataFrame:
    columns = {"D": runs["D"], "loss": runs["loss"]}
    for name in ("target", "source"):
        if name not in runs:
            raise RunsError(
                f"{runs.source} has no column {name!r}: one row is a checkpoint, with the language whose loss it is "
                "(target) and the one trained beside it (source, empty in a monolingual run)"
            )
        columns[name] = np.array([_label(cell) for cell in runs[name]], dtype=object)
    seed = next((name for name in SEEDS if name in runs), None)
    columns["seed"] = np.array([_label(cell) for cell in runs[seed]] if seed else [""] * len(runs), dtype=object)
    alone = columns["source"] == columns["target"]
    columns["source"][alone] = ""
    empty = np.flatnonzero(columns["target"] == "")
    if empty.size:
        raise RunsError(f"{runs.source}: the target of checkpoint {empty[0] + 1} is empty")
    return pd.DataFrame(columns)


def _label(cell: object) -> str:
    return "" if cell is None or (isinstance(cell, float) and np.isnan(cell)) else str(cell).strip()


def pair_names(found: Mapping[tuple[str, str], Sequence[object]]) -> list[tuple[str, str]]:
    """The (target, source) of the bilingual runs, sorted."""
    return sorted(pair for pair in found if pair[1])
