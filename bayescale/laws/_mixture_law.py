"""What the laws of whole mixtures have in common: parameters of domains, and wide columns of their shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from bayescale.errors import RunsError
from bayescale.laws._columns import Columns
from bayescale.laws._law import Law
from bayescale.laws._shares import domains_of, read_shares
from bayescale.prior import Pooled, Prior, pooled

__all__ = ["MixtureLaw"]


class _Labelled:
    """A table with a column more, of the domains (run, domain)."""

    def __init__(self, columns: Columns, domain: np.ndarray) -> None:
        self.columns, self.domain = columns, domain

    def __contains__(self, name: object) -> bool:
        return name == "domain" or name in self.columns

    def __getitem__(self, name: str) -> Any:
        return self.domain if name == "domain" else self.columns[name]


class MixtureLaw(Law):
    """A law that reads the shares of all domains of the mixture, one input of shape (run, domain).

    A subclass names that input, the parameters that have a value for each domain with the spread between them, and
    those of them of which only the ratios count.

    Parameters
    ----------
    domains : sequence of str, optional
        Settled on the table if absent.
    """

    mixture: ClassVar[str] = "h"
    spreads: ClassVar[Mapping[str, str]] = {}
    ratios: ClassVar[tuple[str, ...]] = ()
    fitted_by = ("nuts",)
    slots = ("domain",)

    def __init__(
        self, N0: float = 1e9, D0: float = 2e10, C0: float | None = None, *, domains: Sequence[str] = ()
    ) -> None:
        super().__init__(N0, D0, C0)
        self.domains = tuple(sorted(domains))

    @property
    def settings(self) -> dict[str, Any]:
        return {"domains": list(self.domains)} if self.domains else {}

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(name for name in self.inputs if name != self.mixture)

    @property
    def pooled(self) -> Mapping[str, Pooled]:
        levels = {name: Prior("Fixed", 1.0) if name in self.ratios else self.priors[name] for name in self.spreads}
        return {name: pooled(levels[name], "domain", spread) for name, spread in self.spreads.items()}

    @property
    def splits_compute(self) -> bool:
        return False

    @property
    def _no_split(self) -> str:
        return "it has a loss for each mixture, and a budget does not say which; optimal_mixture of its fit finds one"

    def on(self, columns: Columns) -> Self:
        """The law with the domains that the table has.

        Raises
        ------
        RunsError
            No shares, shares that are none, or one mixture in all runs.
        """
        if self.domains:
            return self
        domains, shares = read_shares(columns)
        if len(domains) < 2 or np.ptp(shares, axis=0).max() < 1e-6:
            raise RunsError(
                f"{self.name} learns from runs of different mixtures, and all {len(shares)} have the same "
                f"shares of {', '.join(domains)}: add runs of others, or fit a law without a mixture"
            )
        return type(self)(self.N0, self.D0, self.C0, domains=domains)

    def table_columns(self, columns: Columns) -> tuple[str, ...]:
        return tuple(f"share[{name}]" for name in domains_of(columns))

    def read(self, columns: Columns) -> dict[str, Any]:
        if self.mixture in columns and np.ndim(columns[self.mixture]) == 2:
            return {}
        return {self.mixture: read_shares(columns, self.domains)[1]}

    def labels(self, columns: Columns) -> Columns:
        _, shares = read_shares(columns, self.domains)
        return _Labelled(columns, np.tile(np.array(self.domains, dtype=object), (len(shares), 1)))

    def typical(self, columns: Mapping[str, np.ndarray], theta: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The usual geometric means, of the mean mixture."""
        found = {name: np.exp(np.log(columns[name]).mean(axis=0)) for name in self.needs}
        return found | {self.mixture: columns[self.mixture].mean(axis=0)}

    def _worth(self, m: Any, w: Any, gamma: Any) -> Any:
        """The published ``C``, where the last axis is that of domains once they are settled."""
        size = max(len(self.domains), 1)
        total = w.sum(axis=-1, keepdims=True) if self.domains else w
        return size**gamma * w / (m * total)
