"""How every procedure of a comparison is run: with which law, noise, settings and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from bayescale.errors import FitError
from bayescale.fits import Fit
from bayescale.laws import Law
from bayescale.laws import get as get_law
from bayescale.laws import parse as parse_law
from bayescale.noise import Noise
from bayescale.procedures import Procedure, fit, get, names
from bayescale.procedures._settings import parse_settings
from bayescale.runs import Runs

__all__ = ["Plan", "chosen", "columns_needed", "default_flops", "fast", "has_setting"]

# Without a budget of one's own, the answers are compared where people use them: beyond the table, not far beyond.
REACH = 10.0
# A tenth of them lie outside a 90 % interval, half of those at the end that decides.
LEAST_PAIRED = 100
# Starts of a search where hundreds of tables are fitted that differ little from each other.
STARTS = 64


@dataclass(frozen=True)
class Plan:
    """What the procedures of a comparison share, and what each has of its own.

    Attributes
    ----------
    law : str or Law
        What is fitted by every procedure that can be told what to fit.
    noise : str or None
        Of the procedures with a likelihood; their own default without.
    replicates, draws : int or None
        Settings of those procedures that have them.
    settings : mapping
        Further settings by procedure: ``{"huber": {"delta": 1e-4}}``.
    seed : int
        The same for all, so that resamples are common where procedures resample alike.
    sensitivity : bool
        Whether to vary what could as well have been done otherwise.
    alternatives : mapping of str to str
        Other columns that could be N, D or C.
    paired : int
        Common tables to which fast procedures are refitted, where their own replicates are no pairs; 0 for none.
    """

    law: str | Law = "chinchilla"
    noise: str | Noise | None = None
    replicates: int | None = None
    draws: int | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seed: int = 0
    sensitivity: bool = False
    alternatives: Mapping[str, str] = field(default_factory=dict)
    paired: int = LEAST_PAIRED

    @classmethod
    def of(cls, law: str | Law, seed: int, given: Mapping[str, Any]) -> Plan:
        """The plan with these of its fields.

        Raises
        ------
        FitError
            A name that is no field.
        """
        known = [one.name for one in fields(cls) if one.name not in ("law", "seed")]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise FitError(
                f"compare takes no {unknown[0]!r}; expected {', '.join(known)}, and a setting of one procedure inside "
                f"settings={{'huber': {{{unknown[0]!r}: ...}}}}"
            )
        return cls(law=law, seed=seed, **given)

    def check(self, procedures: Sequence[str]) -> None:
        """Refuse names and settings that cannot be meant, before anything is fitted.

        Raises
        ------
        BayescaleError
            An unknown law, noise, procedure or setting.
        """
        if isinstance(self.law, str):
            parse_law(self.law)
        if self.noise is not None:
            Noise.parse(self.noise)
        if 0 < self.paired < LEAST_PAIRED:
            raise FitError(f"{self.paired} tables say little of an interval; give at least {LEAST_PAIRED}, or 0")
        for name in self.settings:
            if name not in procedures:
                raise FitError(
                    f"settings are given for {name}, which is not compared here; the procedures are "
                    f"{', '.join(procedures)}"
                )
        for name in procedures:
            self.settings_of(name)

    def columns(self, procedures: Sequence[str]) -> tuple[str, ...]:
        """The columns that a table must have for these procedures to be compared."""
        law = parse_law(self.law) if isinstance(self.law, str) else self.law
        likelihood = any(get(name).bayesian for name in procedures)
        scattered = Noise.parse(self.noise).columns if self.noise is not None and likelihood else ()
        return tuple(dict.fromkeys((*law.needs, *scattered, "loss")))

    def fit(self, procedure: str, runs: Runs, progress: Any = None, **settings: Any) -> Fit:
        """Fit the runs by one procedure; `settings` go before those of the plan."""
        return fit(
            runs,
            self._law(get(procedure)),
            procedure,
            noise=self.noise if get(procedure).bayesian else None,
            seed=self.seed,
            progress=progress,
            **(self.settings_of(procedure) | settings),
        )

    def point(self, procedure: str, runs: Runs, **settings: Any) -> Fit:
        """The point estimate of a fast procedure, without replicates and from few starts."""
        sparing = has_setting(procedure, "starts") and "starts" not in self.settings_of(procedure)
        return self.fit(procedure, runs, replicates=0, **({"starts": STARTS} if sparing else {}) | settings)

    def _law(self, procedure: type[Procedure]) -> str | Law:
        """The law of the comparison, unless the procedure gives one that no other can."""
        own = get_law(procedure.default_law).fitted_by
        return procedure.default_law if procedure.name in own else self.law

    def settings_of(self, name: str) -> dict[str, Any]:
        """The settings of one procedure that differ from its defaults, read from text where they are text.

        Raises
        ------
        FitError
            A setting that it does not have, or a value that cannot be read.
        """
        shared = {"replicates": self.replicates, "draws": self.draws}
        given = {key: value for key, value in shared.items() if value is not None and has_setting(name, key)}
        given |= dict(self.settings.get(name, {}))
        read = parse_settings(get(name), given)
        return {key: getattr(read, key) for key in given}


def chosen(procedures: Sequence[str] | str | None) -> tuple[str, ...]:
    """The procedures to compare, each once, in the order given; all there are without.

    Raises
    ------
    FitError
        An unknown procedure, or none.
    """
    if procedures is None:
        return tuple(names())
    listed = procedures.split(",") if isinstance(procedures, str) else procedures
    cleaned = tuple(dict.fromkeys(name.strip() for name in listed if name.strip()))
    if not cleaned:
        raise FitError(f"no procedure is named; the procedures are {', '.join(names())}")
    for name in cleaned:
        get(name)
    return cleaned


def has_setting(procedure: str, setting: str) -> bool:
    """Whether a procedure has a setting of that name."""
    return setting in {one.name for one in fields(get(procedure).Settings)}


def fast(procedures: Sequence[str]) -> list[str]:
    """The procedures that give a point answer in little time: those that can leave out their bootstrap."""
    return [name for name in procedures if has_setting(name, "replicates") and not get(name).bayesian]


def columns_needed(
    law: str | Law, procedures: Sequence[str] | None = None, noise: str | None = None
) -> tuple[str, ...]:
    """The columns that a table must have for a comparison: those of the law, the loss, and those of the noise."""
    return Plan(law=law, noise=noise).columns(chosen(procedures))


def default_flops(runs: Runs) -> tuple[float, ...]:
    """Ten times the largest FLOPs of the table; none where it has no FLOPs."""
    return (REACH * float(np.max(runs["C"])),) if "C" in runs else ()
