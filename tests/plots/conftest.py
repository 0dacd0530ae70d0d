"""Datasets like those a fit gives: a Chinchilla surface whose parameters are jittered from draw to draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from bayescale import plots

N0, D0 = 1e9, 2e10


@dataclass(frozen=True)
class Table:
    """The part of a table of runs that pictures use."""

    columns: Mapping[str, np.ndarray]
    source: str = "synthetic.csv"

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def without(self, name: str) -> Table:
        return Table({key: value for key, value in self.columns.items() if key != name}, self.source)

    def first(self, count: int) -> Table:
        return Table({key: value[:count] for key, value in self.columns.items()}, self.source)


@dataclass(frozen=True)
class Synthetic:
    """Draws of a Chinchilla law, and the Datasets that come from pushing them through it."""

    theta: Mapping[str, np.ndarray]
    sd: float = 0.012

    @classmethod
    def draw(cls, samples: int = 500, seed: int = 1) -> Synthetic:
        rng = np.random.default_rng(seed)
        tilt_N, tilt_D = rng.normal(size=(2, samples))
        return cls(
            {
                "E": 1.805 + 0.011 * (tilt_N + tilt_D),
                "a": 0.315 * np.exp(0.01 * rng.normal(size=samples)),
                "b": 0.345 * np.exp(0.01 * rng.normal(size=samples)),
                "alpha": 0.342 + 0.010 * tilt_N,
                "beta": 0.3625 + 0.0105 * tilt_D,
            }
        )

    @property
    def samples(self) -> int:
        return len(self.theta["E"])

    def loss(self, N: np.ndarray, D: np.ndarray) -> np.ndarray:
        """Loss in nats per token, draws first."""
        N, D = np.broadcast_arrays(N, D)
        t = {name: value.reshape(-1, *[1] * N.ndim) for name, value in self.theta.items()}
        return t["E"] + t["a"] * (N / N0) ** -t["alpha"] + t["b"] * (D / D0) ** -t["beta"]

    def optimum(self, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        t = {name: value[:, None] for name, value in self.theta.items()}
        A, B = t["a"] * N0 ** t["alpha"], t["b"] * D0 ** t["beta"]
        ratio = (t["alpha"] * A / (t["beta"] * B)) ** (1 / (t["alpha"] + t["beta"]))
        N = ratio * (C / 6) ** (t["beta"] / (t["alpha"] + t["beta"]))
        return N, C / (6 * N)

    def runs(self, budgets: np.ndarray, per_budget: int = 11, seed: int = 2) -> Table:
        rng = np.random.default_rng(seed)
        truth = Synthetic({name: np.median(value, keepdims=True) for name, value in self.theta.items()})
        centre = truth.optimum(budgets)[0][0]
        N = (centre[:, None] * np.geomspace(0.15, 6, per_budget) * np.exp(rng.normal(0, 0.05, per_budget))).ravel()
        C = np.repeat(budgets, per_budget) * np.exp(rng.normal(0, 0.02, len(N)))
        D = C / (6 * N)
        loss = truth.loss(N, D)[0] * np.exp(rng.standard_t(4, len(N)) * self.sd)
        return Table({"N": N, "D": D, "C": C, "loss": loss})

    def _forecast(self, N: np.ndarray, D: np.ndarray, along: str) -> dict[str, tuple[tuple[str, str], np.ndarray]]:
        rng = np.random.default_rng(3)
        mean = self.loss(N, D)
        new = mean * np.exp(rng.standard_t(4, mean.shape) * self.sd)
        return {"mean_loss": (("sample", along), mean), "new_run_loss": (("sample", along), new)}

    def path(self, budgets: np.ndarray, largest: float) -> xr.Dataset:
        N, D = (np.median(x, axis=0) for x in self.optimum(budgets))
        coords = {"budget": budgets, "flops_ratio": ("budget", budgets / largest)}
        coords["inside"] = ("budget", budgets <= largest)
        return xr.Dataset(self._forecast(N, D, "budget"), coords, {"law": "chinchilla", "kind": "posterior"})

    def forecast(self, N: np.ndarray, D: np.ndarray, largest: float) -> xr.Dataset:
        C = 6 * N * D
        coords = {"N": ("run", N), "D": ("run", D), "C": ("run", C), "flops_ratio": ("run", C / largest)}
        return xr.Dataset(self._forecast(N, D, "run"), coords, {"law": "chinchilla", "kind": "posterior"})

    def curves(self, budgets: np.ndarray, sizes: int = 41) -> xr.Dataset:
        centre = np.median(self.optimum(budgets)[0], axis=0)
        N = centre[:, None] * np.geomspace(0.1, 10, sizes)
        D = budgets[:, None] / (6 * N)
        coords = {"budget": budgets, "N": (("budget", "size"), N), "D": (("budget", "size"), D)}
        variables = {"mean_loss": (("sample", "budget", "size"), self.loss(N, D))}
        return xr.Dataset(variables, coords, {"law": "chinchilla", "kind": "posterior"})

    def allocation(self, budgets: np.ndarray) -> xr.Dataset:
        N, D = self.optimum(budgets)
        dims = ("sample", "budget")
        variables = {"N": (dims, N), "D": (dims, D), "D_per_N": (dims, D / N)}
        return xr.Dataset(variables, {"budget": budgets}, {"law": "chinchilla", "kind": "posterior"})

    def surface(self, N: np.ndarray, D: np.ndarray) -> xr.Dataset:
        loss = np.median(self.loss(N[:, None], D[None, :]), axis=0)
        return xr.Dataset({"loss": (("N", "D"), loss)}, {"N": N, "D": D})

    def draws(self, chains: int = 4) -> xr.Dataset:
        variables = {name: (("chain", "draw"), value.reshape(chains, -1)) for name, value in self.theta.items()}
        return xr.Dataset(variables, attrs={"kind": "posterior", "law": "chinchilla"})

    def prior(self, samples: int = 2000) -> xr.Dataset:
        rng = np.random.default_rng(4)
        centre_sd = {"E": (0.5, 0.4), "a": (-1, 1), "b": (-1, 1), "alpha": (-1, 0.5), "beta": (-1, 0.5)}
        return xr.Dataset({k: ("sample", rng.lognormal(m, s, samples)) for k, (m, s) in centre_sd.items()})


BUDGETS = np.array([6e18, 1e19, 3e19, 6e19, 1e20, 3e20, 6e20, 1e21, 3e21])


@pytest.fixture(scope="session")
def law() -> Synthetic:
    return Synthetic.draw()


@pytest.fixture(scope="session")
def point() -> Synthetic:
    """A point fit: one draw."""
    return Synthetic.draw(1)


@pytest.fixture(scope="session")
def budgets() -> np.ndarray:
    return BUDGETS


@pytest.fixture(scope="session")
def runs(law: Synthetic) -> Table:
    return law.runs(BUDGETS)


@pytest.fixture(scope="session")
def pictures(law: Synthetic, runs: Table) -> dict[str, Callable[..., Figure]]:
    """Each picture of one fit as a function of a width in inches and of the warnings that the fit carries."""
    largest = float(np.max(runs["C"]))
    surface = law.surface(np.geomspace(2e7, 1e11, 30), np.geomspace(5e8, 5e12, 30))
    targets = law.forecast(np.array([70e9]), np.array([1.4e12]), largest)
    datasets = {
        "forecast_band": law.path(np.geomspace(3e18, 3e22, 30), largest),
        "isoflop_curves": law.curves(BUDGETS),
        "frontier": law.allocation(np.array([1e19, 1e21, 1e23])),
        "posteriors": law.draws(),
    }

    def draw(name: str, width: float = 4.5, warnings: object = None) -> Figure:
        data = datasets[name] if warnings is None else datasets[name].assign_attrs(warnings=warnings)
        size = (width, 0.75 * width)
        match name:
            case "forecast_band":
                return plots.forecast_band(data, runs, targets=targets, size=size).figure
            case "isoflop_curves":
                return plots.isoflop_curves(data, runs, size=size).figure
            case "frontier":
                return plots.frontier(data, surface, runs, size=size).figure
            case _:
                return plots.posteriors(data, law.prior(), width=width)[0].figure

    return {name: partial(draw, name) for name in datasets}
