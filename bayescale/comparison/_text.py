"""A comparison as text."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayescale.compute import format_quantity

if TYPE_CHECKING:
    from bayescale.comparison._answers import Answer, Quantity
    from bayescale.comparison._comparison import Comparison

__all__ = ["describe", "describe_sensitivity"]

WIDTH = 118


def describe(made: Comparison) -> str:
    """The text that a comparison prints: the table, the verdict, then what is to be known of each row."""
    lines = [f"{made.law} on {made.n_runs} runs of {made.source}"]
    if made.flops:
        reach = "" if made.largest is None else f" ({made.flops[0] / made.largest:.3g} times the largest run)"
        lines.append(f"N*, D* and loss are those of the compute-optimal run of {made.flops[0]:.4g} FLOPs{reach}")
    lines += ["[ ] is the 90 % interval: of the posterior, or of bootstrap replicates around the estimate", ""]
    lines += _grid([_header(made), *(_row(answer, made) for answer in made.answers)])
    for place, budget in enumerate(made.flops[1:], start=1):
        lines += ["", f"at {budget:.4g} FLOPs"]
        lines += _grid(
            [["procedure", "N*", "D*", "loss"], *(_further(a, place) for a in made.answers if not a.refused)]
        )
    lines += ["", fill(made.verdict, WIDTH)]
    if made.sensitivity is not None:
        lines += ["", describe_sensitivity(made.sensitivity)]
    remarks = [line for answer in made.answers for line in _remarks(answer)]
    return "\n".join([*lines, *([""] if remarks else []), *remarks])


def describe_sensitivity(table: pd.DataFrame) -> str:
    """The sensitivity table, and the sentence that names the largest mover."""
    rows = [["what", "setting", "procedure", "N exponent", "change", "N*", "ratio", "D*", "E"]]
    for _, row in table.iterrows():
        shown = [
            _plain(row["N_exponent"], ".3f"), _plain(row["change"], "+.3f"), _plain(row["N"], None),
            _plain(row["N_ratio"], ".3g"), _plain(row["D"], None), _plain(row["E"], ".4g"),
        ]  # fmt: skip
        rows.append([row["what"], row["setting"], row["procedure"], *shown])
    notes = [
        f"  {row['procedure']}, {row['what']} {row['setting']}: {row['note']}"
        for _, row in table[table["note"] != ""].iterrows()
    ]
    return "\n".join(
        ["sensitivity of the point answers", *_grid(rows), *notes, fill(table.attrs.get("mover", ""), WIDTH)]
    )


def _plain(value: Any, form: str | None) -> str:
    if value is None or value != value:
        return "-"
    return format_quantity(value) if form is None else format(value, form)


def _header(made: Comparison) -> list[str]:
    head = ["procedure", "draws", "N exponent", "N*", "D*", "E", "loss"]
    return [*head, *(["held-out error %", "bias %", "in 90 % band"] if made.holdout is not None else []), "seconds"]


def _row(answer: Answer, made: Comparison) -> list[str]:
    if answer.refused:
        return [answer.procedure, "refused"]
    shown = answer.quantities
    cells = [answer.procedure + (" (!)" if answer.warnings else ""), answer.kind]
    forms = {"N_exponent": ".3f", "N": None, "D": None, "E": ".3f", "loss": ".4f"}
    cells += [_cell(shown[name], form) for name, form in forms.items()]
    if made.holdout is not None:
        scores = answer.heldout or {}
        cells += [_plain(scores.get(key), form) for key, form in (("are", ".2f"), ("bias", "+.2f"), ("cov90", ".0%"))]
    return [*cells, _plain(answer.seconds, ".1f")]


def _cell(quantity: Quantity, form: str | None) -> str:
    if quantity.value is None:
        return "-"
    made = quantity.document() or {}
    value = _plain(quantity.value, form)
    return f"{value} [{_plain(made['q05'], form)}, {_plain(made['q95'], form)}]" if quantity.spread else value


def _further(answer: Answer, place: int) -> list[str]:
    shown = [answer.procedure]
    for name, form in (("N", None), ("D", None), ("loss", ".4f")):
        made = answer.allocations[place][name]
        if made is None:
            shown.append("-")
            continue
        value = _plain(made["median"] if made["estimate"] is None else made["estimate"], form)
        band = "" if made["q05"] is None else f" [{_plain(made['q05'], form)}, {_plain(made['q95'], form)}]"
        shown.append(value + band)
    return shown


def _remarks(answer: Answer) -> list[str]:
    if answer.refused:
        return [fill(f"{answer.procedure} gives no answer: {answer.warnings[0]}", WIDTH, subsequent_indent="  ")]
    own = () if answer.fit is None else answer.fit.diagnostics.notes
    lines = [fill(f"{answer.procedure} ! {text}", WIDTH, subsequent_indent="  ") for text in answer.warnings]
    lines += [fill(f"{answer.procedure}: {t}", WIDTH, subsequent_indent="  ") for t in answer.notes if t not in own]
    if own:
        count = f"{len(own)} note{'s' * (len(own) > 1)}"
        lines.append(f"{answer.procedure}: {count} of its own; --json and `bayescale fit` give them")
    return lines


def _grid(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as their longest cell."""
    count = max(map(len, rows))
    widths = [max((len(row[i]) for row in rows if i < len(row)), default=0) for i in range(count)]
    return ["  ".join(cell.ljust(widths[i]) for i, cell in enumerate(row)).rstrip() for row in rows]
