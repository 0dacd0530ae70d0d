"""The command line: read, call one function, print or save. One command a file; nothing heavy is loaded for --help."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

import bayescale
from bayescale.cli._arguments import seed
from bayescale.errors import BayescaleError

__all__ = ["main", "run"]

COMMANDS = {
    "fit": "fit a scaling law to a table of runs",
    "forecast": "loss of runs that have not been trained, with bands",
    "allocate": "compute-optimal parameters and tokens of a budget, with intervals",
    "compare": "fitting procedures side by side on one table, and whether any two disagree",
    "compare-laws": "laws side by side on one table: how each forecasts a run left out, and the top of the ladder",
    "backtest": "forecast known runs from smaller ones, and score the forecasts against today's practice",
    "downstream": "accuracy on a task, in two stages: compute to likelihood, likelihood to accuracy",
    "languages": "laws of many languages side by side, on runs held out by size, tokens, compute and mixture",
    "transfer": "transfer scores between languages from loss curves, and the matrix of all pairs",
    "prior-set": "print the priors learnt from other families of runs, or learn them from yours",
    "curves": "forecast learning and scaling curves of one variable, with bands",
    "check": "say everything that is wrong with a table, and what each law could learn from it",
    "laws": "list the scaling laws",
    "procedures": "list the fitting procedures",
    "demo": "fit the bundled training runs, end to end, with pictures",
    "lab": "train the lab's tiny language models and write their table of runs",
}

EPILOG = """\
numbers may be written 70B, 1.4T, 350M or 3e21; RUNS is CSV, TSV, JSON lines or Parquet, or - for standard input

exit status: 0 done; 1 done, and the diagnostics say not to trust the fit; 2 bad input or usage

first steps:
  bayescale demo                                       real training runs with a known floor
  bayescale fit runs.csv --law chinchilla --out fit.nc
  bayescale forecast fit.nc --at N=70B,D=1.4T
  bayescale allocate fit.nc --flops 1e24
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        """One line that says what is wrong and where help is, in place of the whole usage."""
        self.exit(2, f"{self.prog}: {message}\n`{self.prog} --help` shows what it takes\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="bayescale",
        description="Fit neural scaling laws with honest uncertainty.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"bayescale {bayescale.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        module = importlib.import_module(f"bayescale.cli.{name.replace('-', '_')}")
        command = commands.add_parser(
            name, help=summary, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        command.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
        command.add_argument("--seed", type=seed, default=0, help="seed of everything random (default 0)")
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process by default.

    Returns
    -------
    int
        0 done, 1 done but not to be trusted, 2 bad input or usage.
    """
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except BayescaleError as error:
        print(f"bayescale {arguments.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"bayescale {arguments.command}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # the reader of a pipe has seen enough, as `head` does; closing stderr keeps Python from complaining at exit
        sys.stderr.close()
        return 0
    except OSError as error:
        print(f"bayescale {arguments.command}: a file cannot be read or written: {error}", file=sys.stderr)
        return 2


def run() -> NoReturn:
    """The process behind the command: `main`, and out without taking the interpreter apart.

    Files are closed by then; to free what JAX holds, module by module, takes half a second that nobody needs.
    """
    status = main()
    with suppress(OSError):
        sys.stdout.flush()
    if not sys.stderr.closed:
        sys.stderr.flush()
    os._exit(status)
