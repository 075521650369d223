"""A store of compiled programs returns what was stored, or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.processes import HANG_S
from tpustarter.probe import program_store
from tpustarter.probe.program_store import ProgramStore, RunPrograms

PROGRAMS = {"jit_f-1-cache": b"first", "jit_g-2-cache": b"second"}


def fill(folder: Path, programs: dict[str, bytes]) -> Path:
    """Write programs to a folder, as JAX would."""
    folder.mkdir()
    for name, data in programs.items():
        (folder / name).write_bytes(data)
    return folder


def read(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def store(tmp_path: Path) -> ProgramStore:
    """Return a store with two programs."""
    store = ProgramStore(tmp_path / "store")
    store.add_from(fill(tmp_path / "compiled", PROGRAMS))
    return store


def test_stored_programs_come_back_unchanged(store: ProgramStore, tmp_path: Path) -> None:
    """Stored programs come back unchanged under JAX's names, without JAX's other files."""
    (tmp_path / "compiled" / "jit_f-1-atime").write_bytes(b"now")
    store.add_from(tmp_path / "compiled")
    store.copy_to(tmp_path / "loaded")

    assert PROGRAMS == read(tmp_path / "loaded")


def test_program_is_stored_once(store: ProgramStore, tmp_path: Path) -> None:
    """The first one of a name stays, as in JAX's own cache."""
    before = read(store.folder)
    store.add_from(fill(tmp_path / "again", {"jit_f-1-cache": b"another"}))

    assert before == read(store.folder)


def cut(path: Path) -> None:
    """Drop the last byte."""
    path.write_bytes(path.read_bytes()[:-1])


def change(path: Path) -> None:
    """Reverse the bytes."""
    path.write_bytes(path.read_bytes()[::-1])


def rename(path: Path) -> None:
    """Take the digest off the name."""
    path.rename(path.with_name("jit_h-3-cache"))


def link(path: Path) -> None:
    """Put a link without a target in its place."""
    path.unlink()
    path.symlink_to("elsewhere")


def make_pipe(path: Path) -> None:
    """Put a named pipe in its place."""
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("damage", [cut, change, rename, link, make_pipe])
def test_damaged_program_is_dropped(
    store: ProgramStore, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """The other one is loaded, and the next run stores the lost one again."""
    (path,) = store.folder.glob("jit_f*")
    damage(path)
    store.copy_to(tmp_path / "loaded")

    assert {"jit_g-2-cache": b"second"} == read(tmp_path / "loaded")
    store.add_from(tmp_path / "compiled")
    store.copy_to(tmp_path / "next")
    assert PROGRAMS == read(tmp_path / "next")


def test_unfinished_program_is_removed(store: ProgramStore, tmp_path: Path) -> None:
    """A run was killed while it wrote."""
    (store.folder / ".4711").write_bytes(b"fir")
    store.copy_to(tmp_path / "loaded")

    assert PROGRAMS == read(tmp_path / "loaded")
    assert not (store.folder / ".4711").exists()


def test_oldest_programs_go_first(
    store: ProgramStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest programs of all versions are removed first, with each empty folder."""
    other = store.folder.with_name("of an older JAX")
    fill(other, {"jit_old.0": b"old"})
    os.utime(other / "jit_old.0", (1, 1))
    (first,) = store.folder.glob("jit_f*")
    os.utime(first, (2, 2))
    monkeypatch.setattr(program_store, "MAX_BYTES", len(b"second" + b"third"))
    store.add_from(fill(tmp_path / "more", {"jit_h-3-cache": b"third"}))
    store.copy_to(tmp_path / "loaded")

    assert not other.exists()
    assert {"jit_g-2-cache": b"second", "jit_h-3-cache": b"third"} == read(tmp_path / "loaded")


def test_lesson_has_programs_of_its_own(store: ProgramStore, tmp_path: Path) -> None:
    """A process would copy those of all lessons otherwise."""
    ProgramStore(tmp_path / "store", "jax/gradients").copy_to(tmp_path / "loaded")

    assert {} == read(tmp_path / "loaded")


def test_newest_program_of_ended_process_is_dropped(
    store: ProgramStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block was killed, and JAX may have written a part of it."""
    folder = tmp_path / "run"
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(folder))
    RunPrograms(tmp_path / "store")
    assert PROGRAMS == read(folder)
    (folder / "jit_h-3-cache").write_bytes(b"thi")
    RunPrograms(tmp_path / "store").store()

    assert PROGRAMS == read(folder)
    assert 2 == len(list(store.folder.iterdir()))
    RunPrograms(tmp_path / "store")
    assert PROGRAMS == read(folder), "copies are not what JAX was writing"


INTERRUPTED = """
import contextlib, os, sys
from tpustarter.probe import adapters
from tpustarter.probe.lesson import block_runner

code = '''
import os, pathlib, signal
file = pathlib.Path(os.environ["JAX_COMPILATION_CACHE_DIR"], "jit_h-3-cache").open("wb", 0)
file.write(b"thi")
os.kill(os.getpid(), signal.SIGINT)
file.write(b"rd")
'''
command = {"id": "b", "file": "<b>", "code": code, "program_store": sys.argv[1], "lesson": ""}
with contextlib.suppress(KeyboardInterrupt):
    block_runner.run_block(command, print)
adapters.store_programs()
"""
"""A block that is interrupted while JAX writes a program."""


def test_half_of_interrupted_write_is_not_stored(store: ProgramStore, tmp_path: Path) -> None:
    """The process of the block goes on, and stores its programs when it ends."""
    environ = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "run")}
    words = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "store")]
    subprocess.run(words, env=environ, check=True, timeout=HANG_S)

    assert 2 == len(list(store.folder.iterdir()))
    assert PROGRAMS == read(tmp_path / "run")


