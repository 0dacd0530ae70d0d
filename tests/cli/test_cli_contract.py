"""What holds for every command: help, flags, usage, streams, and where compiled code is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bayescale
from bayescale.cli import COMMANDS
from bayescale.cli._cache import use_compilation_cache


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_json_and_seed(run: Any, command: str) -> None:
    said = run(command, "--help")
    assert said.status == 0
    assert "--json" in said.out
    assert "--seed" in said.out
    assert said.err == ""


def test_help_names_every_command_and_the_exit_status(run: Any) -> None:
    out = run("--help").out
    assert all(name in out for name in COMMANDS)
    assert "exit status: 0 done; 1 done, and the diagnostics say not to trust the fit; 2 bad input" in out
    assert {"fit", "forecast", "allocate", "compare", "check", "laws", "procedures", "demo", "lab"} <= set(COMMANDS)


def test_version(run: Any) -> None:
    assert run("--version").out == f"bayescale {bayescale.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["fti"], "invalid choice: 'fti'"),
        (["fit"], "the following arguments are required: RUNS"),
        (["forecast"], "required"),
        (["allocate", "x.nc"], "the following arguments are required: --flops"),
        (["laws", "extra"], "unrecognized arguments: extra"),
    ],
)
def test_usage_is_answered_in_two_lines(run: Any, arguments: list[str], said: str) -> None:
    found = run(*arguments)
    assert found.status == 2
    assert found.out == ""
    assert said in found.err
    assert "--help` shows what it takes" in found.err
    assert len(found.err.splitlines()) == 2


def test_as_a_module_in_a_process_of_its_own(tmp_path: Path) -> None:
    table = tmp_path / "bad.csv"
    table.write_text("N,D,loss\n1e8,2e9,3.1\n1e9,2e10,-4\n")
    done = subprocess.run(
        [sys.executable, "-m", "bayescale", "fit", str(table), "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "row 2" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough() -> None:
    # a pipe whose other end is closed, as behind `| head -0`
    code = "import sys; from bayescale.cli import main; sys.exit(main(['laws']))"
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120, check=False
    )
    os.close(writer)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_the_whole_answer_is_there_when_the_process_ends(tmp_path: Path) -> None:
    with (tmp_path / "out.json").open("w") as file:
        done = subprocess.run(
            [sys.executable, "-m", "bayescale", "laws", "--json"], stdout=file, timeout=120, check=False
        )
    assert done.returncode == 0
    assert "chinchilla" in {law["name"] for law in json.loads((tmp_path / "out.json").read_text())}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no file here that is always full")
def test_a_full_disk() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "bayescale", "laws"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "bayescale laws: a file cannot be read or written: [Errno 28] No space left on device\n"


class TestCompilationCache:
    @pytest.fixture
    def settings(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        """What is set, in place of JAX's own settings."""
        from bayescale._float64 import jax

        made: dict[str, Any] = {}
        monkeypatch.setattr(jax.config, "update", made.__setitem__)
        return made

    def test_it_is_in_the_users_cache_folder(
        self, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from bayescale._float64 import jax

        monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
        monkeypatch.setattr(type(jax.config), "jax_compilation_cache_dir", None, raising=False)
        use_compilation_cache()
        assert settings["jax_compilation_cache_dir"] == str(tmp_path / "bayescale" / "compiled")

    def test_the_environment_goes_before_it(self, settings: dict[str, Any]) -> None:
        from bayescale._float64 import jax

        # the tests themselves keep it elsewhere
        assert jax.config.jax_compilation_cache_dir == os.environ["JAX_COMPILATION_CACHE_DIR"]
        use_compilation_cache()
        assert "jax_compilation_cache_dir" not in settings
        assert settings["jax_persistent_cache_min_compile_time_secs"] < 1.0
