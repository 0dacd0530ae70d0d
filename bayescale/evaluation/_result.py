"""The result of a backtest: one row a forecaster and fold, one row a test run, and their summary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescale.evaluation._folds import INTERRUPTED, Design, Skipped
from bayescale.evaluation._pit import uniformity
from bayescale.evaluation._pooled import pooled
from bayescale.evaluation._scores import BANDS, LEVELS, SCORES

__all__ = ["Backtest"]

FOLD = ("dataset", "group", "part")


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts of known runs, scored; made by `bayescale.evaluation.backtest`.

    Attributes
    ----------
    design : Design
        How the table was divided.
    source : str
        The table.
    forecasters : tuple of str
        Their names.
    baseline : str or None
        What they are compared with.
    points : pandas.DataFrame
        One row a forecaster, fold and test run: ``forecaster, dataset, group, at, part, row, N, D, C, loss``, the
        quantiles ``q005 ... q995`` of a new run, and the scores of `score_points`.
    folds : pandas.DataFrame
        One row a forecaster and fold: the means of the scores; ``seconds``, ``warnings``, ``weights`` of the laws of
        an average, and ``refused``, the reason where there is no forecast.
    skipped : tuple of Skipped
        Folds that the table does not allow, and those that an interrupt left out.
    """

    design: Design
    source: str
    forecasters: tuple[str, ...]
    baseline: str | None
    points: pd.DataFrame
    folds: pd.DataFrame
    skipped: tuple[Skipped, ...]

    @property
    def holdouts(self) -> list[str]:
        """What was held out, as text, from near to far."""
        order = self.folds[["at", "k"]].drop_duplicates().sort_values("k")
        return [str(at) for at in order["at"]]

    @property
    def compared(self) -> tuple[str, ...]:
        """The forecasters, and the baseline unless it is one of them."""
        extra = () if self.baseline is None or self.baseline in self.forecasters else (self.baseline,)
        return (*self.forecasters, *extra)

    @property
    def ok(self) -> bool:
        """Whether every forecaster answered every fold, without a warning; the baseline is not judged."""
        if any(one.why == INTERRUPTED for one in self.skipped):
            return False
        judged = self.folds[self.folds["forecaster"].isin(self.forecasters)]
        return not (judged["refused"].astype(bool) | judged["warnings"].map(bool)).any()

    def of(self, name: str) -> pd.DataFrame:
        """The folds that a forecaster answered."""
        return self.folds[(self.folds["forecaster"] == name) & (self.folds["refused"] == "")]

    @cached_property
    def summary(self) -> dict[str, dict[str, dict[str, Any]]]:
        """By forecaster and hold-out, what `pooled` says."""
        made: dict[str, dict[str, dict[str, Any]]] = {}
        for name in self.compared:
            against = None if self.baseline in (None, name) else self.of(str(self.baseline))
            made[name] = {}
            for at in self.holdouts:
                answered = self.of(name)
                answered = answered[answered["at"] == at]
                if len(answered):
                    other = None if against is None else against[against["at"] == at]
                    made[name][at] = pooled(answered, other, self.design.seed)
        return made

    @cached_property
    def pit(self) -> dict[str, dict[str, Any] | None]:
        """By forecaster, whether its runs lie evenly in its bands; see `uniformity`."""
        return {
            name: uniformity(self.points[self.points["forecaster"] == name], self.design.seed) for name in self.compared
        }

    def widening(self, name: str) -> dict[str, bool]:
        """By data set that was held out at several distances: whether the 90 % band is wider at each farther one."""
        answered = self.of(name).sort_values("k")
        widths = answered.groupby(["dataset", "k"])["width90"].mean()
        found = {}
        for dataset, of_one in widths.groupby(level="dataset"):
            if len(of_one) > 1:
                found[str(dataset)] = bool((np.diff(of_one.to_numpy()) > 0).all())
        return found

    def forecasts(self, name: str) -> pd.DataFrame:
        """The forecasts of one forecaster, one row a test run: ``dataset, holdout_x, N, D`` and eleven quantiles."""
        of_one = self.points[self.points["forecaster"] == name]
        head = {"dataset": of_one["dataset"], "holdout_x": of_one["at"]}
        if (of_one["part"] != "").any():
            head["part"] = of_one["part"]
        known = [column for column in ("N", "D") if column in of_one]
        return pd.concat([pd.DataFrame(head), of_one[[*known, *LEVELS]]], axis=1).reset_index(drop=True)

    @property
    def picture(self) -> xr.Dataset:
        """What `bayescale.plots.backtest` draws.

        ``coverage`` (forecaster, holdout, level) with ``coverage_ends`` (.., end), the 90 % interval over groups; and
        ``width`` (forecaster, holdout, dataset), the width of the 90 % band over the median [%].
        """
        shape = (len(self.compared), len(self.holdouts), len(BANDS))
        coverage, ends = np.full(shape, np.nan), np.full((*shape, 2), np.nan)
        datasets = sorted(self.folds["dataset"].unique())
        width = np.full((*shape[:2], len(datasets)), np.nan)
        for i, name in enumerate(self.compared):
            means = self.of(name).groupby(["at", "dataset"])["width90"].mean()
            for j, at in enumerate(self.holdouts):
                made = self.summary[name].get(at)
                if made is None:
                    continue
                for level, band in enumerate(BANDS):
                    around = made["interval"][f"cov{band}"]
                    coverage[i, j, level] = made[f"cov{band}"]
                    ends[i, j, level] = [np.nan if around[key] is None else around[key] for key in ("q05", "q95")]
                width[i, j] = [means.get((at, dataset), np.nan) for dataset in datasets]
        return xr.Dataset(
            {
                "coverage": (("forecaster", "holdout", "level"), coverage),
                "coverage_ends": (("forecaster", "holdout", "level", "end"), ends),
                "width": (("forecaster", "holdout", "dataset"), width),
            },
            coords={
                "forecaster": list(self.compared),
                "holdout": self.holdouts,
                "level": [band / 100 for band in BANDS],
                "dataset": datasets,
            },
            attrs={"source": self.source, "protocol": self.design.protocol, "baseline": self.baseline or ""},
        )

    def document(self) -> dict[str, Any]:
        """Plain values for JSON: the document of `bayescale backtest --json`."""
        first = self.forecasters[0]
        return {
            "source": self.source,
            "protocol": self.design.protocol,
            "by": self.design.by,
            "group": self.design.group,
            "holdout": [_number(k) for k in self.design.holdout],
            "seed": self.design.seed,
            "baseline": self.baseline,
            "folds": [row for name in self.forecasters for row in self._rows(name)],
            "summary": self.summary[first],
            "forecasters": {
                name: {"summary": self.summary[name], "pit": self.pit[name], "widens": self.widening(name)}
                for name in self.compared
            },
            "skipped": [{"dataset": one.dataset, "k": _number(one.k), "why": one.why} for one in self.skipped],
            "diagnostics": {"ok": self.ok, "untrusted": self.untrusted},
        }

    @property
    def untrusted(self) -> list[dict[str, Any]]:
        """Folds of the forecasters that were refused, or whose fit says not to trust it."""
        judged = self.folds[self.folds["forecaster"].isin(self.forecasters)]
        bad = judged[judged["refused"].astype(bool) | judged["warnings"].map(bool)]
        return [
            {"forecaster": row["forecaster"], "dataset": row["dataset"], "k": _number(row["k"]), "part": row["part"]}
            | {"why": [row["refused"]] if row["refused"] else list(row["warnings"])}
            for _, row in bad.iterrows()
        ]

    def _rows(self, name: str) -> list[dict[str, Any]]:
        """The folds of one forecaster, each with what the baseline scores there."""
        folds = self.folds[self.folds["forecaster"] == name]
        others: dict[tuple[Any, ...], dict[str, float]] = {}
        if self.baseline not in (None, name):
            of_baseline = self.of(str(self.baseline))
            others = {
                tuple(row[key] for key in ("at", *FOLD)): {score: row[score] for score in SCORES}
                for _, row in of_baseline.iterrows()
            }
        pits = {
            key: part["pit"].tolist()
            for key, part in self.points[self.points["forecaster"] == name].groupby(["at", *FOLD])
        }
        rows = []
        for _, row in folds.iterrows():
            key = tuple(row[one] for one in ("at", *FOLD))
            other = others.get(key)
            plain = {one: row[one] for one in ("forecaster", "dataset", "group", "part")}
            plain |= {"k": _number(row["k"]), "n_train": row["n_train"], "n_test": row["n_test"]}
            plain |= {one: row[one] for one in ("compute_ratio", "ladder", *SCORES)} | {"pit": pits.get(key, [])}
            plain |= {"baseline": other, "difference": _less(row, other), "seconds": row["seconds"]}
            plain |= {"refused": row["refused"] or None, "warnings": list(row["warnings"])}
            plain |= {"weights": row["weights"] or None}
            rows.append(plain)
        return rows

    def __repr__(self) -> str:
        from bayescale.evaluation._text import describe

        return describe(self)


def _less(row: pd.Series, other: dict[str, float] | None) -> dict[str, float] | None:
    """Scores of a fold less those of the baseline."""
    if other is None or row["refused"]:
        return None
    return {name: row[name] - other[name] for name in ("crps", "is90", "log_score", "are")}


def _number(k: float | None) -> int | float | None:
    """A factor as it is written: 10 for 10.0; None where there is none."""
    if k is None or not np.isfinite(k):
        return None
    return int(k) if float(k).is_integer() else float(k)
