"""What is wrong with a fit, in sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from bayescale.grouping import spread_out
from bayescale.inference.convergence import MAX_RHAT, MIN_ESS_PER_CHAIN, Convergence, bfmi
from bayescale.inference.sample import Samples
from bayescale.model import Model

__all__ = ["Diagnostics", "contraction", "diagnose", "shift"]

MIN_BFMI = 0.3
MAX_DEPTH_SHARE = 0.01
MAX_PARETO_K = 0.7
# Degrees of freedom below which a Student-t has no mean.
LEAST_NU = 1.0
# A parameter of which the table takes away less than a tenth of the prior variance is answered by the prior.
MIN_CONTRACTION = 0.1
# A normal prior puts one draw in a thousand this many sds out.
FAR_FROM_PRIOR = 3.3


@dataclass(frozen=True)
class Diagnostics:
    """Whether a fit may be trusted, and why not.

    Attributes
    ----------
    warnings : tuple of str
        Reasons not to trust the fit, each with what to try. Empty for a good fit.
    notes : tuple of str
        What the reader should know and need not worry about.
    max_rhat, min_ess : float or None
        Worst R-hat and effective sample size over the sampled parameters; None where the draws are no Markov chain.
    divergences : int
        Divergent transitions after warm-up.
    pareto_k : float or None
        Of the importance-sampling check.
    contraction : dict of str to float
        ``1 - posterior variance / prior variance`` of each parameter, on the log scale for positive ones.
    measures : dict of str to float
        What a procedure reports of itself: the objective it reached, the norm of its gradient there, and the like.
    """

    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    max_rhat: float | None = None
    min_ess: float | None = None
    divergences: int = 0
    pareto_k: float | None = None
    contraction: Mapping[str, float] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether there is no reason to distrust the fit."""
        return not self.warnings

    def document(self) -> dict[str, Any]:
        """Plain values, for JSON and for the fit's file."""
        return {"ok": self.ok} | asdict(self) | {"warnings": list(self.warnings), "notes": list(self.notes)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Diagnostics:
        """The diagnostics that `document` described."""
        values = {name: value for name, value in document.items() if name != "ok"}
        return cls(**values | {"warnings": tuple(values["warnings"]), "notes": tuple(values["notes"])})


def _spread(draws: np.ndarray) -> float:
    """Standard deviation of the normal with the same interquartile range: heavy tails of a prior do not count."""
    return float(np.subtract(*np.quantile(draws, [0.75, 0.25]))) / 1.349


def _comparable(prior: np.ndarray, posterior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both on the log scale when all draws are positive."""
    positive = (prior > 0).all() and (posterior > 0).all()
    return (np.log(prior), np.log(posterior)) if positive else (prior, posterior)


def contraction(prior: np.ndarray, posterior: np.ndarray) -> float:
    """``1 - posterior variance / prior variance``, on the log scale when all draws are positive: 0 is no news."""
    before, after = map(_spread, _comparable(prior, posterior))
    return math.nan if before == 0 else 1.0 - (after / before) ** 2


def shift(prior: np.ndarray, posterior: np.ndarray) -> float:
    """How many prior standard deviations the table moved the median, on the log scale when all draws are positive."""
    before, after = _comparable(prior, posterior)
    spread = _spread(before)
    return math.nan if spread == 0 else float(abs(np.median(after) - np.median(before))) / spread


def _chains(samples: Samples, found: Convergence) -> list[str]:
    warnings = []
    chains = len(samples.stats["lp"])
    bad = [f"{name} {value:.3g}" for name, value in found.rhat.items() if not value <= MAX_RHAT]
    if bad:
        warnings.append(
            f"R-hat is above {MAX_RHAT} for {', '.join(bad)}: the chains disagree about the posterior. Do not use the "
            "intervals; sample longer (--draws, --warmup), or give the priors or the table more to go on."
        )
    least = MIN_ESS_PER_CHAIN * chains
    few = [name for name in found.rhat if min(found.ess_bulk[name], found.ess_tail[name]) < least]
    if few:
        warnings.append(
            f"effective sample size below {least} for {', '.join(few)} (smallest {found.min_ess:.0f}): quantiles are "
            "noisy; raise --draws."
        )
    divergences = int(samples.stats["diverging"].sum())
    if divergences:
        warnings.append(
            f"{divergences} of {samples.stats['diverging'].size} transitions diverged: part of the posterior was not "
            "explored and intervals may be too narrow; tighten the priors, or raise --target-accept."
        )
    deep = float((samples.stats["tree_depth"] >= samples.kernel.max_tree_depth).mean())
    # the trajectories of the first try are short by design
    if samples.kernel.dense and deep > MAX_DEPTH_SHARE:
        warnings.append(
            f"{deep:.0%} of the draws hit the largest tree depth ({samples.kernel.max_tree_depth}): the posterior has "
            "a very long thin direction; some parameters are hardly identified by this table."
        )
    missing = bfmi(samples.stats["energy"])
    if not (missing > MIN_BFMI).all():
        warnings.append(
            f"energy diagnostic (BFMI) {missing.min():.2f} is below {MIN_BFMI}: the tails of the posterior are poorly "
            "explored; tighten the priors of the noise, or use normal noise for very short tables."
        )
    return warnings


def _modes(samples: Samples, found: Convergence) -> tuple[list[str], list[str]]:
    """A warning where chains may stay at the mode they began at; a note where they go from one to another."""
    distinct = np.asarray(samples.modes.distinct)
    if distinct.sum() <= 1:
        return [], []
    shares = np.exp(float(samples.modes.masses[0]) - np.asarray(samples.modes.masses)[distinct])
    what = (
        f"the posterior has {int(distinct.sum())} separate modes (probability relative to the first, roughly: "
        f"{', '.join(f'{share:.2g}' for share in shares)})"
    )
    if found.good and distinct.sum() <= len(samples.stats["lp"]):
        return [], [f"{what}. The chains began at all of them and agree, so the intervals hold them all."]
    return [
        f"{what}: the table allows different answers, and one number with one interval would hide that. Look at the "
        "draws by chain, and add runs or priors that tell the modes apart."
    ], []


def _prior_dominated(
    model: Model, shares: Mapping[str, float], shifts: Mapping[str, float]
) -> tuple[list[str], list[str]]:
    """Warnings for parameters of the law that rest on a default prior; notes for chosen priors and for the noise."""
    chosen = {name for name, _ in model.overrides}
    shown = [name for name in shares if name not in model.nuisance]
    odds = [name for name in shown if shifts.get(name, 0.0) > FAR_FROM_PRIOR]
    silent = [name for name in shown if shares[name] < MIN_CONTRACTION and name not in odds]
    parameters = {label: name for name, groups in model.groups_of.items() for label in groups.names(name)}
    warned = [n for n in silent if parameters.get(n, n) in {*model.law.parameters} - chosen]
    noted = [name for name in silent if name not in warned]
    warnings = [
        f"{name} {are} answered by {its} prior, {prior}, not by the table (contraction {share:.2f}): what depends on "
        f"{it} repeats the prior. Add runs that vary what {needs}, or set the prior knowingly (--prior)."
        for name, prior, share, (are, its, it, needs) in _by_parameter(model, warned, shares)
    ]
    notes = [
        f"{name} {'rest' if are == 'are' else 'rests'} on {its} prior, {prior} (contraction {share:.2f})."
        for name, prior, share, (are, its, _, _) in _by_parameter(model, noted, shares)
    ]
    notes += [
        f"the table pulls {name} {distance:.1f} prior sds away from {prior}: prior and table disagree, and the answer "
        "lies between them. Look at both."
        for name, prior, distance, _ in _by_parameter(model, odds, shifts, worst=max)
    ]
    return warnings, notes


ONE, SEVERAL = ("is", "its", "it", "it needs"), ("are", "their", "them", "they need")


def _by_parameter(
    model: Model, names: list[str], measured: Mapping[str, float], worst: Callable[..., float] = min
) -> Iterator[tuple[str, Any, float, tuple[str, str, str, str]]]:
    """Names, prior, measure and grammar: each name by itself, the values of a parameter with groups in one."""
    parameters = {label: name for name, groups in model.groups_of.items() for label in groups.names(name)}
    together: dict[str, list[str]] = {}
    for name in names:
        together.setdefault(parameters.get(name, name), []).append(name)
    for parameter, members in together.items():
        prior = model.pools.get(parameter) or model.scalars[parameter]
        if len(members) == 1:
            yield members[0], prior, measured[members[0]], ONE
            continue
        listed = ", ".join(members[:4]) + (", ..." if len(members) > 4 else "")
        count = f"{len(members)} of {len(model.groups_of[parameter])} values of {parameter}"
        yield f"{count} ({listed})", prior, worst(measured[name] for name in members), SEVERAL


def _importance(samples: Samples, found: Convergence) -> tuple[list[str], list[str]]:
    check = samples.importance
    if check is None and samples.modes.anchors is not None:
        return [], ["there is no importance-sampling check of a posterior with groups: it has too many dimensions."]
    if check is not None and np.sum(samples.modes.distinct) > 1:
        return [], ["the importance-sampling check says nothing here: it looks around one of the modes."]
    if check is None:
        return [], ["the table is too long for the importance-sampling check."]
    if not check.pareto_k < MAX_PARETO_K:
        return [], [
            f"the importance-sampling check says nothing here (Pareto k {check.pareto_k:.2f}): the posterior is not "
            "near Gaussian around its mode."
        ]
    off = []
    for name, draws in samples.theta.items():
        if not np.isfinite(found.rhat[name]):
            continue
        # the larger of the two: importance sampling that misses a long tail finds too small a sd along with it
        sd = max(check.sd[name], float(draws.std()))
        error = math.sqrt(1.0 / check.ess + 1.0 / max(found.ess_bulk[name], 1.0))
        gap = abs(float(draws.mean()) - check.mean[name]) / sd
        # six Monte Carlo standard errors, and a size that would change what somebody reads off
        if gap > max(6.0 * error, 0.2):
            off.append(f"{name} by {gap:.2f} posterior sd")
    if off:
        return [f"NUTS and importance sampling disagree about {', '.join(off)}: one of them is wrong."], []
    return [], [f"importance sampling gives the same means (Pareto k {check.pareto_k:.2f})."]


def _short(model: Model, runs: int | None) -> list[str]:
    """A warning for a table with no more runs than the law has free parameters."""
    free = sum(not model.priors[name].fixed for name in model.law.parameters)
    if runs is None or runs > free:
        return []
    return [
        f"{runs} run{'s' * (runs > 1)} for the {free} free parameters of {model.law.name}: the law goes through all of "
        "them, so they say nothing of the scatter, sigma can run to 0, and the intervals mean nothing. Add runs "
        f"({free + 1} at the very least), pin parameters that are known (--prior alpha=0.35), or fit a law with fewer."
    ]


def _tails(samples: Samples) -> list[str]:
    """A warning where the noise has heavier tails than a Cauchy distribution: the law is not that of all runs."""
    nu = float(np.median(samples.theta["nu"])) if "nu" in samples.theta else math.inf
    if nu >= LEAST_NU:
        return []
    return [
        f"nu is {nu:.2g}: a good part of the runs lies so far from the law that the scatter has no mean, and bands of "
        "new runs mean little. Look at the residuals; runs of a few tokens per parameter, other schedules or diverged "
        "ones are left out with --where."
    ]


def diagnose(model: Model, samples: Samples, runs: int | None = None) -> Diagnostics:
    """Judge draws of NUTS.

    Parameters
    ----------
    model : Model
        What was sampled.
    samples : Samples
        The draws and the record of how they were made.
    runs : int, optional
        Rows of the table; a warning says so where they are no more than the law's free parameters.
    """
    short = _short(model, runs)
    found = samples.convergence
    prior = spread_out(model.sample_priors(4000, seed=0), model.groups_of)
    shares = {name: contraction(prior[name], draws.ravel()) for name, draws in samples.theta.items()}
    shifts = {name: shift(prior[name], draws.ravel()) for name, draws in samples.theta.items()}
    # a sigma that ran to 0 is far from its prior because nothing held it, not because the table disagrees
    dominated, rests = _prior_dominated(model, shares, {} if short else shifts)
    modes, mixed = _modes(samples, found)
    disagree, agreed = _importance(samples, found)
    interrupted = ["the sampling was interrupted: these are the draws made until then."] if samples.interrupted else []
    notes = [*rests, *mixed, *agreed]
    if samples.tries > 1:
        how = "a long warm-up with dense adaptation" if samples.kernel.dense else "longer trajectories"
        notes.append(f"the first, short run did not converge; these draws come from {how}.")
    return Diagnostics(
        warnings=(*short, *interrupted, *_chains(samples, found), *modes, *dominated, *disagree, *_tails(samples)),
        notes=tuple(notes),
        max_rhat=found.max_rhat,
        min_ess=found.min_ess,
        divergences=int(samples.stats["diverging"].sum()),
        pareto_k=None if samples.importance is None else samples.importance.pareto_k,
        contraction=shares,
    )
