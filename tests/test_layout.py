"""How the project is laid out: rules that the linters cannot hold."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "bayescale"
MODULES = sorted(PACKAGE.rglob("*.py"))

# The linter of imports sees `numpyro` as one piece, and takes no rule for what a single file may import.
RESERVED = {
    "jax": ("_float64.py",),
    "numpyro.infer": ("inference/", "forecast.py", "forecast/"),
    "argparse": ("cli.py", "cli/"),
    "tqdm": ("cli.py", "cli/"),
}
MAX_LINES = 300
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "constants", "common", "misc"}

TEXT_SUFFIXES = {".py", ".md", ".toml", ".yaml", ".cff", ".ipynb", ".csv", ".json"}
TEXT_FOLDERS = ("bayescale", "benchmarks", "docs", "notebooks", "tests")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|home|Users|tmp)/\w+")


def imported_names(source: str) -> Iterator[tuple[int, str]]:
    """Every absolute name that a source imports, with its line; ``from a import b`` imports both a and a.b."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def lines_importing(package: str, source: str) -> list[int]:
    return sorted({line for line, name in imported_names(source) if f"{name}.".startswith(f"{package}.")})


def texts() -> list[Path]:
    found = [path for path in ROOT.iterdir() if path.is_file() and path.suffix in TEXT_SUFFIXES | {""}]
    for folder in TEXT_FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if path.suffix in TEXT_SUFFIXES]
    return sorted(path for path in found if not path.name.startswith(".") and ".ipynb_checkpoints" not in path.parts)


@pytest.mark.parametrize("package", RESERVED)
def test_reserved_package_is_imported_only_where_it_belongs(package: str) -> None:
    strays = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in MODULES
        if not str(path.relative_to(PACKAGE)).startswith(RESERVED[package])
        for line in lines_importing(package, path.read_text())
    ]
    assert not strays, f"{package} belongs in {', '.join(RESERVED[package])} of bayescale/, not in {', '.join(strays)}"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import numpyro.infer", [1]),
        ("import numpyro\n\ndef f():\n    from numpyro import infer", [4]),
        ("from numpyro.infer.hmc import hmc as kernel", [1]),
        ("import numpyro.distributions as dist", []),
        ("from numpyro.inference import x", []),
        ("from .infer import numpyro", []),
    ],
)
def test_imports_are_found_however_they_are_written(source: str, lines: list[int]) -> None:
    assert lines_importing("numpyro.infer", source) == lines


def test_modules_are_short_enough_to_read() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES}
    long = {name: length for name, length in lengths.items() if length > MAX_LINES}
    assert not long, f"make a folder of one thing a file out of {long}"


def test_modules_are_named_for_what_they_hold() -> None:
    vague = [str(path.relative_to(ROOT)) for path in MODULES if {path.stem, path.parent.name} & VAGUE_NAMES]
    assert not vague


def test_no_path_of_somebodys_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match}"
        for path in texts()
        for match in MACHINE_PATH.findall(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert not found


def test_importing_bayescale_loads_nothing_heavy() -> None:
    code = (
        "import sys, bayescale; print(*sorted({'jax', 'pandas', 'matplotlib', 'xarray', 'numpyro'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert loaded.split() == []
