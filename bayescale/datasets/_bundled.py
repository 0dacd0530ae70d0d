"""Find and read the bundled tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bayescale.errors import RunsError

if TYPE_CHECKING:
    import pandas as pd

    from bayescale.runs import Runs

__all__ = ["frame", "load", "names", "path", "provenance"]

FOLDER = Path(__file__).parent


def names() -> tuple[str, ...]:
    """Names of the bundled tables.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from bayescale import datasets
    >>> datasets.names()
    ('toy',)
    """
    return tuple(sorted(file.stem for file in FOLDER.glob("*.csv")))


def path(name: str = "toy") -> Path:
    """The CSV file of a bundled table.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    Path

    Raises
    ------
    RunsError
        No such table.

    Examples
    --------
    >>> from bayescale import datasets
    >>> datasets.path("toy").name
    'toy.csv'
    """
    if name not in names():
        raise RunsError(f"no bundled data set is called {name!r}; there are: {', '.join(names())}")
    return FOLDER / f"{name}.csv"


def frame(name: str = "toy") -> pd.DataFrame:
    """A bundled table as a DataFrame, as it stands in the file.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    pandas.DataFrame
        For ``toy``: ``sweep`` (D, N or isoflop), ``budget`` [FLOPs], ``width`` [hidden units], ``N`` [non-embedding
        parameters], ``D`` [tokens], ``C`` [FLOPs], ``seed``, ``loss``, ``entropy`` and ``attainable_floor``
        [nats/token].

    Raises
    ------
    RunsError
        No such table.

    Examples
    --------
    >>> from bayescale import datasets
    >>> sorted(set(datasets.frame("toy")["sweep"]))
    ['D', 'N', 'isoflop']
    """
    # Read here and not above, so that asking for a path does not load pandas.
    import pandas as pd

    return pd.read_csv(path(name))


def load(name: str = "toy", *, where: str | None = None) -> Runs:
    """A bundled table as runs that can be fitted.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    where : str, optional
        Row selection, such as ``"sweep == 'isoflop'"``.

    Returns
    -------
    Runs

    Raises
    ------
    RunsError
        No such table, or a selection that cannot be read.

    Examples
    --------
    >>> from bayescale import datasets
    >>> len(datasets.load("toy", where="sweep == 'isoflop'"))
    108
    """
    # Imported here: a path or a frame needs none of what the runs stand on.
    from bayescale.runs import Runs

    return Runs.read(path(name), where=where, name=f"{name} (bundled)")


def provenance(name: str = "toy") -> str:
    """How a bundled table was made: command, versions, columns and units.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    str
        Markdown.

    Raises
    ------
    RunsError
        No such table.

    Examples
    --------
    >>> from bayescale import datasets
    >>> "bayescale lab" in datasets.provenance("toy")
    True
    """
    return path(name).with_suffix(".md").read_text(encoding="utf-8")
