"""Say everything that is wrong with a table of runs, and what each law could learn from it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from bayescale.cli._arguments import add_table, column_names
from bayescale.cli._output import emit
from bayescale.errors import RunsError

if TYPE_CHECKING:
    from bayescale.laws import Law
    from bayescale.runs import Check

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale check` takes."""
    add_table(parser)


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale check`: 2 when a fit of this table would be refused."""
    from bayescale.laws import get, names
    from bayescale.runs import check

    found = check(arguments.runs, columns=column_names(arguments), where=arguments.where)
    laws = {name: _learns(get(name)(), found) for name in names()}
    document = {
        "ok": found.ok,
        "n_runs": found.n_runs,
        "n_read": found.n_read,
        "columns": found.columns,
        "problems": [
            {"row": p.row, "column": p.column, "value": p.value, "message": p.message, "fatal": p.fatal}
            for p in found.problems
        ],
        "laws": laws,
    }
    lines = [str(found), "what each law could learn:"]
    wide = 2 + max(map(len, laws), default=0)
    lines += [f"  {name:<{wide}}{'yes' if law['fits'] else 'no '}  {law['why']}" for name, law in laws.items()]
    emit(document, "\n".join(lines), arguments.json)
    return 0 if found.ok else 2


def _learns(law: Law, found: Check) -> dict[str, Any]:
    """Whether a law could be fitted to this table, and what the table says about its inputs."""
    missing = [name for name in law.needs if name not in found.available and not _holds(found, name)]
    if missing:
        return {"fits": False, "why": f"needs {', '.join(law.needs)}; the table has no {', '.join(missing)}"}
    if found.runs is None:
        return {"fits": False, "why": "the problems above stand in the way"}
    try:
        law.on(found.runs)
    except RunsError as error:
        return {"fits": False, "why": str(error)}
    if law.fitted_by:
        posterior = ("nuts",) == law.fitted_by
        condition = "" if posterior else ", if the runs lie on budgets or curves"
        return {"fits": True, "why": f"only by {' or '.join(law.fitted_by)}{condition}"}
    try:
        law.check_runs({name: found.runs[name] for name in law.inputs})
    except RunsError as error:
        return {"fits": False, "why": str(error)}
    spans, constant = [], []
    for name in law.needs:
        values = found.runs[name]
        ratio = float(values.max() / values.min())
        spans.append(f"{name} spans a factor of {ratio:.3g}")
        if ratio < 1 + 1e-9:
            constant.append(name)
    if constant:
        return {"fits": True, "why": f"{', '.join(constant)} never varies: its term will rest on the prior"}
    few = len(found.runs) <= len(law.parameters)
    warning = f"; {len(found.runs)} runs for {len(law.parameters)} parameters: much will rest on the priors" * few
    return {"fits": True, "why": ", ".join(spans) + warning}


def _holds(found: Check, name: str) -> bool:
    """Whether the table has numbers under the exact name of an input that only some laws read."""
    return found.runs is not None and name in found.runs and bool(found.runs[name].dtype.kind == "f")
