"""The forecasts of docs/forecasts.md: published large runs from small ones, and simulated tables whose truth is known.

`python -m benchmarks.forecasts --tables FOLDER` forecasts Gadre's large runs from five small ones, OLMo's 7B and 13B
from its ladder, and the runs above 1e21 FLOPs of the Chinchilla table from those up to 1e20, and draws the last. The
tables are public; docs/forecasts.md names them. `python -m benchmarks.forecasts --simulate 100` simulates tables from
laws that the model has and laws that it has not, and goes on where it stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescale import Runs
from bayescale.discrepancy import DISTANCES
from bayescale.evaluation import HuberBootstrap
from bayescale.fits import Fit
from bayescale.inference.sampler import Sampler
from bayescale.laws.kappa import Kappa
from bayescale.model import Model
from bayescale.prior_sets import load
from bayescale.procedures import NUTS
from benchmarks.forecasts_picture import draw

__all__ = ["chinchilla", "gadre", "olmo", "simulate"]

RESULTS = Path(__file__).parent / "results"
BAND = (0.05, 0.5, 0.95)
GADRE = "gadre_published_fit_errors.csv"
OLMO = "olmo_ladder2024_runs.csv"
CHINCHILLA = "epoch2024_chinchilla_svg_extracted.csv"


def _forecast(
    train: pd.DataFrame, test: pd.DataFrame, without: str | None, seed: int = 0, by: str | None = None
) -> tuple[Fit, pd.DataFrame]:
    """Fit under the public prior set, learnt without a group; 90 % bands of new runs beside what they reached.

    Where a column is named, floor and height of the law differ between its values, and are pooled.
    """
    labels = [] if by is None else [by]
    runs = Runs.read(train[["N", "D", "loss", *labels]], needs=("N", "D", "C", "loss"))
    model = load("public").model(runs, frozenset({without} if without else ()))
    model = model if by is None else model.pool(by, "E", "R")
    fit = NUTS(model).fit(runs, seed=seed)
    made = fit.forecast({name: test[name].to_numpy() for name in ("N", "D", *labels)}, seed=seed)
    return fit, _rows(test, made["new_run_loss"].values)


def _rows(test: pd.DataFrame, drawn: np.ndarray) -> pd.DataFrame:
    low, median, high = np.quantile(drawn, BAND, axis=0)
    loss = test["loss"].to_numpy()
    return test[["N", "D", "loss"]].assign(
        q05=low, median=median, q95=high, error=100 * (median / loss - 1), width=100 * (high - low) / median,
        inside=(low <= loss) & (loss <= high),
    )  # fmt: skip


def gadre(folder: Path) -> pd.DataFrame:
    """Three corpora: five runs of at most 411M parameters, and three of 1.4B and 6.9B (C4 loss); and all together."""
    table = pd.read_csv(folder / GADRE)
    table = table[table["val"] == "c4_val"]
    parts = []
    asked: list[tuple[str, pd.DataFrame, str | None]] = [(name, rows, None) for name, rows in table.groupby("dataset")]
    for corpus, rows, by in (*asked, ("the three pooled", table, "dataset")):
        test = rows[rows["N"] > 1e9]
        fit, part = _forecast(rows[rows["in_fit"]], test, "gadre", by=by)
        parts.append(part.assign(table=corpus, published=test["relerr_pct"].to_numpy(), ok=fit.diagnostics.ok))
    return pd.concat(parts)


def olmo(folder: Path) -> pd.DataFrame:
    """16 runs of 190M to 1.3B parameters, and the 7B and 13B models (C4 loss, mean of the last five checkpoints)."""
    table = pd.read_csv(folder / OLMO).rename(
        columns={"params_non_embedding": "N", "tokens": "D", "c4_en_mean_last5": "loss"}
    )
    fit, part = _forecast(table[table["role"] == "train_in_paper"], table[table["role"] == "target"], None)
    return part.assign(table="olmo", ok=fit.diagnostics.ok)


def chinchilla(folder: Path, picture: Path) -> pd.DataFrame:
    """Runs of the Chinchilla figure up to 1e20 FLOPs, and those above 1e21: today's practice, ours, and a picture."""
    runs = Runs.read(folder / CHINCHILLA, needs=("N", "D", "C", "loss"))
    table = pd.DataFrame({name: np.asarray(runs[name]) for name in ("N", "D", "C", "loss")})
    train, test = table[table["C"] <= 1e20], table[table["C"] > 1e21]
    fit, ours = _forecast(train, test, "chinchilla")
    targets = {"N": test["N"].to_numpy(), "D": test["D"].to_numpy()}
    today = HuberBootstrap().forecast(fit.runs, targets, seed=0, without=frozenset())
    budgets = np.geomspace(train["C"].max() * 1.02, test["C"].max() * 1.3, 40)
    path = fit.path(budgets)
    path_N = np.sqrt(budgets / 120.0)
    band = HuberBootstrap().forecast(fit.runs, {"N": path_N, "D": 20.0 * path_N}, seed=0, without=frozenset())
    draw(
        train,
        test,
        budgets,
        np.quantile(path["new_run_loss"], BAND, axis=0),
        np.quantile(band.loss, BAND, axis=0),
        picture,
    )
    told = [ours.assign(table="chinchilla, public", ok=fit.diagnostics.ok)]
    told.append(_rows(test, today.loss).assign(table="chinchilla, huber-bootstrap", ok=not today.warnings))
    return pd.concat(told)


