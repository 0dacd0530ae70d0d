"""Print a prior set, or learn one from families of training runs.

Without RUNS the named set is printed (`public` by default): its priors, its discrepancy, and the families it was learnt
from. With RUNS every data set of the table is fitted by itself under weak priors, and the set is written to --out.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from bayescale.cli._arguments import add_table, column_names, output_file
from bayescale.cli._output import emit
from bayescale.errors import PriorError, RunsError

if TYPE_CHECKING:
    from bayescale.prior_sets import PriorSet
    from bayescale.runs import Runs

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale prior-set` takes."""
    add_table(parser, optional=True)
    parser.add_argument("--by", metavar="COLUMN", help="column that names the data set of each run")
    parser.add_argument("--group", metavar="COLUMN", help="column that names what data sets share (default: nothing)")
    parser.add_argument(
        "--like", default="public", metavar="NAME", help="the set to print, or whose law, given priors and discrepancy "
        "the new one has (default public)",
    )  # fmt: skip
    parser.add_argument(
        "--without", default="", metavar="GROUP,..", help="leave these groups out of the priors printed"
    )
    parser.add_argument("--name", default="mine", help="of the new set (default mine)")
    parser.add_argument("--drop-bad", action="store_true", help="leave out rows that cannot be used")
    parser.add_argument("--out", metavar="SET.toml", help="write the new set here")


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale prior-set`."""
    from bayescale.prior_sets import load

    prior_set = load(arguments.like)
    warned: list[str] = []
    if arguments.runs is not None:
        prior_set, warned = _learnt(arguments, prior_set)
    without = frozenset(name.strip() for name in arguments.without.split(",") if name.strip())
    document = _document(prior_set, without) | {"out": arguments.out, "warnings": warned}
    emit(document, _text(prior_set, document), arguments.json)
    return 1 if warned else 0


def _learnt(arguments: argparse.Namespace, like: PriorSet) -> tuple[PriorSet, list[str]]:
    from bayescale.cli._cache import use_compilation_cache
    from bayescale.evaluation.learning import learn
    from bayescale.laws import get
    from bayescale.runs import Runs

    if arguments.by is None:
        raise PriorError("a prior set is learnt over data sets: name the column that tells them apart with --by")
    out = output_file(arguments.out, ".toml", "a prior set is a TOML file")
    if out is None:
        raise PriorError("the set that is learnt needs a file: name it with --out mine.toml")
    runs = Runs.read(
        arguments.runs,
        columns=column_names(arguments),
        where=arguments.where,
        drop_bad=arguments.drop_bad,
        needs=(*get(like.law).inputs, "C", "loss"),
    )
    use_compilation_cache()
    warned: list[str] = []

    def said(dataset: str, told: str, warnings: tuple[str, ...]) -> None:
        print(f"{dataset}: {told}", file=sys.stderr)
        warned.extend(f"{dataset}: {warning}" for warning in warnings)
        for warning in warnings:
            print(f"{dataset}: ! {warning}", file=sys.stderr)

    made = learn(_tables(runs, arguments.by, arguments.group), like, arguments.name, arguments.seed, said)
    out.write_text(made.to_toml(), encoding="utf-8")
    return made, warned


def _tables(runs: Runs, by: str, group: str | None) -> list[tuple[str, str, Runs]]:
    for column in (by, *((group,) if group else ())):
        if column not in runs:
            raise RunsError(
                f"{runs.source} has no column {column!r}; its columns are {', '.join(map(str, runs.table.data_vars))}"
            )
    datasets = runs[by].astype(str)
    groups = datasets if group is None else runs[group].astype(str)
    return [(name, groups[datasets == name][0], runs.subset(datasets == name)) for name in dict.fromkeys(datasets)]


def _document(prior_set: PriorSet, without: frozenset[str]) -> dict[str, Any]:
    return {
        "name": prior_set.name,
        "law": prior_set.law,
        "noise": prior_set.noise,
        "about": prior_set.about,
        "without": sorted(without),
        "priors": {name: str(prior) for name, prior in prior_set.priors(without).items()},
        "discrepancy": prior_set.discrepancy.document(),
        "families": [
            {"dataset": family.dataset, "group": family.group} | {k: list(v) for k, v in family.told.items()}
            for family in prior_set.families
        ],
    }


def _text(prior_set: PriorSet, document: dict[str, Any]) -> str:
    lines = [f"{prior_set.name}: {prior_set.law}, {prior_set.noise} noise", prior_set.about, ""]
    lines += [f"  {name} ~ {prior}" for name, prior in document["priors"].items()]
    lines += [
        "",
        "discrepancy (sd of log loss): " + ", ".join(f"{k} {v:g}" for k, v in document["discrepancy"].items()),
    ]
    lines += ["", f"learnt from {len(prior_set.families)} families in {len(prior_set.groups)} groups:"]
    for family in prior_set.families:
        told = ", ".join(f"{name} {mean:.2f} +- {sd:.2f}" for name, (mean, sd) in family.told.items())
        lines.append(f"  {family.dataset} ({family.group}): {told}")
    if document["out"]:
        lines += ["", f"written: {document['out']}"]
    return "\n".join(lines)
