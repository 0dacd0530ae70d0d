"""Whether two procedures disagree beyond their uncertainties, and the sentence that says so.

All procedures see the same runs, so their errors move together: intervals that overlap can belong to procedures that
differ for certain, and intervals that are apart say nothing about the difference. What is judged is therefore the
difference itself, draw by draw. Where two procedures were refitted to the same resamples of the runs, replicate r of
one is subtracted from replicate r of the other, and what they share cancels. Otherwise the draws are combined as if
they were independent, which widens the interval of the difference wherever errors move together: a disagreement that
is found all the same is real, one that is not found may still be there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from bayescale.comparison._answers import Answer, Quantity
from bayescale.comparison._pairs import Pairs

__all__ = ["COLUMNS", "LEVEL", "Difference", "differences", "judge"]

# The chance of naming any disagreement where there is none, over all pairs and quantities together.
LEVEL = 0.05
# Draws of a difference that has no pairs: more would not move its quantiles by a tenth of its width.
COMBINED = 4000
MOST_NAMED = 6  # pairs in one verdict; the table has them all
# N* is compared as a ratio, so that the unit of a size does not matter.
LOGGED = {"N_exponent": False, "N": True}
HOW = {
    "resamples": "Procedures that bootstrap alike are subtracted on the same resamples of the runs, so that what they "
    "share cancels.",
    "tables": "Procedures that resample otherwise are refitted to the same tables, losses of the law with residuals "
    "whose signs are drawn, and subtracted there.",
    "independent": "Spreads that have no common draws, those of a posterior among them, are taken as independent: "
    "where errors of fits to the same runs move together this is conservative, so that a disagreement that is found is "
    "real and one that is not may still be there.",
}
# Optimisers of one objective end this close to each other at worst, and their replicates as close: no difference.
SAME = 1e-6
COLUMNS = (
    "quantity", "first", "second", "value_first", "value_second", "difference", "q05", "q95", "paired", "how",
    "standardised", "p", "p_adjusted", "disagree",
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """How far two procedures are apart in one quantity.

    Attributes
    ----------
    value : float
        First minus second; of N*, the difference of logs.
    q05, q95 : float
        90 % interval of the difference.
    standardised : float
        ``|value|`` in sds of the difference, the sd taken from the side of the draws that faces zero.
    """

    value: float
    q05: float
    q95: float
    standardised: float


def difference(first: Quantity, second: Quantity, *, paired: bool, logged: bool, seed: int = 0) -> Difference:
    """The difference of two quantities with the spread of its draws.

    Parameters
    ----------
    first, second : Quantity
        With an interval each.
    paired : bool
        Whether draw r of both came from the same resample of the runs.
    logged : bool
        Whether to subtract logs.
    seed : int
        Of the random pairing of draws that are no pairs.
    """
    scale = np.log if logged else np.asarray
    value = float(scale(np.asarray(first.value)) - scale(np.asarray(second.value)))
    if paired:
        draws = scale(np.asarray(first.draws)) - scale(np.asarray(second.draws))
        draws = draws[np.isfinite(draws)]
    else:
        generator = np.random.default_rng([seed, 3])
        one, other = (scale(generator.choice(q.finite, COMBINED)) for q in (first, second))
        draws = one - other
    q05, q50, q95 = np.quantile(draws, [0.05, 0.5, 0.95])
    facing = (q50 - q05 if value > 0 else q95 - q50) / stats.norm.ppf(0.95)
    standardised = 0.0 if abs(value) < SAME else abs(value) / facing if facing > 0 else np.inf
    # The interval stands around the difference of the answers that are quoted, not around the middle of the draws.
    return Difference(value, value + float(q05 - q50), value + float(q95 - q50), float(standardised))


def differences(answers: Sequence[Answer], pairs: Pairs, freedom: Mapping[str, int], seed: int = 0) -> pd.DataFrame:
    """Every pair of procedures that have an interval, in every quantity that is judged.

    Parameters
    ----------
    answers : sequence of Answer
        One a procedure.
    pairs : Pairs
        Which procedures were refitted to the same resamples.
    freedom : mapping of str to int
        Runs less fitted parameters, by procedure: the standardised difference is judged as Student's t with the smaller
        of the two, since a spread that comes from few runs is itself uncertain.
    seed : int
        Of the random pairing of draws that are no pairs.

    Returns
    -------
    pandas.DataFrame
        One row a pair and quantity, the most significant first; ``p_adjusted`` is Holm's over all rows.
    """
    rows: list[dict[str, Any]] = []
    for quantity, logged in LOGGED.items():
        judged = [answer for answer in answers if answer.quantities[quantity].spread]
        for one, other in combinations(judged, 2):
            first, second = one.quantities[quantity], other.quantities[quantity]
            how = "resamples" if frozenset((one.procedure, other.procedure)) in pairs.same else "independent"
            refits = pairs.draws(one.procedure, other.procedure, quantity)
            if how == "independent" and refits is not None:
                first, second = (Quantity(draws, q.value) for draws, q in zip(refits, (first, second), strict=True))
                how = "tables"
            together = how != "independent"
            found = difference(first, second, paired=together, logged=logged, seed=seed)
            degrees = max(1, min(freedom[one.procedure], freedom[other.procedure]))
            rows.append(
                {"quantity": quantity, "first": one.procedure, "second": other.procedure}
                | {"value_first": first.value, "value_second": second.value, "difference": found.value}
                | {
                    "q05": found.q05,
                    "q95": found.q95,
                    "paired": together,
                    "how": how,
                    "standardised": found.standardised,
                }
                | {"p": float(2.0 * stats.t.sf(found.standardised, degrees))}
            )
    if not rows:
        return pd.DataFrame(columns=list(COLUMNS))
    table = pd.DataFrame(rows).sort_values("p", kind="stable", ignore_index=True)
    table["p_adjusted"] = _holm(table["p"].to_numpy())
    table["disagree"] = table["p_adjusted"] < LEVEL
    return table[list(COLUMNS)]


def _holm(ordered: np.ndarray) -> np.ndarray:
    """Holm's adjustment of p-values in increasing order."""
    count = len(ordered)
    return np.minimum(1.0, np.maximum.accumulate(ordered * np.arange(count, 0, -1)))


