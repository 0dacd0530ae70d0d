"""Where a table comes from: a path, standard input, a DataFrame. The bytes say which format it is, not the name."""

from __future__ import annotations

import difflib
import gzip
import io
import os
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescale.errors import RunsError
from bayescale.runs._raw import RawTable
from bayescale.runs._text import decode, read_delimited, read_json

__all__ = ["raw_table"]

# Formats that people hand over by mistake, by their first bytes: naming them saves a person the guess.
_OTHER_FORMATS = {
    b"PK\x03\x04": "an Excel workbook or another zip file; save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the sheet as CSV",
    b"\x89HDF": "an HDF5 or netCDF file, not a table of runs (a fit is read with Fit.load)",
    b"%PDF": "a PDF; copy its table into a CSV",
    b"\x89PNG": "a picture; digitise it into a CSV first",
    b"\xff\xd8\xff": "a picture; digitise it into a CSV first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; decompress it first, or use gzip",
    b"\xfd7zXZ": "compressed with xz; decompress it first, or use gzip",
    b"BZh": "compressed with bzip2; decompress it first, or use gzip",
    b"\x80\x04\x95": "a Python pickle, which is not opened; save the table as CSV or Parquet",
    b"SQLite format 3": "an SQLite database; export the table as CSV",
}


def raw_table(source: str | os.PathLike[str] | pd.DataFrame) -> RawTable:
    """The cells of `source`, whatever its format.

    Parameters
    ----------
    source : str, path or pandas.DataFrame
        A file (CSV, TSV, semicolon CSV, JSON lines or array, Parquet; any of them gzipped), ``"-"`` for standard
        input, or a DataFrame.

    Returns
    -------
    RawTable

    Raises
    ------
    RunsError
        The source is missing, a directory, empty, binary, or cannot be parsed.
    """
    if isinstance(source, pd.DataFrame):
        return _from_frame(source)
    if not isinstance(source, str | os.PathLike):
        raise RunsError(
            f"cannot read runs from {type(source).__name__}; expected a path, '-' for standard input, or a DataFrame"
        )
    name = "standard input" if source == "-" else os.fsdecode(source)
    return _from_bytes(sys.stdin.buffer.read() if source == "-" else _file_bytes(Path(name)), name)


def _file_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise RunsError(f"there is no file {path}{_similar(path)}") from None
    except IsADirectoryError:
        tables = sorted(p.name for p in path.iterdir() if p.suffix in {".csv", ".tsv", ".parquet", ".jsonl"})
        hint = f", for example {path / tables[0]}" if tables else ""
        raise RunsError(f"{path} is a directory; name one table in it{hint}") from None
    except (OSError, ValueError) as error:
        raise RunsError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def _similar(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"; the folder {path.parent} does not exist either"
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.6)
    return f"; did you mean {path.parent / close[0]}?" if close else ""


def _from_bytes(data: bytes, source: str) -> RawTable:
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise RunsError(f"{source} is a damaged gzip file: {error}") from None
    if not data.strip():
        raise RunsError(f"{source} is empty: expected a header row and one row per training run")
    if data.startswith(b"PAR1"):
        return _from_parquet(data, source)
    for magic, what in _OTHER_FORMATS.items():
        if data.startswith(magic):
            raise RunsError(f"{source} is {what}")
    text = decode(data, source)
    if "\x00" in text:
        raise RunsError(f"{source} is a binary file (it holds zero bytes), not a table")
    return read_json(text, source) if text.lstrip()[:1] in {"{", "["} else read_delimited(text, source)


def _from_parquet(data: bytes, source: str) -> RawTable:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise RunsError(f"{source} is Parquet, and reading it takes pyarrow: pip install pyarrow") from None
    try:
        table = parquet.read_table(io.BytesIO(data))
        # text that is none would show only when a cell is read
        table.validate(full=True)
        # Metadata would bring an index back and hide its column; the columns alone are the table.
        frame = table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise RunsError(f"{source} is a damaged Parquet file: {why}") from None
    return _from_frame(frame, source)


def _from_frame(frame: pd.DataFrame, source: str = "DataFrame") -> RawTable:
    if any(name is not None for name in frame.index.names):
        # A named index is data, such as the run's name.
        named = [name for name in frame.index.names if name is not None and name not in frame.columns]
        frame = frame.reset_index(level=named) if named else frame
    if not len(frame.columns):
        raise RunsError(f"{source} is empty: it has no columns")
    if not len(frame):
        raise RunsError(f"{source} has columns ({', '.join(map(str, frame.columns[:8]))}) and no rows")
    names = [str(name).strip() for name in frame.columns]
    columns = [_objects(frame.iloc[:, place]) for place in range(len(names))]
    return RawTable.from_columns(names, columns, source)


def _objects(cells: pd.Series[Any]) -> np.ndarray:
    objects = np.empty(len(cells), dtype=object)
    objects[:] = cells.tolist()
    return objects
