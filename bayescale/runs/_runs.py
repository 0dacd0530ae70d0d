"""`Runs`: a checked table of training runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from bayescale.compute import format_quantity
from bayescale.errors import Problem, RunsError
from bayescale.runs._assess import Assessment, assess
from bayescale.runs._columns import Resolution, Source
from bayescale.runs._messages import refusal
from bayescale.runs._names import LOSS_SD, STANDARD
from bayescale.runs._raw import RawTable
from bayescale.runs._record import Record, record_of, stored_name
from bayescale.runs._rows import row_problems
from bayescale.runs._values import read_values

__all__ = ["Runs"]


class Runs:
    """A checked table of training runs; it does not change once made.

    Made by `Runs.read` or `Runs.from_arrays`. ``runs["N"]`` is the column N as float64, ``"N" in runs`` says whether
    it is there, ``len(runs)`` counts the runs. Two tables are equal when their numbers are.

    Attributes
    ----------
    table : xarray.Dataset
        Dimension ``run``; float64 variables among ``N`` (parameters), ``D`` (training tokens), ``C`` (FLOPs), ``U``
        (unique tokens), ``loss`` (nats per token), and the table's other columns under their own names; coordinate
        ``row``, the data row in the source counted from 1.
    columns : dict
        Standard name -> the column it was read from, or the formula that gave it.
    dropped : list of Problem
        What was wrong with the rows left out by ``drop_bad``.
    n_dropped : int
        How many rows that were.
    warnings : tuple of str
        What is to be said about the table without stopping a fit.
    source : str
        What the table was read from.
    sha256 : str
        Hash of the inputs and the loss: equal for equal numbers, whatever the columns are called and in which order.

    Examples
    --------
    >>> runs = Runs.from_arrays(N=[1e8, 1e9], D=[2e9, 2e10], loss=[3.4, 2.8])
    >>> len(runs), runs.columns["C"], float(runs["C"][0])
    (2, '6 N D', 1.2e+18)
    """

    __slots__ = ("_record",)
    _record: Record

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("make runs with Runs.read(source) or Runs.from_arrays(N=..., D=..., loss=...)")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"runs do not change; cannot set {name!r}")

    @classmethod
    def read(
        cls,
        source: str | os.PathLike[str] | pd.DataFrame,
        *,
        columns: Mapping[str, str] | None = None,
        where: str | None = None,
        drop_bad: bool = False,
        needs: Sequence[str] | None = None,
        name: str | None = None,
    ) -> Runs:
        """Read and check a table.

        Parameters
        ----------
        source : str, path or pandas.DataFrame
            CSV, TSV, semicolon CSV, JSON lines or Parquet, any of them gzipped; ``"-"`` for standard input.
        columns : mapping, optional
            What cannot be told from the names: ``{"loss": "eval/loss"}``; with a unit, ``{"D": "tokens (B)"}``,
            ``{"loss": "ppl (perplexity)"}``; ``{"C": "none"}`` leaves a column out.
        where : str, optional
            Rows to use: ``"loss < 3.44"``, ``"dataset == 'c4' and N > 1e8"``.
        drop_bad : bool
            Leave out rows that cannot be used (they are in ``dropped``) instead of refusing the table.
        needs : sequence of str, optional
            The inputs of the law and ``"loss"``: only these must be there and sound. By default all standard columns
            that are found, and the loss.
        name : str, optional
            What to call the table in fits and pictures; by default where it was read from. The selection is added.

        Returns
        -------
        Runs

        Raises
        ------
        RunsError
            The table cannot be used as it stands; ``problems`` has everything that was found.

        Examples
        --------
        >>> frame = pd.DataFrame({"params": ["70M", "1b4"], "tokens": ["1.4B", "28B"], "val_loss": [3.6, 2.7]})
        >>> Runs.read(frame)["N"].tolist()
        [70000000.0, 1400000000.0]
        """
        assessment = assess(source, columns=columns, where=where, needs=needs)
        problems = assessment.refusing(drop_bad=drop_bad)
        if problems:
            raise refusal(assessment.raw.source, problems, len(assessment.raw.frame))
        record = record_of(assessment)
        label = (name or record.source) + (f" where {where}" if where else "")
        return cls._made(replace(record, source=label))

    @classmethod
    def from_arrays(
        cls,
        *,
        N: ArrayLike | None = None,
        D: ArrayLike | None = None,
        C: ArrayLike | None = None,
        loss: ArrayLike | None = None,
        source: str = "arrays",
        **others: ArrayLike,
    ) -> Runs:
        """Runs from numbers at hand; the third of N, D, C follows by C = 6 N D.

        Parameters
        ----------
        N, D, C : array_like, optional
            Parameters, training tokens, FLOPs; shape (run,).
        loss : array_like, optional
            Nats per token, shape (run,); left out for runs to be forecast.
        source : str
            What to call the table in messages.
        **others : array_like
            Further columns, such as ``U`` (unique tokens) or labels.

        Returns
        -------
        Runs

        Raises
        ------
        RunsError
            No columns, columns of different lengths, or a value that is not finite and above zero.
        """
        given = {"N": N, "D": D, "C": C, "loss": loss} | others
        cells = {name: np.asarray(values) for name, values in given.items() if values is not None}
        shapes = {name: values.shape for name, values in cells.items()}
        if not shapes or len(set(shapes.values())) > 1 or any(len(shape) != 1 for shape in shapes.values()):
            raise RunsError(f"{source}: expected columns of one dimension and one length, found {shapes}")
        raw = RawTable.from_columns(list(cells), [_objects(values) for values in cells.values()], source)
        if not len(raw.frame):
            raise RunsError(f"{source}: the columns are empty")
        found = Resolution({name: Source(name) for name in cells if name in (*STANDARD, LOSS_SD)})
        values = read_values(raw, found)
        # Equal rows are allowed here: resampled and simulated tables have them.
        problems = row_problems(raw, found, values, list(values.available), duplicates=False)
        if problems:
            raise refusal(source, problems, len(raw.frame))
        assessment = Assessment(raw, found, values, (), (), (), (), np.ones(len(raw.frame), dtype=bool))
        return cls._made(record_of(assessment))

    def subset(self, mask: ArrayLike) -> Runs:
        """The runs where `mask` is true.

        Parameters
        ----------
        mask : array_like of bool
            Shape (run,).

        Returns
        -------
        Runs
            Row numbers are kept.

        Raises
        ------
        RunsError
            The mask is not one bool a run, or selects none.
        """
        chosen = np.asarray(mask)
        if chosen.dtype != bool or chosen.shape != (len(self),):
            found = f"{chosen.dtype} of shape {chosen.shape}"
            raise RunsError(f"a mask has one bool for each of the {len(self)} runs; found {found}")
        if not chosen.any():
            raise RunsError(f"the mask selects none of the {len(self)} runs of {self.source}")
        return self._made(self._record.subset(np.flatnonzero(chosen)))

    @property
    def table(self) -> xr.Dataset:
        return self._record.table.copy(deep=False)

    @property
    def columns(self) -> dict[str, str]:
        return dict(self._record.columns)

    @property
    def dropped(self) -> list[Problem]:
        return list(self._record.dropped)

    @property
    def n_dropped(self) -> int:
        return len({problem.row for problem in self._record.dropped})

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._record.warnings

    @property
    def source(self) -> str:
        return self._record.source

    @property
    def sha256(self) -> str:
        return self._record.sha256

    def __len__(self) -> int:
        return int(self._record.table.sizes["run"])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and stored_name(name) in self._record.table

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self:
            known = ", ".join(str(column) for column in self._record.table)
            raise RunsError(f"{self.source} has no column {name!r}; it has {known}")
        return np.asarray(self._record.table[stored_name(name)].values)

    def __eq__(self, other: object) -> bool:
        return self._record.sha256 == other._record.sha256 if isinstance(other, Runs) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._record.sha256)

    def __reduce__(self) -> tuple[object, ...]:
        return Runs._made, (self._record,)

    def __repr__(self) -> str:
        lines = [f"{len(self):,} {'run' if len(self) == 1 else 'runs'} from {self.source}"]
        for name, what in STANDARD.items():
            if name in self._record.columns and np.isfinite(values := self[name]).any():
                ends = (float(np.nanmin(values)), float(np.nanmax(values)))
                low, high = (f"{end:.4g}" if name == "loss" else format_quantity(end) for end in ends)
                lines.append(f"  {name:<5}{low} to {high}  {what}, from {self._record.columns[name]}")
        if self.n_dropped:
            lines.append(f"  {self.n_dropped:,} {'row' if self.n_dropped == 1 else 'rows'} dropped")
        if self._record.warnings:
            lines.append(
                f"  {len(self._record.warnings)} {'warning' if len(self._record.warnings) == 1 else 'warnings'}"
            )
        return "\n".join(lines)

    @classmethod
    def _made(cls, record: Record) -> Runs:
        self = object.__new__(cls)
        object.__setattr__(self, "_record", record)
        return self


def _objects(values: np.ndarray) -> np.ndarray:
    cells = np.empty(values.shape[0], dtype=object)
    cells[:] = values.tolist()
    return cells
