"""The compilation cache of the command line: what one process compiled, the next one reads."""

from __future__ import annotations

__all__ = ["use_compilation_cache"]


def use_compilation_cache() -> None:
    """Keep compiled code in the user's cache folder, unless JAX_COMPILATION_CACHE_DIR or a setting says otherwise."""
    from platformdirs import user_cache_path

    from bayescale._float64 import jax

    if jax.config.jax_compilation_cache_dir is None:
        jax.config.update("jax_compilation_cache_dir", str(user_cache_path("bayescale") / "compiled"))
    # the sampler is a handful of functions of about a second each: all of them are worth a file
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.05)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
