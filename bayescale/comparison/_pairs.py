"""Draws of two procedures that belong together: fits of the same resample of the runs, or of the same made-up table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from bayescale.comparison._answers import at_budgets, quantities_of
from bayescale.comparison._plan import Plan
from bayescale.comparison._variants import arrays_of
from bayescale.errors import BayescaleError
from bayescale.fits import Fit
from bayescale.optimisation.resampling import groups_of, resample_signs
from bayescale.procedures import get
from bayescale.procedures._envelope_curves import RUN_NAMES
from bayescale.procedures._point_fit import PointFit
from bayescale.procedures._procedure import Progress
from bayescale.runs import Runs

__all__ = ["Pairs", "common_resamples", "refit"]

JUDGED = ("N_exponent", "N")
# Where more of the tables than this are refused, those that are left are a choice and not a sample.
MOST_REFUSED = 0.1


@dataclass(frozen=True)
class Pairs:
    """Which draws belong together.

    Attributes
    ----------
    same : frozenset of frozenset of str
        Pairs of procedures whose own replicates were made of the same resamples.
    refits : mapping
        By procedure and quantity, answers (table,) on tables that all of these procedures share; NaN where one was
        refused.
    """

    same: frozenset[frozenset[str]] = frozenset()
    refits: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)

    def draws(self, one: str, other: str, quantity: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Refits of both procedures to the same tables, those that either refused left out; None without."""
        if one not in self.refits or other not in self.refits:
            return None
        first, second = self.refits[one][quantity], self.refits[other][quantity]
        kept = np.isfinite(first) & np.isfinite(second)
        return (first[kept], second[kept]) if kept.mean() >= 1.0 - MOST_REFUSED else None


def common_resamples(fits: Mapping[str, Fit]) -> frozenset[frozenset[str]]:
    """Pairs of fits of one table whose replicate r was made of the same resample of the runs."""
    drawn = {name: _resampling(fit) for name, fit in fits.items()}
    return frozenset(
        frozenset((one, other)) for one, other in combinations(fits, 2) if drawn[one] and drawn[one] == drawn[other]
    )


def _resampling(fit: Fit) -> tuple[object, ...] | None:
    """All that decides the resamples of a fit; None where they are its own.

    Procedures that minimise an objective draw how often each run counts from the seed alone, before they look at
    anything else. Those of IsoFLOP profiles and envelopes resample within budgets and along curves.
    """
    record = fit.record
    if fit.kind != "bootstrap" or not issubclass(get(record.procedure), PointFit):
        return None
    return (
        record.table["sha256"],
        record.seed,
        *(record.settings[key] for key in ("resample", "cluster", "replicates")),
    )


def refit(
    plan: Plan, fits: Mapping[str, Fit], runs: Runs, flops: Sequence[float], progress: Progress | None = None
) -> dict[str, dict[str, np.ndarray]]:
    """Point answers of fast procedures on tables that they share.

    A wild bootstrap: each table holds the losses that the law gives the runs, and residuals whose signs are drawn. No
    run is lost, so that profiles of few points keep theirs, and only the noise that the law leaves moves the answers.

    Parameters
    ----------
    plan : Plan
        Settings, seed, and the number of tables (``paired``).
    fits : mapping of str to Fit
        Fits of the procedures that have a fast point answer.
    runs : Runs
        The table.
    flops : sequence of float
        Budgets; N* is that of the first.

    Returns
    -------
    dict
        By procedure and quantity (``N_exponent``, ``N``), an array (table,). Empty where no fit gives the loss of every
        run, or all pairs belong together already.
    """
    same, names = common_resamples(fits), list(fits)
    apart = {name for pair in combinations(names, 2) if frozenset(pair) not in same for name in pair}
    centre = _centre(fits, runs)
    if centre is None or not apart:
        return {}
    freedom = max(len(runs) - min(len(fit.law.parameters) for fit in fits.values()), 1)
    # a fit takes up part of the noise, and leaves residuals that are too small
    residual = (np.log(runs["loss"]) - centre) * np.sqrt(len(runs) / freedom)
    columns = arrays_of(runs)
    signs = resample_signs(_groups(fits, runs), plan.paired, np.random.default_rng([plan.seed, 11]))
    found = {name: {key: np.full(plan.paired, np.nan) for key in JUDGED} for name in names if name in apart}
    for place, sign in enumerate(signs):
        table = Runs.from_arrays(**columns | {"loss": np.exp(centre + sign * residual)}, source=runs.source)
        for name, values in found.items():
            for key, value in _point(plan, name, table, flops).items():
                values[key][place] = value
        if progress is not None:
            progress("common tables", place + 1, plan.paired)
    return found


def _centre(fits: Mapping[str, Fit], runs: Runs) -> np.ndarray | None:
    """Log loss (run,) under the law that lies closest to the runs; None where no fit gives the loss of a run."""
    laws = [fit for fit in fits.values() if not fit.law.fitted_by]
    given = [np.log(np.median(fit.at_estimate.forecast(runs)["mean_loss"].values, axis=0)) for fit in laws]
    return min(given, key=lambda centre: float(np.square(np.log(runs["loss"]) - centre).sum()), default=None)


def _groups(fits: Mapping[str, Fit], runs: Runs) -> np.ndarray:
    """The group (run,) whose residuals turn together: points along one training run are no independent runs."""
    for fit in fits.values():
        settings = fit.record.settings
        names = (settings.get("cluster"), settings.get("run"), *(RUN_NAMES if "run" in settings else ()))
        for name in names:
            if name is not None and name in runs:
                return groups_of(runs[name])
    return np.arange(len(runs))


def _point(plan: Plan, name: str, runs: Runs, flops: Sequence[float]) -> dict[str, float]:
    """The point answer of one procedure; nothing where it refuses the table."""
    try:
        fit = plan.point(name, runs)
        optima = at_budgets(fit, flops) if flops else []
    except BayescaleError:
        return {}
    answers = quantities_of(fit, optima[0] if optima else None)
    return {key: value for key in JUDGED if (value := answers[key].value) is not None}
