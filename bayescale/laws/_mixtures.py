"""Tokens of a run by language: wide columns of a table as the target's own, a few named sources, and all others."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bayescale.errors import RunsError
from bayescale.runs._cells import numbers
from bayescale.runs._source import raw_table

__all__ = ["PLENTY", "Mixture", "languages_of", "most_sampled", "scores_in"]

# Unique tokens of a language without limit: more than anybody trains on, and still a number.
PLENTY = 1e30
# What a column of transfer scores may be called.
SCORES = ("score", "bts", "median")
_TOKENS = re.compile(r"tokens\[(.+)\]")


def languages_of(columns: Any) -> tuple[str, ...]:
    """Languages with a column ``tokens[..]``, in the order of the table."""
    names: Iterable[Any] = getattr(columns, "table", columns)
    return tuple(match[1] for name in names if (match := _TOKENS.fullmatch(str(name))))


class Mixture:
    """What each run was trained on.

    Parameters
    ----------
    columns : Runs or mapping
        ``target`` (the language whose loss the row holds), ``tokens[xx]`` seen of each language, ``unique[xx]`` there
        are of it; a blank number of tokens is none, a blank or absent number of unique ones is no limit.

    Raises
    ------
    RunsError
        No target, no tokens, or a target without tokens.
    """

    def __init__(self, columns: Any) -> None:
        self.languages = languages_of(columns)
        if "target" not in columns or not self.languages:
            raise RunsError(
                "a law of languages reads `target` (the language whose loss is in the row) and tokens[xx] for every "
                "language that was trained on (unique[xx] where data are limited); "
                f"{'target' if self.languages else 'tokens[..]'} is missing"
            )
        self.target = np.array(
            [str(label) for label in np.atleast_1d(np.asarray(columns["target"], dtype=object))], dtype=object
        )
        self.tokens = np.stack([_numbers(columns, f"tokens[{name}]", 0.0) for name in self.languages], axis=-1)
        self.tokens = np.broadcast_to(self.tokens, (len(self.target), len(self.languages)))
        unique = [_numbers(columns, f"unique[{name}]", PLENTY) for name in self.languages]
        self.unique = np.stack([np.broadcast_to(values, len(self.target)) for values in unique], axis=-1)
        unknown = sorted(set(self.target) - set(self.languages))
        if unknown:
            raise RunsError(f"target {unknown[0]!r} has no column tokens[{unknown[0]}]")
        self.own = np.array([self.languages.index(label) for label in self.target])
        without = np.flatnonzero(~(self.of(self.own[:, None], self.tokens)[:, 0] > 0))
        if without.size:
            raise RunsError(
                f"run {without[0] + 1}: its loss is that of {self.target[without[0]]}, of which it saw no tokens"
            )

    @staticmethod
    def of(places: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Values (run, slot) of the languages at `places` (run, slot)."""
        return np.take_along_axis(values, places, axis=1)

    def split(self, sources: Mapping[str, tuple[str, ...]]) -> dict[str, np.ndarray]:
        """Tokens of the target, of its `sources`, and of all other languages, seen and unique."""
        at = np.array([[self.languages.index(name) for name in sources[label]] for label in self.target])
        at = at.reshape(len(self.target), -1).astype(int)  # without sources there are none to be of a type
        rest = np.ones(self.tokens.shape, dtype=bool)
        np.put_along_axis(rest, np.concatenate([self.own[:, None], at], axis=1), False, axis=1)
        others = self.tokens * rest
        # what there is of the languages that the run saw at all
        unique = np.minimum((self.unique * rest * (others > 0)).sum(axis=1), PLENTY)
        own = self.own[:, None]
        return {
            "D_t": self.of(own, self.tokens)[:, 0],
            "U_t": self.of(own, self.unique)[:, 0],
            "D_i": self.of(at, self.tokens),
            "U_i": self.of(at, self.unique),
            "D_other": others.sum(axis=1),
            "U_other": np.where(unique > 0, unique, PLENTY),
        }


def most_sampled(mixture: Mixture, count: int | None) -> dict[str, tuple[str, ...]]:
    """For each target the `count` languages that make up most of what it was trained with, all of them for None.

    Every target gets equally many; where fewer were sampled with it, they are followed by the most sampled of all.
    """
    shares = mixture.tokens / mixture.tokens.sum(axis=1, keepdims=True)
    everywhere = shares.sum(axis=0)
    room = len(mixture.languages) - 1 if count is None else min(count, len(mixture.languages) - 1)
    found = {}
    for label in sorted(set(mixture.target)):
        weight = shares[mixture.target == label].sum(axis=0)
        order = np.lexsort((np.array(mixture.languages), -everywhere, -weight))
        found[label] = tuple(mixture.languages[i] for i in order if mixture.languages[i] != label)[:room]
    return found


def scores_in(path: str | os.PathLike[str]) -> dict[tuple[str, str], float]:
    """Transfer scores by (target, source), from a table of pairs; blank scores are left out.

    Raises
    ------
    RunsError
        There is no such file, or it has not these columns.
    """
    raw = raw_table(path)
    column = next((name for name in SCORES if name in raw.frame), SCORES[0])
    missing = [name for name in ("target", "source", column) if name not in raw.frame]
    if missing:
        raise RunsError(f"{raw.source} has no column {missing[0]!r}; transfer scores are in target, source and score")
    values = numbers(raw.frame[column].to_numpy(), quantities=False).values
    pairs = zip(raw.frame["target"].astype(str), raw.frame["source"].astype(str), values.tolist(), strict=True)
    return {(target, source): value for target, source, value in pairs if not np.isnan(value)}


def _numbers(columns: Any, name: str, blank: float) -> np.ndarray:
    if name not in columns:
        return np.array([blank])
    cells = np.atleast_1d(np.asarray(columns[name]))
    try:
        values = cells.astype(np.float64)
    except (TypeError, ValueError):
        raise RunsError(f"column {name!r} holds something that is no number of tokens") from None
    return np.where(np.isnan(values), blank, values)
