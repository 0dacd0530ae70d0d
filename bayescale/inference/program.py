"""Functions that are traced once and for all: what JAX made of them is kept beside its compilation cache.

JAX keeps what it compiled, and traces again in every process: of a fit by the command line that is a third. Where a
compilation cache is on, the traced program of a function is written there too (``jax.export``), under a digest of
everything that it was traced from: the model, the shapes, the source of this package and the versions beneath it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from bayescale._float64 import jax
from bayescale.errors import BayescaleError
from bayescale.inference.sampler import Kernel
from bayescale.model import Model

__all__ = ["TRACES", "kept_in", "program"]

# How often each program has been traced in this process. A second fit of an equal model to a table of similar size must
# leave this unchanged; the tests hold that.
TRACES: Counter[str] = Counter()
PACKAGE = Path(__file__).resolve().parents[1]
_LOADED = time.time()
# Two threads that trace at once would each trace the density on which both stand.
_ONE_AT_A_TIME = threading.Lock()


def kept_in() -> Path | None:
    """The folder of traced programs; none where JAX has no folder for what it compiles, or several devices to share."""
    folder = jax.config.jax_compilation_cache_dir
    return Path(folder) / "traced" if folder and jax.device_count() == 1 else None


@cache
def _source() -> str | None:
    """Digest of the code that is traced, with what it stands on; None where it has changed since it was loaded."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.stat().st_mtime > _LOADED:
            return None
        digest.update(path.read_bytes())
    for package in ("jax", "jaxlib", "numpyro", "numpy"):
        digest.update(f"{package} {version(package)}".encode())
    return digest.hexdigest()


def _told(static: Any) -> str | None:
    """What a static argument says of itself, in full; None where that cannot be known, as of a law made elsewhere."""
    if not isinstance(static, Model):
        return repr(static) if isinstance(static, Kernel | int) else None
    if not type(static.law).__module__.startswith(f"{PACKAGE.name}."):
        return None
    try:
        text = json.dumps(static.spec(), sort_keys=True)
        return text if Model.from_spec(json.loads(text)) == static else None
    except (BayescaleError, TypeError):  # it says less than it is: no reason not to fit it
        return None


def program(static: int, records: tuple[type, ...] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function that is compiled for its static arguments and the shapes of the others; its trace is kept.

    Parameters
    ----------
    static : int
        How many static arguments there are, hashable; they come first. The others are trees of arrays.
    records : tuple of type
        Named tuples among the results.
    """
    return lambda function: wraps(function)(_Program(function, static, records))


class _Program:
    def __init__(self, function: Callable[..., Any], static: int, records: tuple[type, ...]) -> None:
        self.name = function.__name__.strip("_")
        self._static, self._records = static, records
        self._loaded: dict[Any, Callable[..., Any] | None] = {}

        def counted(*arguments: Any) -> Any:
            TRACES[self.name] += 1
            return function(*arguments)

        counted.__name__ = function.__name__
        self._compiled = jax.jit(counted, static_argnums=tuple(range(static)))

    def __call__(self, *arguments: Any) -> Any:
        folder = kept_in()
        if folder is None:
            return self._compiled(*arguments)
        static, others = arguments[: self._static], arguments[self._static :]
        leaves, tree = jax.tree.flatten(others)
        if not all(map(_plain, leaves)):
            return self._compiled(*arguments)
        shapes = tuple((np.shape(leaf), jax.dtypes.result_type(leaf)) for leaf in leaves)
        asked = folder, static, tree, shapes
        if asked not in self._loaded:
            self._loaded[asked] = self._load(folder, static, tree, shapes)
        kept = self._loaded[asked]
        return self._compiled(*arguments) if kept is None else kept(*leaves)

    def _load(self, folder: Path, static: tuple[Any, ...], tree: Any, shapes: Any) -> Callable[..., Any] | None:
        """The program on the leaves of its arguments, from its file or written there; None where it cannot be kept."""
        told = [_source(), *(_told(argument) for argument in static)]
        if any(text is None for text in told):
            return None
        asked = "\n".join([*map(str, told), jax.default_backend(), self.name, str(tree), str(shapes)])
        path = folder / f"{self.name}-{hashlib.sha256(asked.encode()).hexdigest()}"
        for record in self._records:
            _register(record)
        # absent, cut short or damaged, for which the reader has no error of its own: made again
        with suppress(Exception):
            return jax.jit(jax.export.deserialize(bytearray(path.read_bytes())).call)
        flat = jax.jit(lambda *leaves: self._compiled(*static, *jax.tree.unflatten(tree, leaves)))
        with _ONE_AT_A_TIME:
            try:
                exported = jax.export.export(flat)(*(jax.ShapeDtypeStruct(*shape) for shape in shapes))
            except ValueError:  # holds an operation that JAX does not promise to read again
                return None
        _write(path, bytes(exported.serialize()))
        return jax.jit(exported.call)


def _plain(leaf: Any) -> bool:
    """Whether it is an array of numbers, and no part of what is being traced, no random key."""
    if isinstance(leaf, jax.core.Tracer) or not isinstance(leaf, bool | int | float | np.ndarray | jax.Array):
        return False
    return isinstance(jax.dtypes.result_type(leaf), np.dtype)


@cache
def _register(record: type) -> None:
    jax.export.register_namedtuple_serialization(record, serialized_name=f"{record.__module__}.{record.__name__}")


def _write(path: Path, content: bytes) -> None:
    """Write a file as a whole or not at all: a cache that cannot be written is done without."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
