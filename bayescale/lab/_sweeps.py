"""Which runs make up the table: a D sweep, an N sweep and IsoFLOP sweeps."""

from __future__ import annotations

from dataclasses import dataclass

from bayescale.lab._mlp import n_params

__all__ = ["FULL", "QUICK", "SWEEPS", "Cell", "Sweeps"]

SWEEPS = ("D", "N", "isoflop")


@dataclass(frozen=True)
class Cell:
    """One configuration, trained with several seeds.

    Attributes
    ----------
    sweep : str
        ``"D"``, ``"N"`` or ``"isoflop"``. Part of the random numbers' name, so that a configuration that is in two
        sweeps is trained anew and no run is in the table twice.
    width : int
        Units of the hidden layer.
    D : int
        Training tokens.
    budget : float or None
        Training FLOPs of an IsoFLOP sweep; None for the others.
    """

    sweep: str
    width: int
    D: int
    budget: float | None = None

    @property
    def N(self) -> int:
        """Non-embedding parameters."""
        return n_params(self.width)


@dataclass(frozen=True)
class Sweeps:
    """Settings of the three sweeps.

    Attributes
    ----------
    budgets : tuple of float
        Training FLOPs of the IsoFLOP sweeps; D = C / (6 N).
    widths : tuple of int
        Hidden units of the IsoFLOP and N sweeps.
    smallest_D : int
        IsoFLOP runs on fewer tokens are left out.
    D_sweep : tuple of int
        Tokens of the D sweep.
    D_sweep_width : int
        Hidden units of the D sweep.
    N_sweep_D : int
        Tokens of the N sweep.
    """

    budgets: tuple[float, ...] = (1.2e9, 4.8e9, 1.92e10, 7.68e10)
    widths: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128, 256, 512)
    smallest_D: int = 5_000  # noqa: N815
    D_sweep: tuple[int, ...] = (31_250, 125_000, 500_000, 2_000_000, 4_000_000)
    D_sweep_width: int = 256
    N_sweep_D: int = 2_000_000

    def cells(self, pool: int) -> list[Cell]:
        """The configurations that a pool of this many tokens can train.

        Parameters
        ----------
        pool : int
            Tokens there are, each used at most once.

        Returns
        -------
        list of Cell

        Examples
        --------
        >>> from bayescale.lab import FULL
        >>> len(FULL.cells(pool=4_400_000))
        41
        """
        found = [Cell("D", self.D_sweep_width, tokens) for tokens in self.D_sweep]
        found += [Cell("N", width, self.N_sweep_D) for width in self.widths]
        for budget in self.budgets:
            for width in self.widths:
                tokens = int(budget / (6 * n_params(width)))
                if tokens >= self.smallest_D:
                    found.append(Cell("isoflop", width, tokens, budget))
        return [cell for cell in found if cell.D <= pool]


FULL = Sweeps()
QUICK = Sweeps(
    budgets=(1.2e9, 4.8e9), widths=(8, 32, 128, 512), D_sweep=(31_250, 125_000), D_sweep_width=128, N_sweep_D=125_000
)
