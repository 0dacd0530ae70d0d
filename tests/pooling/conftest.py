"""Runs on several corpora, simulated, and one fit to them."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale.fits import Fit
from bayescale.laws.chinchilla import Chinchilla
from bayescale.procedures import fit
from bayescale.runs import Runs

CORPORA = ("c4", "fineweb", "pile", "rpj", "wiki")
ALPHA = dict(zip(CORPORA, (0.31, 0.38, 0.34, 0.42, 0.35), strict=True))


@pytest.fixture(scope="session")
def alphas() -> dict[str, float]:
    """The alpha of each corpus."""
    return dict(ALPHA)


@pytest.fixture(scope="session")
def corpora() -> Runs:
    """120 runs whose alpha differs by corpus; two of them are on wiki."""
    generator = np.random.default_rng(11)
    corpus = np.array([*np.repeat(CORPORA[:4], 30)[:118], "wiki", "wiki"])
    N = np.exp(generator.uniform(np.log(5e7), np.log(1e10), 120))
    D = np.exp(generator.uniform(np.log(1e9), np.log(3e11), 120))
    alpha = np.array([ALPHA[name] for name in corpus])
    loss = Chinchilla().loss(N, D, E=1.8, a=0.36, b=0.34, alpha=alpha, beta=0.37)
    loss = loss * np.exp(0.005 * generator.standard_normal(120))
    return Runs.from_arrays(N=N, D=D, loss=loss, corpus=corpus, source="corpora.csv")


@pytest.fixture(scope="session")
def corpora_fit(corpora: Runs) -> Fit:
    """Chinchilla with alpha pooled over corpora."""
    return fit(corpora, pool={"alpha": "corpus"}, noise="normal", draws=400, seed=1)
