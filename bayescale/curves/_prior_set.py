"""The prior set of curves: what was learnt from many of them, from which, and how to write and read it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from bayescale.curves._calibration import Calibration
from bayescale.curves._discrepancy import Discrepancy
from bayescale.errors import PriorError

__all__ = ["CurvePriors"]


@dataclass(frozen=True)
class CurvePriors:
    """A named set of priors for curves.

    Attributes
    ----------
    name : str
        What it is called.
    learnt_from : tuple of str
        The families of curves it was learnt from; empty for one that was set by hand.
    discrepancy : Discrepancy
        Priors of each curve's own residual.
    calibration : Calibration
        What turns draws into a forecast.
    """

    name: str = "by-hand"
    learnt_from: tuple[str, ...] = ()
    discrepancy: Discrepancy = field(default_factory=Discrepancy)
    calibration: Calibration = field(default_factory=Calibration)

    @classmethod
    def published(cls) -> CurvePriors:
        """The set that comes with the library, learnt by `bayescale curves --learn`.

        Examples
        --------
        >>> CurvePriors.published().name
        'published'
        """
        return cls._of(json.loads(resources.files(__package__).joinpath("published.json").read_text()), "published")

    @classmethod
    def load(cls, path: str | Path) -> CurvePriors:
        """Read a set.

        Raises
        ------
        PriorError
            No such file, or not a prior set.
        """
        try:
            return cls._of(json.loads(Path(path).read_text()), path)
        except OSError as error:
            raise PriorError(
                f"{path}: cannot be read ({error.strerror}); `bayescale curves --learn` writes one"
            ) from None
        except json.JSONDecodeError as error:
            raise PriorError(f"{path}: not JSON ({error}); `bayescale curves --learn` writes a prior set") from None

    @classmethod
    def _of(cls, document: Any, path: Any) -> CurvePriors:
        def frozen(values: dict[str, Any]) -> dict[str, Any]:
            return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}

        try:
            return cls(
                str(document["name"]),
                tuple(document["learnt_from"]),
                Discrepancy(**frozen(document["discrepancy"])),
                Calibration(**frozen(document["calibration"])),
            )
        except (KeyError, TypeError) as error:
            raise PriorError(
                f"{path}: not a prior set of curves ({error}); `bayescale curves --learn` writes one"
            ) from None

    def save(self, path: str | Path) -> None:
        """Write the set as JSON.

        Raises
        ------
        PriorError
            The file cannot be written.
        """
        try:
            Path(path).write_text(json.dumps(asdict(self), indent=2) + "\n")
        except OSError as error:
            raise PriorError(f"{path}: cannot be written ({error.strerror}); is there such a folder?") from None
