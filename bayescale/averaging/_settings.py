"""How laws are averaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from bayescale.errors import FitError

__all__ = ["WEIGHTS", "Averaging"]

WEIGHTS = ("stacking", "predictive")


@dataclass(frozen=True)
class Averaging:
    """Which laws are averaged, and how they are weighed.

    Attributes
    ----------
    laws : tuple of str or None
        Laws of the registry; by default that of the prior set, and ``chinchilla``.
    prior : tuple of float or None
        For how many observations each law counts before any run is seen. By default that of the groups of runs that it
        was learnt from, plus one; another law than that of the prior set has been learnt from none.
    weights : {"stacking", "predictive"}
        By stacking of the densities of the runs that were forecast, where those of one cut count as one observation; or
        by their joint density, Bayes' rule, in which long tables overrule any prior.
    cuts : int
        How often a long ladder is cut, each time at a third of what is left.

    Raises
    ------
    FitError
        A way to weigh that there is not, or no cut.
    """

    laws: tuple[str, ...] | None = None
    prior: tuple[float, ...] | None = None
    weights: str = "stacking"
    cuts: int = 2

    def __post_init__(self) -> None:
        if self.weights not in WEIGHTS:
            raise FitError(f"laws are weighed by {' or '.join(WEIGHTS)}, not by {self.weights!r}")
        if self.cuts < 1:
            raise FitError(
                f"a ladder is cut once or more often, not {self.cuts} times; to keep prior weights, name one law"
            )

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> Averaging:
        """Settings from text: ``{"laws": "kappa,chinchilla", "prior": "3,1", "weights": "stacking", "cuts": "1"}``.

        Raises
        ------
        FitError
            A setting that there is not, or a value that cannot be read.

        Examples
        --------
        >>> Averaging.parse({"prior": "3,1"}).prior
        (3.0, 1.0)
        """
        known = [one.name for one in fields(cls)]
        for name in given:
            if name not in known:
                raise FitError(f"an average of laws has no setting {name!r}; its settings are {', '.join(known)}")
        readers: dict[str, Callable[[str], Any]] = {"laws": _names, "prior": _numbers, "cuts": int}
        read = {}
        for name, value in given.items():
            try:
                read[name] = readers[name](value) if isinstance(value, str) and name in readers else value
            except ValueError:
                raise FitError(f"an average of laws: {name}={value!r} cannot be read") from None
        return cls(**read)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))
