"""Run every procedure on one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescale.comparison._answers import QUANTITIES, Answer, Quantity, at_budgets, quantities_of
from bayescale.comparison._comparison import Comparison
from bayescale.comparison._heldout import score, split
from bayescale.comparison._pairs import Pairs, common_resamples, refit
from bayescale.comparison._plan import Plan, chosen, default_flops, fast
from bayescale.comparison._sensitivity import sensitivity
from bayescale.comparison._variants import variants
from bayescale.comparison._verdict import differences, judge
from bayescale.errors import BayescaleError, FitError
from bayescale.forecast import check_budgets
from bayescale.laws import Law
from bayescale.procedures import as_runs, get
from bayescale.procedures._procedure import Progress
from bayescale.runs import Runs

__all__ = ["compare"]


def compare(
    runs: Runs | pd.DataFrame | str | Path | Mapping[str, Any],
    law: str | Law = "chinchilla",
    procedures: Sequence[str] | None = None,
    *,
    flops: Sequence[float] | None = None,
    holdout: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **plan: Any,
) -> Comparison:
    """Fit one table by several procedures, and say whether any two disagree.

    Parameters
    ----------
    runs : Runs, DataFrame, path or mapping of arrays
        Runs with a loss in nats per token and what the law reads.
    law : str or Law
        What is fitted; procedures that give a law of their own (the frontier of ``isoflop`` and ``envelope``) give that
        one.
    procedures : sequence of str, optional
        Names from `bayescale procedures`; all of them without. One that refuses the table is listed with its reason.
    flops : sequence of float, optional
        Training budgets. The first is the one at which N*, D* and the loss are compared; by default ten times the
        largest FLOPs of the table.
    holdout : float, optional
        Also fit the runs with ``C <= max C / holdout`` alone, and score the forecasts of those with ``C >= max C / 2``.
    seed : int
        The same seed, table and versions give the same comparison.
    progress : callable, optional
        Called with (label, done, total).
    **plan
        ``noise`` (of procedures with a likelihood), ``replicates``, ``draws``, and ``settings`` by procedure:
        ``settings={"huber": {"delta": 1e-4}}``. ``sensitivity=True`` varies what could as well have been done
        otherwise, and ``alternatives={"N": "params_no_embed"}`` the columns in it. ``paired`` (100) is the number of
        common tables to which fast procedures are refitted for the verdict, where their own replicates are no pairs; 0
        for none.

    Returns
    -------
    Comparison

    Raises
    ------
    BayescaleError
        A table, law, noise, procedure or setting that cannot be used, or no procedure that takes the table; the message
        says what to try.

    Examples
    --------
    >>> import bayescale
    >>> toy = bayescale.datasets.load("toy", where="sweep == 'isoflop'")
    >>> made = bayescale.compare(toy, procedures=["isoflop"], flops=[1e12])
    >>> made.table.loc["isoflop", "kind"]
    'bootstrap'
    """
    names = chosen(procedures)
    shared = Plan.of(law, seed, plan)
    shared.check(names)
    table = as_runs(runs, shared.columns(names))
    budgets = default_flops(table) if flops is None else tuple(float(c) for c in check_budgets(flops))
    parts = None if holdout is None else split(table, holdout)
    varied = variants(table, fast(names), shared) if shared.sensitivity or shared.alternatives else None
    answers = [_answer(shared, name, table, budgets, progress) for name in names]
    if all(answer.refused for answer in answers):
        raise FitError(
            "no procedure can fit this table:\n" + "\n".join(f"  {a.procedure}: {a.warnings[0]}" for a in answers)
        )
    if parts is not None:
        answers = [_with_heldout(shared, answer, *parts, progress) for answer in answers]
    pairs = _differences(shared, answers, table, budgets, progress)
    return Comparison(
        law=law if isinstance(law, str) else law.name,
        source=table.source,
        n_runs=len(table),
        flops=budgets,
        largest=float(np.max(table["C"])) if "C" in table else None,
        holdout=holdout,
        answers=tuple(answers),
        pairs=pairs,
        verdict=judge(answers, pairs, budgets[0] if budgets else None),
        sensitivity=None if varied is None else sensitivity(shared, varied, table, budgets, progress),
    )


def _differences(
    plan: Plan, answers: Sequence[Answer], runs: Runs, flops: Sequence[float], progress: Progress | None
) -> pd.DataFrame:
    """Every difference between two procedures, paired where that can be."""
    fits = {answer.procedure: answer.fit for answer in answers if answer.fit is not None}
    freedom = {name: len(runs) - len(fit.law.parameters) for name, fit in fits.items()}
    again = {name: fits[name] for name in fast(list(fits)) if fits[name].kind == "bootstrap"}
    refits = refit(plan, again, runs, flops, progress) if plan.paired else {}
    return differences(answers, Pairs(common_resamples(fits), refits), freedom, plan.seed)


def _answer(plan: Plan, name: str, runs: Runs, flops: Sequence[float], progress: Progress | None) -> Answer:
    try:
        fit = plan.fit(name, runs, _labelled(progress, name))
    except BayescaleError as error:
        none = dict.fromkeys(QUANTITIES, Quantity(why="refused the table"))
        return Answer(name, get(name).kind, None, none, warnings=(str(error),))
    optima = at_budgets(fit, flops) if flops else []
    found = quantities_of(fit, optima[0] if optima else None)
    allocations = tuple(
        {"flops": budget} | {key: at[key].document() for key in ("N", "D", "loss")}
        for budget, at in zip(flops, optima, strict=True)
    )
    return Answer(
        procedure=name,
        kind=fit.kind,
        fit=fit,
        quantities=found,
        allocations=allocations,
        seconds=float(fit.record.seconds["total"]),
        warnings=fit.diagnostics.warnings,
        notes=(*fit.diagnostics.notes, *_missing(found)),
    )


def _missing(quantities: Mapping[str, Quantity]) -> list[str]:
    """Why quantities are not given, one sentence a reason; and draws that have none."""
    reasons: dict[str, list[str]] = {}
    for name, quantity in quantities.items():
        if quantity.why is not None:
            reasons.setdefault(quantity.why, []).append(name)
    notes = [f"no {', '.join(names)}: {why}" for why, names in reasons.items()]
    for name, quantity in quantities.items():
        if quantity.draws is not None and (lost := 1.0 - quantity.finite.size / quantity.draws.size) > 0:
            notes.append(f"{lost:.1%} of the draws have no {name}: its interval is that of the others")
    return notes


def _with_heldout(plan: Plan, answer: Answer, train: Runs, test: Runs, progress: Progress | None) -> Answer:
    if answer.fit is None:
        return answer
    law, name = answer.fit.law, answer.procedure
    if law.fitted_by and law.inputs == ("C",):
        why = f"{law.name} gives the loss of compute-optimal runs only, not that of the held-out ones"
        return replace(answer, notes=(*answer.notes, f"no held-out error: {why}"))
    try:
        fit = plan.fit(name, train, _labelled(progress, f"{name} without the largest"))
    except BayescaleError as error:
        return replace(answer, notes=(*answer.notes, f"no held-out error, the smaller runs alone: {error}"))
    doubts = tuple(
        f"the fit of the smaller runs alone is not to be trusted: {text}" for text in fit.diagnostics.warnings
    )
    return replace(answer, heldout=score(fit, test, plan.seed), notes=(*answer.notes, *doubts))


def _labelled(progress: Progress | None, procedure: str) -> Progress | None:
    """Progress under a label of its own, since two fits may name their steps alike."""
    if progress is None:
        return None
    return lambda label, done, total: progress(f"{procedure}: {label}", done, total)
