"""The five steps of Porian et al. (2024) from Kaplan's exponent to Chinchilla's, from their IsoFLOP points (seconds).

Run from the repository: ``.venv/bin/python docs/porian.py POINTS.csv``. The points are those of
https://github.com/formll/resolving-scaling-law-discrepancies (MIT), one row a model and budget, with the columns
``dataset, hparams, warmup, decay, param_count, val, flops, n, loss``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import bayescale

CONFIGURATION = ["hparams", "warmup", "decay", "param_count", "val"]
STEPS = {
    "reproducing\nKaplan et al.": ("base", "long", "kaplan", "kaplan", "train"),
    "+ FLOPs of the\nlast layer": ("base", "long", "kaplan", "standard", "val"),
    "+ warm-up\ncorrected": ("base", "short", "kaplan", "standard", "val"),
    "+ cosine decay": ("base", "short", "chinchilla", "standard", "val"),
    "optimiser tuned,\nno decay": ("tuned", "short", "const", "standard", "val"),
}
# sd of a run's loss between training seeds, in nats per token: what the authors' code adds, though its settings let it
# grow from there to 0.05 and 0.1 (it compares the logarithm of the loss with thresholds that are losses)
SEED_NOISE_NATS = {"rw": 0.002, "owt2": 0.01}
CORPORA = {"rw": "RefinedWeb", "owt2": "OpenWebText2"}
# arXiv 2406.19146, table 1
PUBLISHED = {"rw": (0.835, 0.706, 0.602, 0.571, 0.497), "owt2": (0.864, 0.699, 0.603, 0.574, 0.518)}
REFERENCES = {"Kaplan et al. 2020: .88": 0.88, "Hoffmann et al. 2022, Approach 2: .49": 0.49}


def fit_step(points: pd.DataFrame, corpus: str, configuration: tuple[str, ...]) -> bayescale.Fit:
    """Akima minima with seed noise, weighted regression: the procedure of the paper."""
    chosen = (points["dataset"] == corpus) & (points[CONFIGURATION] == list(configuration)).all(axis=1)
    rows = points[chosen]
    runs = bayescale.Runs.from_arrays(N=rows["n"], C=rows["flops"], loss=rows["loss"], source=CORPORA[corpus])
    noise = SEED_NOISE_NATS[corpus]
    return bayescale.fit(
        runs, procedure="isoflop", method="akima", seed_noise_nats=noise, weighted=True, excess_scatter=False
    )


def path(points: pd.DataFrame) -> xr.Dataset:
    """Exponents of N* at each step for both corpora."""
    fits = [[fit_step(points, corpus, step) for step in STEPS.values()] for corpus in CORPORA]
    least = min(fit.draws.sizes["draw"] for row in fits for fit in row)
    draws = [[fit.draws["N_exponent"].values[0, :least] for fit in row] for row in fits]
    estimate = [[(fit.estimate or {})["N_exponent"] for fit in row] for row in fits]
    return xr.Dataset(
        {
            "N_exponent": (("series", "step", "sample"), np.asarray(draws)),
            "estimate": (("series", "step"), np.asarray(estimate)),
            "published": (("series", "step"), np.asarray([PUBLISHED[corpus] for corpus in CORPORA])),
        },
        {"series": list(CORPORA.values()), "step": list(STEPS)},
    )


def main() -> None:
    """Print the table and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("points", type=Path, help="CSV of the authors' IsoFLOP points")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "images" / "porian.png")
    arguments = parser.parse_args()
    made = path(pd.read_csv(arguments.points))
    for corpus in made["series"].values:
        for step in made["step"].values:
            at = made.sel(series=corpus, step=step)
            low, high = np.quantile(at["N_exponent"], (0.025, 0.975))
            label = str(step).replace("\n", " ")
            print(
                f"{corpus:<14}{label:<30}{float(at['estimate']):.3f} [{low:.3f}, {high:.3f}]  "
                f"published {float(at['published']):.3f}{'' if low <= at['published'] <= high else '  OUTSIDE'}"
            )
    ax = bayescale.plots.exponent_path(made, references=REFERENCES)
    ax.figure.savefig(arguments.out, dpi=130)
    print(arguments.out)


if __name__ == "__main__":
    main()
