"""Train the lab's tiny language models on the toy source and write their table of runs (minutes)."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from bayescale.cli._arguments import at_least
from bayescale.cli._output import emit, progress_bar

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale lab` takes."""
    parser.add_argument("--out", default="toy.csv", metavar="TABLE.csv", help="where to write (default toy.csv)")
    parser.add_argument("--seeds", type=at_least(1), default=4, help="training seeds of each configuration (default 4)")
    parser.add_argument("--quick", action="store_true", help="a few small runs only")


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale lab`."""
    from bayescale.lab import write_table

    with progress_bar() as bar:
        made = write_table(
            arguments.out,
            seeds=arguments.seeds,
            quick=arguments.quick,
            seed=arguments.seed,
            progress=lambda done, total: bar("training", done, total),
        )
    text = (
        f"{made.n_runs} runs written to {made.out}; entropy of the source {made.entropy:.4f} nats per token, "
        f"attainable floor on the held-out slice {made.attainable_floor:.4f}"
    )
    emit(asdict(made), text, arguments.json)
    return 0
