"""The sampler is right: simulation-based calibration over 500 simulated tables, for each noise."""

from __future__ import annotations

import numpy as np
import pytest

from bayescale.evaluation import Calibration, calibrate
from bayescale.evaluation.sbc import isoflop_design
from bayescale.laws import get
from bayescale.model import Model
from bayescale.noise import Noise


def test_uniform_ranks_pass_and_crooked_ones_fail():
    generator = np.random.default_rng(0)
    good = generator.integers(0, 201, 500)
    narrow = np.clip(np.round(100 + 1.25 * (good - 100)), 0, 200).astype(int)
    shifted = np.minimum(good + 20, 200)
    calibration = Calibration({"good": good, "narrow": narrow, "shifted": shifted}, 200, 0.0)
    p = calibration.uniformity()
    assert p["good"] > 1e-4
    assert p["narrow"] < 1e-4
    assert p["shifted"] < 1e-4
    summary = calibration.summary()
    assert summary.loc["good", "cov90_low"] <= summary.loc["good", "cov90"] <= summary.loc["good", "cov90_high"]
    assert summary.loc["narrow", "cov90"] < summary.loc["narrow", "cov90_low"]


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["student-t", "normal", "laplace", "student-t(D)"])
def test_chinchilla_is_calibrated(noise):
    model = Model(get("chinchilla")(), Noise.parse(noise))
    found = calibrate(model, isoflop_design(), tables=500, seed=0)
    summary = found.summary()
    print(f"\n{noise}: divergent transitions {found.divergences:.2%}\n{summary.round(4).to_string()}")
    assert (summary["p_uniform"] > 1e-4).all()
    for level in ("cov50", "cov90"):
        inside = (summary[level] >= summary[f"{level}_low"]) & (summary[level] <= summary[f"{level}_high"])
        assert inside.all(), summary[~inside]
