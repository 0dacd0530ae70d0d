"""Transfer between languages: scores from loss curves, and the matrix of all pairs from the scores of some.

`bayescale transfer scores CURVES --mono-tokens 42B` reads one row a checkpoint: target, source (empty in a monolingual
run), D or tokens, loss on the target, and seed where a kind of run was repeated.

`bayescale transfer matrix PAIRS` reads one row a pair (target, source, score, and sd where known) or a matrix with the
targets in its first column, and predicts the pairs without a score.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from bayescale.cli._arguments import at_least, column_names, folder, output_file, quantity
from bayescale.cli._output import emit, progress_bar

if TYPE_CHECKING:
    from bayescale.diagnostics import Diagnostics

__all__ = ["add_arguments", "run"]

CELL_KEYS = ("mean", "sd", "q05", "q25", "median", "q75", "q95")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `bayescale transfer` takes."""
    parser.add_argument(
        "what", choices=("scores", "matrix"), help="scores from loss curves, or the matrix of all pairs"
    )
    parser.add_argument("table", metavar="TABLE", help="CSV, TSV, JSON lines or Parquet; - for stdin")
    scores = parser.add_argument_group("scores")
    scores.add_argument("--mono-tokens", type=quantity, metavar="D", help="tokens of the monolingual run, e.g. 42B")
    scores.add_argument(
        "--run-sd", type=float, metavar="SD", help="sd between seeds as a share of the loss, where known"
    )
    scores.add_argument(
        "--start", type=float, default=0.1, metavar="SHARE",
        help="leave out checkpoints before this share of the monolingual tokens (default 0.1)",
    )  # fmt: skip
    scores.add_argument("--column", action="append", default=[], metavar="NAME=COLUMN", help="D or loss, as in fit")
    scores.add_argument("--where", metavar="EXPRESSION", help="rows to use, e.g. \"target == 'en'\"")
    matrix = parser.add_argument_group("matrix")
    matrix.add_argument(
        "--groups", metavar="FILE", help="a table of languages and their script, family, ...: whether both are of one"
    )
    matrix.add_argument("--holdout", type=float, metavar="SHARE", help="hide this share of the scores and predict them")
    matrix.add_argument("--repeats", type=at_least(1), default=5, help="times that --holdout is done (default 5)")
    matrix.add_argument("--warmup", type=at_least(1), default=1000, help="sweeps that are dropped (default 1000)")
    matrix.add_argument("--plots", metavar="FOLDER", help="write the heat map here, PNG and PDF")
    parser.add_argument("--draws", type=at_least(100), help="draws of a score (4000), or of each chain (1000)")
    parser.add_argument("--out", metavar="FILE.csv", help="write the scores of all pairs here; scores feed matrix")


def run(arguments: argparse.Namespace) -> int:
    """Carry out `bayescale transfer`: 1 where the diagnostics say not to trust it."""
    output_file(arguments.out, ".csv", "scores are written as CSV")
    return _scores(arguments) if arguments.what == "scores" else _matrix(arguments)


def _scores(arguments: argparse.Namespace) -> int:
    from bayescale.errors import BayescaleError
    from bayescale.runs import Runs
    from bayescale.transfer import ScoreSettings, transfer_scores

    if arguments.mono_tokens is None:
        raise BayescaleError("transfer scores needs --mono-tokens: the tokens of the monolingual run, such as 42B")
    settings = ScoreSettings(arguments.run_sd, arguments.start, arguments.draws or 4000)
    runs = Runs.read(arguments.table, columns=column_names(arguments), where=arguments.where, needs=["D", "loss"])
    with progress_bar() as progress:
        made = transfer_scores(runs, arguments.mono_tokens, settings, seed=arguments.seed, progress=progress)
    rows = [_score_row(made.table.isel(pair=i)) for i in range(made.table.sizes["pair"])]
    document = {
        "mono_tokens": made.mono_tokens,
        "pairs": rows,
        "diagnostics": made.diagnostics.document(),
        "seconds": made.seconds,
        "out": arguments.out,
    }
    if arguments.out:
        _write(arguments.out, [_flat(row) for row in rows])
    lines = [f"transfer scores after {made.mono_tokens:.3g} tokens: 0 neutral, 1 for free; posterior median and 90 %"]
    wide = max(len(f"{r['source']} -> {r['target']}") for r in rows)
    lines += [_score_line(row, wide) for row in rows]
    return _said(arguments, document, lines, made.diagnostics)


