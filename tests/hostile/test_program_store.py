"""Whatever state the store of compiled programs is in, a check's results are those without it."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.made_lessons import fence, make_lesson, run_lesson
from tests.support.needs import can_fake
from tests.support.processes import HANG_S
from tpustarter.checking.machine_check import CheckRequest, MachineCheck
from tpustarter.checking.output.run_document import make_json_document
from tpustarter.probe.program_store import MAX_BYTES, ProgramStore

CHECKS = ("jax.narrowing",)
TIMES = ("started", "seconds", "stored_programs")


def check(*, fresh: bool = False) -> tuple[dict[str, object], int]:
    """Run the checks; return their document without times, and how many programs were stored."""
    check = MachineCheck(CheckRequest(CHECKS, python=sys.executable, devices=2, fresh=fresh))
    for _ in check.events():
        pass
    document = make_json_document(check.run)
    for name in TIMES:
        del document[name]
    for result in document["results"]:  # type: ignore[attr-defined]
        del result["seconds"]
    return document, check.run.stored_programs


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, object], Path]:
    """Return the document of a run without a store, and a store that two runs have filled."""
    home = tmp_path_factory.mktemp("sound")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TPUSTARTER_HOME", str(home))
        document, loaded = check(fresh=True)
        assert (0, False) == (loaded, (home / "programs").exists())
        assert document == check()[0]
        again, loaded = check()
    assert document == again
    assert loaded > 2
    return document, home / "programs"


def each(change: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return a damage that changes every stored program."""

    def damage(store: Path) -> None:
        for path in list(store.glob("*/*")):
            change(path)

    return damage


def cut(length: int) -> Callable[[Path], None]:
    """Return a damage that cuts every program."""
    return each(lambda path: path.write_bytes(path.read_bytes()[:length]))


def flip(at: float) -> Callable[[Path], None]:
    """Return a damage that flips a bit at a part of every program's length."""

    def change(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(at * (len(data) - 1))] ^= 1
        path.write_bytes(data)

    return each(change)


def exchange(store: Path) -> None:
    """Give each program the content of another."""
    paths = sorted(store.glob("*/*"))
    contents = [path.read_bytes() for path in paths]
    for path, data in zip(paths, contents[1:] + contents[:1], strict=True):
        name = path.name.rpartition(".")[0]
        path.unlink()
        path.with_name(f"{name}.{hashlib.sha256(data).hexdigest()[:32]}").write_bytes(data)


