"""What the IsoFLOP procedure says about budgets and minima, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayescale.procedures._isoflop_budgets import Budget
from bayescale.procedures._isoflop_minima import Minima
from bayescale.procedures._isoflop_settings import MIN_SIZES, IsoFLOPSettings
from bayescale.runs import Runs

__all__ = ["describe", "no_minimum", "scatter_notes", "too_few"]

# Porian et al. give a budget up when it has no interior minimum in half of the replicates.
MAX_LOST = 0.5
# A regression that leaves out a larger share of the runs is one of other runs than the person's.
MAX_LEFT_OUT = 1.0 / 3.0
# FLOPs of one budget that differ by more are worth a word: the profile then mixes compute with size.
WIDE_GROUP = 0.01


def no_minimum(budget: Budget, found: Minima, settings: IsoFLOPSettings) -> str:
    """Why a budget has no interior minimum."""
    low, high = budget.sizes
    between = f"outside its sizes, {low:.3g} to {high:.3g}"
    if settings.method == "akima":
        return f"the loss is lowest at an end of its sizes, {settings.size} = {low:.3g} to {high:.3g}"
    if not np.isfinite(found.vertex[0]):
        return "its parabola opens downward"
    if budget.log_size[0] <= found.vertex[0] <= budget.log_size[-1]:
        return "its parabola reaches below a loss of 0"
    return f"the vertex of its parabola is at {settings.size} = {np.exp(found.vertex[0]):.3g}, {between}"


def too_few(
    runs: Runs, budgets: Sequence[Budget], count: int, refused: Sequence[str], settings: IsoFLOPSettings
) -> str:
    """Why there are fewer than two budgets to regress, and what to try."""
    sizes = {size for budget in budgets for size in np.round(budget.log_size, 9)}
    why = f" Refused: {'; '.join(refused)}." if refused else ""
    if len(sizes) == 1:
        why = f" All runs have {settings.size} = {budgets[0].sizes[0]:.6g}, so no profile has a minimum."
    elif len(budgets) == 1:
        why = f" All {len(runs)} runs are of one budget, {budgets[0]}.{why}"
    how = f"column {settings.budgets!r}" if settings.budgets else f"FLOPs within {settings.tolerance:.3g} of a value"
    return (
        f"isoflop needs two or more budgets with at least {MIN_SIZES} sizes and a minimum of the loss between them; "
        f"{runs.source} has {count} of {len(budgets)} (by {how}).{why} Add runs, name the budgets with budgets=COLUMN, "
        "change tolerance or window, or fit a law of N and D, which needs no budgets"
    )


def describe(
    budgets: Sequence[Budget],
    usable: Sequence[Budget],
    minima: Sequence[Minima],
    drawn: Sequence[Minima],
    refused: Sequence[str],
) -> tuple[list[str], list[str]]:
    """Warnings and notes about the budgets and their minima."""
    warnings: list[str] = []
    shown = ", ".join(f"{budget} ({budget.loss.size})" for budget in budgets[:20])
    more = f" and {len(budgets) - 20} more" if len(budgets) > 20 else ""
    notes = [f"{len(budgets)} budgets (runs in each): {shown}{more}."]
    widest = max(budgets, key=lambda budget: budget.spread)
    if widest.spread > WIDE_GROUP:
        notes.append(f"FLOPs of one budget differ by up to {widest.spread:.1%} from their mean, at {widest}.")
    if refused:
        share = 1.0 - sum(budget.loss.size for budget in usable) / sum(budget.loss.size for budget in budgets)
        said = f"left out of the regression, with {share:.0%} of the runs: {'; '.join(refused)}."
        (warnings if share > MAX_LEFT_OUT else notes).append(said)
    found = ", ".join(f"{np.exp(m.log_size[0]):.4g}" for m in minima)
    notes.append(f"minima at {found}.")
    if len(usable) == 2:
        notes.append("two minima: the exponent goes through both, and nothing shows whether a power law holds.")
    for budget, m in zip(usable, drawn, strict=False):
        lost = float(np.isnan(m.log_size).mean())
        if lost:
            said = f"{budget} has no interior minimum in {lost:.1%} of the replicates, which go on without it."
            (warnings if lost > MAX_LOST else notes).append(said)
    return warnings, notes


def scatter_notes(scatter: float, excess: float, carried: bool) -> list[str]:
    """What is to be said where the minima lie further off the power law than the noise of the losses explains."""
    if not excess > 0:
        return []
    said = "replicates scatter them by as much" if carried else "the intervals leave that out and are too narrow"
    return [
        f"the minima lie {scatter:.1f} times as far off the power law as the noise of the losses explains (sd "
        f"{excess:.3g} of the log size beside it): {said}."
    ]
