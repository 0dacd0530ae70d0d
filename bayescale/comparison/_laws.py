"""The result of a comparison of laws: a row a law, and what its columns mean."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd

from bayescale.comparison._loo import LeaveOneOut
from bayescale.comparison._text import _grid
from bayescale.fits import Fit

__all__ = ["INTERPOLATION", "LawAnswer", "LawComparison"]

WIDTH = 118
INTERPOLATION = (
    "elpd_loo measures interpolation: each run is forecast from runs around it. A law that wins there may lose beyond "
    "the table, and what is beyond the table is what a scaling law is for: the last column forecasts its top from the "
    "rest"
)
# Differences this small say nothing, whatever their standard error.
SMALL = 4.0


@dataclass(frozen=True, eq=False)
class LawAnswer:
    """What was found of one law.

    Attributes
    ----------
    law : str
    fit : Fit or None
        Of the whole table; None where the law cannot be fitted.
    loo : LeaveOneOut or None
    beyond : float or None
        Joint log density of the runs at the top of the ladder, given those below [nats].
    warnings : tuple of str
        Reasons not to trust the row; the reason alone where there is no fit.
    notes : tuple of str
        What a reader should know of it.
    """

    law: str
    fit: Fit | None
    loo: LeaveOneOut | None
    beyond: float | None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether the law cannot be fitted to the table."""
        return self.fit is None


@dataclass(frozen=True, eq=False)
class LawComparison:
    """Laws side by side on one table; made by `compare_laws`.

    Attributes
    ----------
    source : str
        The table.
    n_runs, n_below, n_above : int
        Runs, and how many of them were fitted and forecast for the last column; 0 for a ladder too short for it.
    answers : tuple of LawAnswer
        The best by elpd_loo first, refused laws last.
    """

    source: str
    n_runs: int
    n_below: int
    n_above: int
    answers: tuple[LawAnswer, ...]

    @property
    def ok(self) -> bool:
        """Whether every fit that was made may be trusted."""
        return not self.untrusted

    @property
    def untrusted(self) -> tuple[str, ...]:
        """Laws with a fit and a reason not to trust it."""
        return tuple(one.law for one in self.answers if one.warnings and not one.refused)

    @property
    def fits(self) -> dict[str, Fit]:
        """The fits by law."""
        return {one.law: one.fit for one in self.answers if one.fit is not None}

    @property
    def table(self) -> pd.DataFrame:
        """One row a law that was fitted.

        ``elpd_loo, se``: expected log predictive density of log loss, summed over runs. ``difference,
        difference_se``: from the first row, and its standard error over paired runs. ``max_k, n_high_k, n_refitted``:
        of the importance weights. ``beyond, beyond_difference``: joint log density of the top of the ladder, and its
        difference from that of the best law there. ``seconds``: of the fit.
        """
        given = [one for one in self.answers if one.loo is not None]
        top = max((one.beyond for one in given if one.beyond is not None), default=None)
        rows = {one.law: self._row(one, given[0], top) for one in given}
        return pd.DataFrame.from_dict(rows, orient="index")

    def _row(self, one: LawAnswer, best: LawAnswer, top: float | None) -> dict[str, float]:
        assert one.loo is not None
        assert best.loo is not None
        assert one.fit is not None
        apart = one.loo.elpd - best.loo.elpd
        beyond = np.nan if one.beyond is None else one.beyond
        return {
            "elpd_loo": one.loo.total,
            "se": one.loo.se,
            "difference": float(apart.sum()),
            "difference_se": float(np.sqrt(len(apart) * apart.var(ddof=1))),
            "max_k": float(np.max(one.loo.pareto_k)),
            "n_high_k": len(one.loo.refitted) + len(one.loo.left),
            "n_refitted": len(one.loo.refitted),
            "beyond": beyond,
            "beyond_difference": np.nan if top is None else beyond - top,
            "seconds": float(one.fit.record.seconds["total"]),
        }

    @property
    def verdict(self) -> str:
        """Which law interpolates best, which forecasts the top best, and whether that is the same."""
        table = self.table
        if len(table) < 2:
            return "there is no second law to compare with"
        second = table.iloc[1]
        apart, se = -second["difference"], second["difference_se"]
        clear = apart > SMALL and apart > 2.0 * se
        inside = f"{table.index[0]} is {'' if clear else 'not clearly '}ahead of {table.index[1]} in interpolation "
        inside += f"({apart:.1f} nats, se {se:.1f})"
        if table["beyond"].isna().all():
            return f"{inside}; the ladder is too short to hold its top out"
        order = table["beyond"].sort_values(ascending=False)
        gap = order.iloc[0] - order.iloc[1]
        return f"{inside}; {order.index[0]} forecasts the top of the ladder best, by {gap:.1f} nats"

    def document(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        table = self.table
        rows = []
        for one in self.answers:
            row: dict[str, Any] = {"law": one.law, "warnings": list(one.warnings), "notes": list(one.notes)}
            scores = table.loc[one.law].to_dict() if one.law in table.index else dict.fromkeys(table.columns)
            row |= {key: None if value is None or not np.isfinite(value) else value for key, value in scores.items()}
            if one.loo is not None:
                row |= {"k_threshold": one.loo.threshold, "refitted": [run + 1 for run in one.loo.refitted]}
            rows.append(row)
        return {
            "source": self.source,
            "n_runs": self.n_runs,
            "n_below": self.n_below,
            "n_above": self.n_above,
            "laws": rows,
            "verdict": self.verdict,
            "interpolation": INTERPOLATION,
            "diagnostics": {"ok": self.ok, "untrusted": list(self.untrusted)},
        }

    def __repr__(self) -> str:
        head = [
            "law",
            "elpd_loo",
            "difference (se)",
            "largest k",
            "refitted",
            "top of the ladder",
            "difference",
            "seconds",
        ]
        rows = [head]
        for law, row in self.table.iterrows():
            name = f"{law} (!)" if law in self.untrusted else str(law)
            beyond = (
                ["-", "-"] if np.isnan(row["beyond"]) else [f"{row['beyond']:.1f}", f"{row['beyond_difference']:+.1f}"]
            )
            refits = f"{row['n_refitted']:.0f}" + (f" of {row['n_high_k']:.0f}" if row["n_high_k"] else "")
            apart = f"{row['difference']:+.1f} ({row['difference_se']:.1f})"
            cells = [name, f"{row['elpd_loo']:.1f}", apart, f"{row['max_k']:.2f}", refits, *beyond]
            rows.append([*cells, f"{row['seconds']:.1f}"])
        top = f"; the top: {self.n_above} runs forecast from {self.n_below}" if self.n_below else ""
        lines = [f"{self.source}: {self.n_runs} runs, log densities of log loss [nats]{top}", "", *_grid(rows), ""]
        lines += [fill(text, WIDTH) for text in (f"{self.verdict}.", f"{INTERPOLATION}.")]
        for one in self.answers:
            mark = ": cannot be fitted: " if one.refused else " ! "
            lines += [fill(f"{one.law}{mark}{text}", WIDTH, subsequent_indent="  ") for text in one.warnings]
            lines += [fill(f"{one.law}: {text}", WIDTH, subsequent_indent="  ") for text in one.notes]
        return "\n".join(lines)
