"""What repeated data, and parameters beyond what the data can fill, are still worth."""

from __future__ import annotations

from typing import Any

from bayescale._float64 import jnp

__all__ = ["effective", "repetitions", "worth"]


def repetitions(amount: Any, unique: Any, space: Any = jnp) -> Any:
    """How often the unique part is repeated, 0 where there is no more than that."""
    return space.maximum(amount / unique - 1.0, 0.0)


def worth(repeated: Any, ceiling: Any, rate: Any = None, space: Any = jnp) -> Any:
    """Value of repetitions in units of one fresh pass, ``R* (1 - exp(-R / R*))``.

    Parameters
    ----------
    repeated : array
        Repetitions beyond the first pass.
    ceiling : float
        ``R*``, what infinitely many repetitions are worth.
    rate : float, optional
        Decay per repetition on the log scale; ``1 / R*`` where absent.
    space : module
        ``numpy`` for arrays of NumPy alone, of any shape without compiling; ``jax.numpy`` for all else.
    """
    decay = 1.0 / ceiling if rate is None else rate
    # 1 - exp(-x) has no digits left at small x, where R* is large: a false optimum at R* = 1e17 comes from that
    return -ceiling * space.expm1(-decay * repeated)


def effective(amount: Any, unique: Any, ceiling: Any, rate: Any = None, space: Any = jnp) -> Any:
    """The fresh amount that `amount`, of which `unique` differ, is worth."""
    # repetitions of the unique part, not of `first`, which may be zero
    return space.minimum(amount, unique) * (1.0 + worth(repetitions(amount, unique, space), ceiling, rate, space))
