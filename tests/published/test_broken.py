"""Caballero et al. 2023 (arXiv 2210.14891): 4-digit addition, where the loss falls off a cliff."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import least_squares

from bayescale.laws.bnsl_1 import BNSL1

# the noise-free curve of the repository's example
PUBLISHED = {"a": 0.41388453, "b": 2.27727229, "c0": 0.05507735, "c1": 5.66290382, "d1": 612.58361729, "f1": 0.05919304}


def from_published(law: BNSL1, *, a: float, b: float, c0: float, c1: float, d1: float, f1: float) -> dict[str, float]:
    at_reference = b * law.D0**-c0 * (1 + (law.D0 / d1) ** (1 / f1)) ** (-c1 * f1)
    return {"E": a, "r": at_reference, "s_0": c0, "s_1": c0 + c1, "k_1": d1 / law.D0, "f_1": f1}


def test_constants_come_back() -> None:
    law = BNSL1().at(D=500.0)
    derived = law.derived(**from_published(law, **PUBLISHED))
    found = [float(derived[name]) for name in ("b", "c_0", "c_1", "d_1")]
    np.testing.assert_allclose(found, [PUBLISHED[name] for name in ("b", "c0", "c1", "d1")], rtol=1e-12)


def test_fourteen_points_extrapolate_the_cliff(shared_data: Path) -> None:
    """Fitted to 14 points, scored on 3: RMSLE .0109 (the published procedure; least squares on log(1 + y))."""
    table = pd.read_csv(shared_data / "bnsl_4digit_addition.csv")
    x, y = table["dataset_size"].to_numpy(dtype=float), table["loss"].to_numpy(dtype=float)
    seen = table["context"].to_numpy() == 1
    assert seen.sum() == 14
    law = BNSL1().at(D=500.0)

    def theta(z: np.ndarray) -> dict[str, float]:
        return dict(zip(law.parameters, np.exp(z), strict=True))

    def residual(z: np.ndarray) -> np.ndarray:
        return np.log1p(np.asarray(law.loss(x[seen], **theta(z)))) - np.log1p(y[seen])

    # the place and width of the break, on a grid; the rest as a person would read it off
    starts = [(0.4, 1.6, 0.05, 5.0, k, f) for k in (1.0, 1.25, 1.5) for f in (0.03, 0.1, 0.3)]
    fits = [least_squares(residual, np.log(start), x_scale="jac", xtol=1e-14, ftol=1e-14) for start in starts]
    best = theta(min(fits, key=lambda found: found.cost).x)
    off = np.log1p(np.asarray(law.loss(x[~seen], **best))) - np.log1p(y[~seen])
    assert np.sqrt(np.mean(off**2)) <= 0.01095
    assert best["k_1"] * law.D0 == pytest.approx(PUBLISHED["d1"], rel=2e-3)
