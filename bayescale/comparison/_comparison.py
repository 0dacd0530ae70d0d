"""The result of a comparison: a row a procedure, the differences between them, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescale.comparison._answers import QUANTITIES, Answer
from bayescale.comparison._text import describe
from bayescale.intervals import KEYS

__all__ = ["Comparison"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """Procedures side by side on one table; made by `bayescale.compare`.

    Attributes
    ----------
    law, source : str
        What was fitted, and the table.
    n_runs : int
        Runs in the table.
    flops : tuple of float
        Budgets; the first is the one of ``table``, ``intervals`` and the verdict.
    largest : float or None
        Largest FLOPs of the table.
    holdout : float or None
        The factor below the largest FLOPs at which the held-out fits stop.
    answers : tuple of Answer
        What each procedure says.
    pairs : pandas.DataFrame
        One row a pair of procedures and quantity, the most significant first: ``difference`` (of logs for N) with its
        90 % interval ``q05, q95``, whether the replicates were ``paired``, the difference in its sds
        (``standardised``), ``p``, and ``p_adjusted`` by Holm over all rows; ``disagree`` where that is below .05.
    verdict : str
        Whether any two disagree beyond their uncertainties, and what decides.
    sensitivity : pandas.DataFrame or None
        Of `bayescale.comparison.sensitivity`, where it was asked for.
    """

    law: str
    source: str
    n_runs: int
    flops: tuple[float, ...]
    largest: float | None
    holdout: float | None
    answers: tuple[Answer, ...]
    pairs: pd.DataFrame
    verdict: str
    sensitivity: pd.DataFrame | None = None

    @property
    def untrusted(self) -> tuple[str, ...]:
        """Procedures whose own diagnostics say not to trust their fit. One that refused the table is none of them."""
        return tuple(answer.procedure for answer in self.answers if not answer.refused and answer.warnings)

    @property
    def ok(self) -> bool:
        """Whether every fit may be trusted."""
        return not self.untrusted

    @property
    def fits(self) -> dict[str, Any]:
        """The fits by procedure; those that refused are left out."""
        return {answer.procedure: answer.fit for answer in self.answers if answer.fit is not None}

    @property
    def table(self) -> pd.DataFrame:
        """One row a procedure: kind, each quantity with its 90 % interval, held-out scores, seconds.

        Columns ``N_exponent`` (the estimate, or the median of a posterior), ``N_exponent_q05``, ``N_exponent_q95`` and
        so on for ``D_exponent, N, D, E, loss``; ``heldout_are`` and the other scores where runs were held out.
        """
        rows = {}
        for answer in self.answers:
            row: dict[str, Any] = {"kind": answer.kind}
            for name, quantity in answer.quantities.items():
                made = quantity.document() or {}
                row |= {name: quantity.value} | {f"{name}_{key}": made.get(key) for key in ("q05", "q95")}
            row |= {f"heldout_{key}": value for key, value in (answer.heldout or {}).items()}
            row |= {"seconds": answer.seconds, "warnings": "\n".join(answer.warnings)}
            rows[answer.procedure] = row
        table = pd.DataFrame.from_dict(rows, orient="index")
        numeric = [name for name in table if name not in ("kind", "warnings")]
        return table.astype(dict.fromkeys(numeric, float))

    @property
    def intervals(self) -> xr.Dataset:
        """What the picture shows.

        Variables ``interval`` (procedure, quantity, level), ``value`` (procedure, quantity), ``why`` (procedure,
        quantity: why there is no value), ``kind``, ``refused`` and ``trusted`` (procedure); NaN where a procedure gives
        nothing. Attributes ``flops, law, source``.
        """
        shape = (len(self.answers), len(QUANTITIES))
        band, value = np.full((*shape, len(KEYS)), np.nan), np.full(shape, np.nan)
        why = np.full(shape, "", dtype=object)
        for i, answer in enumerate(self.answers):
            for j, name in enumerate(QUANTITIES):
                quantity = answer.quantities[name]
                why[i, j] = quantity.why or ""
                if quantity.value is not None:
                    value[i, j] = quantity.value
                if quantity.spread:
                    band[i, j] = np.quantile(quantity.finite, list(KEYS.values()))
        return xr.Dataset(
            {
                "interval": (("procedure", "quantity", "level"), band),
                "value": (("procedure", "quantity"), value),
                "why": (("procedure", "quantity"), why.astype(str)),
                "kind": ("procedure", [answer.kind for answer in self.answers]),
                "refused": ("procedure", [answer.refused for answer in self.answers]),
                "trusted": ("procedure", [not answer.warnings for answer in self.answers]),
            },
            coords={
                "procedure": [answer.procedure for answer in self.answers],
                "quantity": list(QUANTITIES),
                "level": list(KEYS.values()),
            },
            attrs={"flops": self.flops[0] if self.flops else np.nan, "law": self.law, "source": self.source},
        )

    def document(self) -> dict[str, Any]:
        """Plain values for JSON: the document of `bayescale compare --json`."""
        return {
            "law": self.law,
            "source": self.source,
            "n_runs": self.n_runs,
            "flops": list(self.flops),
            "largest_flops": self.largest,
            "holdout": self.holdout,
            "rows": [answer.document() for answer in self.answers],
            "verdict": self.verdict,
            "pairs": self.pairs.to_dict("records"),
            "disagree": bool(self.pairs["disagree"].any()) if len(self.pairs) else None,
            "sensitivity": None if self.sensitivity is None else self.sensitivity.to_dict("records"),
            "diagnostics": {"ok": self.ok, "untrusted": list(self.untrusted)},
        }

    def __repr__(self) -> str:
        return describe(self)
