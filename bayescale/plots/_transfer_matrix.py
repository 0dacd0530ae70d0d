"""The transfer matrix as two heat maps side by side: the scores, and how well each is known."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from bayescale.errors import BayescaleError
from bayescale.plots._inputs import Float, values, warnings_of
from bayescale.plots._style import INK, SMALL, dress, mark_untrusted, style

__all__ = ["transfer_matrix"]

_PICTURE = "transfer_matrix"
_CELL, _LEAST, _MOST = 0.155, 2.2, 7.0


def transfer_matrix(table: xr.Dataset, *, sort: bool = True, ax: Iterable[Axes] | None = None) -> np.ndarray:
    """Draw the scores of all pairs of languages, and beside them their posterior sds.

    Targets are rows and sources columns. A dot marks a pair that was measured; the others are predicted. Blue helps,
    red hurts, and white is neutral whatever the range. The sds have the same places in the right map, white where a
    score is known exactly.

    Parameters
    ----------
    table : Dataset
        ``median``, ``sd`` and ``measured`` over (target, source), NaN for a language with itself; the attribute
        ``warnings`` says why it should not be trusted.
    sort : bool
        Put the targets that gain most at the top and the sources that give most on the left, rather than keep the order
        of the table.
    ax : iterable of Axes, optional
        Two of them; a new figure is made without.

    Returns
    -------
    numpy.ndarray
        The two Axes, scores and sds.

    Raises
    ------
    BayescaleError
        The table lacks a variable, has no score, or the number of axes is not two.

    Examples
    --------
    >>> cells = ("target", "source"), np.array([[np.nan, 0.2], [-0.4, np.nan]])
    >>> table = xr.Dataset({"median": cells, "sd": cells, "measured": (cells[0], np.eye(2) == 0)})
    >>> axes = transfer_matrix(table.assign_coords(target=["en", "de"], source=["en", "de"]))
    >>> [text.get_text() for text in axes[0].get_yticklabels()]
    ['en', 'de']
    """
    score, sd, measured = (values(table, name, ("target", "source"), _PICTURE) for name in ("median", "sd", "measured"))
    if not np.isfinite(score).any():
        raise BayescaleError(f"{_PICTURE} needs a score of at least one pair, and all of them are NaN.")
    names = [[str(name) for name in table[dim].values] for dim in ("target", "source")]
    rows, columns = (_order(score, axis) if sort else np.arange(score.shape[1 - axis]) for axis in (1, 0))
    place = np.ix_(rows, columns)
    labels = [names[0][i] for i in rows], [names[1][i] for i in columns]
    with style():
        axes = _axes(ax, *score.shape)
        reach = float(np.nanmax(np.abs(score))) or 1.0
        # one colour is one size, whether it helps or hurts
        _map(axes[0], score[place], labels, "RdBu", Normalize(-reach, reach), "transfer score (median)")
        _map(axes[1], np.abs(sd[place]), labels, "Purples", None, "posterior sd")
        where = np.argwhere(measured[place] > 0)
        if 0 < len(where) < np.isfinite(score).sum():
            axes[0].plot(
                where[:, 1], where[:, 0], "o", color=INK, markersize=1.6, markeredgewidth=0, gid="measured", zorder=3
            )
            axes[0].set_title("dots: measured, the rest predicted", fontsize=SMALL, loc="left")
        mark_untrusted(list(axes), warnings_of(table))
    return axes


def _order(score: Float, axis: int) -> np.ndarray:
    """Best mean first."""
    seen = np.isfinite(score)
    means = np.where(seen, score, 0.0).sum(axis=axis) / np.maximum(seen.sum(axis=axis), 1)
    return np.argsort(-np.where(seen.any(axis=axis), means, -np.inf), kind="stable")


def _axes(ax: Iterable[Axes] | None, targets: int, sources: int) -> np.ndarray:
    if ax is not None:
        given = np.array(list(ax), dtype=object)
        if len(given) != 2:
            raise BayescaleError(f"{_PICTURE} draws two maps and was given {len(given)} axes.")
        return given
    width, height = (float(np.clip(_CELL * count, _LEAST, _MOST)) for count in (sources, targets))
    figure = Figure(figsize=(2 * width + 2.2, height + 0.9), layout="constrained")
    return np.array(figure.subplots(1, 2), dtype=object)


def _map(
    ax: Axes, cells: Float, labels: tuple[list[str], list[str]], colours: str, norm: Normalize | None, what: str
) -> None:
    """One heat map with its bar; the cells of a language with itself are grey."""
    shades = colormaps[colours].with_extremes(bad="#E4E4E4")
    image = ax.imshow(np.ma.masked_invalid(cells), cmap=shades, norm=norm, aspect="equal", interpolation="nearest")
    if norm is None:
        image.set_clim(0.0, float(np.nanmax(cells)) or 1.0)
    dress(ax)
    # labels of 40 languages at the smallest size of other text would overlap
    size = float(np.clip(SMALL * 16 / max(len(labels[0]), 1), 5.0, SMALL))
    ax.set_yticks(range(len(labels[0])), labels=labels[0], fontsize=size)
    ax.set_xticks(range(len(labels[1])), labels=labels[1], fontsize=size, rotation=90)
    ax.tick_params(length=0, labelsize=size)
    ax.set_xlabel("source")
    ax.set_ylabel("target")
    for spine in ax.spines.values():
        spine.set_visible(False)
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02, shrink=0.8, aspect=25)
    bar.set_label(what)
    bar.ax.tick_params(labelsize=SMALL, length=2.0)
    bar.outline.set_visible(False)
