"""The laws that are averaged, each with what a prior set knows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayescale.errors import FitError
from bayescale.ladder import Ladder
from bayescale.laws import get
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.prior_sets import PriorSet
from bayescale.runs import Runs

__all__ = ["Candidate", "candidates"]

# Parameters that mean the same in every law: a prior learnt for one law holds for the others.
SHARED = ("E",)
# Laws that a law becomes when one of its parameters is pinned: all that is known of the others then carries over.
NESTED = {("kappa", "chinchilla"): {"kappa": 1.0}}
OTHERS = ("chinchilla",)


@dataclass(frozen=True)
class Candidate:
    """One law of an average.

    Attributes
    ----------
    name : str
        What it is called in tables of weights: a law of the registry.
    prior : float
        For how many observations it counts before any run is seen: its weight, once divided by the sum over laws.
    """

    name: str
    prior: float

    def model(self, prior_set: PriorSet, runs: Runs, without: frozenset[str] = frozenset()) -> Model:
        """The law at the top of the ladder of these runs, with the noise and the discrepancy of the prior set.

        The law of the prior set has all of its priors, and so has a law that is a case of it (``chinchilla`` is
        ``kappa`` with kappa = 1). Another law has its own default priors, but for the floor and the noise, which mean
        the same in all.

        Raises
        ------
        RunsError
            The runs have no compute.
        PriorError
            The prior set cannot be learnt without those groups.
        """
        learnt = prior_set.model(runs, without)
        if self.name == prior_set.law:
            return learnt
        pinned = NESTED.get((prior_set.law, self.name))
        if pinned is not None:
            return learnt.with_priors(**pinned)
        law = get(self.name)().at(**Ladder.of(runs["C"]).reference)
        model = Model(law, Noise.parse(prior_set.noise), discrepancy=prior_set.discrepancy)
        kept = {name for name in model.priors if name in SHARED or name not in law.parameters}
        return model.with_priors(**{name: prior for name, prior in dict(learnt.overrides).items() if name in kept})


def candidates(
    prior_set: PriorSet,
    laws: Sequence[str] | None = None,
    prior: Sequence[float] | None = None,
    without: frozenset[str] = frozenset(),
) -> tuple[Candidate, ...]:
    """The candidates, with what each counts for before any run is seen.

    Parameters
    ----------
    prior_set : PriorSet
        Whose law stands first where no laws are named.
    laws : sequence of str, optional
        Laws of the registry, by default that of the prior set and ``chinchilla``.
    prior : sequence of float, optional
        A number of observations for each law. By default that of the groups of runs that it was learnt from, plus one
        as in Laplace's rule of succession: 8 to 1 where the prior set has seven groups.
    without : frozenset of str
        Groups that the prior set is to be learnt without, which then do not count.

    Raises
    ------
    LawError
        There is no such law.
    FitError
        No law, one that is named twice, or weights that are no weights.
    """
    named = tuple(dict.fromkeys((prior_set.law, *OTHERS))) if laws is None else tuple(laws)
    if not named or len(set(named)) < len(named):
        raise FitError(f"an average takes laws of different names; it was given {', '.join(named) or 'none'}")
    for name in named:
        get(name)
    if prior is None:
        seen = {family.group for family in prior_set.families if not {family.group, family.dataset} & without}
        prior = [1.0 + (len(seen) if name == prior_set.law else 0.0) for name in named]
    if len(prior) != len(named) or not all(0.0 < weight < float("inf") for weight in prior):
        raise FitError(
            f"prior weights are numbers above 0, one for each of {', '.join(named)}; got "
            f"{', '.join(f'{weight:g}' for weight in prior)}"
        )
    return tuple(Candidate(name, float(weight)) for name, weight in zip(named, prior, strict=True))
