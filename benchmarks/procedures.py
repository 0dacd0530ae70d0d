"""The study behind docs/procedures.md: bias and coverage of every fitting procedure on tables whose truth is known.

`python -m benchmarks.procedures` simulates tables from a Chinchilla surface, fits each with every procedure as a user
would, and asks for the exponent of N*, and for N* and the loss of the best run at 10, 100 and 1,000 times the largest
budget. One factor at a time is moved away from the middle design. Results are written cell by cell, so that an
interrupted study is continued by the same command.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bayescale
from bayescale import Runs
from bayescale.errors import BayescaleError
from bayescale.fits import Fit
from bayescale.laws.chinchilla import Chinchilla
from benchmarks.procedures_picture import draw

__all__ = ["CELLS", "Cell", "score", "simulate"]

RESULTS = Path(__file__).parent / "results"
BEYOND = (10.0, 100.0, 1000.0)
LEVEL = (0.05, 0.95)
# What makes a study of thousands of fits possible; the optimum is that of the defaults.
SETTINGS: dict[str, dict[str, Any]] = {
    "nuts": {},
    "huber": {"replicates": 200, "starts": 256},
    "least-squares": {"replicates": 200},
    "vpnls": {"replicates": 200},
    "isoflop": {"replicates": 200},
    "envelope": {"replicates": 200},
}

# L = E + A / N^alpha + B / D^beta: Hoffmann's rounded constants, and the two surfaces of Open-Athena's study.
SURFACES = {
    "symmetric": {"E": 1.69, "A": 400.0, "B": 400.0, "alpha": 0.31, "beta": 0.31},
    "chinchilla": {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.34, "beta": 0.28},
    "asymmetric": {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.465, "beta": 0.155},
}


@dataclass(frozen=True)
class Cell:
    """A kind of table.

    Attributes
    ----------
    surface : str
        A key of `SURFACES`.
    grid : {"centred", "off-centre", "drifting", "curves"}
        Where the sizes of a budget stand: around the true optimum; around three times it; drifting from one to the
        other over the budgets; the same at all budgets, each size one run whose checkpoints they are.
    budgets, sizes : int
        Budgets from 1e18 to 1e21 FLOPs, and sizes of each, over a factor of 64 (of 4,096 for curves, around the optimum
        of the middle budget).
    noise : {"normal", "student-t", "heteroscedastic", "undertrained"}
        On log loss; for curves shared by the points of a run, which have a fifth of it of their own. Student-t has 3
        degrees of freedom; heteroscedastic has an sd that falls from three times the usual at the smallest budget to a
        third of it at the largest; undertrained is normal, with 5 % of the runs (at least one) 3 to 20 % too high.
    """

    surface: str = "chinchilla"
    grid: str = "centred"
    budgets: int = 5
    sizes: int = 8
    noise: str = "normal"

    @property
    def name(self) -> str:
        """What distinguishes the cell from the middle one."""
        usual = Cell()
        moved = [
            str(v) for k, v in asdict(self).items() if k in ("surface", "grid", "noise") and v != getattr(usual, k)
        ]
        if (self.budgets, self.sizes) != (usual.budgets, usual.sizes) and self.grid != "curves":
            moved.append(f"{self.budgets * self.sizes} runs")
        return ", ".join(moved) or "middle"


MIDDLE = Cell()
CELLS = (
    MIDDLE,
    *(replace(MIDDLE, surface=surface) for surface in ("symmetric", "asymmetric")),
    *(replace(MIDDLE, grid=grid) for grid in ("off-centre", "drifting")),
    *(replace(MIDDLE, budgets=b, sizes=s) for b, s in ((1, 5), (2, 5), (8, 25))),
    *(replace(MIDDLE, noise=noise) for noise in ("student-t", "heteroscedastic", "undertrained")),
    replace(MIDDLE, grid="curves", budgets=20, sizes=12),
    replace(MIDDLE, surface="asymmetric", grid="drifting"),
    replace(MIDDLE, surface="asymmetric", grid="off-centre", noise="undertrained"),
)
SD = 0.005


def _at_reference(surface: str) -> tuple[Chinchilla, dict[str, float]]:
    """The law, and its parameters at the reference run."""
    law, constants = Chinchilla(), SURFACES[surface]
    a, b = constants["A"] * law.N0 ** -constants["alpha"], constants["B"] * law.D0 ** -constants["beta"]
    return law, {"E": constants["E"], "a": a, "b": b, "alpha": constants["alpha"], "beta": constants["beta"]}


def truth(cell: Cell) -> dict[str, float]:
    """The quantities that are asked for, as they are."""
    law, theta = _at_reference(cell.surface)
    known = {"N_exponent": float(law.exponents(1e21, **theta)[0])}
    for factor in BEYOND:
        known[f"N*@{factor:g}x"] = float(law.optimum(1e21 * factor, **theta)[0])
        known[f"loss@{factor:g}x"] = float(law.frontier(1e21 * factor, **theta))
    return known


def simulate(cell: Cell, seed: int) -> Runs:
    """One table of the cell."""
    generator = np.random.default_rng([seed, *cell.name.encode()])
    if cell.grid == "curves":
        return _curves(cell, seed, generator)
    law, theta = _at_reference(cell.surface)
    budgets = np.geomspace(1e18, 1e21, cell.budgets) if cell.budgets > 1 else np.array([1e21])
    share = np.linspace(0.0, 1.0, cell.budgets)
    off = {"centred": np.ones(cell.budgets), "off-centre": np.full(cell.budgets, 3.0), "drifting": 3.0**share}[
        cell.grid
    ]
    centre = np.asarray([law.optimum(C, **theta)[0] for C in budgets]) * 3.0**off
    N = (centre[:, None] * np.geomspace(1 / 8, 8, cell.sizes)).ravel()
    C = np.repeat(budgets, cell.sizes)
    D = C / (6.0 * N)
    scatter = generator.standard_t(3, len(N)) if cell.noise == "student-t" else generator.standard_normal(len(N))
    sd = SD * (3.0 * 9.0 ** -np.repeat(share, cell.sizes) if cell.noise == "heteroscedastic" else 1.0)
    log_loss = np.log(np.asarray(law.loss(N, D, **theta))) + sd * scatter
    if cell.noise == "undertrained":
        late = generator.choice(len(N), max(1, round(0.05 * len(N))), replace=False)
        log_loss[late] += np.log(1.0 + generator.uniform(0.03, 0.2, len(late)))
    return Runs.from_arrays(N=N, D=D, loss=np.exp(log_loss), source=f"{cell.name}, {seed}")


def _curves(cell: Cell, seed: int, generator: np.random.Generator) -> Runs:
    """Training curves, their points at the budgets."""
    law, theta = _at_reference(cell.surface)
    middle = float(law.optimum(10**19.5, **theta)[0])
    size, C = np.meshgrid(middle * np.geomspace(1 / 64, 64, cell.sizes), np.geomspace(1e18, 1e21, cell.budgets))
    run = np.broadcast_to(np.arange(cell.sizes), size.shape)
    off = generator.standard_normal(cell.sizes)[run] + 0.2 * generator.standard_normal(size.shape)
    log_loss = np.log(np.asarray(law.loss(size, C / (6.0 * size), **theta))) + SD * off
    columns = {"N": size, "D": C / (6.0 * size), "loss": np.exp(log_loss), "run": run}
    return Runs.from_arrays(**{n: v.ravel() for n, v in columns.items()}, source=f"{cell.name}, {seed}")


def _asked(fit: Fit) -> dict[str, np.ndarray]:
    """Draws of every quantity."""
    made = fit.allocation([1e21 * factor for factor in BEYOND])
    found = {"N_exponent": made["N_exponent"].values[:, 0]}
    for place, factor in enumerate(BEYOND):
        found[f"N*@{factor:g}x"] = made["N"].values[:, place]
        found[f"loss@{factor:g}x"] = made["loss"].values[:, place]
    return found


def score(cell: Cell, seed: int, procedure: str) -> Iterator[dict[str, Any]]:
    """One row a quantity: the answer, its interval, and whether that holds the truth."""
    began = time.perf_counter()
    known = truth(cell)
    common = {"cell": cell.name, **asdict(cell), "seed": seed, "procedure": procedure}
    try:
        fit = bayescale.fit(simulate(cell, seed), procedure=procedure, seed=seed, **SETTINGS[procedure])
        drawn, point = _asked(fit), _asked(fit.at_estimate)
    except BayescaleError as error:
        for name in known:
            yield common | {"quantity": name, "refused": str(error)[:200], "seconds": time.perf_counter() - began}
        return
    seconds = time.perf_counter() - began
    for name, value in known.items():
        draws = drawn[name][np.isfinite(drawn[name])]
        answered = draws.size > 1
        low, high = np.quantile(draws, LEVEL) if answered else (np.nan, np.nan)
        yield common | {
            "quantity": name,
            "truth": value,
            "estimate": float(np.median(point[name])),
            "low": low,
            "high": high,
            "covered": float(low <= value <= high) if answered else np.nan,
            "trusted": fit.diagnostics.ok,
            "seconds": seconds,
        }


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Over the tables of a cell: how many were answered, bias, error, coverage with its standard error, and width.

    Errors and widths are those of log N*, and relative to the truth for the exponent and the loss.
    """
    answered = rows.dropna(subset=["covered"]).copy()
    sizes = answered["quantity"].str.startswith("N*")
    with np.errstate(invalid="ignore"):
        ratio = answered["estimate"] / answered["truth"]
        answered["error"] = np.where(sizes, np.log(ratio), ratio - 1.0)
        spread = np.log(answered["high"] / answered["low"])
        answered["width"] = np.where(sizes, spread, (answered["high"] - answered["low"]) / answered["truth"])
    keys = ["cell", "procedure", "quantity"]
    groups = answered.groupby(keys, sort=False)
    summary = pd.DataFrame({"tables": rows.groupby(keys, sort=False).size()})
    summary["answered"] = groups.size()
    summary["answered"] = summary["answered"].fillna(0).astype(int)
    summary["trusted"] = groups["trusted"].apply(lambda said: said.astype(float).mean())
    summary["bias"] = groups["error"].mean()
    summary["rmse"] = groups["error"].apply(lambda error: float(np.sqrt(np.square(error).mean())))
    summary["coverage"] = groups["covered"].mean()
    summary["coverage_se"] = np.sqrt(0.9 * 0.1 / summary["answered"].where(summary["answered"] > 0))
    summary["width"] = groups["width"].median()
    summary["seconds"] = groups["seconds"].median()
    return summary.reset_index()


