"""A table as it was written: cells untouched, nothing guessed yet."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from bayescale.errors import Problem

__all__ = ["RawTable"]


@dataclass(frozen=True)
class RawTable:
    """Cells as they stand in the source, one object column a table column.

    Attributes
    ----------
    frame : pandas.DataFrame
        The cells; text formats keep text, so that a message can show what was written.
    source : str
        What the person called the table.
    rows : numpy.ndarray
        Data row of each line, counted from 1.
    problems : tuple of Problem
        Rows whose shape is wrong (more or fewer cells than the header).
    repeated : frozenset of str
        Names that more than one column carries.
    """

    frame: pd.DataFrame
    source: str
    rows: np.ndarray
    problems: tuple[Problem, ...] = ()
    repeated: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def from_columns(
        cls, names: list[str], columns: list[np.ndarray], source: str, problems: tuple[Problem, ...] = ()
    ) -> RawTable:
        """Assemble a table, telling columns of one name apart as ``loss`` and ``loss (column 3)``."""
        counts = Counter(names)
        kept: dict[str, np.ndarray] = {}
        for place, (name, cells) in enumerate(zip(names, columns, strict=True), start=1):
            unique = name or f"column {place}"
            while unique in kept:
                unique = f"{unique} (column {place})"
            kept[unique] = cells
        n_rows = len(columns[0]) if columns else 0
        # Object on purpose: pandas would turn text into its own dtype, on which arithmetic repeats the string.
        frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in kept.items()})
        repeated = frozenset(name for name, count in counts.items() if count > 1 and name)
        return cls(frame, source, np.arange(1, n_rows + 1), problems, repeated)

    def select(self, mask: np.ndarray) -> RawTable:
        """The rows where `mask` is true, keeping their row numbers."""
        rows = self.rows[mask]
        kept = set(rows.tolist())
        problems = tuple(problem for problem in self.problems if problem.row in kept)
        return RawTable(self.frame[mask].reset_index(drop=True), self.source, rows, problems, self.repeated)
