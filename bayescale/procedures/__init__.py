"""Fitting procedures, one a file, and the one-line door to them.

A module here that defines a `Procedure` with a name is found, listed and tested by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescale.errors import FitError
from bayescale.fits import Fit
from bayescale.laws import Law
from bayescale.laws import get as get_law
from bayescale.laws import parse as parse_law
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.prior import Pooled, Prior
from bayescale.prior_sets import PriorSet, load
from bayescale.procedures._procedure import REGISTRY, Procedure, Progress
from bayescale.procedures._settings import describe_settings, parse_settings
from bayescale.runs import Runs

__all__ = ["NUTS", "Procedure", "as_runs", "describe_settings", "fit", "get", "names", "reference_for"]

# A reference run this far outside the table (a factor) would leave scale parameters without meaning for its runs.
FAR = 100.0


def _discover() -> None:
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__name__}.{module.name}")


_discover()

from bayescale.procedures.nuts import NUTS  # noqa: E402  (a public name of this package, found above)


def names() -> list[str]:
    """Names of all procedures, in alphabetical order."""
    return sorted(REGISTRY)


def get(name: str) -> type[Procedure]:
    """The procedure registered under ``name``.

    Raises
    ------
    FitError
        There is none; the message lists those there are.
    """
    if name not in REGISTRY:
        raise FitError(f"there is no procedure called {name!r}; the procedures are {', '.join(names())}")
    return REGISTRY[name]


def reference_for(law: Law, runs: Runs) -> Law:
    """The law at a reference run that suits the table.

    The usual one (1e9 parameters, 2e10 tokens) unless it lies more than a factor of 100 outside the table; then the
    geometric mean of the table, rounded to one digit, so that priors on nats lost at the reference run keep a meaning.
    """
    centre, moved = {}, False
    for name in ("N", "D", "C"):
        if name not in runs or (name != "C" and name not in law.inputs):
            continue
        values = np.asarray(runs[name], dtype=np.float64)
        if name not in law.inputs and not (values > 0).all():
            continue  # a column that the law does not read need not be sound
        centre[name] = float(f"{np.exp(np.log(values).mean()):.0e}")
        usual = law.reference_run[name]
        moved |= bool(usual > FAR * values.max() or usual < values.min() / FAR)
    if not moved:
        return law
    if "N" in centre and "D" in centre:
        centre.pop("C", None)
    return law.at(**centre)


def fit(
    runs: Runs | pd.DataFrame | str | Path | Mapping[str, Any],
    law: str | Law | None = None,
    procedure: str = "nuts",
    *,
    noise: str | Noise | None = None,
    priors: Mapping[str, Prior | Pooled | str | float] | None = None,
    pool: Mapping[str, str] | None = None,
    prior_set: str | Path | PriorSet | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **settings: Any,
) -> Fit:
    """Fit a scaling law to a table of training runs.

    Parameters
    ----------
    runs : Runs, DataFrame, path or mapping of arrays
        Runs with a loss in nats per token and what the law reads: two of N, D, C for ``chinchilla``.
    law : str or Law, optional
        A name from `bayescale laws`, with settings in brackets where it has any (``"atlas(k=5)"``), or a law at a
        reference run of your own; ``"chinchilla"`` unless the procedure gives another.
    procedure : str
        A name from `bayescale procedures`.
    noise : str or Noise, optional
        ``"student-t"`` (default of ``nuts``), ``"normal"`` or ``"laplace"`` on log loss, with the columns its sd
        depends on in brackets. Procedures without a likelihood scatter new runs by the sd of their residuals.
    priors : mapping, optional
        Priors that replace the defaults: ``{"E": "LogNormal(0.6, 0.2)", "alpha": 0.35}``; a number pins.
    pool : mapping, optional
        Parameters that differ between groups of runs, partially pooled: ``{"alpha,beta": "corpus"}``.
    prior_set : str, path or PriorSet, optional
        Priors and a discrepancy learnt from other families of runs: ``"public"``, or a TOML file of your own. It names
        the law and the noise, and forecasts then carry what that law may be wrong by.
    seed : int
        The same seed, table and versions give the same draws.
    progress : callable, optional
        Called with (label, done, total).
    **settings
        Of the procedure (``bayescale procedures`` lists them): ``chains``, ``draws``, ``warmup``, ``target_accept``,
        ``max_tree_depth`` for ``nuts``. Text is read as a number where a number is meant.

    Returns
    -------
    Fit

    Raises
    ------
    BayescaleError
        A table, law, prior, noise or setting that cannot be used; the message says what to try.

    Examples
    --------
    >>> import bayescale
    >>> toy = bayescale.datasets.load("toy", where="sweep == 'isoflop'")
    >>> fit = bayescale.fit(toy, noise="student-t(D)", draws=250)
    >>> fit.diagnostics.divergences
    0
    """
    chosen = get(procedure)
    if prior_set is not None:
        model, table = _with_prior_set(load(prior_set), chosen, runs, law, noise)
    else:
        model, table = _with_own_priors(chosen, runs, law, noise)
    model = model.with_priors(**dict(priors or {}))
    for parameters, column in (pool or {}).items():
        model = model.pool(column.strip(), *(name.strip() for name in parameters.split(",")))
    return chosen(model, parse_settings(chosen, settings)).fit(table, seed=seed, progress=progress)


def _with_own_priors(
    procedure: type[Procedure], runs: Any, law: str | Law | None, noise: str | Noise | None
) -> tuple[Model, Runs]:
    parsed = Noise.parse(procedure.default_noise if noise is None else noise)
    named = procedure.default_law if law is None else law
    made = parse_law(named) if isinstance(named, str) else named
    table = as_runs(runs, (*made.needs, *parsed.columns, *procedure.needs, "loss"))
    if isinstance(named, str):
        made = reference_for(made, table)
    made.check_runs({name: table[name] for name in made.inputs if name in table})
    return Model(made, parsed), table


def _with_prior_set(
    named: PriorSet, procedure: type[Procedure], runs: Any, law: str | Law | None, noise: str | Noise | None
) -> tuple[Model, Runs]:
    if not procedure.bayesian:
        raise FitError(f"{procedure.name} uses no priors, and the prior set {named.name} was given: fit with nuts")
    asked = law.name if isinstance(law, Law) else law
    if asked not in (None, named.law):
        raise FitError(f"the prior set {named.name} is for the law {named.law}, not for {asked}: leave one of them out")
    if noise is not None and Noise.parse(noise) != Noise.parse(named.noise):
        raise FitError(f"the prior set {named.name} is for {named.noise} noise, not for {noise}: leave one of them out")
    table = as_runs(runs, (*get_law(named.law).inputs, "C", "loss"))
    model = named.model(table)
    model.law.check_runs({name: table[name] for name in model.law.inputs if name in table})
    return model, table


def as_runs(runs: Runs | pd.DataFrame | str | Path | Mapping[str, Any], needs: Sequence[str]) -> Runs:
    """A table of runs in whichever form it is given, with the columns that are needed."""
    if isinstance(runs, Runs):
        return runs
    needs = tuple(dict.fromkeys(needs))
    if isinstance(runs, Mapping) and not isinstance(runs, pd.DataFrame):
        return Runs.read(pd.DataFrame(dict(runs)), needs=needs)
    return Runs.read(runs, needs=needs)
