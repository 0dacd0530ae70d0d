"""Chains shared out over eight virtual devices of the CPU: the same chains as on one, up to rounding.

XLA orders sums otherwise in a program for one chain than in one for eight, and the trajectories of NUTS double such a
difference every few steps. So the first steps agree to many digits, and the draws after warm-up as draws of one
posterior do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# One process, since the number of devices is fixed when JAX starts.
PROGRAM = """
import json
import numpy as np
from bayescale._float64 import jax
from bayescale.inference import compiled, sample as sampling
from bayescale.inference.convergence import convergence
from bayescale.inference.density import pad
from bayescale.laws.power_n import PowerN
from bayescale.model import Model
from bayescale.noise import Noise

model = Model(PowerN(), Noise("normal")).with_priors(sigma=0.01)
generator = np.random.default_rng(0)
N = np.geomspace(1e7, 1e10, 12)
loss = PowerN().loss(N, E=1.8, a=0.4, alpha=0.3) * np.exp(0.01 * generator.standard_normal(12))
table = pad({"N": N}, np.log(loss))
placed, first = [], []
step = compiled.step_chains

def watched(*arguments):
    made = step(*arguments)
    placed.append(len(made[1]["position"].sharding.device_set))
    first.append(np.asarray(made[1]["position"])[0])
    return made

sampling.compiled.step_chains = watched
settings = sampling.Sampler(chains=8, draws=100, target_accept=0.95, fallback=False)
many = sampling.sample(model, table, settings, seed=1)
used, begun = placed[-1], [x for x in first if np.isfinite(x).all()][0]
first.clear()
shares = sampling._devices(6), sampling._devices(7), sampling._devices(16), sampling._devices(1)
sampling._devices = lambda chains: 1
one = sampling.sample(model, table, settings, seed=1)
alone = [x for x in first if np.isfinite(x).all()][0]

def gap(x, y):
    variance = sum(draws.var() / convergence({"": draws}).ess_bulk[""] for draws in (x, y))
    return float(abs(x.mean() - y.mean()) / np.sqrt(variance))

print(json.dumps({
    "count": jax.device_count(),
    "used": used,
    "used_alone": placed[-1],
    "shared_out": shares,
    "shape": list(many.theta["E"].shape),
    "apart": [float(np.abs(alone - begun)[:, i].max()) for i in range(5)],
    "gaps": [gap(many.theta[name], one.theta[name]) for name in one.theta],
    "divergences": int(many.stats["diverging"].sum()),
    "mean": float(many.theta["E"].mean()),
    "sd": float(many.theta["E"].std()),
}))
"""


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_all_devices_are_used(found: dict[str, object]) -> None:
    assert found["count"] == 8
    assert found["used"] == 8
    assert found["used_alone"] == 1
    assert found["shape"] == [8, 100]


def test_a_number_of_chains_that_does_not_divide(found: dict[str, object]) -> None:
    # 6 chains on 6 devices, 7 on 7, 16 on 8, 1 on 1
    assert found["shared_out"] == [6, 7, 8, 1]


def test_the_chains_are_those_of_one_device(found: dict[str, object]) -> None:
    # whitened coordinates, of order one, over the first five steps of all eight chains
    assert isinstance(found["apart"], list)
    assert found["apart"][0] < 1e-10
    assert max(found["apart"]) < 1e-5
    assert isinstance(found["gaps"], list)
    # means of 800 draws each, in Monte Carlo standard errors
    assert max(found["gaps"]) < 5


def test_and_they_are_a_posterior(found: dict[str, object]) -> None:
    assert found["divergences"] == 0
    assert isinstance(found["mean"], float)
    assert abs(found["mean"] - 1.8) < 0.3
