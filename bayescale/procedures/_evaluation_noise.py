"""What is said of a fit to losses whose evaluation leaves a known error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import chi2

from bayescale.diagnostics import Diagnostics
from bayescale.model import Model
from bayescale.noise import LOSS_SD, evaluation_sd
from bayescale.runs import Runs

__all__ = ["judged", "unused"]

# Residuals that lie so close to the law are one table in ten thousand, were the sds right.
UNLIKELY = 1e-4


def judged(diagnostics: Diagnostics, model: Model, middle: Mapping[str, Any], runs: Runs) -> Diagnostics:
    """The diagnostics of a posterior, with what they should say of the sds of the losses.

    Parameters
    ----------
    diagnostics : Diagnostics
    model : Model
        What was fitted.
    middle : mapping
        The median of each parameter; those with groups are (group,).
    runs : Runs
        The table.
    """
    if LOSS_SD not in runs:
        return diagnostics
    known = evaluation_sd(runs)
    source = runs.columns.get(LOSS_SD, LOSS_SD)
    note = (
        f"evaluation noise: each loss has an sd of its own ({LOSS_SD}, from {source}; median "
        f"{np.median(runs[LOSS_SD]):.2g} nats), which counts as a known variance. sigma is the scatter of the runs "
        "alone, and so is the scatter of forecasts."
    )
    warnings = diagnostics.warnings + _too_large(model, middle, runs, known)
    return replace(diagnostics, notes=(*diagnostics.notes, note), warnings=warnings)


def _too_large(model: Model, middle: Mapping[str, Any], runs: Runs, known: np.ndarray) -> tuple[str, ...]:
    free = sum(len(model.groups_of.get(n, (0,))) for n in model.law.parameters if not model.priors[n].fixed)
    freedom = len(runs) - free
    if freedom < 1:
        return ()
    away = np.log(runs["loss"]) - np.asarray(model.log_mean(model.data(runs), middle))
    squares = float(np.square(away / known).sum())
    if chi2.cdf(squares, freedom) > UNLIKELY:
        return ()
    return (
        f"the losses lie closer to the law than {LOSS_SD} allows, {np.sqrt(squares / freedom):.2g} of their sds on "
        "average: these are no independent errors of the runs' losses, and sigma is not identified. A spread over "
        "sequences must be divided by the root of their number; an error that all runs share, as where all are read on "
        f"the same few sequences, is no scatter between them. Leave it out: --column {LOSS_SD}=none.",
    )


def unused(diagnostics: Diagnostics, name: str, runs: Runs, settings: Any) -> Diagnostics:
    """The diagnostics of a procedure that may or may not weigh runs by the sds of their losses."""
    if LOSS_SD not in runs or getattr(settings, "sd_column", None):
        return diagnostics
    how = f"; to weigh by it: sd_column={LOSS_SD}" if hasattr(settings, "sd_column") else ""
    note = f"{name} counts every run alike: the sds of the losses ({LOSS_SD}) are not used{how}, or fit with nuts."
    return replace(diagnostics, notes=(*diagnostics.notes, note))
