"""Shared by all tests: float64, strict rank promotion, a compilation cache of our own, real tables, and a few fits.

A fit costs a compilation of seconds and a sampling of a fraction of one, so fits are shared, and tables are sized to
share compiled code: all of 129 to 256 runs use one sampler.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    # the command line keeps compiled code in the user's cache folder; tests, and what they start, leave that alone
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="bayescale-tests-")
    atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)

from bayescale._float64 import jax
from bayescale.diagnostics import Diagnostics
from bayescale.fits import Fit
from bayescale.fits._record import Record, describe_runs
from bayescale.laws import Law
from bayescale.laws.chinchilla import Chinchilla
from bayescale.model import Model
from bayescale.runs import Runs

jax.config.update("jax_numpy_rank_promotion", "raise")

TRUTH = {"E": 1.8, "a": 0.36, "b": 0.34, "alpha": 0.35, "beta": 0.37}


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real run tables; it is not part of the project, so tests that read it skip without it."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("BAYESCALE_SHARED_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"the real run tables are not at {folder}; set BAYESCALE_SHARED_DATA to the folder that holds them")
    return folder


@pytest.fixture(scope="module")
def lightly_compiled() -> Iterator[None]:
    """For tests that compile a lot and run it once: half the time, and the same numbers to rounding."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(scope="session")
def truth() -> dict[str, float]:
    """Parameters of the Chinchilla law that simulated tables come from."""
    return dict(TRUTH)


@pytest.fixture(scope="session")
def simulate() -> Callable[..., Runs]:
    """``simulate(size=200, seed=0, N=None)``: runs of the Chinchilla law with Student-t(4) noise of 0.5 %."""

    def make(size: int = 200, seed: int = 0, N: float | None = None) -> Runs:
        generator = np.random.default_rng([seed, 7])
        sizes = np.exp(generator.uniform(np.log(5e7), np.log(1e10), size))
        tokens = np.exp(generator.uniform(np.log(1e9), np.log(3e11), size))
        sizes = sizes if N is None else np.full(size, N)
        noise = np.exp(0.005 * generator.standard_t(4, size))
        loss = Chinchilla().loss(sizes, tokens, **TRUTH) * noise
        return Runs.from_arrays(N=sizes, D=tokens, loss=loss, source=f"simulated-{seed}.csv")

    return make


@pytest.fixture(scope="session")
def simulated_fit(simulate: Callable[..., Runs]) -> Fit:
    """The Chinchilla law, Student-t noise, 200 simulated runs."""
    from bayescale.procedures import fit

    return fit(simulate(), draws=500, seed=3)


@pytest.fixture(scope="session")
def one_size_fit(simulate: Callable[..., Runs]) -> Fit:
    """The Chinchilla law on runs of one size, which say nothing of alpha; without the long fall-back."""
    from bayescale.procedures import fit

    return fit(simulate(N=1e9), draws=500, fallback=False)


@pytest.fixture(scope="session")
def epoch_fit(shared_data: Path) -> Fit:
    """The Chinchilla law on all 245 runs that Epoch read off the figure of the paper, as the command line fits it."""
    from bayescale.procedures import fit

    return fit(Runs.read(shared_data / "epoch2024_chinchilla_svg_extracted.csv", needs=["N", "D", "loss"]))


@pytest.fixture(scope="session")
def epoch_240_fit(shared_data: Path) -> Fit:
    """The same without the five highest losses."""
    from bayescale.procedures import fit

    path = shared_data / "epoch2024_chinchilla_svg_extracted.csv"
    return fit(Runs.read(path, needs=["N", "D", "loss"], where="loss < 3.44"))


@pytest.fixture(scope="session")
def toy_fit() -> Fit:
    """The lab's IsoFLOP runs, with the noise that `bayescale demo` gives them."""
    from bayescale import datasets
    from bayescale.procedures import fit

    return fit(datasets.load("toy", where="sweep == 'isoflop'"), noise="student-t(D)", draws=250)


@pytest.fixture(scope="session")
def four_point_fit() -> Fit:
    """A floor and a power law in compute on four runs."""
    from bayescale.procedures import fit

    table = Runs.from_arrays(C=[1e17, 3e17, 1e18, 3e18], loss=[3.90, 3.62, 3.37, 3.16], source="four.csv")
    return fit(table, "power-C")


@pytest.fixture(scope="session")
def assemble() -> Callable[..., Fit]:
    """``assemble(runs, law, theta, kind=.., model=.., stats=.., warnings=..)``: a fit from draws at hand."""

    def make(
        runs: Runs,
        law: Law,
        theta: Mapping[str, Any],
        *,
        kind: str = "posterior",
        model: Model | None = None,
        warnings: tuple[str, ...] = (),
    ) -> Fit:
        record = Record(
            law=law.name,
            reference_run=law.reference_run,
            model=None if model is None else model.spec(),
            procedure="by-hand",
            kind=kind,
            settings={},
            seed=0,
            table=describe_runs(runs),
            seconds={"total": 1.0, "compile": 0.0, "sample": 1.0},
            diagnostics=Diagnostics(warnings=warnings),
        )
        return Fit.assemble(record, law, {name: np.atleast_2d(values) for name, values in theta.items()}, runs)

    return make
