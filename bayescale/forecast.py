"""Forecasts: the loss of runs that have not been trained, by pushing draws of the parameters through the law."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bayescale._float64 import jax, jnp
from bayescale.compute import parse_quantity
from bayescale.errors import TargetError
from bayescale.laws import Law
from bayescale.model import Model
from bayescale.new_groups import at_runs
from bayescale.noise import LOSS_SD
from bayescale.runs import Runs

__all__ = [
    "check_budgets", "complete_inputs", "extrapolation", "forecast", "forecast_path", "isoflop_curves", "new_run",
    "surface",
]  # fmt: skip

Draws = Mapping[str, Any]

FARTHEST = 10.0  # of a loss from the law's, log loss: a Student-t with nu below 1 has draws beyond all numbers
EXAMPLES = {"N": "70B", "D": "1.4T", "C": "1e24", "U": "100B", "S": "1e5"}


@partial(jax.jit, static_argnames=("law",))
def _mean_loss(law: Law, theta: Draws, inputs: Mapping[str, Any]) -> Any:
    ordered = [inputs[name] for name in law.inputs]
    return jax.vmap(lambda draw: jnp.broadcast_to(law.loss(*ordered, **draw), ordered[0].shape[:1]))(theta)


@partial(jax.jit, static_argnames=("law",))
def _frontier(law: Law, theta: Draws, budgets: Any) -> tuple[Any, Any, Any]:
    def at(draw: Draws, budget: Any) -> tuple[Any, Any, Any]:
        N, D = law.optimum(budget, **draw)
        return N, D, law.frontier(budget, **draw)

    return jax.vmap(lambda draw: jax.vmap(lambda budget: at(draw, budget))(budgets))(theta)


@partial(jax.jit, static_argnames=("model",))
def _scatter(model: Model, theta: Draws, mean: Any, columns: Mapping[str, Any], sd: Any, key: Any) -> Any:
    """One new run for each draw: the law's loss with one draw of the noise; columns (run,) or (sample, run).

    `sd` (run,) is what the evaluation of each will leave of its loss, nats.
    """

    def one(draw: Draws, mean: Any, columns: Mapping[str, Any], key: Any) -> Any:
        scale = jnp.broadcast_to(model.noise.scale(columns, model.law.reference_run, draw), mean.shape)
        scale = jnp.hypot(scale, sd / mean)
        off = model.noise.distribution(jnp.zeros_like(mean), scale, draw).sample(key)
        return mean * jnp.exp(jnp.clip(off, -FARTHEST, FARTHEST))

    per_draw = {name: 0 if jnp.ndim(values) == 2 else None for name, values in columns.items()}
    keys = jax.random.split(key, mean.shape[0])
    return jax.vmap(one, in_axes=(0, 0, per_draw, 0))(theta, mean, dict(columns), keys)


def new_run(
    model: Model | None, theta: Draws, mean: Any, columns: Mapping[str, Any], seed: int, sd: Any = 0.0
) -> np.ndarray:
    """One new run for each mean loss (sample, run): the mean with one draw of the noise; NaN without a noise model."""
    if model is None:
        return np.full(np.shape(mean), np.nan)
    # an input of the law may be a matrix over runs and slots, which is no column over draws and runs
    read = {name: columns[name] for name in model.noise.columns}
    return np.asarray(_scatter(model, theta, mean, read, jnp.asarray(sd, float), jax.random.key(seed)))


def _evaluation_sd(targets: Mapping[str, Any]) -> Any:
    """What the evaluation will leave of each target's loss, nats; 0 where the targets do not say."""
    if LOSS_SD not in targets:
        return 0.0
    return complete_inputs({LOSS_SD: targets[LOSS_SD]}, (LOSS_SD,))[LOSS_SD]


def _law_draws(law: Law, theta: Draws) -> dict[str, Any]:
    return {name: jnp.asarray(theta[name]) for name in law.parameters}


