"""The fits of several targets, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from bayescale.errors import FitError
from bayescale.fits import Fit

__all__ = ["TargetFits"]


@dataclass(frozen=True)
class TargetFits:
    """One fit for each target.

    Attributes
    ----------
    fits : dict of str to Fit
        By target. Where targets were fitted in one, each is that fit's part, with the draws of the shared parameters.
    joint : Fit or None
        The one fit of all targets, with groups by ``target``; None where each was fitted for itself.
    """

    fits: dict[str, Fit]
    joint: Fit | None = None

    @property
    def doubts(self) -> dict[str, tuple[str, ...]]:
        """Reasons not to trust a fit, by target; those of a joint fit under ``all targets``."""
        if self.joint is not None:
            return {"all targets": self.joint.diagnostics.warnings} if self.joint.diagnostics.warnings else {}
        return {name: fit.diagnostics.warnings for name, fit in self.fits.items() if fit.diagnostics.warnings}

    @property
    def ok(self) -> bool:
        """Whether there is no reason to distrust any of the fits."""
        return not self.doubts

    @cached_property
    def _summaries(self) -> dict[str, pd.DataFrame]:
        return {name: pd.DataFrame(fit.summary()) for name, fit in self.fits.items()}

    def summary(self) -> pd.DataFrame:
        """Mean, sd and quantiles of every parameter and derived quantity, indexed by target and parameter."""
        return pd.concat(self._summaries, names=["target", "parameter"])

    def forecast(self, targets: Any, seed: int = 0) -> xr.Dataset:
        """Losses of runs that have not been trained, over (target, sample, run); see `bayescale.Fit.forecast`."""
        made = [fit.forecast(targets, seed=seed) for fit in self.fits.values()]
        joined = xr.concat(made, dim="target", join="override", coords="minimal", compat="override")
        return joined.assign_coords(target=list(self.fits))

    def save(self, path: str | Path) -> list[Path]:
        """Write the fits: one file ``TARGET.nc`` each into a folder, or the joint fit to one file that ends in ``.nc``.

        Raises
        ------
        FitError
            The folder or file cannot be written.
        """
        place = Path(path)
        if self.joint is not None:
            return [self.joint.save(place)]
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FitError(f"cannot write into {place}: {error.strerror or error}") from None
        return [fit.save(place / f"{_file_name(name)}.nc") for name, fit in self.fits.items()]

    def __repr__(self) -> str:
        lines = ["diagnostics: ok"] if self.ok else [f"DO NOT TRUST THE FIT OF {', '.join(self.doubts)}"]
        lines += [f"  ! {name}: {warning}" for name, warnings in self.doubts.items() for warning in warnings]
        first = next(iter(self.fits.values()))
        lines += ["", f"{first.law.name}: {first.law.formula}"]
        if self.joint is not None:
            groups = self.joint.model.pools if self.joint.model is not None else {}
            lines += [f"one fit; by target: {', '.join(f'{name} ~ {prior}' for name, prior in groups.items())}"]
        return "\n".join([*lines, "median [5 %, 95 %]", self._table().to_string()])

    def _table(self) -> pd.DataFrame:
        rows = {}
        for name, fit in self.fits.items():
            summary = self._summaries[name]
            shown = [n for n in (*fit.law.parameters, "N_exponent", "sigma") if n in summary.index]
            verdict = "ok" if fit.diagnostics.ok else f"{len(fit.diagnostics.warnings)} doubts"
            rows[name] = {"runs": len(fit.runs)} | {n: _cell(summary.loc[n]) for n in shown} | {"verdict": verdict}
        return pd.DataFrame.from_dict(rows, orient="index")


def _cell(row: pd.Series) -> str:
    middle = row["estimate"] if pd.isna(row["median"]) and "estimate" in row else row["median"]
    return f"{middle:.4g}" + ("" if pd.isna(row["q05"]) else f" [{row['q05']:.4g}, {row['q95']:.4g}]")


def _file_name(target: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in target)