def _score_row(one: Any) -> dict[str, Any]:
    import numpy as np

    score = one["score"].values
    levels = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}
    # a score of minus infinity cannot be interpolated with
    found = np.quantile(score, list(levels.values()), method="closest_observation")
    row: dict[str, Any] = {"target": str(one["target"].values), "source": str(one["source"].values)}
    row["score"] = dict(zip(levels, map(float, found), strict=True))
    single = ("sd", "raw", "p_never", "p_beyond", "sigma", "carry", "omega", "pareto_k", "ess")
    row |= {name: float(one[name]) for name in single}
    return row | {name: int(one[name]) for name in ("runs_mono", "runs_bi")}


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a file of scores; a score that may well be minus infinity has no sd, and is left empty."""
    score = row["score"]
    median = score["median"] if row["sd"] == row["sd"] else float("nan")
    pair = {"target": row["target"], "source": row["source"], "score": median, "sd": row["sd"]}
    return pair | {"q05": score["q05"], "q95": score["q95"], "p_never": row["p_never"]}


def _score_line(row: dict[str, Any], wide: int) -> str:
    score = row["score"]
    pair = f"{row['source']} -> {row['target']}"
    never = f"  never reached: {row['p_never']:.0%}" if row["p_never"] > 0.005 else ""
    return f"  {pair:<{wide}}  {score['median']:6.2f} [{score['q05']:.2f}, {score['q95']:.2f}]{never}"


def _matrix(arguments: argparse.Namespace) -> int:
    from bayescale.errors import BayescaleError
    from bayescale.transfer import complete, hold_out, read_pairs
    from bayescale.transfer._gibbs import GibbsSettings

    if arguments.holdout is not None and not 0 < arguments.holdout < 1:
        raise BayescaleError(f"--holdout {arguments.holdout:g}: expected a share of the scores between 0 and 1")
    pictures_to = folder(arguments.plots, "--plots") if arguments.plots else None
    pairs = read_pairs(arguments.table, arguments.groups)
    settings = GibbsSettings(draws=arguments.draws or 1000, warmup=arguments.warmup)
    matrix = complete(pairs, settings, seed=arguments.seed)
    held = None
    if arguments.holdout is not None:
        with progress_bar() as progress:
            held = hold_out(
                pairs, arguments.holdout, arguments.repeats, settings, seed=arguments.seed, progress=progress
            )
    rows = _cells(matrix.table)
    document = {
        "n_languages": len(pairs.languages),
        "n_measured": int(pairs.measured.sum()),
        "pairs": rows,
        "parameters": {name: _spread(matrix.draws[name].values) for name in matrix.draws if name != "score"},
        "targets": _effects(matrix.table, "target_effect"),
        "sources": _effects(matrix.table, "source_effect"),
        "holdout": None if held is None else {"summary": held.summary(), "rows": held.by_repeat.to_dict("records")},
        "diagnostics": matrix.diagnostics.document(),
        "seconds": matrix.seconds,
        "out": arguments.out,
        "plots": [],
    }
    if arguments.out:
        _write(arguments.out, rows)
    if pictures_to is not None:
        from bayescale import plots

        axes = plots.transfer_matrix(matrix.table)
        document["plots"] = [str(path) for path in plots.save(axes[0], pictures_to / "transfer")]
    return _said(arguments, document, _matrix_lines(document), matrix.diagnostics)


def _cells(table: Any) -> list[dict[str, Any]]:
    names = [str(name) for name in table["target"].values]
    return [
        {"target": target, "source": source, "measured": bool(table["measured"].values[t, s])}
        | {key: float(table[key].values[t, s]) for key in CELL_KEYS}
        for t, target in enumerate(names)
        for s, source in enumerate(names)
        if t != s
    ]


def _spread(draws: Any) -> dict[str, float]:
    import numpy as np

    levels = {"q05": 0.05, "median": 0.5, "q95": 0.95}
    found = {name: float(np.quantile(draws, level)) for name, level in levels.items()}
    return {"mean": float(draws.mean()), "sd": float(draws.std())} | found


def _effects(table: Any, name: str) -> dict[str, dict[str, float]]:
    values = zip(table["language"].values, table[name].values, table[f"{name}_sd"].values, strict=True)
    return {str(language): {"mean": float(mean), "sd": float(sd)} for language, mean, sd in values}


def _matrix_lines(document: dict[str, Any]) -> list[str]:
    n = document["n_languages"]
    lines = [f"{document['n_measured']:,} of {n * (n - 1):,} pairs of {n} languages have a score", ""]
    lines += [
        f"  {name:<12}{p['mean']:8.3f}  90 % [{p['q05']:.3f}, {p['q95']:.3f}]"
        for name, p in document["parameters"].items()
    ]
    ranked = sorted(document["targets"].items(), key=lambda item: item[1]["mean"])
    told = [f"{name} {effect['mean']:+.2f}" for name, effect in (*ranked[:3], *ranked[-3:])]
    lines += ["", f"targets that lose most, and least: {', '.join(dict.fromkeys(told))}"]
    unknown = [row for row in document["pairs"] if not row["measured"]]
    if unknown:
        lines.append(f"{len(unknown):,} pairs predicted, sd {min(r['sd'] for r in unknown):.2f} to "
                     f"{max(r['sd'] for r in unknown):.2f} (all of them with --json or --out)")  # fmt: skip
    if document["holdout"] is not None:
        lines += ["", "hidden scores predicted: method, rmse, CRPS, covered by 90 % intervals"]
        lines += [
            f"  {name:<15}{s['rmse']:.3f}  {s['crps']:.4f}  {s['cov90']:.1%}"
            for name, s in document["holdout"]["summary"].items()
        ]
    return lines


def _said(arguments: argparse.Namespace, document: Any, lines: list[str], diagnostics: Diagnostics) -> int:
    notes = [f"note: {note}" for note in diagnostics.notes]
    emit(document, "\n".join([*lines, *notes]), arguments.json)
    if diagnostics.ok:
        return 0
    print("bayescale transfer: DO NOT TRUST THIS", file=sys.stderr)
    for warning in diagnostics.warnings:
        print(f"  ! {warning}", file=sys.stderr)
    return 1


def _write(out: str, rows: list[dict[str, Any]]) -> None:
    import pandas as pd

    pd.DataFrame(rows).replace([float("inf"), float("-inf")], float("nan")).to_csv(out, index=False)
