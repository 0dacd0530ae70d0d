"""The 324 public curves with a column ``family``: what a curve shares a design with.

    python -m benchmarks.curve_families CURVES.csv.gz TASKS.csv

Curves of one family say something of each other, so that a forecast is cross-fitted over families, not over curves.
"""

from __future__ import annotations

import argparse

import pandas as pd

# Curves of the ColPret group by the beginning of their names; three corpora are of one study
MODELS = ("GPT-3", "GPT2", "OLMo", "OPT", "pile-t5", "pythia", "redPajama")
CORPORA = ("c4_original", "rpj", "rw_original")


def family_of(group: str, task: str) -> str:
    """What a public curve shares a design with: curves of one family say something of each other."""
    if group == "LM" or task.startswith("lambda"):
        return "LM-lambda"
    if group == "IC":
        return f"IC-{task.split('|')[1].split('_')[0]}"
    if group == "Nano":
        return f"Nano-{task.rstrip('0123456789')}"
    if group == "DD":
        return "DD-cifar" if "cifar" in task else "DD-df" if task.startswith("df") else "DD-translation"
    if group == "ColPret":
        named = [name for name in MODELS if task.startswith(name)]
        return f"CP-{named[0]}" if named else "CP-gadre" if task.startswith(CORPORA) else "CP-other"
    return group


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("curves")
    parser.add_argument("tasks")
    arguments = parser.parse_args()
    table = pd.read_csv(arguments.curves)
    family = [family_of(group, task) for group, task in zip(table["group"], table["task"], strict=True)]
    table.assign(family=family).to_csv(arguments.tasks, index=False)


if __name__ == "__main__":
    main()
