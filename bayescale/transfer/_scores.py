"""Bilingual transfer scores with their uncertainty."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from bayescale.diagnostics import Diagnostics
from bayescale.errors import RunsError
from bayescale.runs import Runs
from bayescale.transfer._curve_model import Curve, Curves, TwoCurves
from bayescale.transfer._curves import Measured, measured_curves, pair_names
from bayescale.transfer._importance import MAX_PARETO_K, draw

__all__ = ["ScoreSettings", "TransferScores", "transfer_scores"]

FEWEST_EFFECTIVE = 400
# Scores beyond this chance of never being reached have no interval to speak of.
RARELY = 0.05


@dataclass(frozen=True)
class ScoreSettings:
    """How scores are made.

    Attributes
    ----------
    run_sd : float or None
        Sd of the loss between seeds, relative (.003 is .3 per cent), where it is known. Sampled without: that takes
        several seeds, and the fit says so where there are none.
    start : float
        Checkpoints with fewer tokens than this share of ``mono_tokens`` are left out: early training is no power law.
    draws : int
        Draws of each score.
    """

    run_sd: float | None = None
    start: float = 0.1
    draws: int = 4000

    def __post_init__(self) -> None:
        if self.run_sd is not None and not 0 < self.run_sd < 1:
            raise RunsError(f"run_sd is {self.run_sd!r}; expected a share of the loss above 0, such as 0.003")
        if not 0 <= self.start < 1:
            raise RunsError(f"start is {self.start!r}; expected a share of the monolingual tokens from 0 to 1")
        if self.draws < 100:
            raise RunsError(f"draws is {self.draws}; quantiles need 100 at least")


@dataclass(frozen=True)
class TransferScores:
    """Scores of the pairs that were measured.

    Attributes
    ----------
    table : xarray.Dataset
        Dimension ``pair`` with coordinates ``target`` and ``source``: ``score`` (sample, pair), minus infinity where
        the bilingual run never reaches the loss; ``p_never`` and ``p_beyond``, the probability that it never does, and
        that it does only beyond its last checkpoint; ``raw``, by interpolating the losses, NaN where they do not
        cross; ``sd`` of a normal with the same quartiles; the posterior medians of ``sigma``, ``carry`` and ``omega``;
        ``runs_mono``, ``runs_bi``, ``pareto_k``, ``ess``.
    diagnostics : Diagnostics
        Why not to trust them, if there is a reason.
    mono_tokens : float
        Tokens of the monolingual run whose loss is to be reached.
    seconds : float
    """

    table: xr.Dataset
    diagnostics: Diagnostics
    mono_tokens: float
    seconds: float = field(compare=False)


def transfer_scores(
    runs: Runs,
    mono_tokens: float,
    settings: ScoreSettings | None = None,
    *,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> TransferScores:
    r"""Bilingual transfer scores from loss curves.

    .. math:: \mathrm{BTS}_{s \to t} = 2 - \sigma_{bi}(L_t(d)) / d

    with :math:`L_t(d)` the loss on the target after ``d`` tokens of it alone, and :math:`\sigma_{bi}(l)` all tokens
    that a half-and-half run of both languages needs to come down to the loss ``l``. 0 is neutral, 1 a second language
    for free, 2 the bound above; there is none below.

    For each pair the two curves are fitted together, with checkpoints whose errors carry over to the next (AR(1)) and
    with an error that a whole run shares. Pairs are fitted one by one: scores of one target share the error of its
    monolingual runs, which the intervals of each contain.

    Parameters
    ----------
    runs : Runs
        One row a checkpoint: ``D`` (tokens of both languages), ``loss`` on the target, ``target``, ``source`` (empty,
        or the target, in a monolingual run) and, where there are several runs of a kind, ``seed``.
    mono_tokens : float
        ``d``; 42e9 in the paper.
    settings : ScoreSettings, optional
    seed : int
        The same seed and table give the same draws.
    progress : callable, optional
        Called with (label, done, total).

    Returns
    -------
    TransferScores

    Raises
    ------
    RunsError
        The table has no such runs; the message says what is missing.

    References
    ----------
    Longpre et al. 2025, arXiv 2510.22037, Sec. 4 and App. B.5.
    """
    if not (np.isfinite(mono_tokens) and mono_tokens > 0):
        raise RunsError(f"the monolingual tokens are {mono_tokens!r}; expected a number above 0, such as 42e9")
    settings = settings or ScoreSettings()
    began = time.perf_counter()
    found = measured_curves(runs, settings.start * mono_tokens)
    pairs = pair_names(found)
    made = []
    for place, (target, source) in enumerate(pairs):
        # a pair's draws do not depend on which others are in the table
        generator = np.random.default_rng([seed, *f"{target}\n{source}".encode()])
        made.append(_score(found, target, source, mono_tokens, settings, generator))
        if progress is not None:
            progress("scores", place + 1, len(pairs))
    table = xr.concat(made, "pair").assign_coords(
        target=("pair", [target for target, _ in pairs]), source=("pair", [source for _, source in pairs])
    )
    warnings, notes = _judged(table, settings)
    reach = {target: max(tokens[-1] for tokens, _ in found[target, ""]) for target, _ in pairs}
    for target, last in reach.items():
        if last < mono_tokens * (1 - 1e-9):
            warnings.append(
                f"the monolingual runs of {target} end at {last:.3g} tokens, before the {mono_tokens:.3g} at which "
                "their loss is wanted: it is extrapolated. Train on, or give a smaller --mono-tokens."
            )
    diagnostics = Diagnostics(
        warnings=tuple(warnings),
        notes=tuple(notes),
        min_ess=float(table["ess"].min()),
        pareto_k=float(table["pareto_k"].max()),
    )
    return TransferScores(table, diagnostics, float(mono_tokens), time.perf_counter() - began)


def _score(
    found: Measured,
    target: str,
    source: str,
    mono_tokens: float,
    settings: ScoreSettings,
    generator: np.random.Generator,
) -> xr.Dataset:
    alone, paired = found[target, ""], found[target, source]
    model = TwoCurves(_curves(alone, mono_tokens), _curves(paired, 2.0 * mono_tokens), settings.run_sd)
    drawn = draw(model.log_density, model.start(), settings.draws, generator)
    at = drawn.points
    score = score_of(model, at)
    noise = dict(zip(("sigma", "carry", "omega"), map(np.median, model.noise(at)), strict=True))
    last = max(tokens[-1] for tokens, _ in paired)
    quartiles = np.quantile(score, [0.25, 0.75], method="closest_observation")
    variables = {
        "raw": _interpolated(alone, paired, mono_tokens),
        "p_never": np.isneginf(score).mean(),
        "p_beyond": (np.isfinite(score) & (score < 2.0 - last / mono_tokens)).mean(),
        "sd": np.diff(quartiles)[0] / 1.349 if np.isfinite(quartiles).all() else np.nan,
        "runs_mono": len(alone),
        "runs_bi": len(paired),
        "pareto_k": drawn.pareto_k,
        "ess": drawn.ess,
    } | noise
    return xr.Dataset({"score": ("sample", score)} | {name: float(value) for name, value in variables.items()})


def _curves(runs: list[tuple[np.ndarray, np.ndarray]], reference: float) -> Curves:
    return Curves([Curve(np.log(tokens / reference), np.log(loss)) for tokens, loss in runs])


def score_of(model: TwoCurves, at: np.ndarray) -> np.ndarray:
    """The score at points (point, dim) of the posterior; minus infinity where the loss is below the bilingual floor."""
    share, power = model.share_and_power(at, 1)
    # the loss wanted, over the bilingual one at 2 d, above the floor and in units of what data can remove
    wanted = (np.expm1(at[:, 0] - at[:, 1]) + share) / share
    with np.errstate(all="ignore"):
        return np.where(wanted > 0, 2.0 - 2.0 * wanted ** (-1.0 / power), -np.inf)


def _interpolated(
    alone: list[tuple[np.ndarray, np.ndarray]], paired: list[tuple[np.ndarray, np.ndarray]], mono_tokens: float
) -> float:
    """The score read off the checkpoints, averaged over seeds; NaN where the bilingual runs do not cross the loss."""
    loss = np.mean([np.interp(np.log(mono_tokens), np.log(tokens), losses) for tokens, losses in alone])
    crossings = []
    for tokens, losses in paired:
        below = np.flatnonzero(losses <= loss)
        if not below.size:
            return float("nan")
        i = max(int(below[0]), 1)
        share = np.clip((losses[i - 1] - loss) / (losses[i - 1] - losses[i] or 1.0), 0.0, 1.0)
        crossings.append(np.exp(np.log(tokens[i - 1]) + share * np.log(tokens[i] / tokens[i - 1])))
    return float(2.0 - np.mean(crossings) / mono_tokens)


def _judged(table: xr.Dataset, settings: ScoreSettings) -> tuple[list[str], list[str]]:
    names = [f"{s} -> {t}" for t, s in zip(table["target"].values, table["source"].values, strict=True)]

    def listed(flags: np.ndarray) -> str:
        chosen = [name for name, flag in zip(names, flags, strict=True) if flag]
        return ", ".join(chosen[:5]) + (f" and {len(chosen) - 5} more" if len(chosen) > 5 else "")

    warnings, notes = [], []
    bad = (table["pareto_k"].values > MAX_PARETO_K) | (table["ess"].values < FEWEST_EFFECTIVE)
    if bad.any():
        warnings.append(
            f"importance sampling did not work for {listed(bad)} (Pareto k up to {table['pareto_k'].values.max():.2f}, "
            f"effective draws down to {table['ess'].values.min():.0f}): the curves do not look like power laws with a "
            "floor. Leave out more of the beginning (--start), or the runs that diverged."
        )
    single = (table["runs_mono"].values < 2) & (table["runs_bi"].values < 2)
    if settings.run_sd is None and single.any():
        warnings.append(
            f"{listed(single)}: one run of each kind says nothing of how runs differ between seeds, and that "
            "difference decides the width of the interval, which rests on its prior here. Give several seeds (column "
            "seed), or the sd between seeds as a share of the loss (--run-sd 0.003)."
        )
    lost = table["p_never"].values > RARELY
    if lost.any():
        notes.append(
            f"{listed(lost)}: the bilingual run may never reach the loss (p_never), so the interval is open below."
        )
    far = table["p_beyond"].values > 0.5
    if far.any():
        notes.append(f"{listed(far)}: the loss is probably reached beyond the last checkpoint; the score extrapolates.")
    return warnings, notes
