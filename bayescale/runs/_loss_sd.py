"""The standard deviation of a loss that its evaluation leaves, as a table gives it: a column of sds, or an interval."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from bayescale.errors import Problem, RunsError
from bayescale.runs._cells import Numbers, numbers
from bayescale.runs._column_source import Source
from bayescale.runs._messages import column_option, names
from bayescale.runs._names import LOSS_SD, split_unit, unit_named
from bayescale.runs._raw import RawTable

__all__ = ["IntervalSource", "SdSource", "error_bar", "settled"]

_SD = re.compile(r"sd|std|stdev|stddev|se|sem|stderr")
_LOWER, _UPPER = (
    re.compile(rf"(?:ci)?(\d\d)?(?:ci)?(?:{end})(?:ci)?(\d\d)?|[qp](\d{{1,3}})")
    for end in ("lower|low|lo|lb", "upper|high|hi|ub")
)
_NO_SD = {"var", "variance", "weight", "weights", "precision"}
_EXAMPLE = 'loss_sd="LOW..HIGH (95%)"'


@dataclass(frozen=True)
class SdSource(Source):
    """A column of standard deviations, in its own unit or else in that of the loss."""

    loss: Source | None = None

    @property
    def formula(self) -> str:
        return self.column

    def read(self, raw: RawTable, name: str) -> Numbers:
        """Standard deviations of the loss in nats; of a perplexity by the delta rule, sd / perplexity."""
        read = numbers(raw.frame[self.column].to_numpy(), quantities=False)
        unit = self.unit or (None if self.loss is None else self.loss.unit)
        if unit is None or self.loss is None:
            return read
        level = numbers(raw.frame[self.loss.column].to_numpy(), quantities=False).values
        with np.errstate(all="ignore"):
            return Numbers(read.values * np.abs(unit.slope(level)), read.reasons)


@dataclass(frozen=True)
class IntervalSource(Source):
    """Two columns, the ends of an interval of each loss; `column` is the lower one, `unit` that of the loss."""

    upper: str = ""
    level: float = 0.95

    @property
    def formula(self) -> str:
        return f"({self.upper} - {self.column}) / {2.0 * self._width:.3g}"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, self.upper)

    @property
    def _width(self) -> float:
        return float(ndtri(0.5 + 0.5 * self.level))

    def read(self, raw: RawTable, name: str) -> Numbers:
        """The sd of the normal distribution that has such an interval, nats."""
        low, high = (Source(column, self.unit).read(raw, name) for column in self.columns)
        reasons = {place: f"{self.upper} {reason}" for place, reason in high.reasons.items()} | low.reasons
        turned = -1.0 if self.unit is not None and self.unit.slope(np.ones(1))[0] < 0 else 1.0
        return Numbers(turned * (high.values - low.values) / (2.0 * self._width), reasons)


def settled(raw: RawTable, spec: str, loss: Source) -> Source:
    """What a person named for the sd: ``"COLUMN"``, ``"COLUMN (bits)"`` or ``"LOW..HIGH (95%)"``.

    Raises
    ------
    RunsError
        No such column, a column of something else, or an interval without a level.
    """
    option = column_option(LOSS_SD, spec)
    if ".." in spec and spec not in raw.frame.columns:
        match = re.fullmatch(r"(.+?)\s*\.\.\s*(.+?)(?:\s*\(\s*(\d+(?:\.\d+)?)\s*%\s*\))?", spec.strip())
        ends = (match[1], match[2]) if match else ("", "")
        _there(raw, option, ends)
        level = float(match[3]) / 100.0 if match and match[3] else _level_of(_marks(ends, loss))
        if level is None or not 0.0 < level < 1.0:
            raise RunsError(f"{option}: say which interval it is, between 0 and 100 per cent: --column {_EXAMPLE}")
        return IntervalSource(ends[0], loss.unit, ends[1], level)
    base, unit_text = (spec, None) if spec in raw.frame.columns else split_unit(spec)
    _there(raw, option, (base,))
    if _NO_SD & set(_words(base)):
        raise RunsError(
            f"{option}: {base!r} is named like a variance or a weight; expected standard deviations of the loss. Take "
            "the square root of a variance, or of one over a weight, into a column of another name"
        )
    unit = None if unit_text is None else unit_named(unit_text, "loss")
    if unit_text is not None and unit is None:
        raise RunsError(f"{option}: {unit_text!r} is not a known unit of a loss; known are (bits), (perplexity)")
    return SdSource(base, unit, loss)


class Found(NamedTuple):
    """An error bar that was found by its name, or why none was taken."""

    source: Source | None = None
    problem: Problem | None = None


def error_bar(raw: RawTable, loss: Source) -> Found:
    """The error bar of the loss, if a column is named for one.

    A name is that of the loss column with one more word: ``val_loss_sd``, ``loss_stderr_c4``; or with two such, the
    ends of an interval whose level stands in the word: ``val_loss_lower95`` and ``val_loss_upper95``, ``loss_q05`` and
    ``loss_q95``.
    """
    left = {column: mark for column in raw.frame.columns if (mark := _left(column, loss.column))}
    sds = [column for column, mark in left.items() if _SD.fullmatch(mark)]
    if LOSS_SD in raw.frame.columns and ("loss" not in raw.frame.columns or loss.column == "loss"):
        sds = [LOSS_SD]
    if len(sds) > 1:
        options = " or ".join(column_option(LOSS_SD, column) for column in (*sds, "none"))
        return Found(problem=Problem(f"{names(sds)} could each be the sd of {loss.column!r}; say which: {options}"))
    if sds:
        return Found(SdSource(sds[0], None, loss))
    lower, upper = ({c: m for c, mark in left.items() if (m := end.fullmatch(mark))} for end in (_LOWER, _UPPER))
    pairs = [(low, high) for low in lower for high in upper if _stem(left[low]) == _stem(left[high]) and low != high]
    levels = {pair: _level_of((left[pair[0]], left[pair[1]])) for pair in pairs}
    known = [pair for pair in pairs if levels[pair] is not None]
    if len(known) == 1:
        (low, high), level = known[0], levels[known[0]]
        assert level is not None
        return Found(IntervalSource(low, loss.unit, high, level))
    if pairs:
        low, high = pairs[0]
        message = (
            f"{low!r} and {high!r} look like an interval of {loss.column!r}, and which one is not said: it is not "
            f'used. Say so with --column {LOSS_SD}="{low}..{high} (95%)"'
        )
        return Found(problem=Problem(message, fatal=False))
    return Found()


def _there(raw: RawTable, option: str, columns: Iterable[str]) -> None:
    for column in columns:
        if column not in raw.frame.columns:
            raise RunsError(
                f"{option}: {raw.source} has no column {column!r}; expected a column of sds, {LOSS_SD}=COLUMN, or the "
                f"two ends of an interval, {_EXAMPLE}. Its columns are {names(raw.frame.columns, 30)}"
            )


def _words(text: str) -> list[str]:
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", " ", split_unit(text)[0])
    return [word.lower() for word in re.split(r"[^A-Za-z0-9]+", apart) if word]


def _left(column: str, loss: str) -> str:
    """The words of a name that are not those of the loss column, run together; empty where one of those is missing."""
    of_loss = Counter(_words(loss))
    missing, left = Counter(of_loss), []
    for word in _words(column):
        if missing[word]:
            missing[word] -= 1
        else:
            left.append(word)
    return "" if missing.total() else "".join(left)


def _marks(columns: tuple[str, str], loss: Source) -> tuple[str, str]:
    return _left(columns[0], loss.column), _left(columns[1], loss.column)


def _stem(mark: str) -> str:
    """What two ends of one interval share: the digits of a level; nothing for two quantiles."""
    return "quantile" if mark[0] in "qp" and mark[1:].isdigit() else re.sub(r"\D", "", mark)


def _level_of(marks: tuple[str, str]) -> float | None:
    """The level that the names of the two ends state; None where they state none."""
    low, high = _LOWER.fullmatch(marks[0]), _UPPER.fullmatch(marks[1])
    if low is None or high is None:
        return None
    if low[3] and high[3]:
        below, above = float(f"0.{low[3]}"), float(f"0.{high[3]}")
        return above - below if below < above and abs(below + above - 1.0) < 1e-9 else None
    digits = {low[1] or low[2], high[1] or high[2]}
    return None if len(digits) > 1 or None in digits else float(digits.pop() or 0) / 100.0
