"""The column that a quantity is read from, and the unit it is written in."""

from __future__ import annotations

from dataclasses import dataclass

from bayescale.runs._cells import Numbers, numbers
from bayescale.runs._names import LOSS_SD, Unit
from bayescale.runs._raw import RawTable

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """The table column that a standard name is read from, and the unit it is written in."""

    column: str
    unit: Unit | None = None

    @property
    def formula(self) -> str:
        return self.column if self.unit is None else self.unit.formula(self.column)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read."""
        return (self.column,)

    def read(self, raw: RawTable, name: str) -> Numbers:
        """The column in the standard unit."""
        plain = self.unit is None or self.unit == Unit(self.unit.text)
        read = numbers(raw.frame[self.column].to_numpy(), quantities=plain and name not in ("loss", LOSS_SD))
        return read if self.unit is None else Numbers(self.unit.convert(read.values), read.reasons)
