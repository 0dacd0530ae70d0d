"""Bytes of a text table into cells: CSV with any of the usual separators, JSON lines."""

from __future__ import annotations

import csv
import io
import json
import re
from itertools import zip_longest
from typing import Any

import numpy as np

from bayescale.errors import Problem, RunsError
from bayescale.runs._raw import RawTable

__all__ = ["decode", "read_delimited", "read_json"]

_SEPARATORS = (",", "\t", ";", "|")
_MAX_COLUMNS = 10_000


def decode(data: bytes, source: str) -> str:
    """Text of a table; UTF-8 with or without a byte-order mark, UTF-16 only where its mark says so."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    else:
        encoding = "utf-8-sig"
        if b"\x00" in data:
            raise RunsError(
                f"{source} is a binary file (it holds zero bytes), not a table; "
                "expected CSV, TSV, JSON lines or Parquet"
            )
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RunsError(
            f"{source} is not UTF-8 text: line {line} holds the byte 0x{data[error.start]:02x}. If it is a table in "
            f"another encoding, save it as UTF-8 (for example: iconv -f latin1 -t utf-8 {source} > utf8.csv)"
        ) from None


def read_delimited(text: str, source: str) -> RawTable:
    """CSV, TSV or semicolon CSV; the separator is the one that splits the header into most cells."""
    separator = _separator(text, source)
    rows = _parsed(text, separator, source)
    if not rows:
        raise RunsError(f"{source} is empty: expected a header row and one row per training run")
    header = [cell.strip() for cell in rows[0]]
    body = rows[1:]
    if not body:
        raise RunsError(f"{source} has a header ({_some(header)}) and no rows: expected one row per training run")
    if len(header) > _MAX_COLUMNS:
        raise RunsError(f"{source} has {len(header):,} columns; a table of runs has one row a run and a few columns")
    problems = _reshape(body, len(header))
    columns = [np.array(cells, dtype=object) for cells in zip_longest(*body, fillvalue="")]
    header, columns = _without_empty_tail(header, columns[: len(header)])
    return RawTable.from_columns(header, columns, source, tuple(problems))


def read_json(text: str, source: str) -> RawTable:
    """JSON lines (an object a line) or one JSON array of objects."""
    records = _json_array(text, source) if text.lstrip().startswith("[") else _json_lines(text, source)
    if not records:
        raise RunsError(f"{source} is empty: expected one JSON object per training run")
    names = list(dict.fromkeys(name for record in records for name in record))
    if not names:
        raise RunsError(f"{source} holds JSON objects without keys: expected keys such as N, D and loss")
    if len(names) > _MAX_COLUMNS:
        raise RunsError(f"{source} has {len(names):,} different keys; expected the same few keys in every object")
    columns = []
    for name in names:
        cells = np.empty(len(records), dtype=object)
        cells[:] = [_json_cell(record.get(name)) for record in records]
        columns.append(cells)
    return RawTable.from_columns([name.strip() for name in names], columns, source)


def _separator(text: str, source: str) -> str:
    first = re.search(r"[^\r\n]*\S[^\r\n]*", text)
    if first is None:
        raise RunsError(f"{source} is empty: expected a header row and one row per training run")
    counts = {}
    for separator in _SEPARATORS:
        try:
            counts[separator] = len(next(csv.reader([first[0]], delimiter=separator), []))
        except csv.Error:
            counts[separator] = 1
    return max(_SEPARATORS, key=lambda separator: counts[separator])


def _parsed(text: str, separator: str, source: str) -> list[list[str]]:
    # Strict, so that an unclosed quote is an error instead of a cell that swallows the rest of the file.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        return [row for row in reader if row]
    except csv.Error as error:
        raise RunsError(
            f"{source} cannot be read as a table: line {reader.line_num}: {error}. "
            "Look for a quotation mark that is not closed, or not doubled inside a quoted cell"
        ) from None


def _reshape(body: list[list[str]], width: int) -> list[Problem]:
    """Cut and report rows that are not as wide as the header; extra empty cells are harmless."""
    problems = []
    for place, row in enumerate(body):
        if len(row) > width and not any(cell.strip() for cell in row[width:]):
            body[place] = row[:width]
        elif len(row) != width:
            message = f"the row has {len(row)} cells and the header has {width}; quote cells that hold the separator"
            problems.append(Problem(message, row=place + 1))
            body[place] = row[:width]
    return problems


def _without_empty_tail(header: list[str], columns: list[np.ndarray]) -> tuple[list[str], list[np.ndarray]]:
    columns = columns + [np.full(len(columns[0]), "", dtype=object)] * (len(header) - len(columns))
    while len(header) > 1 and not header[-1] and not any(cell.strip() for cell in columns[-1]):
        header, columns = header[:-1], columns[:-1]
    return header, columns


def _json_lines(text: str, source: str) -> list[dict[str, Any]]:
    records = []
    # Not splitlines(): JSON strings may hold U+2028, which that would cut at.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            record = _loads(line, f"{source}, line {number}")
            if not isinstance(record, dict):
                raise RunsError(
                    f"{source}, line {number}: expected a JSON object such as "
                    f'{{"N": 1e9, "D": 2e10, "loss": 2.5}}, found {_clip(line)}'
                )
            records.append(record)
    return records


def _json_array(text: str, source: str) -> list[dict[str, Any]]:
    records = _loads(text, source)
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise RunsError(f"{source}: expected an array of JSON objects, one per training run")
    return records


def _loads(text: str, where: str) -> Any:
    try:
        # Digits stay text: Python refuses integers of more than 4,300 digits, and the cell reader has its own answer.
        return json.loads(text, parse_int=_json_int)
    except (ValueError, RecursionError) as error:
        raise RunsError(f"{where} is not valid JSON: {error or 'nested too deeply'}") from None


def _json_int(digits: str) -> int | str:
    return int(digits) if len(digits) <= 400 else digits


def _json_cell(value: Any) -> Any:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, dict | list) else value


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


def _clip(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
