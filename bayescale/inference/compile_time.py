"""How many seconds of a fit went into tracing and compiling."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bayescale._float64 import jax

__all__ = ["CompileTime", "compile_seconds"]


class CompileTime:
    """Intervals in which JAX traced, lowered or compiled, filled while `compile_seconds` is open."""

    def __init__(self) -> None:
        self.intervals: list[tuple[float, float]] = []

    @property
    def seconds(self) -> float:
        """Seconds in which at least one thread was at it."""
        total, reached = 0.0, float("-inf")
        for start, end in sorted(self.intervals):
            total += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        return total


_open: list[CompileTime] = []


def _listen(event: str, duration_secs: float, **_: Any) -> None:
    if event.startswith("/jax/core/compile/"):
        now = time.perf_counter()
        for total in _open:
            total.intervals.append((now - duration_secs, now))


jax.monitoring.register_event_duration_secs_listener(_listen)


@contextmanager
def compile_seconds() -> Iterator[CompileTime]:
    """Count the seconds that JAX spends on tracing, lowering and compiling inside the block."""
    total = CompileTime()
    _open.append(total)
    try:
        yield total
    finally:
        _open.remove(total)
