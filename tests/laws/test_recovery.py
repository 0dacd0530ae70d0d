"""Every law gets its own parameters back from runs that it made, by least squares on log loss.

Without noise, so that a parameter that the runs do not determine, or a formula that ignores it, is found out; noise and
sampling are tested where a law has something of its own to show (test_kappa.py) and by the calibration studies.
"""

from __future__ import annotations

import math
import zlib

import numpy as np
import pytest
from scipy.optimize import least_squares

from bayescale._float64 import jax, jnp
from bayescale.laws import Law, get
from bayescale.prior import Prior

# A table that shows what each law has: small models, repeated tokens, both sides of a break.
ENDS = {
    "N": (1e6, 1e11),
    "D": (1e8, 1e13),
    "C": (1e16, 1e24),
    "S": (1e3, 1e6),
    "U": (1e8, 1e11),
    "K": (1, 50),
    "p": (0.02, 1),
    "nll": (0.3, 2),
}
# Curves are short and have their reference run in the middle.
CURVE = {"D": (1e3, 1e9)}
TRUTHS: dict[str, dict[str, float]] = {
    "kappa": {},
    "kaplan-N": {},
    "kaplan-D": {},
    "kaplan-C": {},
    "kaplan": {},
    "kaplan-floor": {},
    "kaplan-steps": {},
    "data-constrained": {"lambda_D": 0.08, "lambda_N": 0.25},
    "data-constrained-D": {"lambda_D": 0.3},
    "data-constrained-geometric": {"delta_D": 0.05, "delta_N": 0.2},
    "over-training": {},
    "shifted": {"t_N": -2.0, "t_D": -1.7},
    "multiplicative": {},
    "bounded": {"H": 6.0},
    "farseer": {"q_E": 0.1, "q_b": -0.1, "q_A": 0.1, "d": 0.05, "v": 0.05},
    "curse": {"phi": 0.11, "psi": -0.04},
    "crossover": {},
    "msl": {},
    "bimix": {},
    "log-linear": {},
    "sigmoid": {},
    "m1": {},
    "m2": {},
    "m3": {"s": 0.1},
    "m4": {"E": 0.1, "H": 0.8, "r": 0.1, "c": 0.5, "alpha": 1.5},
    "bnsl-1": {"E": 0.05, "s_0": 0.1, "s_1": 0.6, "f_1": 0.3},
    "bnsl-2": {"E": 0.01, "s_0": 0.1, "s_1": 0.6, "s_2": 0.15, "k_1": 0.1, "g": 5.0, "f_1": 0.3, "f_2": 0.3},
}
CURVES = {"m1", "m2", "m3", "m4", "bnsl-1", "bnsl-2"}


def to_real(prior: Prior, value: float) -> float:
    if prior.family == "Normal":
        return value
    return math.log(value / (1 - value)) if prior.family == "Beta" else math.log(value)


def from_real(law: Law, x: np.ndarray) -> dict[str, np.ndarray]:
    maps = {"Normal": lambda z: z, "Beta": jax.nn.sigmoid}
    return {name: maps.get(law.priors[name].family, jnp.exp)(z) for name, z in zip(law.parameters, x, strict=True)}


@pytest.mark.parametrize("name", TRUTHS)
def test_noise_free_runs_give_the_parameters_back(name: str) -> None:
    law = get(name)()
    law = law.at(D=1e6) if name in CURVES else law
    truth = {parameter: law.priors[parameter].median for parameter in law.parameters} | TRUTHS[name]
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    ends = CURVE if name in CURVES else ENDS
    runs = [np.exp(generator.uniform(*np.log(ends[symbol]), 128)) for symbol in law.inputs]
    loss = np.log(np.asarray(law.loss(*runs, **truth)))
    residual = jax.jit(lambda x: jnp.log(law.loss(*runs, **from_real(law, x))) - loss)
    slopes = jax.jit(jax.jacfwd(residual))

    start = np.array([to_real(law.priors[parameter], truth[parameter]) for parameter in law.parameters])
    aside = start + 0.1 * generator.uniform(-1, 1, len(start))
    found = least_squares(
        residual,
        aside,
        lambda x: np.asarray(slopes(x)),
        x_scale="jac",
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        max_nfev=2000,
    )
    # no noise: what is left is where the solver stops, times the condition of the law (1e4 for the longest)
    np.testing.assert_allclose(found.x, start, atol=1e-5)