@pytest.mark.parametrize("name", program_store.FLAGS)
def test_flags_have_programs_of_their_own(
    store: ProgramStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The key is made of them."""
    monkeypatch.setenv(name, "--a-flag-of-this-test=1")
    ProgramStore(tmp_path / "store").copy_to(tmp_path / "loaded")

    assert {} == read(tmp_path / "loaded")


def test_rebuilt_library_has_own_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever builds jaxlib again under the same version must see the new compiler's work."""
    library = tmp_path / "libtpu" / "libtpu.so"
    library.parent.mkdir()
    (library.parent / "__init__.py").touch()
    library.write_bytes(b"one")
    monkeypatch.syspath_prepend(tmp_path)
    before = ProgramStore(tmp_path).folder
    library.write_bytes(b"other")

    assert before != ProgramStore(tmp_path).folder


REFUSAL = b"E0000 cpu_aot_loader.cc:195] Loading XLA:CPU AOT result. Target machine feature ..."


@pytest.mark.parametrize(
    ("written", "event", "stored"),
    [
        (b"", "/jax/compilation_cache/cache_hits", PROGRAMS),
        (REFUSAL, "/jax/compilation_cache/cache_hits", {}),
        (b"", "/jax/compilation_cache/cache_misses", {}),
    ],
    ids=["silent", "refusal", "not loaded"],
)
def test_only_silently_loaded_programs_are_stored(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    capfd: pytest.CaptureFixture[str],
    written: bytes,
    event: str,
    stored: dict[str, bytes],
) -> None:
    """A fake JAX writes to stderr when it compiles the same program for the second time."""
    listeners: list[Callable[[str], None]] = []
    compiled: list[object] = []

    def compile_program() -> None:
        compiled.append(None)
        if len(compiled) == 2:
            listeners[0](event)
            os.write(2, written)

    lowered = SimpleNamespace(lower=lambda _: SimpleNamespace(compile=compile_program))
    monitoring = SimpleNamespace(register_event_listener=listeners.append)
    jax = SimpleNamespace(jit=lambda _: lowered, monitoring=monitoring)
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "run"))
    run = RunPrograms(tmp_path / "store")
    for name, data in PROGRAMS.items():
        (tmp_path / "run" / name).write_bytes(data)
    run.store()
    ProgramStore(tmp_path / "store").copy_to(tmp_path / "loaded")

    assert stored == read(tmp_path / "loaded")
    assert "" == capfd.readouterr().err


def test_unusable_store_costs_nothing(store: ProgramStore, tmp_path: Path) -> None:
    """A file where its folder should be."""
    (tmp_path / "file").touch()
    store = ProgramStore(tmp_path / "file")
    store.copy_to(tmp_path / "loaded")
    store.add_from(tmp_path / "compiled")

    assert {} == read(tmp_path / "loaded")
