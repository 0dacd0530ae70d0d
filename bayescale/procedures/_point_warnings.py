"""What may be wrong with an optimum, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayescale.compute import format_quantity
from bayescale.errors import FitError
from bayescale.optimisation.regression import Regression, Resampled

__all__ = ["identified", "parameter_warnings", "search_warnings", "spread_warnings"]

# A column whose largest value is less than this many times its smallest hardly shows how the loss depends on it.
LITTLE = 2.0
# A contribution below this fraction of the loss in every run is none.
NOTHING = 1e-5
# An exponent at or under this is none: over a factor of ten the term changes by a quarter of a per cent.
NO_EXPONENT = 1e-3
# Bootstrap sds above this fraction of the estimate say that the table does not know the parameter to a factor of two.
VAGUE = 0.5
FAILED_SHARE = 0.01


def identified(name: str, objective: Regression, columns: Mapping[str, np.ndarray], groups: np.ndarray | None) -> None:
    """Refuse a table that cannot identify the parameters.

    Parameters
    ----------
    name : str
        The procedure.
    objective : Regression
    columns : mapping of str to array (run,)
        Inputs of the law.
    groups : array of int (run,), optional
        Of the runs, where whole groups are resampled.

    Raises
    ------
    FitError
        No more runs than parameters, an input that is the same in all of them, or too few groups.
    """
    law, names = objective.law, objective.coordinates.names
    runs = len(next(iter(columns.values())))
    if runs <= len(names):
        raise FitError(
            f"{name} needs more runs than parameters: {law.name} has {len(names)} ({', '.join(names)}), the table "
            f"{runs} run{'s' * (runs != 1)}; add runs, fit a law with fewer parameters, or use nuts, whose priors "
            "make up for runs"
        )
    for column, values in columns.items():
        if np.ptp(np.log(values)) < 1e-9:
            raise FitError(
                f"{column} is {format_quantity(float(values[0]))} in all {runs} runs, so {name} cannot tell how the "
                f"loss depends on it: {law.name} is not identified. Add runs with other {column}, fit a law without "
                "it, or use nuts, whose priors say what the table does not"
            )
    if groups is not None and groups.max() + 1 < 3:
        raise FitError(
            f"{name}: resample='clusters' needs at least three groups to resample; the column has "
            f"{groups.max() + 1}; resample rows, or name another column"
        )


def search_warnings(
    name: str, measures: Mapping[str, float], settled: bool, tolerance: float, replicates: int
) -> list[str]:
    """Of the search itself."""
    warnings = []
    if not settled:
        warnings.append(
            f"{name} did not reach an optimum: the gradient's relative norm is {measures['gradient_norm']:.2g}, above "
            f"the tolerance {tolerance:.2g}. The objective is flat there or falls on for ever; some parameter is not "
            "identified by this table."
        )
    failed = measures.get("replicates_not_converged", 0.0)
    if replicates and failed > FAILED_SHARE * replicates:
        warnings.append(
            f"{failed:.0f} of {replicates} bootstrap replicates did not reach an optimum: intervals hold them where "
            "they stopped, and are too narrow or too wide."
        )
    return warnings


def parameter_warnings(objective: Regression, table: Resampled, estimate: Mapping[str, float]) -> list[str]:
    """Of parameters at a bound, and of columns that hardly vary."""
    law = objective.law
    real = np.asarray(table.count[0]) > 0
    columns = tuple(np.asarray(column.value)[real] for column in table.columns)
    theta = dict(estimate)
    loss = np.asarray(law.loss(*columns, **{name: theta[name] for name in law.parameters}))
    warnings = []
    for name in law.linear:
        others = {other: (theta[other] if other == name else 0.0) for other in law.linear}
        part = np.asarray(law.loss(*columns, **{n: theta[n] for n in law.parameters} | others))
        if np.abs(part / loss).max() < NOTHING:
            warnings.append(
                f"{name} was driven to 0: the table is fitted best without its term, and the term's exponent means "
                "nothing. Fit a law without it, or use nuts, whose priors keep it in."
            )
    for name, log in zip(objective.coordinates.names, objective.coordinates.logs, strict=True):
        if not log and name not in law.linear and theta[name] <= NO_EXPONENT:
            warnings.append(
                f"{name} is {theta[name]:.3g}, at or below 0: in this fit the loss does not fall with what it is the "
                "exponent of. Do not extrapolate it; look for runs that do not belong to the table."
            )
    for column, values in zip(law.inputs, columns, strict=True):
        factor = float(values.max() / values.min())
        if factor < LITTLE:
            warnings.append(
                f"{column} hardly varies, from {format_quantity(float(values.min()))} to "
                f"{format_quantity(float(values.max()))} (a factor of {factor:.2f}): how the loss depends on it is "
                "hardly identified, and its exponent is not to be used. Add runs with other values."
            )
    return warnings


def spread_warnings(objective: Regression, estimate: Mapping[str, float], draws: Mapping[str, np.ndarray]) -> list[str]:
    """Of exponents that the resamples do not agree about."""
    vague = []
    for name in objective.coordinates.names:
        if name in draws and name not in objective.law.linear:
            low, high = np.quantile(draws[name], [0.16, 0.84])
            if 0.5 * (high - low) > VAGUE * abs(estimate[name]):
                vague.append(f"{name} ({estimate[name]:.3g}, 68 % of replicates {low:.3g} to {high:.3g})")
    if not vague:
        return []
    return [
        f"the table hardly identifies {', '.join(vague)}: its resamples disagree by more than half of the value. Add "
        "runs that differ more, or fit with nuts and priors you believe."
    ]
