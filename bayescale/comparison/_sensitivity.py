"""How far the answers move when something that one could as well have done otherwise is done otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayescale.comparison._answers import at_budgets, quantities_of
from bayescale.comparison._plan import Plan
from bayescale.comparison._variants import Variant
from bayescale.compute import format_quantity
from bayescale.errors import BayescaleError
from bayescale.fits import Fit
from bayescale.procedures._procedure import Progress
from bayescale.runs import Runs

__all__ = ["sensitivity"]

ASKED = ("N_exponent", "D_exponent", "N", "D", "E")


def sensitivity(
    plan: Plan, listed: Sequence[Variant], runs: Runs, flops: Sequence[float], progress: Progress | None = None
) -> pd.DataFrame:
    """Point answers of the fast procedures under choices that decide published exponents.

    Parameters
    ----------
    plan : Plan
        Law, settings and seed.
    listed : sequence of Variant
        What is done otherwise, of `variants`; each single run is left out beside it, and the one that moves a
        procedure's answer the most is kept.
    runs : Runs
        The table as given.
    flops : sequence of float
        Budgets; N* and D* are those of the first.
    progress : callable, optional
        Called with (label, done, total).

    Returns
    -------
    pandas.DataFrame
        One row a variant and procedure, the answers as given first: ``what, setting, procedure, N_exponent, D_exponent,
        N, D, E``, the ``change`` of the N exponent, the ratio ``N_ratio`` of N* to that of all runs as given, and a
        ``note`` where a procedure refused. ``attrs["mover"]`` is the sentence that names the largest change.
    """
    names = list(dict.fromkeys(variant.procedure for variant in listed))
    asking = _Asking(plan, flops)
    base = {name: asking.of(name, runs) for name in names}
    rows = [_row("as given", "all runs", name, found, base[name]) for name, found in base.items()]
    for place, variant in enumerate(listed, start=1):
        found = asking.of(variant.procedure, variant.runs, **variant.settings)
        rows.append(_row(variant.what, variant.setting, variant.procedure, found, base[variant.procedure]))
        if progress is not None:
            progress("sensitivity", place, len(listed))
    for name in names:
        rows += _most_influential(asking, name, runs, base[name], progress)
    made = pd.DataFrame(rows)
    made.attrs["mover"] = _mover(made, flops)
    return made


@dataclass(frozen=True)
class _Asking:
    plan: Plan
    flops: Sequence[float]

    def of(self, name: str, runs: Runs, **settings: Any) -> dict[str, Any]:
        """The point answers of one procedure, or why there are none."""
        try:
            fit = self.plan.point(name, runs, **settings)
        except BayescaleError as error:
            return dict.fromkeys(ASKED, np.nan) | {"note": str(error)}
        return self._values(fit) | {"note": ""}

    def _values(self, fit: Fit) -> dict[str, float]:
        optima = at_budgets(fit, self.flops) if self.flops else []
        found = quantities_of(fit, optima[0] if optima else None)
        return {key: np.nan if (value := found[key].value) is None else value for key in ASKED}


def _row(what: str, setting: str, name: str, found: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    moved = {"change": found["N_exponent"] - base["N_exponent"], "N_ratio": found["N"] / base["N"]}
    values = {key: found[key] for key in ASKED}
    return {"what": what, "setting": setting, "procedure": name} | values | moved | {"note": found["note"]}


def _most_influential(
    asking: _Asking, name: str, runs: Runs, base: Mapping[str, Any], progress: Progress | None
) -> list[dict[str, Any]]:
    """The single run without which the N exponent moves the most, by leaving out each in turn."""
    if base["note"]:
        return []
    kept = np.ones(len(runs), dtype=bool)
    found = []
    for place in range(len(runs)):
        kept[place] = False
        found.append(asking.of(name, runs.subset(kept)))
        kept[place] = True
        if progress is not None:
            progress(f"{name} without each run", place + 1, len(runs))
    moves = np.array([abs(one["N_exponent"] - base["N_exponent"]) for one in found])
    if np.isnan(moves).all():
        return []
    worst = int(np.nanargmax(moves))
    refused = int(np.isnan(moves).sum())
    note = f"without {refused} of the runs, one at a time, it refuses the table" if refused else ""
    row = int(runs.table["row"].values[worst])
    setting = f"row {row} (loss {float(runs['loss'][worst]):.4g})"
    return [_row("without the most influential run", setting, name, found[worst] | {"note": note}, base)]


def _mover(table: pd.DataFrame, flops: Sequence[float]) -> str:
    """The sentence that names the largest change of the N exponent."""
    moved = table[(table["what"] != "as given") & table["change"].notna()]
    if moved.empty:
        return "nothing could be varied."
    row = moved.loc[moved["change"].abs().idxmax()]
    before = row["N_exponent"] - row["change"]
    size = ""
    if flops and np.isfinite(row["N_ratio"]):
        sizes = f"{format_quantity(row['N'] / row['N_ratio'])} to {format_quantity(row['N'])}"
        size = f", and N* at {flops[0]:.3g} FLOPs from {sizes}"
    return (
        f"the largest mover: {row['what']}, {row['setting']}, moves the N exponent of {row['procedure']} from "
        f"{before:.3f} to {row['N_exponent']:.3f}{size}."
    )
