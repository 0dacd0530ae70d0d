"""Settings of the sampler: what a person sets, and the kernels that are compiled for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bayescale.errors import FitError

__all__ = ["MANY", "SHORT_TREE", "Kernel", "Sampler"]

# The first try: three leapfrog steps a draw, tuned to the acceptance at which they go furthest.
SHORT_WARMUP, SHORT_TARGET, SHORT_TREE = 50, 0.65, 2
# The second, whitened by the draws of the first, for posteriors that are not as round as their mode.
WIDE_WARMUP, WIDE_TARGET, WIDE_TREE = 200, 0.96, 6
# The third, for those that are not round at all.
LONG_WARMUP, LONG_TARGET = 1000, 0.98
# With more parameters than this, steps are shorter and so trajectories longer. The first and the last try are made
# twice, the second time whitened by better draws; for the first that costs a third of longer trajectories, and nothing
# to compile. A mass matrix is adapted anew up to DENSE: for more it would take more draws than there are.
MANY, DENSE = 20, 24
MANY_TREES = (3, 3, 4, 6, 6)


@dataclass(frozen=True)
class Kernel:
    """What has to be known when NUTS is compiled.

    Attributes
    ----------
    warmup : int
        Steps that adapt; the step size only, unless `dense`.
    dense : bool
        Adapt a dense mass matrix too, in windows, and let trees grow as they need (`adaptive`): for posteriors that a
        whitening at the mode does not make round. Otherwise trajectories are short (`trajectory`).
    target_accept : float
        Mean acceptance probability that the step size is tuned to.
    max_tree_depth : int
        At most ``2**max_tree_depth - 1`` leapfrog steps a draw.
    """

    warmup: int
    dense: bool
    target_accept: float
    max_tree_depth: int


@dataclass(frozen=True)
class Sampler:
    """Settings of NUTS.

    Attributes
    ----------
    chains, draws : int
        Chains, and draws kept of each.
    warmup : int
        Steps that tune the step size of the first try, and are dropped; more of them in later tries.
    target_accept : float
        Mean acceptance probability that the step size of the first try is tuned to; higher in later tries.
    max_tree_depth : int
        At most ``2**max_tree_depth - 1`` leapfrog steps a draw in the last try; 3 in the first, 63 in the second.
    fallback : bool
        Try again when the draws have not converged: with longer trajectories, whitened by those draws, and then with a
        long warm-up, windowed dense adaptation and trees of any depth.
    """

    chains: int = 4
    draws: int = 1000
    warmup: int = SHORT_WARMUP
    target_accept: float = SHORT_TARGET
    max_tree_depth: int = 10
    fallback: bool = True

    def __post_init__(self) -> None:
        for name, least in (("chains", 1), ("draws", 4), ("warmup", 1), ("max_tree_depth", 1)):
            if getattr(self, name) < least:
                raise FitError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if not 0.0 < self.target_accept < 1.0:
            raise FitError(f"target_accept must lie between 0 and 1, got {self.target_accept}")

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """What is tried in turn, until the draws have converged."""
        first = Kernel(self.warmup, False, self.target_accept, min(self.max_tree_depth, SHORT_TREE))
        second = self._more(WIDE_WARMUP, False, WIDE_TARGET, min(self.max_tree_depth, WIDE_TREE))
        third = self._more(LONG_WARMUP, True, LONG_TARGET, self.max_tree_depth)
        return (first, second, third) if self.fallback else (first,)

    def ladder(self, dim: int) -> tuple[Kernel, ...]:
        """The kernels for a posterior of `dim` dimensions."""
        if dim <= MANY:
            return self.kernels
        first, *later = self.kernels
        first = replace(first, warmup=max(first.warmup, 2 * SHORT_WARMUP), target_accept=max(first.target_accept, 0.8))
        longer = [replace(k, dense=False, warmup=2 * WIDE_WARMUP if k.dense else k.warmup) for k in later]
        kernels = [first, first, *longer, later[-1] if dim <= DENSE else longer[-1]] if longer else [first]
        return tuple(
            k if k.dense else replace(k, max_tree_depth=min(self.max_tree_depth, depth))
            for k, depth in zip(kernels, MANY_TREES, strict=False)
        )

    def _more(self, warmup: int, dense: bool, target_accept: float, max_tree_depth: int) -> Kernel:
        return Kernel(max(self.warmup, warmup), dense, max(self.target_accept, target_accept), max_tree_depth)
