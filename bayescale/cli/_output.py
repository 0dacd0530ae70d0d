"""What commands print: one JSON document, or text for a person; warnings on stderr; the exit status."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayescale.fits import Fit

__all__ = ["emit", "label", "progress_bar", "status", "warn"]


def emit(document: Any, text: str, as_json: bool) -> None:
    """Print the document as JSON, or the text."""
    print(json.dumps(_plain(document), indent=2, allow_nan=False) if as_json else text)


def _plain(value: Any) -> Any:
    """Values that JSON has: numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def label(verdict: str | None) -> str:
    """What to print behind an answer that the table does not give alone."""
    return "" if verdict in (None, "identified", "pinned") else f" ({verdict})"


def warn(fit: Fit, command: str) -> None:
    """Say on stderr why a fit should not be trusted, so that it is seen whatever stdout goes to."""
    if not fit.diagnostics.ok:
        print(f"bayescale {command}: DO NOT TRUST THIS FIT", file=sys.stderr)
        for warning in fit.diagnostics.warnings:
            print(f"  ! {warning}", file=sys.stderr)


def status(fit: Fit) -> int:
    """0 for a fit that may be trusted, 1 for one that may not."""
    return 0 if fit.diagnostics.ok else 1


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A bar with the time that remains, on stderr, and only where a person sees it."""
    from tqdm import tqdm

    bars: dict[str, Any] = {}

    def report(label: str, done: int, total: int) -> None:
        if label not in bars:
            bars[label] = tqdm(total=total, desc=label, file=sys.stderr, leave=False, disable=None)
        bars[label].update(done - bars[label].n)

    try:
        yield report
    finally:
        for bar in bars.values():
            bar.close()
