"""Weigh laws by how they forecast the top of a ladder from its lower parts, and mix their fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescale.averaging._candidates import Candidate, candidates
from bayescale.averaging._cuts import Cut, cuts
from bayescale.averaging._density import Learnt, LogDensity, log_density
from bayescale.averaging._mixture import Average, Member, Rehearsed
from bayescale.averaging._settings import Averaging
from bayescale.averaging._weights import predictive, stacking
from bayescale.errors import BayescaleError, FitError
from bayescale.fits import Fit
from bayescale.inference.sampler import Sampler
from bayescale.prior_sets import PriorSet, load
from bayescale.procedures import NUTS, as_runs
from bayescale.procedures._procedure import Progress
from bayescale.runs import Runs

__all__ = ["average"]

# With fewer draws near the runs, the joint density is what the nearest one says.
FEW = 10.0


def average(
    runs: Runs | pd.DataFrame | str | Path | Mapping[str, Any],
    prior_set: str | Path | PriorSet = "public",
    averaging: Averaging | None = None,
    *,
    without: frozenset[str] = frozenset(),
    sampler: Sampler | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Average:
    """Fit several laws to a table, and weigh them by how they would have forecast its top.

    The ladder is cut at a third of its largest compute: each law is fitted to the runs below, and the runs above half
    of the top are held against its forecast, with discrepancy and noise. A long ladder is cut again below that. Losses
    that a law was fitted to never count for it. A ladder with fewer than eight runs below the cut leaves the prior
    weights as they are.

    Parameters
    ----------
    runs : Runs, DataFrame, path or mapping of arrays
        Runs with N, D and a loss in nats per token.
    prior_set : str, path or PriorSet
        Priors, noise and discrepancy of the laws.
    averaging : Averaging, optional
        The laws, their prior weights, and how they are weighed.
    without : frozenset of str
        Groups that the prior set is to be learnt without.
    sampler : Sampler, optional
        Settings of nuts.
    seed : int
        The same seed, table and versions give the same mixture.
    progress : callable, optional
        Called with (label, done, total).

    Returns
    -------
    Average

    Raises
    ------
    BayescaleError
        A table, prior set or law that cannot be used, or no law that can be fitted; the message says what to try.

    References
    ----------
    Hoeting, Madigan, Raftery and Volinsky 1999, DOI 10.1214/ss/1009212519; Yao et al. 2018, arXiv 1704.02030.
    """
    told = Averaging() if averaging is None else averaging
    named = load(prior_set)
    table = as_runs(runs, ("N", "D", "C", "loss"))
    asked = candidates(named, told.laws, told.prior, without)
    task = _Task(named, without, Sampler() if sampler is None else sampler, seed, progress)
    able, refused = task.able(asked, table)
    rehearsed = _rehearse(task, able, cuts(table, told.cuts)) if len(able) > 1 else _Rehearsals()
    prior = np.array([one.prior for one in able])
    weights, by = _weigh(told.weights, prior, rehearsed)
    made = Average(
        source=table.source,
        by=by,
        members=(*_members(able, weights, rehearsed), *refused),
        cuts=tuple(Rehearsed(len(cut.below), len(cut.above), cut.at) for cut in rehearsed.cuts),
        draws=task.sampler.chains * task.sampler.draws,
        notes=(*rehearsed.notes, *_notes(able, by, rehearsed)),
    )
    counted = made.counts
    fitted = {one.name: task.fit(one, table) for one in able if one.name in counted}
    return replace(made, members=tuple(replace(one, fit=fitted.get(one.law)) for one in made.members))


@dataclass(frozen=True)
class _Task:
    """What all fits of an average share."""

    prior_set: PriorSet
    without: frozenset[str]
    sampler: Sampler
    seed: int
    progress: Progress | None

    def able(self, asked: Sequence[Candidate], runs: Runs) -> tuple[list[Candidate], list[Member]]:
        """The laws that the table allows, and those that it does not with the reason."""
        able, refused = [], []
        for one in asked:
            try:
                model = one.model(self.prior_set, runs, self.without)
                columns = model.data(runs)
                model.law.check_runs({name: columns[name] for name in model.law.inputs})
            except BayescaleError as error:
                refused.append(Member(one.name, 0.0, 0.0, why=str(error)))
            else:
                able.append(one)
        if not able:
            raise FitError("no law can be fitted:\n" + "\n".join(f"  {one.law}: {one.why}" for one in refused))
        return able, refused

    def fit(self, candidate: Candidate, runs: Runs) -> Fit:
        model = candidate.model(self.prior_set, runs, self.without)
        return NUTS(model, self.sampler).fit(runs, self.seed, self._labelled(candidate.name))

    def _labelled(self, name: str) -> Progress | None:
        progress = self.progress
        return None if progress is None else lambda label, done, total: progress(f"{name}: {label}", done, total)


@dataclass(frozen=True)
class _Rehearsals:
    """What each law held the top of each cut for: ``found[cut][law]``."""

    cuts: tuple[Cut, ...] = ()
    found: tuple[tuple[LogDensity, ...], ...] = ()
    notes: tuple[str, ...] = ()


def _rehearse(task: _Task, laws: Sequence[Candidate], ladder: Sequence[Cut]) -> _Rehearsals:
    """Fit every law to the lower part of each cut. A cut that one of them cannot be fitted to counts for none."""
    kept, found, notes = [], [], []
    for cut in ladder:
        try:
            fits = [task.fit(one, cut.below) for one in laws]
        except BayescaleError as error:
            notes.append(f"the runs below {cut.at:.3g} FLOPs say nothing of the weights: {error}")
            continue
        kept.append(cut)
        found.append(tuple(log_density(_learnt(fit), cut.above, task.seed) for fit in fits))
    return _Rehearsals(tuple(kept), tuple(found), tuple(notes))


def _learnt(fit: Fit) -> Learnt:
    assert fit.model is not None
    return Learnt(fit.model, fit.theta, fit.ladder)


def _weigh(how: str, prior: np.ndarray, rehearsed: _Rehearsals) -> tuple[np.ndarray, str]:
    """Weights (law,), and by what they were found."""
    if not rehearsed.cuts:
        return prior / prior.sum(), "prior"
    if how == "stacking":
        return stacking(prior, [np.array([one.pointwise for one in cut]) for cut in rehearsed.found]), how
    return predictive(prior, np.array([[one.joint for one in cut] for cut in rehearsed.found]).T), how


def _members(able: Sequence[Candidate], weights: np.ndarray, rehearsed: _Rehearsals) -> list[Member]:
    total = sum(one.prior for one in able)
    return [
        Member(
            law=one.name,
            prior=one.prior / total,
            weight=float(weights[place]),
            joint=tuple(at[place].joint for at in rehearsed.found),
            mean=tuple(float(at[place].pointwise.mean()) for at in rehearsed.found),
        )
        for place, one in enumerate(able)
    ]


def _notes(able: Sequence[Candidate], by: str, rehearsed: _Rehearsals) -> list[str]:
    if by == "prior":
        alone = "one law is left" if len(able) == 1 else "the ladder is too short to rehearse a forecast on it"
        return [f"{alone}: the weights are those from before any run was seen"]
    rough = [
        f"{one.name} at {cut.at:.3g} FLOPs ({at[place].effective:.1f})"
        for cut, at in zip(rehearsed.cuts, rehearsed.found, strict=True)
        for place, one in enumerate(able)
        if at[place].effective < FEW
    ]
    if by == "predictive" and rough:
        return [
            f"few draws come near all the runs that were forecast: {', '.join(rough)}. Joint densities, and with them "
            "the weights, are rough by a nat or more; stacking weighs runs one by one"
        ]
    return []
