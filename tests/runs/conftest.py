"""Small tables for the tests of `bayescale.runs`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

GOOD_CSV = """N,D,loss
70e6,1.4e9,3.62
160e6,3.2e9,3.31
410e6,8.2e9,3.02
1.4e9,28e9,2.71
"""


@pytest.fixture
def good_csv() -> str:
    """Four sound runs: N, D, loss."""
    return GOOD_CSV


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Write text or bytes to a file and hand back its path."""

    def write(content: str | bytes, name: str = "runs.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
