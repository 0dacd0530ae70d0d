"""How laws of many languages forecast runs held out five ways, as in the paper of ATLAS (arXiv 2510.22037)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayescale.errors import RunsError
from bayescale.evaluation._language_laws import LAWS, LanguageTable
from bayescale.laws._mixtures import Mixture, most_sampled
from bayescale.runs import Runs

__all__ = ["SPLITS", "LanguageSplits", "language_splits"]

SHARE = 0.2
# The sizes that the paper holds out, where a table has them or those nearest to them.
SIZES = (661_807_872.0, 8_452_190_208.0)
# R2 of fewer held-out runs than this says nothing.
FEWEST = 3
SPLITS: Mapping[str, str] = {
    "R2": "20 % of the rows, at random",
    "R2(N)": "the sizes nearest to 660M and 8B",
    "R2(D)": "the 20 % of runs with the most tokens",
    "R2(C)": "the 20 % of runs with the most compute",
    "R2(M)": "mixtures of three languages or more, but for the widest that are uneven (Unimax)",
}


@dataclass(frozen=True)
class LanguageSplits:
    """Coefficients of determination of losses of held-out runs.

    Attributes
    ----------
    by_language : pandas.DataFrame
        One row a split, law and language: ``r2`` (in loss; negative for worse than their mean) and ``n_train``,
        ``n_test``.
    """

    by_language: pd.DataFrame

    @property
    def table(self) -> pd.DataFrame:
        """Mean over languages, one row a law and one column a split."""
        means = self.by_language.groupby(["law", "split"])["r2"].mean().unstack()
        return means.reindex(index=list(LAWS), columns=[name for name in SPLITS if name in means])

    def document(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        table = [
            {"law": str(law)} | row for law, row in zip(self.table.index, self.table.to_dict("records"), strict=True)
        ]
        return {"table": table, "splits": dict(SPLITS), "by_language": self.by_language.to_dict("records")}

    def __repr__(self) -> str:
        count = self.by_language.groupby("split")["language"].nunique()
        held = "\n".join(f"  {name}: {text} ({count.get(name, 0)} languages)" for name, text in SPLITS.items())
        table = self.table.rename_axis(index=None, columns=None)
        return f"{table.to_string(float_format=lambda value: f'{value:.2f}')}\n\nheld out\n{held}"


def language_splits(
    runs: Runs, k: int | None = 3, seed: int = 0, progress: Callable[[str, int, int], None] | None = None
) -> LanguageSplits:
    """Fit six laws to each language on its own, with runs held out in five ways, and score the held-out losses.

    The laws: Chinchilla and the data-constrained law of all tokens of a run; the multilingual law of He et al., which
    adds the target's share; ATLAS of the target's tokens alone, with all others as one term, and with `k` sources of
    their own. Point fits, by least squares of log loss with outliers held down, as far as the paper says how it fitted:
    what is compared is what each law can express, not its intervals. Which sources a target has is settled on the
    tokens of the whole table, without a look at losses.

    Parameters
    ----------
    runs : Runs
        One row for each run and each language it was measured on: N, loss, target, ``tokens[xx]``, ``unique[xx]``.
    k : int or None
        As in `Atlas`.
    seed : int
        Seed of the random split.
    progress : callable, optional
        Called with (label, done, total).

    Raises
    ------
    RunsError
        The table lacks a column, or no language has runs enough.

    References
    ----------
    Longpre et al. 2025, arXiv 2510.22037, Table 1 and App. B.3, whose share for R2(C) is not stated.
    """
    missing = [name for name in ("N", "loss") if name not in runs]
    if missing:
        raise RunsError(f"{runs.source} has no column {missing[0]!r}: laws of languages are scored on N and loss")
    mixture = Mixture(runs)
    sources = most_sampled(mixture, k)
    held = _held_out(np.asarray(runs["N"], dtype=np.float64), mixture, seed)
    languages = sorted(sources)
    length = max(int((mixture.target == name).sum()) for name in languages)
    rows: list[dict[str, Any]] = []
    for done, language in enumerate(languages):
        table = LanguageTable(runs, mixture, sources, language, length)
        rows += [row | {"language": language} for row in _scores(table, held)]
        if progress is not None:
            progress("fitting languages", done + 1, len(languages))
    if not rows:
        raise RunsError(f"{runs.source}: no language has {FEWEST} runs to hold out and more than ten to fit")
    return LanguageSplits(pd.DataFrame(rows, columns=["split", "law", "language", "r2", "n_train", "n_test"]))


def _scores(table: LanguageTable, held: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    rows = []
    for split, mask in held.items():
        out = mask[table.rows]
        test, train = int(out.sum()), int((~out).sum())
        if test < FEWEST or train <= 10 or np.ptp(table.loss[out]) == 0:
            continue
        spread = np.square(table.loss[out] - table.loss[out].mean()).sum()
        for law in LAWS:
            off = table.forecast(law, ~out)[out] - table.loss[out]
            r2 = 1.0 - float(np.square(off).sum() / spread)
            rows.append({"split": split, "law": law, "r2": r2, "n_train": train, "n_test": test})
    return rows


def _held_out(N: np.ndarray, mixture: Mixture, seed: int) -> dict[str, np.ndarray]:
    """Which rows each split holds out, (row,) of bool."""
    D = mixture.tokens.sum(axis=1)
    sizes = np.unique(N)
    near = [sizes[np.argmin(np.abs(np.log(sizes / size)))] for size in SIZES]
    count = (mixture.tokens > 0).sum(axis=1)
    seen = np.where(mixture.tokens > 0, mixture.tokens, np.nan)
    even = np.nanmax(seen, axis=1) < 1.01 * np.nanmin(seen, axis=1)
    return {
        "R2": np.random.default_rng([seed, 20]).permutation(len(N)) < SHARE * len(N),
        "R2(N)": np.isin(N, near),
        "R2(D)": _top(D),
        "R2(C)": _top(N * D),
        "R2(M)": (count > 2) & ~((count == count.max()) & ~even),
    }


def _top(values: np.ndarray) -> np.ndarray:
    return values > np.quantile(values, 1.0 - SHARE, method="higher")
