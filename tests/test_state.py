"""State files: whole or not there, whatever happens while they are written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tpustarter import state
from tpustarter.problem import Problem


def test_what_was_saved_is_loaded() -> None:
    """A value comes back as it was; a name nobody saved is empty."""
    state.save("sample", {"a": [1, 2]})

    assert {"a": [1, 2]} == state.load("sample")
    assert {} == state.load("nothing")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", "null", "\x00\xff", "[" * 99_999, '{"a": NaN}', '{"a": 1e999}', "9" * 5000],
)
def test_a_broken_file_is_put_aside_and_not_lost(text: str) -> None:
    """The program goes on without it, and its text is kept."""
    state.path("sample").write_text(text)

    assert {} == state.load("sample")
    (kept,) = state.path("sample").parent.glob("sample.broken-*.json")
    assert text == kept.read_text()
    state.save("sample", {"a": 1})
    assert {"a": 1} == state.load("sample")


@pytest.mark.parametrize("place", ["fsync", "replace"])
def test_a_kill_at_any_write_leaves_the_last_whole_one(place: str, home: Path) -> None:
    """SIGKILL before the file is flushed, or before it is renamed, loses only that write."""
    state.save("sample", {"n": 1})
    program = (
        "import os, pathlib, signal\n"
        "from tpustarter import state\n"
        "def die(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
        f"{'os.fsync' if place == 'fsync' else 'pathlib.Path.replace'} = die\n"
        "state.save('sample', {'n': 2})\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", program], env=env, check=False)

    assert -signal.SIGKILL == done.returncode
    assert {"n": 1} == state.load("sample")


def test_a_full_disk_is_one_clear_problem_and_loses_nothing() -> None:
    """What was saved before is still there, and no half file is left."""
    state.save("sample", {"n": 1})
    program = (
        "import resource, signal\n"
        "from tpustarter import state\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "state.save('sample', {'text': 'x' * 10_000_000})\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False
    )

    assert "cannot write" in done.stderr
    assert {"n": 1} == state.load("sample")
    assert [] == list(state.path("sample").parent.glob(".sample-*"))


def test_what_cannot_be_read_as_a_file_is_put_aside_at_once() -> None:
    """A pipe or a folder in its place is not waited for, and the next write works."""
    for make in (os.mkfifo, os.mkdir):
        make(state.path("sample"))
        assert {} == state.load("sample")
        state.save("sample", {"a": 1})
        assert {"a": 1} == state.load("sample")
        state.path("sample").unlink()

        assert not list(state.path("sample").parent.glob(".sample-*"))
        for kept in state.path("sample").parent.glob("sample.broken-*"):
            kept.rename(kept.parent / f"{make.__name__}.kept")


def test_reading_makes_nothing(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """What was saved is read where nothing can be written, and no folder is made for it."""
    assert {} == state.load("sample")
    assert not (home / "state").exists()
    monkeypatch.setenv("TPUSTARTER_HOME", "/proc/nowhere")

    assert {} == state.load("sample")


def test_a_folder_that_cannot_be_made_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """A place nobody can write to is named."""
    monkeypatch.setenv("TPUSTARTER_HOME", "/proc/nowhere")

    with pytest.raises(Problem, match="/proc/nowhere"):
        state.save("sample", {})
