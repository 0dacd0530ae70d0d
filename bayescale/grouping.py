"""Groups of runs, and the names and places of parameters that have one value for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayescale.errors import RunsError

__all__ = ["Groups", "element", "gathered", "spread_out"]


@dataclass(frozen=True)
class Groups:
    """The groups that one or two columns of a table make.

    Attributes
    ----------
    over : tuple of str
        The columns; arrays (run,) of labels, or (run, slot) where a run has several, such as the sources of its tokens.
    labels : tuple of tuple of str
        One entry a group, one label a column.
    """

    over: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, over: tuple[str, ...], columns: Any) -> Groups:
        """The groups there are in a table, in the order of their labels."""
        return cls(over, tuple(sorted(set(map(tuple, _cells(over, columns).reshape(-1, len(over)).tolist())))))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def key(self) -> str:
        """Name of the column that holds `places`: no column of a table is called so."""
        return f"@{'*'.join(self.over)}"

    @cached_property
    def _places(self) -> dict[tuple[str, ...], int]:
        return {labels: place for place, labels in enumerate(self.labels)}

    def places(self, columns: Any) -> np.ndarray:
        """Which group each run (and slot) is in; one past the last for a group that is not among these."""
        cells = _cells(self.over, columns)
        flat = [self._places.get(tuple(labels), len(self)) for labels in cells.reshape(-1, len(self.over)).tolist()]
        return np.array(flat, dtype=np.int32).reshape(cells.shape[:-1])

    def extended(self, columns: Any) -> Groups:
        """These groups, and after them those of other runs that are not among them."""
        others = [labels for labels in Groups.of(self.over, columns).labels if labels not in self._places]
        return Groups(self.over, (*self.labels, *others))

    def members(self, column: str) -> tuple[np.ndarray, tuple[str, ...]]:
        """For one of the columns: which of its labels each group has, and the labels."""
        at = self.over.index(column)
        labels = tuple(dict.fromkeys(group[at] for group in self.labels))
        return np.array([labels.index(group[at]) for group in self.labels], dtype=np.int32), labels

    def names(self, parameter: str) -> tuple[str, ...]:
        """Names of a parameter's values, such as ``alpha[c4]``."""
        return tuple(element(parameter, labels) for labels in self.labels)

    def grid(self, values: np.ndarray) -> tuple[np.ndarray, dict[str, tuple[str, ...]]]:
        """Values (..., group) on the grid of labels (..., first, second), NaN where there is no such group."""
        places, labels = zip(*(self.members(column) for column in self.over), strict=True)
        made = np.full((*values.shape[:-1], *map(len, labels)), np.nan)
        made[..., *places] = values
        return made, dict(zip(self.over, labels, strict=True))

    def from_grid(self, values: np.ndarray) -> np.ndarray:
        """The inverse of `grid`."""
        cells: tuple[Any, ...] = tuple(self.members(column)[0] for column in self.over)
        return values[(..., *cells)]


def element(parameter: str, labels: tuple[str, ...]) -> str:
    """Name of one value of a parameter."""
    return f"{parameter}[{','.join(labels)}]"


def spread_out(values: Mapping[str, np.ndarray], groups: Mapping[str, Groups]) -> dict[str, np.ndarray]:
    """Arrays (..., group) of parameters with groups as one array (...) for each value; others as they are."""
    made: dict[str, np.ndarray] = {}
    for name, array in values.items():
        if name in groups:
            made |= {label: array[..., place] for place, label in enumerate(groups[name].names(name))}
        else:
            made[name] = array
    return made


def gathered(values: Mapping[str, np.ndarray], groups: Mapping[str, Groups]) -> dict[str, np.ndarray]:
    """The inverse of `spread_out`."""
    inside = {label for name, of in groups.items() for label in of.names(name)}
    made = {name: array for name, array in values.items() if name not in inside}
    return made | {name: np.stack([values[n] for n in of.names(name)], axis=-1) for name, of in groups.items()}


def _cells(over: tuple[str, ...], columns: Any) -> np.ndarray:
    """Labels (run, ..., column) as text."""
    missing = [name for name in over if name not in columns]
    if missing:
        raise RunsError(
            f"parameters are pooled over {missing[0]}, and there is no column of that name: pool over one of the table"
        )
    read = [np.atleast_1d(np.asarray(columns[name])) for name in over]
    deepest = max(array.ndim for array in read)
    read = [array.reshape(*array.shape, *(1,) * (deepest - array.ndim)) for array in read]
    text = [np.vectorize(_label, otypes=[object])(array) for array in read]
    for name, array in zip(over, text, strict=True):
        blank = np.argwhere(np.isin(array, ("", "nan", "None")))
        if blank.size:
            raise RunsError(f"run {blank[0][0] + 1}: {name} is blank, and parameters are pooled over it")
    return np.stack(np.broadcast_arrays(*text), axis=-1)


def _label(cell: Any) -> str:
    """How a cell is called: a number that is whole without its decimals."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
