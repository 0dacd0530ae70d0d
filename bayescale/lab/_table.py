"""The table of runs: train every cell and write the CSV."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bayescale.errors import BayescaleError
from bayescale.lab._source import Source
from bayescale.lab._sweeps import FULL, QUICK, Sweeps
from bayescale.lab._training import train

__all__ = ["COLUMNS", "LabResult", "make_table", "write_table"]

COLUMNS = ("sweep", "budget", "width", "N", "D", "C", "seed", "loss", "entropy", "attainable_floor")
DECIMALS = 6


@dataclass(frozen=True)
class LabResult:
    """What :func:`write_table` made.

    Attributes
    ----------
    out : str
        File that was written.
    n_runs : int
        Rows in it.
    entropy : float
        Conditional entropy of the source [nats/token].
    attainable_floor : float
        Cross-entropy of the true probabilities on the held-out slice [nats/token].
    """

    out: str
    n_runs: int
    entropy: float
    attainable_floor: float


def make_table(
    source: Source | None = None,
    *,
    sweeps: Sweeps = FULL,
    seeds: int = 4,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Train every run of the sweeps and table the held-out losses.

    The same source and seeds give the same table on the same machine and versions. On another CPU the losses move a
    little, since float32 sums are taken in another order.

    Parameters
    ----------
    source : Source, optional
        The language; ``Source.draw(seed=0)`` by default.
    sweeps : Sweeps
        Which runs; :data:`bayescale.lab.FULL` or :data:`bayescale.lab.QUICK`, or others.
    seeds : int
        Training seeds for each configuration, numbered from 0.
    progress : callable, optional
        Called as ``progress(done, total)`` with counts of runs, first with 0.

    Returns
    -------
    pandas.DataFrame
        Columns ``sweep`` (D, N or isoflop), ``budget`` [FLOPs] (NaN for the D and N sweeps), ``width`` [hidden
        units], ``N`` [non-embedding parameters], ``D`` [tokens], ``C`` = 6 N D [FLOPs], ``seed``, ``loss``
        [nats/token], ``entropy`` [nats/token] and ``attainable_floor`` [nats/token]; losses are rounded to 1e-6.

    Raises
    ------
    BayescaleError
        Fewer than one seed, or no run that the pool has the tokens for.

    Examples
    --------
    >>> from bayescale.lab import Source, Sweeps, make_table
    >>> source = Source.draw(pool=50_000, held_out=10_000)
    >>> sweeps = Sweeps(budgets=(1e8,), widths=(8,), D_sweep=(), N_sweep_D=20_000)
    >>> make_table(source, sweeps=sweeps, seeds=1)["D"].tolist()
    [20000, 40849]
    """
    if seeds < 1:
        raise BayescaleError(f"lab: {seeds} training seeds asked for; expected at least 1.")
    source = Source.draw() if source is None else source
    cells = sweeps.cells(source.pool.size)
    if not cells:
        raise BayescaleError(
            f"lab: no run of these sweeps fits a pool of {source.pool.size:,} tokens. Draw the source with a larger "
            "pool, or give smaller budgets and token counts."
        )
    report = progress or (lambda done, total: None)
    report(0, len(cells) * seeds)
    rows = []
    for count, cell in enumerate(cells, start=1):
        for seed, loss in enumerate(train(source, cell, range(seeds))):
            rows.append((cell.sweep, cell.budget, cell.width, cell.N, cell.D, 6 * cell.N * cell.D, seed, float(loss)))
        report(count * seeds, len(cells) * seeds)
    table = pd.DataFrame(rows, columns=list(COLUMNS[:8])).astype({"budget": "float64"})
    table = table.assign(entropy=source.entropy, attainable_floor=source.attainable_floor)
    return table.round({"loss": DECIMALS, "entropy": DECIMALS, "attainable_floor": DECIMALS})


def write_table(
    out: str | Path,
    *,
    seeds: int = 4,
    quick: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> LabResult:
    """Draw the source, train the runs and write the table as CSV.

    Parameters
    ----------
    out : str or Path
        File to write.
    seeds : int
        Training seeds for each configuration.
    quick : bool
        Train the small sweeps (:data:`bayescale.lab.QUICK`) in place of the full ones.
    seed : int
        Seed of the source; the training runs' random numbers follow from it too.
    progress : callable, optional
        Called as ``progress(done, total)`` with counts of runs.

    Returns
    -------
    LabResult

    Raises
    ------
    BayescaleError
        A folder that does not exist, or fewer than one seed.

    Examples
    --------
    >>> from bayescale.lab import write_table
    >>> write_table("runs.csv", quick=True, seeds=1).n_runs  # doctest: +SKIP
    13
    """
    path = Path(out)
    if not path.parent.is_dir():
        raise BayescaleError(f"lab: cannot write {path}: the folder {path.parent} does not exist. Make it first.")
    if path.is_dir():
        raise BayescaleError(
            f"lab: cannot write {path}: it is a folder. Give a file name, such as {path / 'runs.csv'}."
        )
    source = Source.draw(seed)
    table = make_table(source, sweeps=QUICK if quick else FULL, seeds=seeds, progress=progress)
    table.to_csv(path, index=False, lineterminator="\n")
    return LabResult(str(path), len(table), source.entropy, source.attainable_floor)
