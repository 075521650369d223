"""Programs compiled by earlier runs, so that JAX loads them instead of compiling them again.

JAX reads and writes only its persistent compilation cache in the run's own folder. The store holds
copies whose names end in a digest of name and content, so that a damaged, foreign or half-written
file never reaches JAX. A stored program is compiled code and nothing more; it runs, and its results
are judged, like those of a new one. Losing the store costs only time, so its errors are ignored.
https://docs.jax.dev/en/latest/persistent_compilation_cache.html

Nothing is stored where loading would not be silent: on some processors with AVX-512, JAX 0.8 to
0.10.1 write two lines of 3 kB to stderr for each program.
https://github.com/jax-ml/jax/issues/38445
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

MAX_BYTES = 256 * 1024 * 1024
"""Largest size of the store; beyond it, the programs stored first are removed."""
PROGRAM = "*-cache"
"""Pattern of the names that JAX gives to programs."""
ENABLED = "jax_enable_compilation_cache"
SETTINGS = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
    "jax_persistent_cache_enable_xla_caches": "none",
}
"""Settings with which JAX stores every program, however fast it was compiled, under a key that does
not contain the path of the run's folder, as XLA's own caches do."""
VARIABLES = {name.upper(): str(value) for name, value in SETTINGS.items()}
"""The same settings as environment variables, for a program that imports JAX itself."""
FLAGS = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")
_LIBRARIES = ("jaxlib", "libtpu")
_PROCESSOR = ("vendor_id", "cpu family", "model", "stepping", "flags", "CPU ", "Features")
"""First words of the lines about a processor, on x86 and on ARM, that say what it can run."""
_HIT = "/jax/compilation_cache/cache_hits"


class ProgramStore:
    """The part of a store that belongs to this JAX, its libraries, its flags and this processor.

    Each lesson has a group of its own, because a process copies all programs of its group.
    """

    def __init__(self, root: Path, group: str = "") -> None:
        self._root = root
        self.folder = root / _key(group)

    def is_empty(self) -> bool:
        """Return whether the store has no program of this group yet."""
        with contextlib.suppress(OSError):
            return not any(self.folder.iterdir())
        return True

    def copy_to(self, folder: Path) -> None:
        """Copy the undamaged programs to a folder, and remove the others from the store.

        None of the copies is newer than a program that JAX writes there.
        """
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            for path in list(self.folder.iterdir()):
                name, _, digest = path.name.rpartition(".")
                data = _read(path)
                if name and data is not None and digest == _digest(name, data):
                    (folder / name).write_bytes(data)
                    os.utime(folder / name, (0, 0))
                else:
                    path.unlink()

    def add_from(self, folder: Path) -> None:
        """Store the programs of a folder that are new, each at once or not at all."""
        with contextlib.suppress(OSError):
            if os.statvfs(folder).f_bavail == 0:
                return  # JAX may have written only a part of a program
            self.folder.mkdir(parents=True, exist_ok=True)
            known = {path.name.rpartition(".")[0] for path in self.folder.iterdir()}
            for path in sorted(folder.glob(PROGRAM)):
                data = _read(path)
                if data is None or path.name in known:
                    continue
                unfinished = self.folder / f".{os.getpid()}"
                try:
                    unfinished.write_bytes(data)
                    unfinished.replace(self.folder / f"{path.name}.{_digest(path.name, data)}")
                finally:
                    unfinished.unlink(missing_ok=True)
        self._remove_oldest()

    def _remove_oldest(self) -> None:
        with contextlib.suppress(OSError):
            found = [(path.stat(), path) for path in self._root.glob("*/*")]
            excess = sum(status.st_size for status, _ in found) - MAX_BYTES
            for status, path in sorted(found, key=lambda one: one[0].st_mtime_ns):
                if excess <= 0:
                    break
                path.unlink()
                excess -= status.st_size
                with contextlib.suppress(OSError):
                    path.parent.rmdir()  # if it was the last of its group


class RunPrograms:
    """The programs in the folder of this run's JAX, some of which come from a store."""

    def __init__(self, root: Path, group: str = "") -> None:
        """Copy the stored programs to the folder; JAX need not be imported yet."""
        self._store = ProgramStore(root, group)
        self._loaded = 0
        """Programs loaded since they were last counted."""
        self._folder = Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
        if self._folder.exists():  # an earlier process of this run has copied them
            self.remove_newest()
        else:
            self._store.copy_to(self._folder)
        self._left = len([*self._folder.glob(PROGRAM)])
        """Programs that were there at the start, and were not loaded yet."""

    def remove_newest(self) -> None:
        """Remove the newest program, since JAX may have been stopped after writing part of it."""
        with contextlib.suppress(OSError, ValueError):
            programs = self._folder.glob(PROGRAM)
            newest = max(programs, key=lambda path: path.stat().st_mtime_ns)
            if newest.stat().st_mtime_ns:  # no copy from the store
                newest.unlink()

    def store(self) -> None:
        """Store the programs that this process compiled, if this JAX can load them silently."""
        if not any(self._folder.glob(PROGRAM)):
            return
        if self._store.is_empty():
            try:
                if not loads_silently(sys.modules["jax"]):
                    return
            except Exception:  # noqa: BLE001  a block may have left JAX or stderr in any state
                return
        self._store.add_from(self._folder)

    def count_loads(self) -> None:
        """Count the programs that JAX loads once a lesson's code imports it."""
        sys.meta_path.insert(0, _MonitoringFinder(self._count))

    def _count(self, event: str, **_: object) -> None:
        if event == _HIT and self._left:  # later hits are programs that this process compiled
            self._left -= 1
            self._loaded += 1

    def take_count(self) -> int:
        """Return the number of an earlier process' programs loaded since the last call."""
        count, self._loaded = self._loaded, 0
        return count


