"""What the user names as a file to write may be anything: one error, no waiting, nothing half done.

A row of `PLACES` makes what is named, and says with which code a check and a notebook end there.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.support.processes import HANG_S, until
from tpustarter import locations
from tpustarter.problem import Problem

WRITERS = {
    "check": ["check", "host.space", "--junit"],
    "notebook": ["learn", "jax/precision", "--force", "--notebook"],
}
OK, USAGE, OUTPUT = 0, 2, 74


def _nothing(_: Path) -> None:
    pass


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


def _loop(path: Path) -> None:
    path.symlink_to(path.with_name("other"))
    path.with_name("other").symlink_to(path)


def _read_only(path: Path) -> None:
    path.touch(mode=0o444)


def _linked(path: Path) -> None:
    path.with_name("real").write_text("an earlier answer")
    path.symlink_to("real")


PLACES: dict[str, tuple[Callable[[Path], object], set[int]]] = {
    "nothing": (_nothing, {OK}),
    "an earlier file": (lambda path: path.write_text("x" * 10**6), {OK}),
    "a link to a file": (_linked, {OK}),
    "a link that leads nowhere": (lambda path: path.symlink_to("nothing"), {OK}),
    "a file that only may be read": (_read_only, {OK}),
    "a pipe that nobody reads": (_fifo, {OUTPUT}),
    "a socket": (_socket, {OUTPUT}),
    "a loop of links": (_loop, {USAGE, OUTPUT}),
    "a folder": (lambda path: path.mkdir(), {USAGE, OUTPUT}),
    "a full disk": (lambda path: path.symlink_to("/dev/full"), {OUTPUT}),
    "a link into no folder": (lambda path: path.symlink_to("no/where"), {OUTPUT}),
    "below a file": (_nothing, {OUTPUT}),
    "a device that takes all": (lambda path: path.symlink_to("/dev/null"), {OK}),
}


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the folder of the test: a socket's path may not be long."""
    monkeypatch.chdir(tmp_path)


def run(*words: str, **more: object) -> subprocess.CompletedProcess[str]:
    """Run the program; one that waits for ever fails the test."""
    return subprocess.run(
        [sys.executable, "-m", "tpustarter", *words], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=HANG_S, check=False, **more,
    )  # fmt: skip


@pytest.mark.usefixtures("start")
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("place", PLACES)
def test_whatever_lies_there_there_is_an_end_and_one_error(
    writer: str, place: str, tmp_path: Path
) -> None:
    """A result that could not be written has a code of its own, and the report is told first."""
    make, codes = PLACES[place]
    path = tmp_path / "result"
    make(path)
    if place == "below a file":
        path.touch()
        path = path / "result"
    done = run(*WRITERS[writer], str(path))

    assert done.returncode in codes, done.stderr
    assert "Traceback" not in done.stderr
    if done.returncode == OK and path.is_file():
        ET.parse(path) if writer == "check" else json.loads(path.read_text())
    if done.returncode == OUTPUT:
        assert f"error: cannot write `{path}`: " in done.stderr
    if (
        writer == "check"
        and done.returncode == OUTPUT
        and not place.startswith(("below", "a loop"))
    ):
        assert "The claim holds" in done.stdout or place == "a link into no folder"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    """What the link leads to is what is written, for those who could read it before."""
    _linked(tmp_path / "result")
    (tmp_path / "real").chmod(0o640)
    locations.write(tmp_path / "result", "text")

    assert (tmp_path / "result").is_symlink()
    assert "text" == (tmp_path / "real").read_text()
    assert 0o640 == (tmp_path / "real").stat().st_mode & 0o777


def test_a_pipe_whose_reader_comes_later_gets_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`mkfifo f; tpustarter check --junit f & cat f` works, whoever comes first."""
    monkeypatch.setattr(locations, "PIPE_WAIT_S", HANG_S)
    _fifo(tmp_path / "pipe")
    taken: list[str] = []
    refused, open_it = threading.Event(), os.open

    def opened(path: Path, flags: int, *more: int, **options: int) -> int:
        try:
            return open_it(path, flags, *more, **options)
        except OSError:
            refused.set()
            raise

    monkeypatch.setattr(os, "open", opened)

    def take() -> None:
        refused.wait(HANG_S)
        taken.append((tmp_path / "pipe").read_text())

    reader = threading.Thread(target=take)
    reader.start()
    locations.write(tmp_path / "pipe", "x" * 10**6)
    reader.join(HANG_S)

    assert refused.is_set()
    assert [10**6] == [len(text) for text in taken]


def test_a_pipe_whose_reader_sleeps_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is opened, and nobody takes what is in it."""
    monkeypatch.setattr(locations, "PIPE_WAIT_S", 0.5)
    _fifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(Problem, match=r"nobody has read it for 0\.5 s"):
        locations.write(tmp_path / "pipe", "x" * 10**6)
    os.close(reader)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [(["--python", "{}/none"], 78, "did not answer as a Python would"),
     (["--python", ""], 2, "given as an empty text")],
)  # fmt: skip
def test_a_run_without_a_result_says_so_in_junit(
    words: list[str], code: int, said: str, tmp_path: Path
) -> None:
    """A CI system that reads nothing else sees an error, and not the answer of another day."""
    (tmp_path / "none").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "none").chmod(0o755)
    path = tmp_path / "junit.xml"
    path.write_text("<testsuite tests='1'><testcase name='host.space'/></testsuite>")
    done = run("check", *(word.format(tmp_path) for word in words), "--junit", str(path))
    error = ET.parse(path).find("testcase/error")

    assert code == done.returncode
    assert error is not None
    assert said in error.attrib["message"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_ended_leaves_valid_junit(number: signal.Signals, tmp_path: Path) -> None:
    """Killed at once or told to end: the file is a document, and claims nothing."""
    path = tmp_path / "junit.xml"
    with subprocess.Popen(
        [sys.executable, "-m", "tpustarter", "check", "host.*", "--junit", str(path)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        until(path.exists, "the file")
        process.send_signal(number)
        process.wait(timeout=HANG_S)

    assert ET.parse(path).findall("testcase/error")


@pytest.mark.usefixtures("start")
@pytest.mark.parametrize(
    "place", ["a pipe that nobody reads", "a loop of links", "a file", "a socket"]
)
def test_a_state_folder_that_is_none_is_one_error(place: str, tmp_path: Path) -> None:
    """`TPUSTARTER_HOME` leads to something else: said, with what to do."""
    home = tmp_path / "home"
    PLACES.get(place, (Path.touch, set()))[0](home)
    done = run("check", "host.space", "--save", env={**os.environ, "TPUSTARTER_HOME": str(home)})

    assert 78 == done.returncode
    assert "cannot write to the state folder" in done.stderr
