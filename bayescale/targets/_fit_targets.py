"""One law, fitted to every target of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from bayescale.errors import FitError, PriorError, RunsError
from bayescale.fits import Fit
from bayescale.fits._warned import warned
from bayescale.laws import Law
from bayescale.laws import get as get_law
from bayescale.model import Model
from bayescale.noise import LOSS_SD, Noise
from bayescale.prior import parse_prior
from bayescale.procedures import fit, get, reference_for
from bayescale.procedures._settings import parse_settings
from bayescale.runs import Runs
from bayescale.targets._long import TARGET, long_table, together
from bayescale.targets._target_fits import TargetFits

__all__ = ["Reading", "fit_targets"]


@dataclass(frozen=True)
class Reading:
    """How the table is read; see `Runs.read`.

    Attributes
    ----------
    columns : mapping
        ``{"N": "params"}``; not the loss, which is each target in turn. Sds and intervals of a target are found by its
        name (``c4_loss_sd``); ``{"loss_sd": "none"}`` leaves them out.
    where : str, optional
        Rows to use; ``loss`` in it is that of each target.
    drop_bad : bool
        Leave out, for each target, the rows that cannot be used.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None
    drop_bad: bool = False


def fit_targets(
    table: str | Path | pd.DataFrame,
    targets: Sequence[str],
    law: str | Law | None = None,
    *,
    share: Sequence[str] = (),
    pool: Sequence[str] = (),
    reading: Reading | None = None,
    **options: Any,
) -> TargetFits:
    """Fit a law to each of several columns of one table of runs.

    Parameters
    ----------
    table : str, path or DataFrame
        One row a run, one column a target.
    targets : sequence of str
        Columns, each a loss in nats per token; with a unit, ``"c4 (bits)"``, and of an accuracy its error,
        ``"hellaswag (accuracy)"``.
    law : str or Law, optional
        A name from `bayescale laws`, ``"chinchilla"`` by default.
    share, pool : sequence of str
        Parameters that are the same for all targets, and parameters that are partially pooled over them. With either,
        all targets are in one fit, in which every other parameter of the law and the sd of the noise is each target's
        own. Without, each target is fitted for itself.
    reading : Reading, optional
        How the table is read.
    **options
        Of `bayescale.fit`: ``procedure``, ``noise``, ``priors``, ``seed``, ``progress``, ``draws`` and so on;
        ``pool_over`` is its ``pool``, over columns of the table, and goes with targets that are fitted apart.

    Returns
    -------
    TargetFits
        A fit for each target, and what is to be said against any of them.

    Raises
    ------
    BayescaleError
        A table, target, parameter or setting that cannot be used; the message says what to try.

    Notes
    -----
    The runs are the same for all targets, and so a run that came out well did so on all of them. One joint fit counts
    its rows as independent, and says so where the residuals show that they are not.

    Examples
    --------
    >>> import bayescale
    >>> frame = bayescale.datasets.frame("toy").query("sweep == 'isoflop' and seed == 0")
    >>> frame = frame.assign(easy_loss=0.8 * frame["loss"])
    >>> fits = bayescale.fit_targets(frame, ["loss", "easy_loss"], draws=200)
    >>> list(fits.fits)
    ['loss', 'easy_loss']
    """
    told = Reading() if reading is None else reading
    wanted = _checked(targets, share, pool, told)
    chosen = get(options.get("procedure", "nuts"))
    if (share or pool) and not chosen.bayesian:
        raise FitError(f"{chosen.name} fits one target at a time: leave share and pool out, or fit with nuts")
    noise = Noise.parse(options.pop("noise", None) or chosen.default_noise)
    made = law if isinstance(law, Law) else get_law(law or chosen.default_law)()
    needs = tuple(dict.fromkeys((*made.needs, *noise.columns, *chosen.needs, "loss")))
    runs = {name: _read(table, name, told, needs, len(wanted)) for name in wanted}
    if not isinstance(law, Law):
        made = reference_for(made, next(iter(runs.values())))
    if not (share or pool):
        options["pool"] = options.pop("pool_over", None)
        return TargetFits({name: fit(each, made, noise=noise, **options) for name, each in runs.items()})
    return _jointly(runs, Model(made, noise), (tuple(share), tuple(pool)), options)


def _checked(targets: Sequence[str], share: Sequence[str], pool: Sequence[str], told: Reading) -> list[str]:
    wanted = [name.strip() for name in targets if name.strip()]
    if not wanted:
        raise RunsError("no target is named: give the columns to fit, such as c4_loss,pile_loss")
    if twice := {name for name in wanted if wanted.count(name) > 1}:
        raise RunsError(f"the target {sorted(twice)[0]!r} is named twice")
    if both := set(share) & set(pool):
        raise PriorError(f"{sorted(both)[0]} is both shared and pooled: it can be one of them")
    if (share or pool) and len(wanted) < 2:
        raise RunsError(f"there is one target, {wanted[0]!r}, and nothing to share or pool parameters with")
    if "loss" in told.columns:
        raise RunsError("the loss is each of the targets in turn: leave --column loss=... out")
    if told.columns.get(LOSS_SD, "none") != "none":
        raise RunsError(
            f"{LOSS_SD} is named for one loss, and there are several targets: sds are found by the name of each, such "
            f"as {wanted[0]}_sd; {LOSS_SD}=none leaves them out"
        )
    return wanted


def _read(table: Any, target: str, told: Reading, needs: tuple[str, ...], count: int) -> Runs:
    columns = {**told.columns, "loss": target}
    try:
        runs = Runs.read(table, columns=columns, where=told.where, drop_bad=told.drop_bad, needs=needs)
    except RunsError as error:
        raise RunsError(f"target {target}: {error}", error.problems) from None
    if count > 1 and runs.columns.get(LOSS_SD) == LOSS_SD:
        raise RunsError(
            f"the column {LOSS_SD} does not say of which target it is the sd: call it {target}_sd, or leave it out, "
            f"--column {LOSS_SD}=none"
        )
    return runs


def _jointly(
    runs: Mapping[str, Runs], model: Model, named: tuple[tuple[str, ...], tuple[str, ...]], options: dict[str, Any]
) -> TargetFits:
    """One fit of all targets: parameters shared, pooled over them, and each target's own."""
    share, pool = named
    chosen = get(options.pop("procedure", "nuts"))
    seed, progress = options.pop("seed", 0), options.pop("progress", None)
    model = model.with_priors(
        **{name: parse_prior(prior) for name, prior in (options.pop("priors", None) or {}).items()}
    )
    if model.pools or options.pop("pool_over", None) or options.pop("prior_set", None):
        raise FitError(
            f"one fit of all targets has groups by target alone: {model.law.name} with other groups, or a prior set, "
            "is fitted target by target; leave share and pool out"
        )
    model.pool(TARGET, *share)  # unknown names are refused here
    free = [name for name, prior in model.priors.items() if not prior.fixed and name != "nu"]
    own = [name for name in free if name not in (*share, *pool)]
    grouped = model.pool(TARGET, *pool).pool(TARGET, *own, independent=True)
    table = long_table(runs)
    grouped.law.check_runs({name: table[name] for name in grouped.law.inputs if name in table})
    joint: Fit = chosen(grouped, parse_settings(chosen, options)).fit(table, seed=seed, progress=progress)
    joint = warned(joint, together(joint, runs, (*share, *pool)))
    return TargetFits({name: joint.of(**{TARGET: name}) for name in runs}, joint)