class CompilationCache(RunPrograms):
    """JAX's persistent compilation cache in this process, backed by a store."""

    def __init__(self, root: Path) -> None:
        """Import JAX, and let it store every program."""
        self._jax = importlib.import_module("jax")
        super().__init__(root)
        for name, value in SETTINGS.items():
            self._jax.config.update(name, value)
        self._jax.monitoring.register_event_listener(self._count)

    def store(self) -> None:
        """Store the programs that this process compiled, whatever the last check allowed."""
        with contextlib.suppress(Exception):  # another JAX
            self.enable(enabled=True)
        super().store()

    def enable(self, *, enabled: bool) -> None:
        """Let JAX use the cache for the programs that it compiles next, or not."""
        if self._jax.config.values[ENABLED] != enabled:
            from jax.experimental.compilation_cache import compilation_cache

            self._jax.config.update(ENABLED, enabled)
            compilation_cache.reset_cache()  # otherwise JAX keeps to its first decision


class _MonitoringFinder:
    """Adds a listener to JAX's monitoring when that is imported, before JAX compiles anything."""

    def __init__(self, listener: Callable[..., None]) -> None:
        self._listener = listener

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        if name != "jax.monitoring":
            return None  # the other finders look for it
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            run = spec.loader.exec_module

            def run_and_listen(module: ModuleType) -> None:
                run(module)
                with contextlib.suppress(AttributeError):  # another JAX
                    module.register_event_listener(self._listener)

            setattr(spec.loader, "exec_module", run_and_listen)  # noqa: B010  no method of its class
        return spec


def loads_silently(jax: ModuleType) -> bool:
    """Compile a program, load it from the cache, and return whether that wrote nothing to stderr.

    Called when a process ends, because what other threads write meanwhile is lost.
    """
    events: list[str] = []

    def listen(event: str, **_: object) -> None:
        events.append(event)

    jax.monitoring.register_event_listener(listen)
    _compile_trial(jax)
    saved = os.dup(2)
    with tempfile.TemporaryFile() as written:
        sys.stderr.flush()
        os.dup2(written.fileno(), 2)
        try:
            _compile_trial(jax)
            sys.stderr.flush()
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        return _HIT in events and written.tell() == 0


def _compile_trial(jax: ModuleType) -> None:
    # JAX does not look into its cache for a function that it has compiled before.
    def trial(x: float) -> float:
        return x * 3 + 1

    jax.jit(trial).lower(1.0).compile()


def _read(path: Path) -> bytes | None:
    # A file that is no program can be anything, such as a named pipe, which would block.
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        return None
    return path.read_bytes()


def _digest(name: str, data: bytes) -> str:
    import hashlib  # slow to import, and every process of the probe imports this module

    return hashlib.sha256(os.fsencode(name) + b"\0" + data).hexdigest()[:32]


def _key(group: str) -> str:
    # JAX's own keys cover flags, versions and the kind of device. They do not cover a library that
    # was built again under the same version, or a state folder that several machines share.
    import hashlib
    import platform
    from importlib import metadata  # a third of the start of a process that has no store

    parts = [group, sys.version, platform.machine(), *_processor()]
    parts += [os.environ.get(name, "") for name in FLAGS]
    for name in ("jax", *_LIBRARIES):
        with contextlib.suppress(metadata.PackageNotFoundError):
            parts.append(f"{name} {metadata.version(name)}")
    for name in _LIBRARIES:
        spec = importlib.util.find_spec(name)
        for folder in (spec and spec.submodule_search_locations) or ():
            for library in sorted(Path(folder).rglob("*.so")):
                status = library.stat()
                parts.append(f"{library.name} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _processor() -> list[str]:
    # XLA compiles for the model of this processor and the instructions that it has.
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        lines = text.partition("\n\n")[0].splitlines()
        return [line for line in lines if line.startswith(_PROCESSOR)]
    import platform

    return [platform.processor()]
