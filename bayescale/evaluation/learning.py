"""Learn a prior set: fit every family of runs by itself under weak priors, and keep what each says of the law."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from bayescale.diagnostics import diagnose
from bayescale.discrepancy import BELOW
from bayescale.errors import PriorError
from bayescale.inference.sampler import Sampler
from bayescale.ladder import Ladder
from bayescale.laws import get
from bayescale.model import Model
from bayescale.noise import Noise
from bayescale.prior import Prior
from bayescale.prior_sets import Family, PriorSet
from bayescale.procedures._posterior import draw, with_pinned
from bayescale.runs import Runs

__all__ = ["WEAK", "learn"]

# The scale on which a learnt parameter is real, by the family of its prior.
REAL: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "LogStudentT": np.log,
    "LogitStudentT": lambda share: np.log(share) - np.log1p(-share),
    "StudentT": lambda value: value,
}
FEWEST_RUNS = 10
PRIOR_DRAWS = 100_000
# Precision that every table is taken to have, in that of the weak prior: a posterior no narrower than it says nothing.
LEAST = 0.01


# Under these a table speaks for itself, whatever unit its losses have: one sd of the floor is a factor of 2.7, of what
# is above it a factor of 3.3, of the exponents a factor of 2.2. Kappa is centred on 1, which is Chinchilla's law. Early
# runs count little whatever they say: a law that is free in all else bends to them, and then says less of the top.
WEAK = {
    "E": Prior.parse("LogNormal(log(1.2), 1.0)"),
    "R": Prior.parse("LogNormal(log(0.8), 1.2)"),
    "M": Prior.parse("LogNormal(log(20), 2.0)"),
    "N_exponent": Prior.parse("Beta(3, 3)"),
    "gamma": Prior.parse("LogNormal(log(0.15), 0.8)"),
    "kappa": Prior.parse("LogNormal(0.0, 0.8)"),
    BELOW: Prior.parse("0.04"),
}


def learn(
    tables: Iterable[tuple[str, str, Runs]],
    like: PriorSet,
    name: str,
    seed: int = 0,
    said: Callable[[str, str, tuple[str, ...]], None] | None = None,
) -> PriorSet:
    """Learn the priors of a law from tables of runs.

    Parameters
    ----------
    tables : iterable of (str, str, Runs)
        Dataset, the group of datasets with which it shares a design, and the runs. Losses are to be in the unit of the
        tables that the set is for: the floor is learnt in nats per token.
    like : PriorSet
        What is learnt, what is given, and the discrepancy; its own families are not used.
    name : str
        Of the new set.
    seed : int
        The same seed and tables give the same set.
    said : callable, optional
        Called for each table with its name, its estimates and the warnings of its fit.

    Raises
    ------
    PriorError
        A table is too short, or fewer than three groups are left.
    """
    families: list[Family] = []
    for dataset, group, runs in tables:
        if len(runs) < FEWEST_RUNS:
            raise PriorError(f"{dataset} has {len(runs)} runs; a law is learnt from {FEWEST_RUNS} or more")
        family, warnings = _family(like, dataset, group, runs, seed)
        families.append(family)
        if said is not None:
            told = ", ".join(f"{parameter} {mean:.2f} +- {sd:.2f}" for parameter, (mean, sd) in family.told.items())
            said(dataset, f"{len(runs)} runs, {told}", warnings)
    learnt = replace(like, name=name, families=tuple(families))
    learnt.priors()
    return learnt


def _family(like: PriorSet, dataset: str, group: str, runs: Runs, seed: int) -> tuple[Family, tuple[str, ...]]:
    law = get(like.law)().at(**Ladder.of(runs["C"]).reference)
    # with bends allowed for, a family under weak priors says next to nothing of its floor
    model = Model(law, Noise.parse(like.noise), discrepancy=replace(like.discrepancy, bend=0.0, wings=0.0))
    noise = {name: prior for name, prior in like.given.items() if name in model.noise.priors}
    model = model.with_priors(**(noise | WEAK))
    samples = draw(model, runs, Sampler(), seed)
    theta, weak = with_pinned(model, samples), model.sample_priors(PRIOR_DRAWS, seed)
    told = {name: _alone(REAL[form](theta[name]), REAL[form](weak[name])) for name, form in like.learnt.items()}
    return Family(dataset, group, told), diagnose(model, samples).warnings


def _alone(posterior: np.ndarray, prior: np.ndarray) -> tuple[float, float]:
    """Mean and sd of what a table says by itself: its posterior with the weak prior divided out, both taken as normal.

    A family that says next to nothing would otherwise count as one more that has the value of the weak prior.
    """
    said, weak = (1.0 / float(values.var()) for values in (posterior, prior))
    precision = said - weak
    if precision < LEAST * weak:
        return float(posterior.mean()), float((LEAST * weak) ** -0.5)
    mean = (said * float(posterior.mean()) - weak * float(prior.mean())) / precision
    return mean, float(precision**-0.5)
