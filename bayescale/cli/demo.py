"""Fit the bundled training runs, end to end: real runs of tiny language models on a source whose floor is known."""

from __future__ import annotations

import argparse

from bayescale.cli._arguments import at_least, folder
from bayescale.cli._output import emit, progress_bar, status, warn

__all__ = ["add_arguments", "run"]

WHERE = "sweep == 'isoflop'"
NOISE = "student-t(D)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale demo` takes."""
    parser.add_argument(
        "--out", default="bayescale-demo", metavar="FOLDER", help="where to write (default bayescale-demo)"
    )
    parser.add_argument("--draws", type=at_least(4), default=1000, help="draws of each chain (default 1000)")


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale demo`."""
    from bayescale import datasets
    from bayescale.cli._cache import use_compilation_cache
    from bayescale.cli._pictures import draw
    from bayescale.cli.fit import fit_document
    from bayescale.intervals import quantiles
    from bayescale.procedures import fit

    out = folder(arguments.out, "--out")
    use_compilation_cache()
    frame = datasets.frame("toy")
    runs = datasets.load("toy", where=WHERE)
    with progress_bar() as progress:
        fitted = fit(runs, "chinchilla", noise=NOISE, seed=arguments.seed, draws=arguments.draws, progress=progress)
    budgets = sorted(frame["budget"].dropna().unique())
    paths = [str(fitted.save(out / "fit.nc")), *(str(path) for path in draw(fitted, out, budgets))]
    floor = float(frame["attainable_floor"].iloc[0])
    found = quantiles(fitted.draws["E"].values)
    target = 16.0 * budgets[-1]
    split = fitted.allocation([target])
    lines = [
        repr(fitted),
        "",
        f"the floor that these models can reach is known: {floor:.4f} nats per token; the fit says E = "
        f"{found['median']:.4f}, 90 % [{found['q05']:.4f}, {found['q95']:.4f}]",
        f"a budget 16 times the largest, {target:.3g} FLOPs, is best spent on "
        f"{float(split['N'].median()):.3g} parameters and {float(split['D'].median()):.3g} tokens",
        "",
        "written:",
        *(f"  {path}" for path in paths),
    ]
    document = fit_document(fitted) | {"attainable_floor": floor, "paths": paths}
    emit(document, "\n".join(lines), arguments.json)
    warn(fitted, "demo")
    return status(fitted)