def complete_inputs(
    targets: Mapping[str, Any], needs: tuple[str, ...], may_be_zero: tuple[str, ...] = ()
) -> dict[str, np.ndarray]:
    """Columns of target runs as float64 arrays of one length; the third of N, D, C follows by 6ND.

    Quantities may be text (``"70B"``); columns that neither N, D, C nor `needs` name are left out.

    Raises
    ------
    TargetError
        A column that is needed is missing, or a value is not a finite number above 0.
    """
    read = {name: values for name, values in targets.items() if name in ("N", "D", "C", *needs)}
    columns = {name: _numbers(name, values) for name, values in read.items()}
    if len({len(values) for values in columns.values()}) > 1:
        raise TargetError(f"the targets differ in length: { {name: len(v) for name, v in columns.items()} }")
    if {"N", "D"} <= columns.keys():
        columns.setdefault("C", 6.0 * columns["N"] * columns["D"])
    elif {"N", "C"} <= columns.keys():
        columns["D"] = columns["C"] / (6.0 * columns["N"])
    elif {"D", "C"} <= columns.keys():
        columns["N"] = columns["C"] / (6.0 * columns["D"])
    missing = [name for name in needs if name not in columns]
    if missing:
        given = ", ".join(targets) or "nothing"
        raise TargetError(
            f"the forecast needs {', '.join(needs)} and was given {given}: add {', '.join(missing)}, e.g. "
            f"{','.join(f'{name}={EXAMPLES.get(name, 1)}' for name in missing)}"
        )
    for name, values in columns.items():
        bad = np.argwhere(~(np.isfinite(values) & ((values > 0) | ((values == 0) & (name in may_be_zero)))))
        if bad.size:
            raise TargetError(
                f"target {bad[0][0] + 1}: {name} is {float(values[tuple(bad[0])])!r}; expected a finite number above 0"
            )
    return columns


def _numbers(name: str, values: Any) -> np.ndarray:
    cells = np.atleast_1d(np.asarray(values))
    if cells.dtype.kind in "fiub":
        return cells.astype(np.float64)
    numbers = np.empty(len(cells))
    for place, cell in enumerate(cells.tolist()):
        try:
            numbers[place] = parse_quantity(cell)
        except (TypeError, ValueError):
            raise TargetError(
                f"target {place + 1}: {name} is {cell!r}; expected a number, such as 7e10 or 70B"
            ) from None
    return numbers


