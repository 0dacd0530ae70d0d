"""Fit several laws to one table, and score each by leaving out one run, and the top of the ladder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescale.averaging import Cut, Learnt, cuts, log_density
from bayescale.comparison._laws import LawAnswer, LawComparison
from bayescale.comparison._loo import LeaveOneOut, leave_one_out
from bayescale.errors import BayescaleError, FitError
from bayescale.inference.sampler import Sampler
from bayescale.laws import Law
from bayescale.laws import parse as parse_law
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.procedures import NUTS, as_runs, reference_for
from bayescale.procedures._procedure import Progress
from bayescale.runs import Runs

__all__ = ["columns_of_laws", "compare_laws"]

# Refits of the runs whose importance weights cannot be relied on; each costs a fit.
REFITS = 10


def compare_laws(
    runs: Runs | pd.DataFrame | str | Path | Mapping[str, Any],
    laws: Sequence[str],
    *,
    noise: str | Noise = "student-t",
    refits: int = REFITS,
    sampler: Sampler | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> LawComparison:
    """Compare laws by how they forecast runs that they were not fitted to.

    Each law is fitted by nuts with its default priors. Every run is then left out once: by Pareto-smoothed importance
    sampling, and by a refit where that does not hold. Beside it stands how the law forecasts the top of the ladder
    (C >= max C / 2) from the runs with C <= max C / 3, since leaving out single runs measures interpolation.

    Parameters
    ----------
    runs : Runs, DataFrame, path or mapping of arrays
        Runs with a loss in nats per token and what the laws read.
    laws : sequence of str
        Names from `bayescale laws`, settings in brackets. One that cannot be fitted is listed with the reason.
    noise : str or Noise
        The same for all.
    refits : int
        How many runs a law may be refitted without; 0 for none.
    sampler : Sampler, optional
        Settings of nuts.
    seed : int
        The same seed, table and versions give the same comparison.
    progress : callable, optional
        Called with (label, done, total).

    Returns
    -------
    LawComparison

    Raises
    ------
    BayescaleError
        A table, law or noise that cannot be used, or no law that takes the table; the message says what to try.

    References
    ----------
    Vehtari, Gelman and Gabry 2017, arXiv 1507.04544; Vehtari et al. 2024, arXiv 1507.02646.

    Examples
    --------
    >>> C = np.geomspace(1e18, 1e22, 12)
    >>> off = 0.003 * np.tile([1.0, -1.0, -1.0, 1.0], 3)
    >>> runs = {"C": C, "loss": (1.8 + 0.6 * (C / 1.2e20) ** -0.16) * np.exp(off)}
    >>> laws = ["power-C-no-floor", "power-C"]
    >>> made = compare_laws(runs, laws, noise="normal", sampler=Sampler(draws=250, fallback=False))
    >>> made.table.index[0]
    'power-C'
    """
    names = tuple(dict.fromkeys(laws))
    if not names:
        raise FitError("no law is named; `bayescale laws` lists them")
    if refits < 0:
        raise FitError(f"a law is refitted without 0 runs or more, not {refits}")
    columns = columns_of_laws(names, noise)
    task = _Task(Noise.parse(noise), refits, Sampler() if sampler is None else sampler, seed, progress)
    table = as_runs(runs, columns)
    cut = next(iter(cuts(table, 1)), None)
    answers = [task.answer(name, table, cut) for name in names]
    if all(one.refused for one in answers):
        raise FitError("no law can be fitted:\n" + "\n".join(f"  {one.law}: {one.warnings[0]}" for one in answers))
    ordered = sorted(answers, key=lambda one: np.inf if one.loo is None else -one.loo.total)
    below, above = (0, 0) if cut is None else (len(cut.below), len(cut.above))
    return LawComparison(table.source, len(table), below, above, tuple(ordered))


def columns_of_laws(laws: Sequence[str], noise: str | Noise = "student-t") -> tuple[str, ...]:
    """The columns that a table must have for these laws to be compared.

    Raises
    ------
    LawError
        There is no such law.
    """
    read = [name for law in laws for name in parse_law(law).needs]
    return tuple(dict.fromkeys((*read, *Noise.parse(noise).columns, "loss")))


@dataclass(frozen=True)
class _Task:
    """What all laws of a comparison share."""

    noise: Noise
    refits: int
    sampler: Sampler
    seed: int
    progress: Progress | None

    def answer(self, name: str, runs: Runs, cut: Cut | None) -> LawAnswer:
        try:
            model = self._model(parse_law(name), runs)
            fit = NUTS(model, self.sampler).fit(runs, self.seed, self._labelled(name))
        except BayescaleError as error:
            return LawAnswer(name, None, None, None, warnings=(str(error),))
        loo = leave_one_out(fit, self.sampler, self.refits, self.seed)
        made = LawAnswer(name, fit, loo, None, (*fit.diagnostics.warnings, *_unreliable(loo)), _refitted(loo))
        return made if cut is None else self._with_top(made, model, cut)

    def _model(self, law: Law, runs: Runs) -> Model:
        law = reference_for(law, runs)
        law.check_runs({name: runs[name] for name in law.inputs if name in runs})
        return Model(law, self.noise)

    def _with_top(self, made: LawAnswer, model: Model, cut: Cut) -> LawAnswer:
        try:
            lower = NUTS(model, self.sampler).fit(cut.below, self.seed, self._labelled(f"{made.law}, lower part"))
        except BayescaleError as error:
            return replace(made, notes=(*made.notes, f"no forecast of the top of the ladder: {error}"))
        doubts = [f"the fit of the lower part alone: {text}" for text in lower.diagnostics.warnings]
        found = log_density(Learnt(model, lower.theta, None), cut.above, self.seed)
        return replace(made, beyond=found.joint, notes=(*made.notes, *doubts))

    def _labelled(self, name: str) -> Progress | None:
        progress = self.progress
        return None if progress is None else lambda label, done, total: progress(f"{name}: {label}", done, total)


def _rows(runs: Sequence[int]) -> str:
    return f"run{'s' * (len(runs) > 1)} {', '.join(str(run + 1) for run in runs)}"


def _unreliable(loo: LeaveOneOut) -> tuple[str, ...]:
    if not loo.left:
        return ()
    return (
        f"the importance weights of {_rows(loo.left)} cannot be relied on (Pareto k above {loo.threshold:.2f}), and no "
        "refit was made without them: elpd_loo is too high, most likely; allow more refits (--refits)",
    )


def _refitted(loo: LeaveOneOut) -> tuple[str, ...]:
    if not loo.refitted:
        return ()
    worst = max(loo.pareto_k[list(loo.refitted)])
    return (
        f"refitted without {_rows(loo.refitted)}, where importance weights cannot be relied on (Pareto k up to "
        f"{worst:.2f}): this fit hangs on {'them' if len(loo.refitted) > 1 else 'it'}",
    )
