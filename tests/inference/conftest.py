"""A padded table of simulated runs, and the model that most tests here sample; one compiled sampler serves them all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bayescale.inference.anchors import anchors_of
from bayescale.inference.density import Table, pad
from bayescale.laws.chinchilla import Chinchilla
from bayescale.model import Model
from bayescale.runs import Runs


@pytest.fixture(scope="session")
def chinchilla() -> Model:
    """The Chinchilla law with Student-t noise."""
    return Model(Chinchilla())


@pytest.fixture(scope="session")
def table(chinchilla: Model, simulate: Callable[..., Runs]) -> Table:
    """200 simulated runs, padded to 256."""
    return _padded(chinchilla, simulate())


@pytest.fixture(scope="session")
def padded() -> Callable[[Model, Runs], Table]:
    """``padded(model, runs)``: what a model reads of a table, padded."""
    return _padded


def _padded(model: Model, runs: Runs) -> Table:
    columns = model.data(runs)
    return pad(columns, np.log(runs["loss"]), anchors_of(model, columns))
