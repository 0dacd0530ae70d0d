"""How many seconds of a fit went into tracing and compiling."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bayescale._float64 import jax

__all__ = ["CompileTime", "compile_seconds"]


class CompileTime:
    """A running total of seconds, filled while `compile_seconds` is open."""

    def __init__(self) -> None:
        self.seconds = 0.0


_open: list[CompileTime] = []


def _listen(event: str, duration: float, **_: Any) -> None:
    if event.startswith("/jax/core/compile/"):
        for total in _open:
            total.seconds += duration


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
