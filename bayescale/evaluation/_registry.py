"""Which forecaster a law, a procedure and a prior set name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bayescale.averaging import Averaging, candidates
from bayescale.comparison._plan import Plan, chosen, columns_needed
from bayescale.errors import FitError
from bayescale.evaluation._average import AverageOfLaws
from bayescale.evaluation._fitted import Fitted, HuberBootstrap
from bayescale.evaluation._forecaster import Forecaster
from bayescale.evaluation._prior_set import WithPriorSet
from bayescale.laws import names as law_names
from bayescale.noise import Noise
from bayescale.prior_sets import PriorSet, load
from bayescale.procedures import NUTS
from bayescale.procedures import names as procedure_names
from bayescale.procedures._settings import parse_settings

__all__ = ["AVERAGES", "BASELINES", "Request", "forecasters", "needs"]

# What a backtest scores where neither a law nor a prior set is named; and the law of procedures that use no priors.
DEFAULT_PRIOR_SET = "public"
DEFAULT_LAW = "chinchilla"


@dataclass(frozen=True)
class Request:
    """What a person asks a backtest to score.

    Attributes
    ----------
    law : str or None
        A law of the registry, or the name of an average of laws; None for that of the prior set.
    procedures : tuple of str
        Procedures of the registry, or baselines.
    prior_set : str or None
        Priors learnt from other tables, for nuts; the public ones where neither a law nor a noise is named.
    noise, replicates, draws, settings
        As in `bayescale.compare`.
    """

    law: str | None = None
    procedures: tuple[str, ...] = ("nuts",)
    prior_set: str | None = None
    noise: str | None = None
    replicates: int | None = None
    draws: int | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def named(self) -> PriorSet | None:
        """The prior set of nuts; None where a law or a noise is named in its place."""
        instead = self.noise is not None or (self.law is not None and self.law not in AVERAGES)
        if self.prior_set is None and instead:
            return None
        return load(self.prior_set or DEFAULT_PRIOR_SET)

    @property
    def plan(self) -> Plan:
        """The settings of the procedures."""
        return Plan(
            law=self.law or DEFAULT_LAW,
            noise=self.noise,
            replicates=self.replicates,
            draws=self.draws,
            settings=self.settings,
        )


Maker = Callable[[Request], Forecaster]


def _auto(request: Request) -> Forecaster:
    """The average of laws; ``--set auto.weights=stacking`` and the like say how."""
    if request.noise is not None:
        raise FitError(
            f"--law auto takes the noise of its prior set, and {request.noise} was given: leave one of them out"
        )
    other = [name for name in request.settings if name not in ("auto", NUTS.name)]
    if other or _named(request.procedures) != (NUTS.name,):
        raise FitError("--law auto averages posteriors: it takes the procedure nuts, and settings of nuts and of auto")
    prior_set = load(request.prior_set or DEFAULT_PRIOR_SET)
    averaging = Averaging.parse(request.settings.get("auto", {}))
    candidates(prior_set, averaging.laws, averaging.prior)  # what cannot be averaged is refused before any fit
    draws = {} if request.draws is None else {"draws": request.draws}
    sampler = parse_settings(NUTS, draws | dict(request.settings.get(NUTS.name, {})))
    return AverageOfLaws(prior_set, averaging, sampler)


# What `--law` names beside the laws; an entry here is all that a new one needs. Each is given the whole request and
# makes one forecaster, which re-learns what it knows of other tables without the groups it is told.
AVERAGES: dict[str, Maker] = {"auto": _auto}
BASELINES: dict[str, Callable[[], Forecaster]] = {"huber-bootstrap": HuberBootstrap}


def forecasters(request: Request) -> list[Forecaster]:
    """The forecasters of a request, in the order in which they are named.

    Raises
    ------
    BayescaleError
        A law, procedure, prior set, noise or setting that there is not; the message lists those there are.
    """
    if request.law == "auto" and not AVERAGES:
        raise FitError(f"--law auto: no average of laws is available here; name one law of {', '.join(law_names())}")
    if request.law in AVERAGES:
        return [AVERAGES[request.law](request)]
    named, fitted = request.named, _fitted(request)
    if named is not None:
        _agree(request, named)
    request.plan.check(fitted)
    return [_forecaster(name, request, named) for name in _named(request.procedures)]


def _forecaster(name: str, request: Request, named: PriorSet | None) -> Forecaster:
    if name in BASELINES:
        return BASELINES[name]()
    if name != NUTS.name or named is None:
        return Fitted(name, request.plan)
    draws = {} if request.draws is None else {"draws": request.draws}
    return WithPriorSet(named, parse_settings(NUTS, draws | dict(request.settings.get(name, {}))))


def _agree(request: Request, named: PriorSet) -> None:
    if request.law not in (None, named.law):
        raise FitError(f"the prior set {named.name} is for the law {named.law}, not for {request.law}")
    if request.noise is not None and Noise.parse(request.noise) != Noise.parse(named.noise):
        raise FitError(f"the prior set {named.name} is for {named.noise} noise, not for {request.noise}")


def needs(request: Request) -> tuple[str, ...]:
    """Columns that the table must have for the request, beside the loss and what it is divided by."""
    if request.law in AVERAGES or request.named is not None:
        return ("N", "D", "C", "loss")
    fitted = _fitted(request)
    return columns_needed(request.plan.law, fitted, request.noise) if fitted else ("N", "D", "loss")


def _named(procedures: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in procedures if name.strip()))


def _fitted(request: Request) -> tuple[str, ...]:
    """The procedures of the registry among those that are named."""
    named = _named(request.procedures)
    unknown = [name for name in named if name not in BASELINES and name not in procedure_names()]
    if unknown:
        raise FitError(
            f"there is no procedure called {unknown[0]!r}; the procedures are {', '.join(procedure_names())}, and the "
            f"baselines {', '.join(BASELINES)}"
        )
    fitted = tuple(name for name in named if name not in BASELINES)
    return chosen(fitted) if fitted or not named else ()