def judge(answers: Sequence[Answer], table: pd.DataFrame, budget: float | None) -> str:
    """The verdict: whether any two disagree, and for each quantity the pair, its numbers and what decides.

    Parameters
    ----------
    answers : sequence of Answer
        One a procedure.
    table : pandas.DataFrame
        Of `differences`.
    budget : float or None
        FLOPs at which N* is compared.
    """
    aside = _aside(answers, table)
    if table.empty:
        return " ".join(["Whether procedures disagree cannot be said: fewer than two give an interval.", *aside])
    sentences = [_headline(table)]
    for name in LOGGED:
        # the table has the most significant first
        rows = table[table["quantity"] == name].head(1)
        sentences += [_sentence(row, budget, len(table)) for _, row in rows.iterrows()]
    return " ".join([*sentences, *aside])


def _aside(answers: Sequence[Answer], table: pd.DataFrame) -> list[str]:
    """How the differences were judged, and who was not or not safely judged."""
    said = [sentence for how, sentence in HOW.items() if (table["how"] == how).any()] if len(table) else []
    doubted = [answer.procedure for answer in answers if not answer.refused and answer.warnings]
    silent = [answer.procedure for answer in answers if not answer.refused and not _judged(answer)]
    absent = [answer.procedure for answer in answers if answer.refused]
    if doubted:
        said.append(f"Not to be trusted by their own diagnostics: {', '.join(doubted)}.")
    if silent:
        said.append(f"Not judged, having no interval: {', '.join(silent)}.")
    if absent:
        said.append(f"No answer from {', '.join(absent)}.")
    return said


def _judged(answer: Answer) -> bool:
    return any(answer.quantities[name].spread for name in LOGGED)


def _headline(table: pd.DataFrame) -> str:
    found = table[table["disagree"]]
    procedures = len(set(table["first"]) | set(table["second"]))
    if found.empty:
        who = "The two procedures do not" if procedures == 2 else f"No two of the {procedures} procedures"
        return f"{who} disagree beyond their uncertainties."
    pairs = list(dict.fromkeys(zip(found["first"], found["second"], strict=True)))
    listed = "; ".join(f"{one} and {other}" for one, other in pairs[:MOST_NAMED])
    rest = len(pairs) - MOST_NAMED
    more = f"; and {rest} more pair{'s' * (rest > 1)}" if rest > 0 else ""
    return f"Beyond their uncertainties disagree: {listed}{more}."


def _sentence(row: pd.Series, budget: float | None, tests: int) -> str:
    logged = LOGGED[row["quantity"]]
    what = f"N* at {budget:.3g} FLOPs" if row["quantity"] == "N" else row["quantity"]
    values = [_shown(row[f"value_{which}"], logged) for which in ("first", "second")]
    gap = [row[name] for name in ("difference", "q05", "q95")]
    if logged:
        size, low, high = (f"{np.exp(value):.3g}" for value in gap)
        apart, none = f"a factor of {size}, 90 % interval [{low}, {high}]", "1"
    else:
        size, low, high = (f"{value:+.3f}" for value in gap)
        apart, none = f"a difference of {size}, 90 % interval [{low}, {high}]", "0"
    outside = row["q05"] > 0 or row["q95"] < 0
    chance = f"p = {row['p_adjusted']:.2g} after Holm's correction for {tests} comparison{'s' * (tests > 1)}"
    if row["disagree"]:
        decides = f"the difference is {row['standardised']:.3g} of its sds, {chance}: a disagreement"
    elif outside:
        decides = f"the interval leaves out {none}, but as one of {tests} comparisons it decides nothing, {chance}"
    else:
        decides = f"the interval holds {none}: not a disagreement"
    return f"{what}: {row['first']} {values[0]} against {row['second']} {values[1]}, {apart}; {decides}."


def _shown(value: float, logged: bool) -> str:
    from bayescale.compute import format_quantity

    return format_quantity(value) if logged else f"{value:.3f}"
