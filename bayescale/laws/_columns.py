"""What laws read of a table."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["Columns"]


class Columns(Protocol):
    """A table, or anything else with named columns."""

    def __getitem__(self, name: str, /) -> Any: ...

    def __contains__(self, name: object, /) -> bool: ...
