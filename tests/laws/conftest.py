"""Every law of the registry, and one that a user would add, with draws from its priors and runs to evaluate it at."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from bayescale._float64 import jax
from bayescale.laws import Law, get, names
from bayescale.laws._law import REGISTRY
from bayescale.prior import Prior

TOY = "toy-outer-exponent"
# Wider than any table in use, on either side of the reference run.
RANGES = {
    "N": (1e7, 1e12),
    "D": (1e8, 1e14),
    "C": (1e17, 1e26),
    "S": (1e2, 1e8),
    "K": (1.0, 64.0),
    "p": (0.01, 1.0),
    "h": (0.01, 1.0),
    "r": (0.01, 1.0),
    "U_t": (1e9, 4e9),
    "nll": (0.2, 3.0),
}


def define_toy() -> type[Law]:
    """What somebody who adds a law writes: one class, and nothing else anywhere."""

    class OuterExponent(Law):
        name = TOY
        formula = "L(N, D) = E + (a (N/N0)^-alpha + b (D/D0)^-beta)^kappa"
        citation = "a test"
        priors = {  # noqa: RUF012
            "E": Prior("LogNormal", 0.5, 0.4),
            "a": Prior("LogNormal", -1.0, 1.0),
            "b": Prior("LogNormal", -1.0, 1.0),
            "alpha": Prior("LogNormal", -1.0, 0.4),
            "beta": Prior("LogNormal", -1.0, 0.4),
            "kappa": Prior("LogNormal", 0.0, 0.2),
        }

        def loss(self, N: Any, D: Any, *, E: Any, a: Any, b: Any, alpha: Any, beta: Any, kappa: Any) -> Any:
            return E + (a * (N / self.N0) ** -alpha + b * (D / self.D0) ** -beta) ** kappa

    return OuterExponent


@pytest.fixture(scope="module", autouse=True)
def every_law_lightly_compiled(lightly_compiled: None) -> None:
    """Every law is compiled a dozen times here."""


@pytest.fixture
def toy() -> Iterator[Callable[[], type[Law]]]:
    """The function that defines the toy law; whatever a test registers is forgotten after it."""
    before = dict(REGISTRY)
    yield define_toy
    REGISTRY.clear()
    REGISTRY.update(before)


@pytest.fixture(scope="module", params=[*names(), TOY])
def law(request: pytest.FixtureRequest) -> Iterator[Law]:
    """A law at the default reference run."""
    if request.param != TOY:
        yield get(request.param)()
        return
    yield define_toy()()
    del REGISTRY[TOY]


@pytest.fixture(scope="module")
def theta(law: Law) -> dict[str, np.ndarray]:
    """Two hundred draws from the priors; each parameter (draw,)."""
    generator = np.random.default_rng(zlib.crc32(law.name.encode()))
    return {name: law.priors[name].sample(generator, 200) for name in law.parameters}


@pytest.fixture(scope="module")
def columns(law: Law) -> tuple[np.ndarray, ...]:
    """Sixteen runs, spread evenly in the logarithm; each input (run,)."""
    generator = np.random.default_rng(20220329)
    return tuple(np.exp(generator.uniform(*np.log(RANGES.get(name, (1e8, 1e12))), 16)) for name in law.inputs)


@pytest.fixture(scope="module")
def loss(law: Law) -> Callable[..., np.ndarray]:
    """``loss(theta, *columns)``: loss under each draw, (draw, run)."""
    compiled = jax.jit(lambda theta, columns: jax.vmap(lambda draw: law.loss(*columns, **draw))(theta))
    return lambda theta, *columns: np.asarray(compiled(theta, columns))
