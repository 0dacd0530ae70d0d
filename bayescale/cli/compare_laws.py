"""Compare laws on one table: leave one run out (PSIS-LOO, with refits), and leave out the top of the ladder."""

from __future__ import annotations

import argparse
import sys

from bayescale.cli._arguments import add_table, at_least, column_names
from bayescale.cli._output import emit, progress_bar

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale compare-laws` takes."""
    add_table(parser)
    parser.add_argument(
        "--laws", default="chinchilla,kappa", metavar="A,B,C",
        help="which to compare, see `bayescale laws` (default chinchilla,kappa)",
    )  # fmt: skip
    parser.add_argument("--noise", default="student-t", metavar="NAME", help="of all laws, as in fit")
    parser.add_argument(
        "--refits", type=at_least(0), metavar="COUNT",
        help="how many runs a law may be refitted without, where importance weights cannot be relied on (default 10)",
    )  # fmt: skip
    parser.add_argument("--draws", type=at_least(25), default=1000, help="draws of each chain of nuts (default 1000)")
    parser.add_argument("--drop-bad", action="store_true", help="leave out rows that cannot be used, and count them")


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale compare-laws`: 1 where a row is not to be trusted, 2 where nothing can be fitted."""
    from bayescale.cli._cache import use_compilation_cache
    from bayescale.comparison import columns_of_laws, compare_laws
    from bayescale.inference.sampler import Sampler
    from bayescale.laws import parts
    from bayescale.runs import Runs

    laws = parts(arguments.laws)
    runs = Runs.read(
        arguments.runs,
        columns=column_names(arguments),
        where=arguments.where,
        drop_bad=arguments.drop_bad,
        needs=columns_of_laws(laws, arguments.noise),
    )
    for warning in runs.warnings:
        print(f"bayescale compare-laws: {warning}", file=sys.stderr)
    use_compilation_cache()
    asked = {} if arguments.refits is None else {"refits": arguments.refits}
    with progress_bar() as progress:
        made = compare_laws(
            runs,
            laws,
            noise=arguments.noise,
            sampler=Sampler(draws=arguments.draws),
            seed=arguments.seed,
            progress=progress,
            **asked,
        )
    emit(made.document(), repr(made), arguments.json)
    for name in made.untrusted:
        print(f"bayescale compare-laws: DO NOT TRUST THE ROW OF {name}", file=sys.stderr)
    return 0 if made.ok else 1
