"""Ask forecasters for runs whose loss is known, and score what they say."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayescale.errors import BayescaleError, FitError
from bayescale.evaluation._fitted import HuberBootstrap
from bayescale.evaluation._folds import INTERRUPTED, Design, Fold, Skipped, folds
from bayescale.evaluation._forecaster import Draws, Forecaster
from bayescale.evaluation._result import Backtest
from bayescale.evaluation._scores import SCORES, score_points
from bayescale.procedures._procedure import Progress
from bayescale.runs import Runs

__all__ = ["backtest"]


def backtest(
    runs: Runs,
    forecasters: Sequence[Forecaster],
    design: Design | None = None,
    *,
    baseline: Forecaster | None = HuberBootstrap(),  # noqa: B008  (frozen)
    progress: Progress | None = None,
) -> Backtest:
    """Score forecasts of runs that were trained, made as if they had not been.

    Three protocols, of which the design names one. ``holdout``: of each data set, learn from the runs with
    ``C <= max C / k`` and forecast those with ``C >= max C / 2``. ``rolling-origin``: learn from the runs below a cut
    and forecast those up to k times beyond it, for cuts a factor of k apart. ``leave-group-out``: learn from all groups
    of a data set but one, and forecast that one. A fold with fewer than eight runs to learn from is skipped.

    Parameters
    ----------
    runs : Runs
        With losses, FLOPs, and the columns of the design.
    forecasters : sequence of Forecaster
        All are asked the same folds.
    design : Design, optional
        The columns, the factors k, the protocol and the seed.
    baseline : Forecaster or None
        What the forecasters are compared with, fold by fold; today's practice by default. One of the forecasters with
        its name is taken in its place.
    progress : callable, optional
        Called with (label, done, total).

    Returns
    -------
    Backtest

    Raises
    ------
    RunsError
        The table cannot be divided as the design says.
    FitError
        There is no forecaster, two have one name, or one answers no fold.

    Examples
    --------
    >>> import bayescale
    >>> from bayescale.evaluation import Design, HuberBootstrap, backtest
    >>> toy = bayescale.datasets.load("toy")
    >>> made = backtest(toy, [HuberBootstrap(replicates=100)], Design(holdout=(10,)), baseline=None)
    >>> made.summary["huber-bootstrap"]["10"]["n_folds"]
    1
    """
    design = Design() if design is None else design
    names = [one.name for one in forecasters]
    if not names or len(set(names)) < len(names):
        raise FitError(f"a backtest takes forecasters of different names; it was given {', '.join(names) or 'none'}")
    asked = list(forecasters)
    if baseline is not None and baseline.name not in names:
        asked.append(baseline)
    possible, skipped = folds(runs, design)
    answers: list[_Answer] = []
    for place, fold in enumerate(possible):
        if progress is not None:
            progress("folds", place, len(possible))
        try:
            answers += [_ask(one, fold, _seed(fold, design)) for one in asked]
        except KeyboardInterrupt:
            if not answers:
                raise
            # the folds that were answered are a result
            skipped += [Skipped(left.dataset, left.k, INTERRUPTED) for left in possible[place:]]
            break
    if progress is not None:
        progress("folds", len(possible), len(possible))
    for name in names:
        _answered([answer for answer in answers if answer.row["forecaster"] == name], name)
    return Backtest(
        design=design,
        source=runs.source,
        forecasters=tuple(names),
        baseline=None if baseline is None else baseline.name,
        points=pd.concat([answer.points for answer in answers if answer.points is not None], ignore_index=True),
        folds=pd.DataFrame([answer.row for answer in answers]),
        skipped=tuple(skipped),
    )


@dataclass(frozen=True)
class _Answer:
    """What one forecaster says of one fold: a row of scores, and one row a test run; none where it refused."""

    row: dict[str, Any]
    points: pd.DataFrame | None


def _ask(forecaster: Forecaster, fold: Fold, seed: int) -> _Answer:
    keys = {
        "forecaster": forecaster.name, "dataset": fold.dataset, "group": fold.group, "at": fold.at, "part": fold.part,
    }  # fmt: skip
    row: dict[str, Any] = keys | {"k": fold.k, "n_train": len(fold.train), "n_test": len(fold.test)}
    row |= {"compute_ratio": _reach(fold), "ladder": _ladder(fold.train)}
    try:
        made = forecaster.forecast(fold.train, fold.targets, seed=seed, without=frozenset({fold.group}))
        points = _points(made, fold)
    except BayescaleError as error:
        nothing = dict.fromkeys(SCORES, np.nan)
        return _Answer(row | nothing | {"seconds": np.nan, "warnings": (), "weights": {}, "refused": str(error)}, None)
    row |= {name: float(points[name].mean()) for name in SCORES}
    row |= {"seconds": made.seconds, "warnings": made.warnings, "weights": dict(made.weights), "refused": ""}
    return _Answer(row, points.assign(**keys))


def _points(made: Draws, fold: Fold) -> pd.DataFrame:
    """Scores and quantiles of the test runs, beside what they are."""
    if made.loss.shape[1] != len(fold.test):
        raise FitError(f"the forecast is of {made.loss.shape[1]} runs, and {len(fold.test)} were asked for")
    observed = np.asarray(fold.test["loss"], dtype=np.float64)
    known = {name: fold.test[name] for name in ("N", "D", "C") if name in fold.test}
    head = pd.DataFrame({"row": fold.test.table["row"].values, **known, "loss": observed})
    return pd.concat([head, score_points(made.loss, observed)], axis=1)


def _seed(fold: Fold, design: Design) -> int:
    """One seed a fold, which changes neither with what other folds there are nor with where the table lies."""
    dataset = "" if design.by is None else fold.dataset
    label = f"{design.seed}|{dataset}|{fold.at}|{fold.part}"
    return zlib.crc32(label.encode())


def _reach(fold: Fold) -> float | None:
    """The largest FLOPs that are forecast over the largest that are learnt from."""
    if "C" not in fold.test:
        return None
    return float(np.max(fold.test["C"]) / np.max(fold.train["C"]))


def _ladder(train: Runs) -> float | None:
    """The largest FLOPs that are learnt from over the smallest."""
    return float(np.max(train["C"]) / np.min(train["C"])) if "C" in train else None


def _answered(answers: Sequence[_Answer], name: str) -> None:
    if all(answer.points is None for answer in answers):
        raise FitError(f"{name} answers none of the {len(answers)} folds; the first: {answers[0].row['refused']}")
