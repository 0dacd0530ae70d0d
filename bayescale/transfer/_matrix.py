"""The transfer matrix, completed: scores of pairs that were not measured, with their uncertainty."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import xarray as xr

from bayescale.diagnostics import Diagnostics
from bayescale.errors import RunsError
from bayescale.inference.convergence import MAX_RHAT, MIN_ESS_PER_CHAIN, convergence
from bayescale.transfer._gibbs import GibbsSettings, Sampled, gibbs
from bayescale.transfer._pairs import Pairs

__all__ = ["TransferMatrix", "complete"]

LEVELS = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
FEWEST_PAIRS = 6


@dataclass(frozen=True)
class TransferMatrix:
    """Scores of all pairs.

    Attributes
    ----------
    table : xarray.Dataset
        Over (target, source): ``mean, sd, q05, q25, median, q75, q95`` of the score, NaN for a language with itself,
        and ``measured``. Over ``language``: mean and sd of its ``target_effect`` and ``source_effect``. The attribute
        ``warnings`` is that of the diagnostics.
    draws : xarray.Dataset
        Over (chain, draw): the mean, the slopes of the covariates, and the sds of the effects of targets, sources and
        pairs and of what is left; ``score`` over (chain, draw, target, source).
    diagnostics : Diagnostics
        Why not to trust it, if there is a reason.
    seconds : float
    """

    table: xr.Dataset
    draws: xr.Dataset
    diagnostics: Diagnostics
    seconds: float = field(compare=False)


def complete(pairs: Pairs, settings: GibbsSettings | None = None, *, seed: int = 0) -> TransferMatrix:
    r"""Predict the scores of the pairs that were not measured.

    .. math:: y_{ts} = \mu + x_{ts}^\top \theta + a_t + b_s + g_{\{t,s\}} + \epsilon_{ts},\qquad
        \epsilon_{ts} \sim N(0, \sigma_t^2)

    with an effect of the target, one of the source, one that both directions of a pair share (a pair whose other
    direction was measured is known better for it), covariates where there are any, and a remainder of the pair whose
    size differs between targets: :math:`\sigma_t^2` is inverse gamma around a common level. Measured scores stay as
    they are, or, with an ``sd``, are drawn towards what the effects say. By Gibbs sampling; every conditional but that
    of the sd of pair effects is known in closed form.

    Parameters
    ----------
    pairs : Pairs
        From `read_pairs`.
    settings : GibbsSettings, optional
    seed : int
        The same seed and table give the same draws.

    Returns
    -------
    TransferMatrix

    Raises
    ------
    RunsError
        Fewer than six pairs have a score.

    References
    ----------
    The social relations model: Warner, Kenny and Stoto 1979, doi:10.1037/0022-3514.37.10.1742.

    Examples
    --------
    >>> from bayescale.transfer import Pairs
    >>> score = np.add.outer([0.1, -0.5, -0.2, 0.0], [0.05, -0.1, 0.1, 0.0])
    >>> score[0, 1:3] = np.nan
    >>> np.fill_diagonal(score, np.nan)
    >>> matrix = complete(Pairs(tuple("abcd"), score, np.zeros((4, 4))), GibbsSettings(draws=100, warmup=100))
    >>> bool(matrix.table["measured"].sel(target="a", source="b")), int(np.isfinite(matrix.table["sd"]).sum())
    (False, 12)
    """
    count = int(pairs.measured.sum())
    if count < FEWEST_PAIRS:
        raise RunsError(f"{count} pairs have a score; effects of targets and sources need {FEWEST_PAIRS} at least")
    began = time.perf_counter()
    sampled = gibbs(pairs, settings or GibbsSettings(), seed)
    diagnostics = _diagnosed(pairs, sampled)
    table = _table(pairs, sampled)
    table.attrs["warnings"] = list(diagnostics.warnings)
    coords = {"target": list(pairs.languages), "source": list(pairs.languages)}
    draws = xr.Dataset(
        {name: (("chain", "draw"), values) for name, values in sampled.named.items()}
        | {"score": (("chain", "draw", "target", "source"), sampled.score)},
        coords=coords,
    )
    return TransferMatrix(table, draws, diagnostics, time.perf_counter() - began)


def _table(pairs: Pairs, sampled: Sampled) -> xr.Dataset:
    n = len(pairs.languages)
    flat = sampled.score.reshape(-1, n, n).astype(np.float64)
    cells = {"mean": flat.mean(0), "sd": flat.std(0)} | dict(
        zip(LEVELS, np.quantile(flat, list(LEVELS.values()), axis=0), strict=True)
    )
    exact = pairs.measured & (pairs.sd == 0)
    # a score taken as it is has no spread, and comes back in float64
    cells = {name: np.where(exact, 0.0 if name == "sd" else pairs.score, values) for name, values in cells.items()}
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        name: (("target", "source"), np.where(pairs.apart, values, np.nan)) for name, values in cells.items()
    }
    variables["measured"] = (("target", "source"), pairs.measured)
    for name, effects in (("target_effect", sampled.target), ("source_effect", sampled.source)):
        variables[name] = (("language",), effects.mean((0, 1)))
        variables[f"{name}_sd"] = (("language",), effects.std((0, 1)))
    languages = list(pairs.languages)
    return xr.Dataset(variables, coords={"target": languages, "source": languages, "language": languages})


def _diagnosed(pairs: Pairs, sampled: Sampled) -> Diagnostics:
    unknown = np.argwhere(pairs.apart & ~pairs.measured)
    names = pairs.languages
    watched = dict(sampled.named)
    watched |= {f"{names[s]} -> {names[t]}": sampled.mean[:, :, t, s].astype(np.float64) for t, s in unknown}
    found = convergence(watched)
    warnings = []
    bad = [f"{name} {value:.3g}" for name, value in found.rhat.items() if not value <= MAX_RHAT]
    if bad:
        warnings.append(
            f"R-hat is above {MAX_RHAT} for {', '.join(bad[:6])}{' and others' if bad[6:] else ''}: the chains "
            "disagree. Sample longer (--draws, --warmup)."
        )
    least = MIN_ESS_PER_CHAIN * len(sampled.score)
    few = [name for name in watched if min(found.ess_bulk[name], found.ess_tail[name]) < least]
    if few:
        warnings.append(
            f"effective sample size below {least} for {', '.join(few[:6])}{' and others' if few[6:] else ''} (smallest "
            f"{found.min_ess:.0f}): quantiles are noisy; raise --draws."
        )
    return Diagnostics(
        warnings=tuple(warnings), notes=tuple(_unseen(pairs)), max_rhat=found.max_rhat, min_ess=found.min_ess
    )


def _unseen(pairs: Pairs) -> list[str]:
    """Languages of which the table knows one role only, or none."""
    notes = []
    for axis, role in ((1, "target"), (0, "source")):
        without = [name for name, seen in zip(pairs.languages, pairs.measured.any(axis=axis), strict=True) if not seen]
        if without:
            notes.append(
                f"{', '.join(without[:10])}{' and others' if without[10:] else ''}: no score as a {role}, so its "
                "effect as one is that of any language, and the intervals are as wide as languages differ."
            )
    return notes
