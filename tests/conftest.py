"""Shared by all tests: float64, strict rank promotion, the folder of real tables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bayescale._float64 import jax

jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real run tables; it is not part of the project, so tests that read it skip without it."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("BAYESCALE_SHARED_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"the real run tables are not at {folder}; set BAYESCALE_SHARED_DATA to the folder that holds them")
    return folder
