"""The record kept with every fit: what was fitted, to what, how, with which versions, and how it went."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import bayescale
from bayescale.diagnostics import Diagnostics
from bayescale.runs import Runs

__all__ = ["KINDS", "Record", "describe_runs", "versions"]

KINDS = {
    "posterior": "posterior draws",
    "bootstrap": "bootstrap replicates (not a posterior)",
    "point": "a point estimate (no uncertainty)",
}


@dataclass(frozen=True)
class Record:
    """Where the draws of a fit came from.

    Attributes
    ----------
    law, reference_run : str, mapping
        The law and the run its scale parameters stand at.
    model : mapping or None
        `Model.spec`: the law, the noise that scatters new runs, and the priors (which only a posterior uses).
    procedure, kind : str
        What made the draws, and what they are: ``posterior``, ``bootstrap`` or ``point``.
    settings : mapping
        Settings of the procedure.
    seed : int
        Seed of everything random.
    table : mapping
        Source, hash, number of runs, columns, rows dropped and warnings of the table.
    seconds : mapping
        ``total, compile, sample``.
    diagnostics : Diagnostics
        The verdict.
    prior_predictive : mapping
        What the priors alone said of the loss of the table's largest run.
    versions : mapping
        Of everything that decides the draws.
    ladder : mapping or None
        Of a model with a discrepancy: what its forecasts start from (`bayescale.ladder.Ladder`).
    """

    law: str
    reference_run: Mapping[str, float]
    model: Mapping[str, Any] | None
    procedure: str
    kind: str
    settings: Mapping[str, Any]
    seed: int
    table: Mapping[str, Any]
    seconds: Mapping[str, float]
    diagnostics: Diagnostics
    prior_predictive: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    ladder: Mapping[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        """Plain values for the file."""
        return asdict(self) | {"diagnostics": self.diagnostics.document()}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Record:
        """The record that `document` described."""
        return cls(**dict(document) | {"diagnostics": Diagnostics.from_document(document["diagnostics"])})


def describe_runs(runs: Runs) -> dict[str, Any]:
    """What a fit remembers of its table beside the numbers."""
    return {
        "source": runs.source,
        "sha256": runs.sha256,
        "n_runs": len(runs),
        "n_dropped": runs.n_dropped,
        "columns": dict(runs.columns),
        "dropped": [{"row": p.row, "column": p.column, "value": p.value, "message": p.message} for p in runs.dropped],
        "warnings": list(runs.warnings),
    }


def versions() -> dict[str, str]:
    """Versions of everything that decides the draws."""
    packages = ("jax", "jaxlib", "numpyro", "optax", "numpy")
    return {name: importlib.metadata.version(name) for name in packages} | {
        "bayescale": bayescale.__version__,
        "python": platform.python_version(),
    }