def extrapolation(runs: Runs | None, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """How far targets lie outside the table.

    Returns
    -------
    dict
        ``flops_ratio``: training FLOPs of the target over the largest in the table (or, without FLOPs, the largest
        ratio of any input). ``inside``: whether every column lies within the table's range.
    """
    table = {} if runs is None else {name: runs[name] for name in columns if name in runs}
    inside = np.ones(len(next(iter(columns.values()))), dtype=bool)
    for name, seen in table.items():
        low, high = float(seen.min()), float(seen.max())
        # a target typed to a few digits is not outside for its rounding
        inside &= (columns[name] >= low * (1 - 1e-9)) & (columns[name] <= high * (1 + 1e-9))
    largest = {name: float(table[name].max()) for name in (["C"] if "C" in table else table)}
    ratios = [columns[name] / most for name, most in largest.items() if most > 0]
    return {"flops_ratio": np.max(ratios, axis=0) if ratios else np.full(inside.shape, np.nan), "inside": inside}


def forecast(
    law: Law, model: Model | None, theta: Draws, targets: Mapping[str, Any], runs: Runs | None, seed: int = 0
) -> xr.Dataset:
    """Loss of runs with the given inputs.

    Parameters
    ----------
    law : Law
        The law.
    model : Model or None
        Law and noise; None where there is no noise model, and then ``new_run_loss`` is NaN.
    theta : mapping of str to array (sample,)
        Draws of all parameters.
    targets : mapping of str to array (run,)
        ``N``, ``D``, ``C`` and whatever else the law and noise read; two of N, D, C are enough. ``loss_sd``, nats per
        token, is what the evaluation of a target will leave of its loss: ``new_run_loss`` is then what will be read.
    runs : Runs or None
        The table that was fitted, to say how far a target lies outside it.
    seed : int
        Seed of the noise of new runs.

    Returns
    -------
    xarray.Dataset
        ``mean_loss`` and ``new_run_loss`` (sample, run) in nats per token: the law itself, and one run scattered
        around it. Coordinates on ``run``: the inputs, ``flops_ratio``, ``inside``.
    """
    needs = law.inputs if model is None else model.columns
    columns = complete_inputs({**targets, **law.read(targets)}, needs, law.may_be_zero)
    theta, labels = at_runs(model, theta, targets, seed)
    inputs = {name: jnp.asarray(columns[name]) for name in needs}
    mean = _mean_loss(law, _law_draws(law, theta), {name: inputs[name] for name in law.inputs})
    new = new_run(model, dict(theta), mean, inputs, seed, _evaluation_sd(targets))
    wide = {name: np.asarray(targets[name], dtype=float) for name in law.table_columns(targets)} if law.slots else {}
    coords = {name: ("run", values) for name, values in (columns | wide).items() if values.ndim == 1}
    coords |= {name: ("run", np.broadcast_to(values, np.shape(mean)[1])) for name, values in labels.items()}
    coords |= {name: ("run", values) for name, values in extrapolation(runs, columns | wide).items()}
    return xr.Dataset(
        {"mean_loss": (("sample", "run"), np.asarray(mean)), "new_run_loss": (("sample", "run"), new)}, coords=coords
    )


def forecast_path(
    law: Law, model: Model | None, theta: Draws, budgets: Any, runs: Runs | None, seed: int = 0
) -> xr.Dataset:
    """Loss along the compute-optimal path: each draw spends each budget as it finds best.

    Returns
    -------
    xarray.Dataset
        ``mean_loss``, ``new_run_loss`` and, where the law splits compute, ``N``, ``D`` over (sample, budget);
        coordinate ``budget`` in FLOPs.

    Raises
    ------
    TargetError
        The law has no notion of a compute budget.
    """
    budgets = check_budgets(budgets)
    draws = _law_draws(law, theta)
    columns: dict[str, Any]
    if law.splits_compute:
        N, D, mean = _frontier(law, draws, jnp.asarray(budgets))
        columns = {"N": N, "D": D, "C": jnp.asarray(budgets)}
    elif law.inputs == ("C",):
        mean = _mean_loss(law, draws, {"C": jnp.asarray(budgets)})
        columns = {"C": jnp.asarray(budgets)}
    else:
        raise TargetError(f"{law.name} gives loss as a function of {', '.join(law.inputs)}: give those, not a budget")
    scattered = () if model is None else model.noise.columns
    unknown = [name for name in scattered if name not in columns]
    if unknown:
        raise TargetError(f"the sd of the noise depends on {unknown[0]}, which a budget does not give: give whole runs")
    needed = {name: columns[name] for name in scattered}
    new = new_run(model, dict(theta), mean, needed, seed)
    variables = {"mean_loss": np.asarray(mean), "new_run_loss": new}
    variables |= {name: np.asarray(columns[name]) for name in ("N", "D") if name in columns}
    reach = extrapolation(runs, {"C": budgets})
    return xr.Dataset(
        {name: (("sample", "budget"), values) for name, values in variables.items()},
        coords={"budget": budgets} | {name: ("budget", values) for name, values in reach.items()},
    )


def isoflop_curves(law: Law, theta: Draws, budgets: Any, spread: float = 12.0, points: int = 60) -> xr.Dataset:
    """The law's IsoFLOP curves: loss against N at fixed compute, around each budget's median optimum.

    Parameters
    ----------
    law, theta
        As in `forecast`.
    budgets : array_like (budget,)
        FLOPs.
    spread : float
        The curves run from the optimum divided by `spread` to the optimum times `spread`.
    points : int
        Sizes a curve.

    Returns
    -------
    xarray.Dataset
        ``mean_loss`` (sample, budget, size); coordinates ``budget`` [FLOPs], ``N`` and ``D`` (budget, size).
    """
    path = forecast_path(law, None, theta, budgets, None)
    if not {"N", "D"} <= set(law.inputs):
        raise TargetError(f"{law.name} does not split a budget between parameters and tokens: it has no IsoFLOP curves")
    centre = np.nanmedian(path["N"].values, axis=0)
    N = centre[:, None] * np.geomspace(1.0 / spread, spread, points)[None, :]
    D = path["budget"].values[:, None] / (6.0 * N)
    flat = {"N": jnp.asarray(N.ravel()), "D": jnp.asarray(D.ravel())}
    loss = np.asarray(_mean_loss(law, _law_draws(law, theta), flat))
    return xr.Dataset(
        {"mean_loss": (("sample", "budget", "size"), loss.reshape(len(loss), *N.shape))},
        coords={"budget": path["budget"].values, "N": (("budget", "size"), N), "D": (("budget", "size"), D)},
    )


def surface(law: Law, theta: Draws, N: Any, D: Any) -> xr.Dataset:
    """Median loss over draws on a grid of parameters and tokens: ``loss`` (N, D)."""
    N, D = np.asarray(N, dtype=np.float64), np.asarray(D, dtype=np.float64)
    if not {"N", "D"} <= set(law.inputs):
        raise TargetError(f"{law.name} is no function of both parameters and tokens")
    grid_N, grid_D = np.meshgrid(N, D, indexing="ij")
    flat = {"N": jnp.asarray(grid_N.ravel()), "D": jnp.asarray(grid_D.ravel())}
    loss = np.median(np.asarray(_mean_loss(law, _law_draws(law, theta), flat)), axis=0)
    return xr.Dataset({"loss": (("N", "D"), loss.reshape(grid_N.shape))}, coords={"N": N, "D": D})


def check_budgets(budgets: Any) -> np.ndarray:
    """Budgets as a float64 array (budget,); raises `TargetError` unless all are finite FLOPs above 0."""
    values = np.atleast_1d(np.asarray(budgets, dtype=np.float64))
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if values.size == 0 or bad.size:
        found = values[bad[0]] if bad.size else "none"
        raise TargetError(f"budgets must be finite FLOPs above 0, e.g. 1e24; got {found}")
    return values