# How the loss of the simulated runs departs from the law of the model, as a factor on what is above the floor, by
# decades u from the top of the ladder.
WORLDS: dict[str, Any] = {
    "law true": lambda u: np.ones_like(u),
    # the frontier's exponent falls by a twentieth of itself a decade, below the top and beyond
    "drifting exponent": lambda u: 10 ** (0.16 * 0.05 * u * np.abs(u) / 2),
    # half a decade beyond the top the loss begins to fall by half as much again, or by a fifth
    "break beyond the data": lambda u: 10 ** (-0.08 * np.maximum(u - 0.5, 0.0)),
    "smaller break beyond the data": lambda u: 10 ** (-0.03 * np.maximum(u - 0.5, 0.0)),
}
BUDGETS = np.geomspace(1e19, 1e21, 5)
AWAY = (10.0, 100.0)


def simulate(seeds: range) -> Iterator[dict[str, Any]]:
    """Tables of 40 IsoFLOP runs over two decades from parameters drawn from the public priors, one row a forecast.

    Each is forecast with the discrepancy and without (the exact posterior where the law is true).
    """
    prior_set = load("public")
    for seed in seeds:
        for world, factor in WORLDS.items():
            generator = np.random.default_rng([seed, len(world)])
            runs, law, theta = _simulated(prior_set.priors(), factor, generator)
            model = prior_set.model(runs)
            full = NUTS(model, Sampler(draws=500)).fit(runs, seed=seed)
            kept = {name: prior for name, prior in model.overrides if name not in DISTANCES}
            exact = NUTS(Model(model.law, model.noise).with_priors(**kept), Sampler(draws=500)).fit(runs, seed=seed)
            for away in AWAY:
                N = np.sqrt(BUDGETS[-1] * away / 120.0)
                truth = _loss(law, theta, np.array([N]), np.array([20.0 * N]), factor)[0]
                observed = truth * np.exp(theta["sigma"] * generator.standard_t(4))
                row: dict[str, Any] = {"world": world, "seed": seed, "away": away, "loss": observed}
                for name, fit in (("full", full), ("exact", exact)):
                    made = fit.forecast({"N": [N], "D": [20.0 * N]}, seed=seed)["new_run_loss"].values[:, 0]
                    low, high = np.quantile(made, (0.05, 0.95))
                    row |= {f"{name}_low": low, f"{name}_high": high, f"{name}_ok": fit.diagnostics.ok}
                yield row