def markdown(summary: pd.DataFrame, quantity: str, column: str = "coverage") -> str:
    """A table for the page: one row a cell, one column a procedure; empty where fewer than half were answered."""
    part = summary[summary["quantity"] == quantity]
    shown = part[part["answered"] >= 0.5 * part["tables"]].pivot(index="cell", columns="procedure", values=column)
    names = [name for name in SETTINGS if name in shown]
    lines = [f"| {quantity} | {' | '.join(f'`{name}`' for name in names)} |", "|---" * (1 + len(names)) + "|"]
    for cell in (cell.name for cell in CELLS if cell.name in shown.index):
        values = [shown.loc[cell, name] for name in names]
        lines.append(f"| {cell} | {' | '.join('' if np.isnan(v) else f'{v:.2f}' for v in values)} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing of the study, then summarise and draw it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.procedures", description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=100, help="tables of each cell (default 100)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first table, to share the work out")
    parser.add_argument("--cells", nargs="*", help="names of cells, e.g. middle asymmetric (default: all)")
    parser.add_argument("--procedures", nargs="*", default=list(SETTINGS))
    parser.add_argument("--rows", type=Path, nargs="+", default=[RESULTS / "procedures_rows.csv"], help="tidy rows")
    parser.add_argument("--only-summary", action="store_true", help="summarise the rows there are")
    arguments = parser.parse_args()
    cells = [cell for cell in CELLS if not arguments.cells or cell.name in arguments.cells]
    into = arguments.rows[0]
    if not arguments.only_summary:
        seen = pd.read_csv(into) if into.exists() else pd.DataFrame(columns=["cell", "seed", "procedure"])
        done = set(zip(seen["cell"], seen["seed"], seen["procedure"], strict=True))
        for seed in range(arguments.first, arguments.first + arguments.tables):
            for cell in cells:
                missing = [name for name in arguments.procedures if (cell.name, seed, name) not in done]
                rows = [row for name in missing for row in score(cell, seed, name)]
                if rows:
                    seen = pd.concat([seen, pd.DataFrame(rows)], ignore_index=True)
            seen.to_csv(into, index=False)
            print(f"table {seed}: {len(seen)} rows", flush=True)
    rows = pd.concat([pd.read_csv(path) for path in arguments.rows], ignore_index=True)
    summary = summarise(rows)
    summary.to_csv(RESULTS / "procedures.csv", index=False, float_format="%.4g")
    draw(summary, RESULTS / "procedures.png")
    for quantity in ("N_exponent", "N*@100x", "loss@100x"):
        print(f"\ncoverage of nominal 90 % intervals\n{markdown(summary, quantity)}")
    print(f"\nbias of the exponent\n{markdown(summary, 'N_exponent', 'bias')}")
    print(f"\ntables of a cell: {summary['tables'].min()} to {summary['tables'].max()}")


if __name__ == "__main__":
    main()
