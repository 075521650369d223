"""The persistent compilation cache in a temporary folder, and JAX's warnings while it is used.

The rule to know: JAX opens the cache at the first program and keeps it open, so `reset_cache` is
called whenever the folder changes. Problems with the folder are warnings, never errors, unless
`jax_raise_persistent_cache_errors` is set.
Sources: https://docs.jax.dev/en/latest/persistent_compilation_cache.html
and, for the warning, https://github.com/jax-ml/jax/releases/tag/jax-v0.3.21
"""

import contextlib
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from jax.experimental.compilation_cache import compilation_cache

SETTINGS = {
    "jax_enable_compilation_cache": True,
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
    "jax_compilation_cache_max_size": -1,
    "jax_raise_persistent_cache_errors": False,
}
"""Settings with which every program is kept, however fast it compiled."""


class Compiled(NamedTuple):
    """The outcome of one compilation of a program."""

    result: np.ndarray
    warned: tuple[str, ...]
    """JAX's warnings about the cache."""
    seconds: float
    """Seconds until the first result."""


class Trial(NamedTuple):
    """The cache's effect on one program, which is compiled several times."""

    ways: dict[str, Compiled]
    """The compilation in each case: `compiled`, `from the folder`, `broken entry`, `no folder`."""
    kept: bool
    """True if the first compilation left an entry in the folder."""
    same: bool
    """True if the second compilation left the folder unchanged."""
    still_broken: bool
    """True if a broken entry stayed broken."""


def trial(program, x):
    """Compile a program, load it from the cache, then compile it with a corrupt cache entry.

    Finally use a folder that cannot be written, even by root, because it is below a file.
    """
    with tempfile.TemporaryDirectory() as root:
        folder, file = Path(root, "folder"), Path(root, "file")
        with kept_in(folder):
            ways = {"compiled": compiled(program(), x)}
            kept = entries(folder)
            ways["from the folder"] = compiled(program(), x)
            same = entries(folder) == kept
            for path in kept:
                path.write_bytes(b"broken")
            ways["broken entry"] = compiled(program(), x)
            still_broken = b"broken" in entries(folder).values()
        file.touch()
        with kept_in(file / "folder"):
            ways["no folder"] = compiled(program(), x)
    return Trial(ways, bool(kept), same, still_broken)


@contextlib.contextmanager
def kept_in(folder):
    """Cache compiled programs in a folder, and restore the settings afterwards."""
    settings = {**SETTINGS, "jax_compilation_cache_dir": str(folder)}
    previous = {name: jax.config.values[name] for name in settings}
    try:
        use(settings)
        yield
    finally:
        use(previous)


def use(settings):
    """Change settings of the cache, and make JAX open it again."""
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


def compiled(function, x):
    """Compile a function that JAX has not seen, and run it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        result = jax.block_until_ready(jax.jit(function)(x))
        seconds = time.perf_counter() - began
    warned = tuple(
        str(warning.message) for warning in caught if "compilation cache" in str(warning.message)
    )
    return Compiled(np.asarray(result), warned, seconds)


def entries(folder):
    """Return the paths and contents of the cache's files."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
