"""The summary of a fit: a table that says first whether it may be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayescale.fits._judge import CONFLICT, PRIOR
from bayescale.fits._record import KINDS
from bayescale.inference.convergence import convergence
from bayescale.intervals import interval

if TYPE_CHECKING:
    from bayescale.fits._fit import Fit

__all__ = ["Summary", "describe", "summarise", "verdict"]


class Summary(pd.DataFrame):
    """A DataFrame, one row a parameter, that prints the verdict of the fit above itself.

    Columns: ``estimate`` (what the whole table gives; not for a posterior), ``mean, sd, q05, q25, median, q75, q95``,
    and ``rhat, ess_bulk, ess_tail`` (NaN unless the draws are a Markov chain's). Slices and copies are plain
    DataFrames. Printed, a row of which the answer rests on the prior says so at its end.
    """

    _metadata = ["verdict", "labels"]  # noqa: RUF012  (pandas reads it from the class)

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __repr__(self) -> str:
        return f"{self.verdict}\n{labelled(pd.DataFrame(self), self.labels).to_string(float_format=_number)}"

    def _repr_html_(self) -> str:
        table = labelled(pd.DataFrame(self), self.labels).to_html(float_format=_number)
        return f"<pre>{escape(self.verdict)}</pre>{table}"


def _number(value: float) -> str:
    return f"{value:.4g}"


def labels(fit: Fit) -> dict[str, str]:
    """The verdict on each parameter and derived quantity that rests on the prior or quarrels with it."""
    found = {} if fit.rests_on is None else fit.rests_on.verdicts
    return {name: verdict for name, verdict in found.items() if verdict in (PRIOR, CONFLICT)}


def labelled(table: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    """The table with the labels of its rows at their end, if it has any."""
    return table.assign(**{"": [labels.get(str(name), "") for name in table.index]}) if labels else table


def verdict(fit: Fit) -> str:
    """One paragraph: may this fit be trusted, and if not, every reason."""
    diagnostics = fit.diagnostics
    if diagnostics.ok:
        return f"diagnostics: ok ({KINDS[fit.kind]})"
    reasons = "\n".join(f"  ! {warning}" for warning in diagnostics.warnings)
    count = len(diagnostics.warnings)
    return f"DO NOT TRUST THIS FIT: {count} warning{'s' * (count > 1)}\n{reasons}"


def summarise(fit: Fit) -> Summary:
    """Mean, sd, quantiles and convergence of every parameter and derived quantity of a fit."""
    hidden = () if fit.model is None else fit.model.nuisance
    draws = {name: values for name, values in fit.values.items() if name not in hidden}
    moving = {name: values for name, values in draws.items() if values.max() > values.min()}
    chains = convergence(moving) if fit.kind == "posterior" else None
    rows: dict[str, dict[str, Any]] = {}
    for name, values in draws.items():
        judged = chains is not None and name in chains.rhat
        estimate = {} if fit.estimate is None else {"estimate": fit.estimate[name]}
        rows[name] = (
            estimate
            | interval(values)
            | {
                "rhat": chains.rhat[name] if chains and judged else None,
                "ess_bulk": chains.ess_bulk[name] if chains and judged else None,
                "ess_tail": chains.ess_tail[name] if chains and judged else None,
            }
        )
    summary = Summary(pd.DataFrame.from_dict(rows, orient="index").astype(float))
    summary.verdict, summary.labels = verdict(fit), labels(fit)
    return summary


def describe(fit: Fit) -> str:
    """The text that a fit prints: verdict, what was fitted to what, the parameters, the priors, the notes."""
    record, law = fit.record, fit.law
    lines = [verdict(fit), ""]
    lines.append(f"{law.name}: {law.formula}")
    reference = ", ".join(f"{name}0 = {value:.4g}" for name, value in law.reference_run.items())
    lines.append(f"reference run: {reference}")
    table = record.table
    dropped = f", {table['n_dropped']} rows dropped" if table["n_dropped"] else ""
    lines.append(f"table: {table['source']}, {table['n_runs']} runs{dropped}")
    noise = f", {record.model['noise']} noise on log loss" if record.model else ""
    lines.append(f"procedure: {record.procedure}{noise}; {KINDS[fit.kind]}, seed {record.seed}")
    seconds = record.seconds
    lines.append(f"seconds: {seconds['total']:.1f} (compiling {seconds['compile']:.1f})")
    columns = {
        "posterior": ["mean", "sd", "q05", "median", "q95", "rhat", "ess_bulk", "ess_tail"],
        "bootstrap": ["estimate", "sd", "q05", "median", "q95"],
        "point": ["estimate"],
    }[fit.kind]
    summary = fit.summary()
    shown = pd.DataFrame(summary)[[column for column in columns if column in summary]]
    lines += ["", labelled(shown, summary.labels).to_string(float_format=_number)]
    if fit.model is not None and fit.kind == "posterior":
        told = {name: prior for name, prior in fit.model.priors.items() if name not in fit.model.nuisance}
        lines += ["", "priors: " + ", ".join(f"{name} ~ {prior}" for name, prior in told.items())]
    measures = fit.diagnostics.measures
    if measures:
        lines += ["", ", ".join(f"{name.replace('_', ' ')} {value:.10g}" for name, value in measures.items())]
    if record.prior_predictive:
        before = record.prior_predictive
        lines.append(
            f"before the data, the priors put the loss of the run with the most compute between {before['q05']:.3g} "
            f"and {before['q95']:.3g} (90 %); observed {before['observed']:.4g}"
        )
    if fit.rests_on is not None and fit.rests_on.short:
        lines.append(f"{PRIOR}: {fit.rests_on.short}")
    lines += [f"note: {note}" for note in (*table["warnings"], *fit.diagnostics.notes)]
    return "\n".join(lines)
