"""Write a picture for the web and for print."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayescale.errors import BayescaleError
from bayescale.plots._style import style

__all__ = ["save"]


def save(figure: Figure | Axes, stem: str | Path) -> tuple[Path, Path]:
    """Write a figure as PNG (200 dots an inch) and PDF (fonts embedded as TrueType).

    Parameters
    ----------
    figure : Figure or Axes
        The figure, or axes on it.
    stem : str or Path
        Path without its ending, ``out/band`` for ``out/band.png`` and ``out/band.pdf``; an ending ``.png`` or
        ``.pdf`` is taken off, and a folder that does not exist is made.

    Returns
    -------
    tuple of Path
        The PNG file and the PDF file.

    Raises
    ------
    BayescaleError
        The files cannot be written there.

    Examples
    --------
    >>> import tempfile
    >>> from matplotlib.figure import Figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save(Figure(), f"{folder}/empty")]
    ['empty.png', 'empty.pdf']
    """
    target = figure.get_figure(root=True) if isinstance(figure, Axes) else figure
    if not isinstance(target, Figure):
        raise BayescaleError(f"save needs a matplotlib Figure, or Axes on one, not a {type(figure).__name__}.")
    base = Path(stem)
    if base.suffix.lower() in {".png", ".pdf"}:
        base = base.with_suffix("")
    png, pdf = base.with_name(base.name + ".png"), base.with_name(base.name + ".pdf")
    try:
        base.parent.mkdir(parents=True, exist_ok=True)
        with style():
            target.savefig(png, dpi=200)
            # Without the date, the same picture gives the same bytes.
            target.savefig(pdf, metadata={"CreationDate": None})
    except OSError as error:
        raise BayescaleError(
            f"The picture cannot be written to {png} and {pdf}: {error.strerror or error}. Give a path in a folder "
            "that can be written to."
        ) from error
    return png, pdf
