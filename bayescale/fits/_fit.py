"""A fit: a law with draws of its parameters, and every question that is answered by pushing them through the law."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescale.allocation import allocate
from bayescale.diagnostics import Diagnostics
from bayescale.errors import FitError
from bayescale.fits import _storage
from bayescale.fits._group import group_runs, one_group, refuse_groups
from bayescale.fits._labels import one_by_one, target_columns
from bayescale.fits._log_densities import has_prior
from bayescale.fits._record import KINDS, Record
from bayescale.fits._sensitivity import Sensitivity, of_groups, sensitivity
from bayescale.fits._summary import Summary, describe, summarise
from bayescale.fits._tree import as_named, tree_groups
from bayescale.fits._widened import bent_curves, widened
from bayescale.forecast import forecast, forecast_path, isoflop_curves, surface
from bayescale.ladder import Ladder
from bayescale.laws import Law, get
from bayescale.model import Model
from bayescale.runs import Runs

__all__ = ["Fit"]

ATTRIBUTE = "bayescale"


class Fit:
    """A law with draws of its parameters, and the record of where they came from.

    Made by a procedure (`bayescale.fit`) or read from a file (`Fit.load`).

    Parameters
    ----------
    tree : xarray.DataTree
        In ArviZ's layout: the draws in a group named after their kind (``posterior``, ``bootstrap`` or ``point``),
        ``sample_stats``, ``observed_data`` (the losses) and ``constant_data`` (the inputs); the record is an attribute.
        Beside bootstrap replicates stands the ``point`` estimate that they scatter around.

    Raises
    ------
    FitError
        The tree is not a fit.
    """

    def __init__(self, tree: xr.DataTree) -> None:
        try:
            self.record = Record.from_document(json.loads(tree.attrs[ATTRIBUTE]))
        except (KeyError, TypeError, ValueError) as error:
            raise FitError(f"this is not a bayescale fit: its record cannot be read ({error!r})") from None
        self.tree = tree

    @classmethod
    def assemble(
        cls,
        record: Record,
        law: Law,
        theta: Mapping[str, np.ndarray],
        runs: Runs,
        stats: Mapping[str, np.ndarray] | None = None,
        estimate: Mapping[str, float] | None = None,
    ) -> Fit:
        """Build a fit from draws.

        Parameters
        ----------
        record : Record
            Where the draws came from; ``record.kind`` names their group.
        law : Law
            The law, to compute derived quantities.
        theta : mapping of str to array (chain, draw)
            Every parameter of the law and the noise, each value of a group by its name (``alpha[c4]``); replicates and
            points are one chain.
        runs : Runs
            The table.
        stats : mapping of str to array (chain, draw), optional
            Statistics of the sampler.
        estimate : mapping of str to float, optional
            What the whole table gives, beside bootstrap replicates.
        """
        if record.kind not in KINDS:
            raise FitError(f"the kind of a fit is one of {', '.join(KINDS)}; got {record.kind!r}")
        groups = tree_groups(record, law, theta, runs, stats=stats, estimate=estimate)
        tree = xr.DataTree.from_dict(groups)
        tree.attrs[ATTRIBUTE] = json.dumps(record.document())
        return cls(tree)

    @property
    def kind(self) -> str:
        """What the draws are: ``posterior``, ``bootstrap`` replicates or a ``point``."""
        return self.record.kind

    @property
    def diagnostics(self) -> Diagnostics:
        """Whether the fit may be trusted, and why not."""
        return self.record.diagnostics

    @cached_property
    def law(self) -> Law:
        """The law, at the fit's reference run."""
        if self.model is not None:
            return self.model.law
        reference = {f"{symbol}0": value for symbol, value in self.record.reference_run.items()}
        return get(self.record.law)(**reference)

    @cached_property
    def model(self) -> Model | None:
        """Law, noise and priors; None where the procedure has no noise model."""
        return None if self.record.model is None else Model.from_spec(self.record.model)

    @cached_property
    def ladder(self) -> Ladder | None:
        """What forecasts start from, where the model has a discrepancy."""
        return None if self.record.ladder is None else Ladder.from_document(self.record.ladder)

    @property
    def draws(self) -> xr.Dataset:
        """All draws, parameters and derived quantities, over (chain, draw); attributes ``law, kind, warnings``."""
        return as_named(self.tree[self.kind].to_dataset()).assign_attrs(self._attrs())

    @cached_property
    def estimate(self) -> dict[str, float] | None:
        """What the whole table gives, for every parameter and derived quantity; None for a posterior."""
        if "point" not in self.tree.children:
            return None
        point = as_named(self.tree["point"].to_dataset())
        return {str(name): float(point[name].values.item()) for name in point.data_vars}

    @cached_property
    def at_estimate(self) -> Fit:
        """This fit with its point estimate for its only draw; itself where it has none.

        Forecasts and allocations of it are those of the estimate, as those of the fit are of its replicates.
        """
        if self.kind == "point" or "point" not in self.tree.children:
            return self
        groups = {name: node.to_dataset() for name, node in self.tree.children.items() if name != self.kind}
        tree = xr.DataTree.from_dict(groups)
        tree.attrs[ATTRIBUTE] = json.dumps(replace(self.record, kind="point").document())
        return Fit(tree)

    @cached_property
    def runs(self) -> Runs:
        """The table that was fitted: the loss, and the columns that the law and the noise read."""
        groups = (as_named(self.tree["constant_data"].to_dataset()), self.tree["observed_data"].to_dataset())
        arrays = {str(name): group[name].values for group in groups for name in group.data_vars}
        return Runs.from_arrays(**arrays, source=self.record.table["source"])

    @cached_property
    def theta(self) -> dict[str, np.ndarray]:
        """Draws of the parameters of law and noise, chains joined: arrays (sample,), or (sample, group)."""
        names = self.law.parameters if self.model is None else tuple(self.model.priors | self.model.scalars)
        of = {} if self.model is None else self.model.groups_of
        joined = {name: self.draws[name].values.reshape(-1, *self.draws[name].shape[2:]) for name in names}
        return {name: of[name].from_grid(values) if name in of else values for name, values in joined.items()}

    @property
    def values(self) -> dict[str, np.ndarray]:
        """Draws of every single number, (chain, draw): a parameter with groups as ``alpha[c4]``, ``alpha[rpj]``, ..."""
        return one_by_one(self.draws)

    def summary(self) -> Summary:
        """Mean, sd, quantiles, R-hat and effective sample sizes of every parameter and derived quantity."""
        return summarise(self)

    def sensitivity(self, budgets: Any = ()) -> Sensitivity:
        """What each answer rests on, the table or the prior; see `bayescale.fits.Sensitivity`.

        Parameters
        ----------
        budgets : array_like (budget,)
            Training FLOPs; ``N``, ``D`` and ``loss`` of their compute-optimal runs are judged too.

        Raises
        ------
        FitError, TargetError
            The draws are no posterior's; budgets are given, and the law does not split them.
        """
        return sensitivity(self, budgets)

    @cached_property
    def rests_on(self) -> Sensitivity | None:
        """`sensitivity` of all parameters, their contraction for a fit with groups; None for draws without a prior."""
        grouped = self.kind == "posterior" and self.model is not None and bool(self.model.groups)
        return sensitivity(self) if has_prior(self) else of_groups(self) if grouped else None

    def forecast(self, targets: Mapping[str, Any] | pd.DataFrame | Runs, seed: int = 0) -> xr.Dataset:
        """Loss of runs that have not been trained.

        Parameters
        ----------
        targets : mapping, DataFrame or Runs
            Columns ``N``, ``D``, ``C`` (two are enough) and whatever else the law and noise read. A law of N and D
            given ``C`` alone is forecast along its compute-optimal path.
        seed : int
            Seed of the noise of new runs.

        Returns
        -------
        xarray.Dataset
            ``mean_loss`` (the law) and ``new_run_loss`` (one run, with noise) over (sample, run), nats per token;
            coordinates ``flops_ratio`` (FLOPs of the target over the largest in the table) and ``inside``.

        Raises
        ------
        TargetError
            A column is missing or is not positive.
        """
        columns = target_columns(targets, self.model)
        self.law.check_targets(columns, self.theta)
        if self.law.splits_compute and set(columns) == {"C"}:
            path = self.path(columns["C"], seed).rename(budget="run")
            return path.drop_vars(("N", "D")).rename_vars(run="C").assign_coords(C=("run", path["run"].values))
        made = forecast(self.law, self.model, self.theta, columns, self.runs, seed)
        made = widened(self, made, "C", seed)
        if isinstance(targets, Runs) and "loss" in targets:
            made = made.assign_coords(loss=("run", targets["loss"]))
        return made.assign_attrs(self._attrs())

    def of(self, **labels: str) -> Fit:
        """The fit of one group: ``fit.of(corpus="c4")`` for a fit whose parameters differ by corpus.

        A group that was not in the table is answered from the level and the spread of those that were.

        Raises
        ------
        FitError
            The labels do not settle every parameter.
        """
        if self.model is None or not self.model.groups:
            raise FitError("this fit has no groups to choose from: all runs have the same parameters")
        theta = one_group(self.model, self.theta, labels, self.record.seed)
        single, sizes = self.model.single(), self.draws.sizes
        drawn = {name: theta[name].reshape(sizes["chain"], sizes["draw"]) for name in single.priors}
        stats = {str(name): values.values for name, values in self.tree["sample_stats"].data_vars.items()}
        record = replace(self.record, model=single.spec())
        return Fit.assemble(record, self.law, drawn, group_runs(self.runs, labels), stats)

    def path(self, budgets: Any, seed: int = 0) -> xr.Dataset:
        """Loss along the compute-optimal path, over (sample, budget); see `bayescale.forecast.forecast_path`."""
        refuse_groups(self.model)
        self.law.check_targets(("C",), self.theta)
        made = forecast_path(self.law, self.model, self.theta, budgets, self.runs, seed)
        return widened(self, made, "budget", seed).assign_attrs(self._attrs())

    def allocation(self, budgets: Any) -> xr.Dataset:
        """Compute-optimal N, D, tokens per parameter, loss and exponents, over (sample, budget)."""
        refuse_groups(self.model)
        made = allocate(self.law, self.theta, budgets)
        return widened(self, made, "budget", 0, ("loss",)).assign_attrs(self._attrs())

    def isoflop_curves(self, budgets: Any) -> xr.Dataset:
        """The law's IsoFLOP curves, ``mean_loss`` over (sample, budget, size), as they bend under a prior set."""
        refuse_groups(self.model)
        return bent_curves(self, isoflop_curves(self.law, self.theta, budgets)).assign_attrs(self._attrs())

    def surface(self, N: Any, D: Any) -> xr.Dataset:
        """Median loss on a grid of parameters and tokens, ``loss`` over (N, D)."""
        refuse_groups(self.model)
        return surface(self.law, self.theta, N, D).assign_attrs(self._attrs())

    def _attrs(self) -> dict[str, Any]:
        return {"law": self.law.name, "kind": self.kind, "warnings": list(self.diagnostics.warnings)}

    def save(self, path: str | Path) -> Path:
        """Write the fit to one netCDF file (``.nc``), whole or not at all. Returns the path."""
        return _storage.write(self.tree, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Fit:
        """Read a fit written by `save`; equal to it, bit for bit.

        Raises
        ------
        FitError
            The file is missing, is no netCDF file, or is no fit.
        """
        tree = _storage.read(Path(path))
        if ATTRIBUTE not in tree.attrs:
            raise FitError(f"{path} is a netCDF file, but not a fit written by bayescale")
        return cls(tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fit) and self.record == other.record and self.tree.identical(other.tree)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return describe(self)
