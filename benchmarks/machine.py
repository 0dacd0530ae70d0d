"""What the numbers were measured on."""

from __future__ import annotations

import importlib.util
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

__all__ = ["describe"]

PACKAGES = ("bayescale", "jax", "numpyro", "nutpie", "pymc", "pytensor", "numba", "numpy")


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor()


def describe() -> dict[str, str]:
    """Processor, cores, load, versions, date."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": _processor() if Path("/proc/cpuinfo").exists() else platform.processor(),
        "cores": str(os.cpu_count()),
        "load at the start": f"{os.getloadavg()[0]:.1f}",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    } | {name: version(name) for name in PACKAGES if importlib.util.find_spec(name)}
