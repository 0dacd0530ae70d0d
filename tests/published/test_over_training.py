"""Gadre et al. 2024 (arXiv 2403.08540): the constants of its three corpora, refitted from the five runs it used.

The paper prints three digits (C4 1.51, 141, 190, .121; RedPajama 1.84, 212, 367, .136; RefinedWeb 1.73, 157, 246,
.127); the fourth is that of its repository's fit, re-run.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import least_squares

from bayescale.laws.over_training import OverTraining

LAW = OverTraining()
CONSTANTS = {  # E, a, b, eta
    "c4_original": (1.508, 141.3, 189.5, 0.1212),
    "rpj": (1.837, 212.2, 366.7, 0.1364),
    "rw_original": (1.734, 157.1, 246.2, 0.1272),
}


def from_printed(E: float, a: float, b: float, eta: float) -> dict[str, float]:
    """The paper's constants as the law's parameters."""
    return {"E": E, "R": 2 * np.sqrt(a * b) * LAW.C0**-eta, "M": (b / a) ** (1 / (2 * eta)), "eta": eta}


@pytest.mark.parametrize("constants", CONSTANTS.values(), ids=CONSTANTS)
def test_constants_come_back(constants: tuple[float, ...]) -> None:
    derived = LAW.derived(**from_printed(*constants))
    np.testing.assert_allclose([derived["a_C"], derived["b_C"]], constants[1:3], rtol=1e-12)


@pytest.fixture(scope="module")
def table(shared_data: Path) -> pd.DataFrame:
    return pd.read_csv(shared_data / "gadre2024_overtraining_runs.csv")


def fitted(table: pd.DataFrame, corpus: str) -> dict[str, float]:
    """Least squares on the C4-eval loss of five runs: four sizes at 20 tokens per parameter, the smallest at 320."""
    rows = table[table["dataset_name"] == corpus]
    small = rows["params"] == rows["params"].min()
    models = rows["params"] < 1e9
    used = rows[(models & (rows["chinchilla_multiplier"] == 1)) | (small & (rows["chinchilla_multiplier"] == 16))]
    assert len(used) == 5
    N, D, loss = (used[name].to_numpy(dtype=float) for name in ("params", "tokens", "loss_c4_val"))

    def theta(x: np.ndarray) -> dict[str, float]:
        return dict(zip(LAW.parameters, np.exp(x), strict=True))

    start = np.log(list(from_printed(1.7, 170.0, 260.0, 0.13).values()))
    found = least_squares(
        lambda x: np.asarray(LAW.loss(N, D, **theta(x))) - loss,
        start,
        x_scale="jac",
        xtol=1e-14,
        ftol=1e-14,
        gtol=1e-14,
    )
    return theta(found.x)


@pytest.mark.parametrize("corpus", CONSTANTS)
def test_refit_gives_the_printed_constants(table: pd.DataFrame, corpus: str) -> None:
    theta = fitted(table, corpus)
    derived = LAW.derived(**theta)
    E, a, b, eta = CONSTANTS[corpus]
    assert theta["E"] == pytest.approx(E, abs=5.5e-4)
    assert derived["a_C"] == pytest.approx(a, abs=0.055)
    assert derived["b_C"] == pytest.approx(b, abs=0.055)
    assert theta["eta"] == pytest.approx(eta, abs=5.5e-5)


def test_errors_on_the_two_published_held_out_runs(table: pd.DataFrame) -> None:
    """scaling_explorer.ipynb: RedPajama, 1.4B at M = 640, .7103 %, and 6.9B at M = 20, .7320 %."""
    theta = fitted(table, "rpj")
    rows = table[table["dataset_name"] == "rpj"]
    for model, multiplier, printed in (("open_lm_1b", 32, 0.7103), ("open_lm_7b", 1, 0.7320)):
        run = rows[(rows["model_name"] == model) & (rows["chinchilla_multiplier"] == multiplier)]
        assert len(run) == 1
        loss = float(run["loss_c4_val"].iloc[0])
        predicted = float(LAW.loss(float(run["params"].iloc[0]), float(run["tokens"].iloc[0]), **theta))
        assert 100 * abs(predicted - loss) / loss == pytest.approx(printed, abs=5e-5)
