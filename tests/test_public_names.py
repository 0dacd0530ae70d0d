"""What `import bayescale` offers, and what it does not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bayescale

HEAVY = ("jax", "numpyro", "pandas", "numpy", "scipy", "xarray", "arviz_base", "matplotlib")


def loaded_after(code: str) -> set[str]:
    """Which of the heavy packages a fresh interpreter has loaded after running `code`."""
    ask = f"import sys\n{code}\nprint('loaded:', *[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=120, check=False)
    assert "loaded:" in done.stderr, done.stderr
    return set(done.stderr.rpartition("loaded:")[2].split())


def test_importing_loads_nothing_heavy() -> None:
    assert loaded_after("import bayescale") == set()


def test_help_loads_nothing_heavy() -> None:
    # the speed of --help is the speed of its imports: numpy alone would take a third of the half second it may take
    code = (
        "from bayescale.cli import main\n"
        "for arguments in (['--help'], ['fit', '--help'], ['forecast', '-h'], ['lab', '-h'], ['demo', '-h']):\n"
        "    try: main(arguments)\n"
        "    except SystemExit as left: assert left.code == 0"
    )
    assert loaded_after(code) == set()


def test_a_fit_loads_no_plotting() -> None:
    code = "import bayescale\nbayescale.fit, bayescale.Fit, bayescale.Runs, bayescale.NUTS, bayescale.datasets"
    assert "matplotlib" not in loaded_after(code)


@pytest.mark.parametrize("name", bayescale.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    assert name in dir(bayescale)
    assert (getattr(bayescale, name).__doc__ or "").strip()


def test_no_other_name_is_public() -> None:
    homes = set(bayescale._HOME) | set(bayescale._MODULES)
    assert set(bayescale.__all__) <= homes
    # a folder of one-per-file things is reached by its own path, and by attribute too
    assert homes - set(bayescale.__all__) <= {"laws", "procedures"}


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'bayescale' has no attribute 'fti'"):
        bayescale.fti  # noqa: B018


def test_the_public_fit_is_the_procedures_fit() -> None:
    from bayescale.procedures import NUTS, fit

    assert bayescale.fit is fit
    assert bayescale.NUTS is NUTS
    assert bayescale.__version__.count(".") == 2
