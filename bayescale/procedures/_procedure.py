"""What a fitting procedure is: something that turns runs into a fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from bayescale.fits import Fit
from bayescale.runs import Runs

__all__ = ["REGISTRY", "Procedure", "Progress"]

Progress = Callable[[str, int, int], None]

REGISTRY: dict[str, type[Procedure]] = {}


class Procedure(ABC):
    """A way of fitting a law to runs.

    A subclass states ``name``, ``kind`` (what its draws are), ``summary`` (one sentence), ``citation``, and ``fit``;
    naming the class registers it, so that it appears in `bayescale procedures`, in `bayescale.fit` and in the contract
    tests.
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    summary: ClassVar[str]
    citation: ClassVar[str]

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            for required in ("kind", "summary", "citation"):
                if not getattr(cls, required, ""):
                    raise TypeError(f"{cls.__name__} needs a {required}")
            REGISTRY[cls.name] = cls

    @abstractmethod
    def fit(self, runs: Runs, seed: int = 0, progress: Progress | None = None) -> Fit:
        """Fit the law to the runs; the same seed, table and versions give the same fit."""
