"""The mixture of the fits of several laws, each by its weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescale.fits import Fit

__all__ = ["Average", "Member", "Rehearsed"]

WIDTH = 118
# A law with less weight than this decides nothing that a person reads off the mixture, nor do the doubts about its fit.
HEARD = 0.05


@dataclass(frozen=True)
class Rehearsed:
    """One cut of the ladder: how many runs were fitted, how many forecast, and the FLOPs of the largest of those."""

    n_below: int
    n_above: int
    top: float


@dataclass(frozen=True)
class Member:
    """One law of an average.

    Attributes
    ----------
    law : str
    prior, weight : float
        Before and after the cuts.
    joint : tuple of float
        Log density of the runs that were forecast at each cut, together.
    mean : tuple of float
        The mean over those runs of the log density of each by itself.
    fit : Fit or None
        Of the whole table; None where the law has no weight to speak of.
    why : str
        Why it was left out, where it was.
    """

    law: str
    prior: float
    weight: float
    joint: tuple[float, ...] = ()
    mean: tuple[float, ...] = ()
    fit: Fit | None = None
    why: str = ""


@dataclass(frozen=True, eq=False)
class Average:
    """Several laws on one table, weighed by how they forecast its top from the rest; made by `average`.

    Attributes
    ----------
    source : str
        The table.
    by : str
        How the laws were weighed: ``predictive``, ``stacking`` or, for a ladder too short to cut, ``prior``.
    members : tuple of Member
        The laws, in the order in which they were named.
    cuts : tuple of Rehearsed
        Where the ladder was cut.
    draws : int
        Draws of the mixture.
    notes : tuple of str
        What a reader should know of the weights.
    """

    source: str
    by: str
    members: tuple[Member, ...]
    cuts: tuple[Rehearsed, ...]
    draws: int
    notes: tuple[str, ...] = field(default=())

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each law; they add up to 1."""
        return {member.law: member.weight for member in self.members}

    @property
    def fits(self) -> dict[str, Fit]:
        """The fits of the whole table, of the laws that have weight."""
        return {member.law: member.fit for member in self.members if member.fit is not None}

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons not to trust the mixture: those of the fits that make up a twentieth of it or more."""
        heard = [one for one in self.members if one.fit is not None and one.weight >= HEARD]
        return tuple(
            f"{one.law} (weight {one.weight:.2f}): {text}"
            for one in heard
            for text in (one.fit.diagnostics.warnings if one.fit is not None else ())
        )

    @property
    def table(self) -> pd.DataFrame:
        """One row a law: ``prior, weight, joint`` (log density at all cuts), ``mean`` (over runs, of each), ``why``."""
        rows = {
            one.law: {
                "prior": one.prior, "weight": one.weight, "joint": sum(one.joint) if one.joint else np.nan,
                "mean": float(np.mean(one.mean)) if one.mean else np.nan, "why": one.why,
            }
            for one in self.members
        }  # fmt: skip
        return pd.DataFrame.from_dict(rows, orient="index")

    @property
    def counts(self) -> dict[str, int]:
        """Draws of the mixture that come from each law: its share, rounded so that they add up."""
        names = [one.law for one in self.members]
        exact = np.array([one.weight for one in self.members]) * self.draws
        counts = np.floor(exact).astype(int)
        order = np.argsort(counts - exact, kind="stable")
        counts[order[: self.draws - counts.sum()]] += 1
        return {name: int(count) for name, count in zip(names, counts, strict=True) if count}

    def forecast(self, targets: Any, seed: int = 0) -> xr.Dataset:
        """Loss of runs that have not been trained: the mixture of the forecasts of the laws.

        Parameters
        ----------
        targets, seed
            As in `Fit.forecast`.

        Returns
        -------
        xarray.Dataset
            ``mean_loss`` and ``new_run_loss`` over (sample, run), nats per token; the coordinate ``law`` on ``sample``
            says whose draw each is.
        """
        return self._mixed(lambda fit: fit.forecast(targets, seed=seed))

    def allocation(self, budgets: Any) -> xr.Dataset:
        """Compute-optimal N, D and loss over (sample, budget): the mixture of what the laws say."""
        return self._mixed(lambda fit: fit.allocation(budgets))

    def _mixed(self, asked: Callable[[Fit], xr.Dataset]) -> xr.Dataset:
        """Draws of every law in proportion to its weight, evenly spaced over those of its fit."""
        parts = []
        for law, count in self.counts.items():
            made = asked(self.fits[law])
            chosen = (np.arange(count) * made.sizes["sample"]) // count
            parts.append(made.isel(sample=chosen))
        labels = np.repeat(list(self.counts), list(self.counts.values()))
        shared = [name for name in parts[0].data_vars if all(name in part for part in parts)]
        joined = {name: _joined([part[name] for part in parts]) for name in shared}
        coords = {name: values for name, values in parts[0].coords.items() if "sample" not in values.dims}
        mixed = xr.Dataset(joined, coords=coords | {"law": ("sample", labels)})
        return mixed.assign_attrs(law="average", kind="posterior", weights=self.weights, warnings=list(self.warnings))

    def document(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "source": self.source,
            "by": self.by,
            "weights": self.weights,
            "laws": [
                {"law": one.law, "prior": one.prior, "weight": one.weight, "joint": list(one.joint)}
                | {"mean": list(one.mean), "why": one.why or None}
                for one in self.members
            ],
            "cuts": [{"n_below": one.n_below, "n_above": one.n_above, "top": one.top} for one in self.cuts],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        lines = [f"{self.source}: laws weighed by {WHAT[self.by]}"]
        lines += [f"  {one.n_above} runs up to {one.top:.3g} FLOPs from {one.n_below} below" for one in self.cuts]
        lines += [f"  {'law':<14}{'prior':>8}{'weight':>8}{'joint':>10}{'a run':>8}"]
        for name, row in self.table.iterrows():
            densities = f"{row['joint']:10.2f}{row['mean']:8.2f}" if np.isfinite(row["joint"]) else ""
            lines.append(f"  {name:<14}{row['prior']:8.3f}{row['weight']:8.3f}{densities}  {row['why']}".rstrip())
        for text, mark in (*((note, "") for note in self.notes), *((warning, "! ") for warning in self.warnings)):
            lines.append(fill(mark + text, WIDTH, subsequent_indent="  "))
        return "\n".join(lines)


WHAT: Mapping[str, str] = {
    "predictive": "the joint density of the runs they forecast [log, nats]",
    "stacking": "stacking of the densities of the runs they forecast [log, nats]",
    "prior": "prior knowledge alone",
}


def _joined(parts: Sequence[xr.DataArray]) -> tuple[tuple[Any, ...], np.ndarray]:
    """Draws of several laws one after the other; what there are no draws of, such as budgets, is that of the first."""
    if "sample" not in parts[0].dims:
        return parts[0].dims, parts[0].values
    whole = [part.transpose("sample", ...).values for part in parts]
    return ("sample", *(dim for dim in parts[0].dims if dim != "sample")), np.concatenate(whole)
