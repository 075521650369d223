"""Output files of every kind that a user can name: one error, no waiting, no half-written file.

A row of `PLACES` makes what is named, and says with which code a check and a notebook end there.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.support.damage import damage
from tests.support.processes import HANG_S, until
from tpustarter.core import locations, state
from tpustarter.core.problem import Problem

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
        [sys.executable, "-m", "tpustarter", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
        **more,
    )


@pytest.mark.usefixtures("start")
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("place", PLACES)
def test_any_file_type_ends_with_one_error(writer: str, place: str, tmp_path: Path) -> None:
    """A result that can't be written has its own code, after the report is shown."""
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
        assert "pass  host.space" in done.stdout or place == "a link into no folder"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    """A file is written through its symbolic link, and keeps its permissions."""
    _linked(tmp_path / "result")
    (tmp_path / "real").chmod(0o640)
    locations.write_user_file(tmp_path / "result", "text")

    assert (tmp_path / "result").is_symlink()
    assert "text" == (tmp_path / "real").read_text()
    assert 0o640 == (tmp_path / "real").stat().st_mode & 0o777


def test_late_pipe_reader_gets_whole_document(
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
    locations.write_user_file(tmp_path / "pipe", "x" * 10**6)
    reader.join(HANG_S)

    assert refused.is_set()
    assert [10**6] == [len(text) for text in taken]


def test_pipe_with_sleeping_reader_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe whose reader is open but never reads is given up after a short wait."""
    monkeypatch.setattr(locations, "PIPE_WAIT_S", 0.5)
    _fifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(Problem, match=r"nobody has read it for 0\.5 s"):
        locations.write_user_file(tmp_path / "pipe", "x" * 10**6)
    os.close(reader)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--python", "{}/none"], 78, "did not answer as a Python would"),
        (["--python", "{}/nothing"], 2, "there is no program at"),
    ],
)
def test_run_without_result_is_error_in_junit(
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


@pytest.mark.parametrize("form", ["--json", "--ndjson"])
def test_unwritable_file_has_its_code_in_document(form: str) -> None:
    """The verdict stays beside it."""
    done = run("check", "host.space", form, "--junit", "/dev/full")
    fields = json.loads(done.stdout.splitlines()[-1])

    assert OUTPUT == done.returncode == fields["exit_code"]
    assert "healthy" == fields["verdict"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_ended_leaves_valid_junit(number: signal.Signals, tmp_path: Path) -> None:
    """A run that is killed or terminated leaves a valid JUnit file that claims nothing."""
    path = tmp_path / "junit.xml"
    with subprocess.Popen(
        [sys.executable, "-m", "tpustarter", "check", "host.*", "--junit", str(path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        until(path.exists, "the file")
        process.send_signal(number)
        process.wait(timeout=HANG_S)

    assert ET.parse(path).findall("testcase/error")


@pytest.mark.usefixtures("start")
@pytest.mark.parametrize(
    "place", ["a pipe that nobody reads", "a loop of links", "a file", "a socket"]
)
def test_state_folder_that_is_file_is_one_error(place: str, tmp_path: Path) -> None:
    """A `TPUSTARTER_HOME` that is a file is one error with a hint."""
    home = tmp_path / "home"
    PLACES.get(place, (Path.touch, set()))[0](home)
    done = run("check", "host.space", "--save", env={**os.environ, "TPUSTARTER_HOME": str(home)})

    assert 78 == done.returncode
    assert f"`{home}" in done.stderr


@pytest.mark.parametrize("name", ["last-check", "last-failures"])
def test_memory_that_cannot_be_read_loses_no_verdict(name: str) -> None:
    """The memory of earlier checks is left as it is."""
    damage(state.prepare_state_path(name), "a folder")
    done = run("check", "host.space")

    assert 0 == done.returncode, done.stderr
    assert "pass  host.space" in done.stdout
    assert state.prepare_state_path(name).is_dir()


PIPED = {
    "explain": (["explain", "--no-look"], "RESOURCE_EXHAUSTED: out of memory\n"),
    "import": (["learn", "--import"], '{"schema": "tpustarter.progress/1", "lessons": {}}'),
    "grant": (["trc"], "32 on-demand Cloud TPU v4 chips in zone us-central2-b\n"),
    "script": (
        [
            "tpu",
            "create",
            "bert",
            "--type",
            "v6e-8",
            "--zone",
            "us-central1-b",
            "--dry-run",
            "--startup-script",
        ],
        "echo hello\n",
    ),
}
"""Commands that read a file, and what is in it."""


@pytest.mark.usefixtures("start")
@pytest.mark.parametrize(("words", "text"), PIPED.values(), ids=PIPED)
def test_a_pipe_is_read_as_a_file_is(words: list[str], text: str) -> None:
    """A pipe is read like a file; waiting for a named one is announced."""
    Path("file").write_text(text)
    os.mkfifo("pipe")
    program = shlex.join([sys.executable, "-m", "tpustarter", *words])
    file, shell = run_shell(f"{program} file"), run_shell(f"{program} <(cat file)")
    named = run_shell(f"{program} pipe & cat file > pipe; wait $!")

    assert (file.returncode, file.stdout) == (shell.returncode, shell.stdout)
    assert (file.returncode, file.stdout) == (named.returncode, named.stdout)
    assert file.stderr == shell.stderr
    assert "`pipe`" in named.stderr


@pytest.mark.usefixtures("start")
def test_report_reads_its_log_from_pipe() -> None:
    """The known failure in it is found, as in a file."""
    log = "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by"
    Path("file").write_text(f"{log} process with pid 123\n")
    done = run_shell(f"{sys.executable} -m tpustarter report --no-ask --log <(cat file)")

    assert "tpu-in-use-by-pid" in done.stdout


@pytest.mark.usefixtures("start")
def test_a_pipe_without_an_end_is_refused() -> None:
    """A pipe without an end is refused, like a file that is too large."""
    done = run_shell(f"{sys.executable} -m tpustarter learn --import <(cat /dev/zero)")

    assert 78 == done.returncode


def run_shell(text: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash; one that waits for ever fails the test."""
    return subprocess.run(
        ["bash", "-c", text],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