def _loss(law: Kappa, theta: dict[str, float], N: np.ndarray, D: np.ndarray, factor: Any) -> np.ndarray:
    law_theta = {name: theta[name] for name in law.parameters}
    mean = np.asarray(law.loss(N, D, **law_theta))
    return theta["E"] + (mean - theta["E"]) * factor(np.log10(6.0 * N * D / BUDGETS[-1]))


def _simulated(
    priors: dict[str, Any], factor: Any, generator: np.random.Generator
) -> tuple[Runs, Kappa, dict[str, float]]:
    """One table, with .5 % of Student-t noise, and the law and parameters it is from."""
    top = np.sqrt(BUDGETS[-1] / 120.0)
    law = Kappa().at(N=top, D=20.0 * top)
    theta = {name: float(prior.sample(generator, 1)[0]) for name, prior in priors.items()} | {"sigma": 0.005}
    theta["R"] = float(generator.lognormal(np.log(0.6), 0.2))
    theta["N_exponent"] = float(np.clip(theta["N_exponent"], 0.3, 0.7))
    C = np.repeat(BUDGETS, 8)
    N = np.sqrt(C / 120.0) * np.tile(np.geomspace(0.25, 4.0, 8), len(BUDGETS))
    D = C / (6.0 * N)
    noise = theta["sigma"] * generator.standard_t(4, C.size)
    return Runs.from_arrays(N=N, D=D, loss=_loss(law, theta, N, D, factor) * np.exp(noise)), law, theta


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Coverage of the 90 % band and its width over that of the exact posterior, by world and distance."""
    rows = rows.assign(
        covers=(rows["full_low"] <= rows["loss"]) & (rows["loss"] <= rows["full_high"]),
        exact_covers=(rows["exact_low"] <= rows["loss"]) & (rows["loss"] <= rows["exact_high"]),
        wider=(rows["full_high"] - rows["full_low"]) / (rows["exact_high"] - rows["exact_low"]),
    )
    grouped = rows.groupby(["world", "away"])
    return grouped.agg(
        tables=("covers", "size"),
        coverage=("covers", "mean"),
        without=("exact_covers", "mean"),
        wider=("wider", "median"),
    ).reset_index()


def main() -> None:
    """Run what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=Path, help="folder with the public tables")
    parser.add_argument("--simulate", type=int, default=0, help="simulated tables of each world")
    parser.add_argument("--rows", type=Path, default=RESULTS / "forecast_simulation_rows.csv", help="their forecasts")
    arguments = parser.parse_args()
    if arguments.tables:
        found = pd.concat(
            [gadre(arguments.tables), olmo(arguments.tables), chinchilla(arguments.tables, RESULTS / "forecast.png")]
        )
        found.to_csv(RESULTS / "forecasts.csv", index=False, float_format="%.5g")
        print(found.to_string(index=False, float_format=lambda value: f"{value:.4g}"))
        by_table = found.groupby("table", sort=False)
        print(by_table.agg(runs=("inside", "size"), inside=("inside", "sum"), width=("width", "mean"),
                           error=("error", lambda e: e.abs().mean())).to_string())  # fmt: skip
    if arguments.simulate:
        rows = _simulated_rows(arguments.simulate, arguments.rows)
        table = summary(rows)
        table.to_csv(RESULTS / "forecast_simulation.csv", index=False, float_format="%.4g")
        print(table.to_string(index=False))


def _simulated_rows(tables: int, path: Path) -> pd.DataFrame:
    """Forecasts of so many tables: those in the file, and the rest, written to it as they are made."""
    seen = pd.read_csv(path) if path.exists() else pd.DataFrame()
    whole = len(seen) // (len(WORLDS) * len(AWAY))
    rows = seen.iloc[: whole * len(WORLDS) * len(AWAY)].to_dict("records")
    for row in simulate(range(whole, tables)):
        rows.append(row)
        pd.DataFrame(rows).to_csv(path, index=False)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    main()
