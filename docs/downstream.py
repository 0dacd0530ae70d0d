"""Accuracy of the OLMo ladder's 7B and 13B from runs of at most 1.3B parameters, in two stages (minutes).

Run from the repository: ``.venv/bin/python docs/downstream.py CLONE``, where CLONE is a checkout of
https://github.com/allenai/OLMo-ladder (Apache-2.0; arXiv 2412.04403). Prints the tables of ``docs/downstream.md``.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd

from bayescale.downstream import fit_chain

CONFIG = "src/scripts/paper/configs/final.json"
# task -> split, accuracy of guessing
TASKS = {
    "hellaswag": ("val", 0.25),
    "arc_easy": ("test", 0.25),
    "arc_challenge": ("test", 0.25),
    "piqa": ("val", 0.5),
    "csqa": ("val", 0.2),
    "socialiqa": ("val", 1 / 3),
    "openbookqa": ("test", 0.25),
}
LAWS = ("log-linear", "chinchilla")
LAST = 5


def tokens(frame: pd.DataFrame) -> float:
    """Training tokens of a run at its end."""
    if "throughput/total_tokens" in frame:
        return float(frame["throughput/total_tokens"].max())
    return float((frame["_step"] * frame["batch_size_in_tokens"]).max())


def ladder(clone: Path) -> pd.DataFrame:
    """One row a run: parameters, tokens, and for each task the mean of its last five evaluations."""
    rows = []
    for name, group in json.loads((clone / CONFIG).read_text()).items():
        for path in group["paths"]:
            frame = pd.read_csv(clone / path)
            row = {"run": Path(path).stem, "N": group["n"], "D": tokens(frame), "size": name, "mode": group["mode"]}
            for task, (split, _) in TASKS.items():
                stem = f"{task}_{split}_rc_5shot"
                both = (
                    frame[[f"eval/downstream_bpb/{stem}_bpb", f"eval/downstream/{stem}_len_norm"]].dropna().tail(LAST)
                )
                row[f"{task}_nll"], row[f"{task}_acc"] = both.mean()
            rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    """Fit every task under each first stage, and score the runs that were held out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clone", type=Path)
    runs = ladder(parser.parse_args().clone)
    small, large = runs[runs["mode"] == "train"], runs[runs["mode"] != "train"]
    print(f"{len(small)} runs fitted, {', '.join(large['size'])} held out")
    for law in LAWS:
        held, errors = [], []
        for task, (_, chance) in TASKS.items():
            columns = ["N", "D", f"{task}_nll", f"{task}_acc"]
            chain = fit_chain(small[columns], columns[2], columns[3], law=law, chance=chance)
            made = chain.forecast({"N": large["N"].to_numpy(), "D": large["D"].to_numpy()})["new_run_accuracy"].values
            low, middle, high = np.quantile(made, [0.05, 0.5, 0.95], axis=0)
            actual = large[columns[3]].to_numpy()
            held += ((low <= actual) & (actual <= high)).tolist()
            errors += (np.abs(middle - actual) / actual).tolist()
            shown = [
                f"{name} {true:.3f} / {m:.3f} [{a:.3f}, {b:.3f}]"
                for name, true, m, a, b in zip(large["size"], actual, middle, low, high, strict=True)
            ]
            print(f"{law} | {task} | {' | '.join(shown)} | doubts {sum(map(len, chain.doubts.values()))}", flush=True)
        print(f"{law}: {sum(held)} of {len(held)} in the 90 % band, mean relative error {np.mean(errors):.3f}")


if __name__ == "__main__":
    main()
