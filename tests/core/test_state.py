"""State files: complete or absent, whatever happens while they are written."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.support.damage import damage
from tpustarter.core import locations, state
from tpustarter.core.problem import ExitCode, Problem


def test_saved_state_is_loaded() -> None:
    """A saved value is loaded unchanged, and an unknown name is empty."""
    state.save_state("sample", {"a": [1, 2]})

    assert {"a": [1, 2]} == state.load_state("sample")
    assert {} == state.load_state("nothing")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", "null", "\x00\xff", "[" * 99_999, '{"a": NaN}', '{"a": 1e999}', "9" * 5000],
)
def test_broken_file_is_put_aside_not_lost(text: str) -> None:
    """A broken file is moved aside with its text, and the state is empty."""
    state.prepare_state_path("sample").write_text(text)

    assert {} == state.load_state("sample")
    (kept,) = state.prepare_state_path("sample").parent.glob("sample.broken-*.json")
    assert text == kept.read_text()
    state.save_state("sample", {"a": 1})
    assert {"a": 1} == state.load_state("sample")


def test_broken_files_of_same_second_are_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each broken file gets a name of its own, and no content is lost."""
    monkeypatch.setattr(time, "strftime", lambda *_: ".broken-20261128-120000.json")
    for text in ("{a", "{b", "{a"):
        state.prepare_state_path("sample").write_text(text)
        assert {} == state.load_state("sample")

    kept = state.prepare_state_path("sample").parent.glob("sample.broken-*.json")
    assert {"{a", "{b"} == {file.read_text() for file in kept}
    assert 3 == len(locations.pop_move_notices())
    assert [] == locations.pop_move_notices()


def test_file_unopened_because_of_limit_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state file not opened for lack of file descriptors is neither moved nor overwritten."""
    state.save_state("sample", {"n": 1})
    too_many = OSError(errno.EMFILE, "Too many open files")
    with monkeypatch.context() as patch:
        patch.setattr(locations, "read_text", Mock(side_effect=too_many))
        with pytest.raises(OSError, match="Too many"):
            state.load_state("sample")

    assert {"n": 1} == state.load_state("sample")


@pytest.mark.parametrize("place", ["fsync", "replace"])
def test_kill_at_any_write_keeps_last_whole_file(place: str, home: Path) -> None:
    """SIGKILL before the flush or the rename loses only the last write."""
    state.save_state("sample", {"n": 1})
    program = (
        "import os, pathlib, signal\n"
        "from tpustarter.core import state\n"
        "def die(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
        f"{'os.fsync' if place == 'fsync' else 'pathlib.Path.replace'} = die\n"
        "state.save_state('sample', {'n': 2})\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", program], env=env, check=False)

    assert -signal.SIGKILL == done.returncode
    assert {"n": 1} == state.load_state("sample")


def test_full_disk_is_problem_and_loses_nothing() -> None:
    """A full disk is a problem; the earlier state stays, and no partial file is left."""
    state.save_state("sample", {"n": 1})
    program = (
        "import resource, signal\n"
        "from tpustarter.core import state\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "state.save_state('sample', {'text': 'x' * 10_000_000})\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False
    )

    assert "cannot write" in done.stderr
    assert {"n": 1} == state.load_state("sample")
    assert [] == list(state.prepare_state_path("sample").parent.glob(".sample-*"))


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a loop of links"])
def test_what_is_no_file_is_left_alone(kind: str) -> None:
    """A path that is not a regular file is named in the error and left unchanged."""
    damage(state.prepare_state_path("sample"), kind)
    before = state.prepare_state_path("sample").lstat()
    with pytest.raises(Problem, match=r"sample\.json") as caught:
        state.load_state("sample")

    assert ExitCode.CONFIGURATION == caught.value.code
    assert before == state.prepare_state_path("sample").lstat()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE])
def test_file_that_cannot_be_read_is_left_alone(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file with a read or permission error is neither moved nor overwritten."""
    state.save_state("sample", {"n": 1})
    with monkeypatch.context() as patch:
        error = OSError(number, os.strerror(number))
        patch.setattr(locations, "read_text", Mock(side_effect=error))
        for use in (state.load_state, lambda name: state.save_state(name, {"n": 2})):
            with pytest.raises(Problem, match=os.strerror(number)):
                use("sample")

    assert {"n": 1} == state.load_state("sample")
    assert [] == locations.pop_move_notices()


def test_broken_file_that_cannot_be_moved_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a read-only disk the broken file is an error, not an empty state."""
    state.prepare_state_path("sample").write_text("{")
    refused = Mock(side_effect=OSError(errno.EROFS, os.strerror(errno.EROFS)))
    monkeypatch.setattr(locations, "move_aside", refused)
    with pytest.raises(Problem, match=r"sample\.json"):
        state.load_state("sample")


@pytest.mark.first_use
def test_reading_creates_no_file(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Reading state creates no file or folder."""
    assert {} == state.load_state("sample")
    assert not (home / "state").exists()
    monkeypatch.setenv("TPUSTARTER_HOME", "/proc/nowhere")

    assert {} == state.load_state("sample")


def test_folder_that_cannot_be_created_is_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that cannot be created is a problem that names it."""
    monkeypatch.setenv("TPUSTARTER_HOME", "/proc/nowhere")

    with pytest.raises(Problem, match="/proc/nowhere"):
        state.save_state("sample", {})


@pytest.mark.parametrize("number", ["", "-1", "x", "²", "٣", "4294967295", "9" * 400])
def test_unknown_user_number_is_no_user(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown or invalid SUDO_UID counts as no sudo."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", number)
    monkeypatch.setenv("SUDO_GID", "1000")

    assert locations.find_sudo_caller() is None


def test_unknown_user_has_home_of_environment(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """A sudo user without an account, as in a container, gets HOME from the environment."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("TPUSTARTER_HOME")
    monkeypatch.setenv("SUDO_UID", "4294967290")
    monkeypatch.setenv("SUDO_GID", "4294967290")

    assert home in locations.state_folder_path().parents
