"""The ladder of runs that a forecast starts from, and how the law forecast its top from its lower part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Ladder", "Rehearsal"]


class Rehearsal(NamedTuple):
    """How the law forecast the top of a ladder from its lower part.

    Attributes
    ----------
    decades : float
        Of compute, from the top of the lower part to the runs that were forecast.
    error : float
        Observed minus forecast log loss, over the runs that the forecast put nearest to the frontier.
    sd : float
        Of that error, were the law true: the posterior of the law's loss, and the noise of the runs.
    runs : int
        Over how many.
    converged : bool
        Whether the draws that this comes from had converged.
    """

    decades: float
    error: float
    sd: float
    runs: int = 3
    converged: bool = True


@dataclass(frozen=True)
class Ladder:
    """The runs that a forecast starts from.

    Attributes
    ----------
    top : float
        The largest training compute among them [FLOPs].
    decades : float
        How many decades of compute they span.
    rehearsal : Rehearsal or None
        How well the law forecast the top from the rest; None where the rest was too little to fit.
    """

    top: float
    decades: float
    rehearsal: Rehearsal | None = None

    @classmethod
    def of(cls, compute: Any, rehearsal: Rehearsal | None = None) -> Ladder:
        """The ladder of runs with these training FLOPs (run,)."""
        values = np.asarray(compute, dtype=np.float64)
        return cls(float(values.max()), float(np.log10(values.max() / values.min())), rehearsal)

    @property
    def reference(self) -> dict[str, float]:
        """The run at the top for laws to stand at: 20 tokens per parameter at the largest compute."""
        N = (self.top / 120.0) ** 0.5
        return {"N": N, "D": 20.0 * N}

    def beyond(self, compute: Any) -> np.ndarray:
        """Decades from the top to each of these FLOPs; negative below it."""
        return np.log10(np.asarray(compute, dtype=np.float64) / self.top)

    def document(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return asdict(self) | {"rehearsal": None if self.rehearsal is None else list(self.rehearsal)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Ladder:
        """The ladder that `document` described."""
        told = document["rehearsal"]
        return cls(**dict(document) | {"rehearsal": None if told is None else Rehearsal(*told)})
