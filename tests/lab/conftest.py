"""One small source for all tests of the lab, so that the models of one width are compiled once."""

from __future__ import annotations

import pytest

from bayescale.lab import Source


@pytest.fixture(scope="session")
def source() -> Source:
    return Source.draw(seed=0, pool=200_000, held_out=100_000)