def replace_by(make: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return a damage that puts something else in the place of every program."""

    def change(path: Path) -> None:
        path.unlink()
        make(path)

    return each(change)


def make_socket(path: Path) -> None:
    """Make a socket; its path is too long to be bound directly."""
    folder = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("s")
        Path("s").rename(path.name)
    finally:
        os.chdir(folder)


def replace_store(make: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return a damage that puts something else in the place of the whole store."""

    def damage(store: Path) -> None:
        shutil.rmtree(store)
        make(store)

    return damage


def add_many(store: Path) -> None:
    """Add files that nobody expects: odd names, empty ones, and a very large one."""
    (folder,) = store.iterdir()
    for name in (b"\xff\xfe", b"a\nb", b"\x1b[2J", b"." * 200, b"x" * 255, b"jit_f-cache."):
        (folder / os.fsdecode(name)).touch()
    for number in range(500):
        (folder / f"jit_{number}-cache.0").touch()
    with (folder / "jit_large-cache.0").open("wb") as file:
        file.truncate(10 * MAX_BYTES)


STATES: dict[str, Callable[[Path], None]] = {
    "sound": lambda _: None,
    "empty": lambda store: [path.unlink() for path in store.glob("*/*")] and None,
    "absent": shutil.rmtree,
    "without its folder": replace_store(lambda store: store.mkdir()),
    "cut to nothing": cut(0),
    "cut to one byte": cut(1),
    "cut to its head": cut(100),
    "without its last byte": cut(-1),
    "first bit flipped": flip(0),
    "a bit flipped in the middle": flip(0.5),
    "last bit flipped": flip(1),
    "digest of others": each(lambda path: path.rename(f"{path}0")),
    "no digest": each(lambda path: path.rename(path.with_suffix(""))),
    "unfinished": each(lambda path: path.rename(path.with_name(f".{path.name[-4:]}"))),
    "one half of them": lambda store: (
        [path.unlink() for path in sorted(store.glob("*/*"))[::2]] and None
    ),
    "exchanged": exchange,
    "text": each(lambda path: path.write_bytes(b"not a program\n")),
    "folders": replace_by(Path.mkdir),
    "full folders": replace_by(lambda path: (path / "x").mkdir(parents=True)),
    "pipes": replace_by(os.mkfifo),
    "sockets": replace_by(make_socket),
    "links to nothing": replace_by(lambda path: path.symlink_to("nowhere")),
    "links to itself": replace_by(lambda path: path.symlink_to(path.name)),
    "links without end": replace_by(lambda path: path.symlink_to("/dev/zero")),
    "a file": replace_store(Path.touch),
    "a link to nothing": replace_store(lambda store: store.symlink_to("nowhere")),
    "a link to a device": replace_store(lambda store: store.symlink_to("/dev/null")),
    "programs as a file": replace_store(lambda store: store.write_bytes(b"\0" * 1000)),
    "many others": add_many,
    "unreadable": each(lambda path: path.chmod(0)),
    "read-only": lambda store: [path.chmod(0o500) for path in (store, *store.iterdir())] and None,
}


@pytest.mark.parametrize("state", STATES)
def test_results_do_not_depend_on_state(
    state: str,
    sound: tuple[dict[str, object], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Results don't depend on a broken store, in the run that meets it or in the next."""
    document, store = sound
    shutil.copytree(store, tmp_path / "programs")
    STATES[state](tmp_path / "programs")
    monkeypatch.setenv("TPUSTARTER_HOME", str(tmp_path))

    assert document == check()[0]


OF_LESSONS = (
    "sound",
    "cut to its head",
    "a bit flipped in the middle",
    "exchanged",
    "pipes",
    "many others",
    "a file",
    "read-only",
)
"""States that a lesson meets, too; it reads the store as a check does."""
BLOCKS = """
import jax
import jax.numpy as jnp

x = jax.random.normal(jax.random.key(0), (64, 64))
print(jax.jit(jax.grad(lambda x: jnp.tanh(x @ x).sum()))(x).sum())
"""


def run(folder: Path) -> tuple[list[tuple[str, str, str]], int]:
    """Run a lesson that has a right and a wrong block; return its outcomes."""
    text = fence(BLOCKS) + fence("print(jnp.arange(3).sum())", "4", name="wrong")
    results = run_lesson(make_lesson(folder, text, needs="{framework: jax}"), devices=2)
    told = [(one.status, one.output, one.detail) for one in results.values()]
    return told, len(list(folder.glob("programs/*/*")))


@pytest.fixture(scope="module")
def lesson_store(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, Path]:
    """Return the outcomes of a lesson without stored programs, and the store that it leaves."""
    home = tmp_path_factory.mktemp("lesson")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TPUSTARTER_HOME", str(home))
        told, stored = run(home)
    assert ["pass", "fail"] == [status for status, _, _ in told]
    assert stored > 2
    return told, home / "programs"


@pytest.mark.parametrize("state", OF_LESSONS)
def test_lesson_does_not_depend_on_state(
    state: str, lesson_store: tuple[object, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lesson's output and outcomes don't depend on the store, to the last digit."""
    told, store = lesson_store
    shutil.copytree(store, tmp_path / "programs")
    STATES[state](tmp_path / "programs")
    monkeypatch.setenv("TPUSTARTER_HOME", str(tmp_path))

    assert told == run(tmp_path)[0]


@pytest.mark.skipif(not can_fake(), reason="A disk of its own needs root and Linux namespaces.")
@pytest.mark.parametrize("options", ["ro", "size=8k"], ids=["read-only", "full"])
def test_disk_that_takes_nothing_changes_nothing(
    options: str, sound: tuple[dict[str, object], Path], tmp_path: Path
) -> None:
    """The store lies on a disk of its own, in a namespace of this test."""
    (tmp_path / "programs").mkdir()
    words = [sys.executable, "-m", "tpustarter", "check", *CHECKS, "--devices", "2"]
    script = 'mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", options, str(tmp_path / "programs"), *words],
        env={**os.environ, "TPUSTARTER_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )

    assert 0 == done.returncode, done.stderr
    assert "" == done.stderr


def test_two_runs_at_once_share_a_store(
    sound: tuple[dict[str, object], Path], tmp_path: Path
) -> None:
    """Two runs at once share a store: both end well, and the store stays valid."""
    words = [sys.executable, "-m", "tpustarter", "check", CHECKS[0], "--devices", "2"]
    env = {**os.environ, "TPUSTARTER_HOME": str(tmp_path)}
    running = [
        subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    ends = [(one.communicate(timeout=HANG_S)[1], one.returncode) for one in running]

    assert [(b"", 0)] * 3 == ends
    (stored,) = (tmp_path / "programs").iterdir()
    store, loaded = ProgramStore(tmp_path / "programs"), tmp_path / "loaded"
    store.folder = stored
    before = len(list(stored.iterdir()))
    store.copy_to(loaded)
    assert before == len(list(loaded.iterdir())) > 2
