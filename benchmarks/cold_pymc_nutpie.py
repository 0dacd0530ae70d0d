"""A whole process: read a table, fit it with PyMC + nutpie, print the summary."""

import sys

import pandas as pd
from arviz_stats import summary

from benchmarks.pymc_model import compile_model

if __name__ == "__main__":
    import nutpie

    table = pd.read_csv(sys.argv[1])
    compiled, _ = compile_model(*(table[name].to_numpy() for name in ("N", "D", "loss")))
    print(summary(nutpie.sample(compiled, chains=4, draws=1000, seed=0, progress_bar=False)))
