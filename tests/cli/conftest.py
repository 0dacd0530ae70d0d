"""The command line in this process: what it prints, where, and with which exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bayescale.cli import main
from bayescale.fits import Fit
from bayescale.runs import Runs


@dataclass(frozen=True)
class Said:
    """What one command did.

    Attributes
    ----------
    status : int
        Exit status.
    out, err : str
        Standard output and standard error.
    """

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document that it must be."""

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is no JSON")

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """``run("fit", "runs.csv", ...)``: the command line, in this process; a traceback fails the test."""

    def call(*arguments: object) -> Said:
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as left:  # argparse leaves this way
            status = int(left.code or 0)
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Said(status, said.out, said.err)

    return call


@pytest.fixture(scope="session")
def table(simulate: Callable[..., Runs], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The simulated runs as a file, its columns named as people name them."""
    runs = simulate()
    path = tmp_path_factory.mktemp("tables") / "runs.csv"
    frame = pd.DataFrame({"params": runs["N"], "tokens": runs["D"], "val_loss": runs["loss"]})
    frame.to_csv(path, index=False, float_format="%.17g")
    return path


@pytest.fixture(scope="session")
def fit_file(simulated_fit: Fit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fit that may be trusted."""
    return simulated_fit.save(tmp_path_factory.mktemp("fits") / "good.nc")


@pytest.fixture(scope="session")
def bad_fit_file(one_size_fit: Fit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fit that may not."""
    return one_size_fit.save(tmp_path_factory.mktemp("fits") / "bad.nc")


@pytest.fixture(scope="session")
def point_file(
    assemble: Callable[..., Fit], simulate: Callable[..., Runs], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A point estimate without noise."""
    from bayescale.laws.chinchilla import Chinchilla

    theta = {"E": 1.8, "a": 0.36, "b": 0.34, "alpha": 0.35, "beta": 0.37}
    fit = assemble(
        simulate(size=20), Chinchilla(), {name: np.array([value]) for name, value in theta.items()}, kind="point"
    )
    return fit.save(tmp_path_factory.mktemp("fits") / "point.nc")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, simulated_fit: Fit) -> dict[str, Any]:
    """What `bayescale fit` asks the library for; the answer is a fit that is there already."""
    import bayescale.procedures

    seen: dict[str, Any] = {}

    def note(runs: Runs, law: Any, procedure: str, **settings: Any) -> Fit:
        seen.update(settings, runs=runs, law=law, procedure=procedure)
        return simulated_fit

    monkeypatch.setattr(bayescale.procedures, "fit", note)
    return seen
