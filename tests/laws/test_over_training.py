"""The over-training law is Chinchilla with one exponent, read by compute and tokens per parameter."""

from __future__ import annotations

import numpy as np

from bayescale.laws.chinchilla_tied import ChinchillaTied
from bayescale.laws.over_training import OverTraining

LAW = OverTraining()
DRAWS = {name: prior.sample(np.random.default_rng(1), 200) for name, prior in OverTraining.priors.items()}
N, D = np.geomspace(1e7, 1e11, 200), np.geomspace(1e12, 1e9, 200)


def test_it_is_the_published_form() -> None:
    """E + (a M^eta + b M^-eta) C^-eta, arXiv 2403.08540, Eq. 4, at two reference runs."""
    for law in (LAW, LAW.at(N=1e8, D=1e9)):
        derived, M, C, eta = law.derived(**DRAWS), D / N, 6 * N * D, DRAWS["eta"]
        published = DRAWS["E"] + (derived["a_C"] * M**eta + derived["b_C"] * M**-eta) * C**-eta
        np.testing.assert_allclose(law.loss(N, D, **DRAWS), published, rtol=1e-12)


def test_it_is_the_tied_chinchilla() -> None:
    derived, tied = LAW.derived(**DRAWS), ChinchillaTied(N0=1.0, D0=1.0)
    theta = {"E": DRAWS["E"], "a": derived["A"], "b": derived["B"], "alpha": derived["alpha"]}
    np.testing.assert_allclose(LAW.loss(N, D, **DRAWS), tied.loss(N, D, **theta), rtol=1e-12)
    np.testing.assert_allclose(LAW.optimum(1e23, **DRAWS), tied.optimum(1e23, **theta), rtol=1e-11)


def test_the_reference_budget_is_what_the_parameters_say() -> None:
    best, tokens = LAW.optimum(LAW.C0, **DRAWS)
    np.testing.assert_allclose(tokens / best, DRAWS["M"], rtol=1e-13)
    np.testing.assert_allclose(LAW.loss(best, tokens, **DRAWS), DRAWS["E"] + DRAWS["R"], rtol=1e-13)
