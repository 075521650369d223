"""`tpustarter watch` as it is typed: text, JSON by its schema, curves, exit codes, and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support import copies
from tests.support.metrics_server import gauges, hostile, serve
from tests.support.processes import HANG_S
from tests.support.terminal import terminal
from tests.watch.test_situations import make_reading
from tpustarter.core.problem import ExitCode
from tpustarter.machine import host
from tpustarter.slices.slice_watch import WatchedSlice
from tpustarter.text import invocation
from tpustarter.text.terminal import WIDTH
from tpustarter.watch import watch_document
from tpustarter.watch.reading import read_tpu
from tpustarter.watch.watch_history import WINDOW_S, WatchHistory
from tpustarter.watch.watch_text import render_frame, render_reading

SCHEMA_FILE = resources.files("tpustarter.watch").joinpath("schema.json")
WATCH = [sys.executable, "-m", "tpustarter", "watch"]


@pytest.fixture
def port() -> Iterator[int]:
    """Serve the numbers of eight devices."""
    with serve(gauges(8, duty=[98, 98, 98, 0, 98, 98, 98, 98])) as number:
        yield number


def watched(*options: object) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return copies.run([*WATCH, *map(str, options)])


@pytest.mark.parametrize(
    "words",
    [
        ["--once", "--wait", "5"],
        ["--once", "--yes"],
        ["--once", "--on", "w-0"],
        ["--all-hosts", "--start", "ssh", "--on", "w-0", "--yes", "--wait", "5"],
    ],
)
def test_option_without_effect_is_refused(words: list[str]) -> None:
    """An option without effect is refused, so that nobody waits for its effect."""
    done = watched(*words)

    assert ExitCode.USAGE == done.returncode
    assert "only works with" in done.stderr


def test_schema_is_made_of_types(pytestconfig: pytest.Config) -> None:
    """The schema is generated from the types; `--golden` writes it again."""
    text = json.dumps(watch_document.make_schema(WatchedSlice), indent=2) + "\n"
    if pytestconfig.getoption("--golden"):
        Path(str(SCHEMA_FILE)).write_text(text)

    assert SCHEMA_FILE.read_text() == text


def validated(text: str) -> dict[str, Any]:
    """Return a document that follows the schema."""
    document: dict[str, Any] = json.loads(text)
    jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text())).validate(document)
    return document


def test_one_look_is_a_document(port: int) -> None:
    """A single reading is a document with figures for each device and an interpretation."""
    done = watched("--json", "--port", port)
    document = validated(done.stdout)

    assert (0, 0, "") == (done.returncode, document["exit_code"], done.stderr)
    assert [*range(8)] == [one["device"] for one in document["devices"]]
    assert "some-idle" == document["situation"]["id"]
    assert document["missing"] is None


def test_one_look_is_text(port: int) -> None:
    """A single reading is text: a line for each device within 80 columns, and a sentence."""
    done = watched("--once", "--port", port)
    lines = done.stdout.splitlines()

    assert (0, "") == (done.returncode, done.stderr)
    assert [*map(str, range(8))] == [line.split()[0] for line in lines[2:10]]
    assert "Device 3 is idle while 7 of 8 work." in lines
    assert [] == [line for line in lines[:-4] if len(line) > WIDTH]


def test_no_tpu_ends_at_once() -> None:
    """Without a TPU, the command ends at once with the exit code of a missing device."""
    done = watched("--port", 1)
    document = validated(watched("--port", 1, "--json").stdout)

    assert (69, "") == (done.returncode, done.stdout)
    assert "No metrics: this machine has no TPU chip" in done.stderr
    assert "no-tpu" == document["missing"]["id"]


def test_hostile_port_is_one_reason() -> None:
    """An invalid answer from a port is one reason, without a traceback or a gRPC line."""
    with hostile("garbage") as port:
        done = watched("--once", "--port", port)

    assert (3, "") == (done.returncode, done.stdout)
    assert f"No metrics: what listens at port {port}" in done.stderr


@pytest.mark.parametrize("options", [["--python", "/nowhere"], ["--seconds", "0"]])
def test_wrong_option_is_an_error(options: list[str]) -> None:
    """A wrong option is one error document, as with other commands."""
    done = watched("--json", *options)

    assert 2 == done.returncode == validated(done.stdout)["exit_code"]


def test_pipe_gets_each_look(port: int) -> None:
    """A pipe gets plain text for each reading, until a signal ends the command cleanly."""
    words = [*WATCH, "--port", str(port), "--seconds", "0.2"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        seen = b""
        while seen.count(b"Device 3 is idle") < 2:
            seen += os.read(process.stdout.fileno(), 4096)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=HANG_S)

    assert (130, b"") == (process.returncode, errors)
    assert b"\x1b" not in seen + rest


def test_terminal_shows_curves(port: int) -> None:
    """In 80 columns and 24 lines without colour, and Ctrl-C ends it."""
    words = ["watch", "--port", str(port), "--seconds", "0.2"]
    with terminal(*words, drive="drive_cli.py", NO_COLOR="1") as tty:
        screen = tty.until(lambda text: "seconds" in text and "└" in text)
        tty.press("\x03")
        code = tty.end()
        written = tty.written

    assert 130 == code
    assert "Device 3 is idle while 7 of 8 work." in screen
    assert "percent" in screen
    assert b"\x1b[3" not in written  # colours


def test_frame_fits_every_size() -> None:
    """A frame fits terminals of every size for 1, 8 and 64 devices, with many in groups."""
    for chips in (1, 8, 64):
        history, reading = WatchHistory(), make_reading(chips=chips, duty=98, matrix=6)
        history.add(make_reading(chips=chips, duty=90, matrix=6))
        history.add(reading)
        for columns, lines in ((80, 24), (80, 30), (120, 40)):
            frame = render_frame(reading, history, None, (columns, lines - 1))

            assert len(frame) < lines
            assert [] == [line for line in frame if len(line) > columns]
            assert any("matrix unit 6 %" in line for line in frame)
            assert f"{chips - 1} " in " ".join(frame).replace("-", " ")


def test_frame_names_command_that_works_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame names a command that works here, and fits the width."""
    command = "python3 -m uv run --project ~/a/long/folder tpustarter"
    monkeypatch.setattr(invocation, "tpustarter_command", lambda: command)
    frame = render_frame(make_reading(duty=70), WatchHistory(), None, (60, 23))

    assert f"{command} learn" in " ".join(" ".join(frame).split())
    assert 60 >= max(map(len, frame))


def test_history_forgets() -> None:
    """The history keeps the last minutes only, and one reading draws no curve."""
    history, first = WatchHistory(), make_reading(duty=98)
    history.add(first)
    assert history.plot() is None

    for seconds in (10.0, WINDOW_S + 5):
        later = first.at.fromtimestamp(first.at.timestamp() + seconds, first.at.tzinfo)
        history.add(replace(first, at=later))
    plot = history.plot()

    assert plot is not None
    assert 2 == plot.count
    assert (98.0, 98.0) == plot.series["duty_percent"]


def test_missing_metrics_are_shown_with_holders() -> None:
    """Missing metrics are shown with the reason, the holders, the next step and the lesson."""
    reading = read_tpu(host.Machine(Path("/nowhere"), {}), [1], {})
    text = "\n".join(render_reading(reading, None))

    assert "No metrics: this machine has no TPU chip" in text
    assert "read: `tpustarter learn trouble/when-it-does-not-start`" in text
