"""Commands of many hosts that run at the same time, with shells of this machine as the hosts."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.slices.fake_slice_probe import events, write_probe
from tpustarter.core.problem import Problem
from tpustarter.slices.starting import host_process
from tpustarter.slices.starting.host_shell_command import make_ssh_probe_command
from tpustarter.slices.starting.labelled_output import LabelFormat
from tpustarter.slices.starting.launch_request import (
    REACHED,
    EndReason,
    HostCommand,
    HostEnded,
    HostLine,
    HostStage,
    LaunchRequest,
)
from tpustarter.slices.starting.running_commands import RunningCommands


def shell(text: str, host: int | None = 0, **more: Any) -> HostCommand:
    """Return a command of a shell on this machine."""
    return HostCommand(words=("sh", "-c", text), host=host, **more)


def marked(text: str, archive: Path, host: int = 0) -> HostCommand:
    """Return a shell that marks its stages and is given a file."""
    return shell(text, host, archive=archive, marks=True)


def probing(folder: Path, number: int, **does: Any) -> HostCommand:
    """Return a host that runs the fake probe as one behind ssh does."""
    archive = folder / "probe.pyz"
    if not archive.exists():
        write_probe(archive, **does)
    request = LaunchRequest(archive=archive, python=sys.executable)
    return marked(make_ssh_probe_command(request, ("--host", str(number))), archive, number)


def read(run: RunningCommands, until: Any = None) -> tuple[list[HostLine], list[HostEnded]]:
    """Return the lines and the ends of a run; stop it once when `until` holds."""
    lines: list[HostLine] = []
    ends: list[HostEnded] = []
    for event in run.events():
        if isinstance(event, HostLine):
            lines.append(event)
        elif event is not None:
            ends.append(event)
        if until and until(lines, ends):
            run.stop()
            until = None
    return lines, ends


def test_lines_and_codes_come_by_host(tmp_path: Path) -> None:
    """Lines and exit codes come by host, separated by stream, and the last needs no newline."""
    commands = [shell(f"echo out; printf err{i} >&2; exit {i}", i) for i in range(3)]

    lines, ends = read(RunningCommands(commands, tmp_path))

    assert {(i, *one) for i in range(3) for one in (("out", False), (f"err{i}", True))} == {
        (line.host, line.text, line.is_error) for line in lines
    }
    assert {(i, HostStage.STARTED, EndReason.EXITED, i, (f"err{i}",)) for i in range(3)} == {
        (end.host, end.stage, end.ending, end.code, end.tail) for end in ends
    }


def test_label_is_the_host_of_a_line(tmp_path: Path) -> None:
    """A label gives the host of a line, and a line without a label is the command's own."""
    command = shell("echo '1: {\"event\": 1}'; echo plain; echo '0: a: b'", None)
    labelled = HostCommand(words=command.words, labels=LabelFormat(re.compile(rb"(\d+): ")))

    lines, (end,) = read(RunningCommands([labelled], tmp_path))

    expected = [(1, '{"event": 1}', True), (None, "plain", False), (0, "a: b", False)]
    assert expected == [(line.host, line.text, line.is_event) for line in lines]
    assert (None, HostStage.RUNNING) == (end.host, end.stage)


def test_probe_arrives_whole_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A probe larger than a pipe's buffer arrives whole, and no temporary file is left."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))

    lines, ends = read(
        RunningCommands([probing(tmp_path, i, h1={"code": 3}) for i in range(2)], tmp_path)
    )

    assert {(0, HostStage.RUNNING, 0), (1, HostStage.RUNNING, 3)} == {
        (end.host, end.stage, end.code) for end in ends
    }
    assert 4 == len(events([line.text for line in lines if line.is_event]))
    assert [] == [*(tmp_path / "tmp").iterdir()]


def test_stop_lets_hosts_end_by_themselves(tmp_path: Path) -> None:
    """A stop first ends the lifelines, so hosts send their last event and code."""
    commands = [probing(tmp_path, i, h0={"sleep": 600}, h1={"sleep": 600}) for i in range(2)]

    lines, ends = read(RunningCommands(commands, tmp_path), lambda lines, _: len(lines) >= 4)

    assert {(EndReason.STOPPED, 4)} == {(end.ending, end.code) for end in ends}
    whys = [event["why"] for event in events([line.text for line in lines]) if "why" in event]
    assert ["lifeline ended"] * 2 == whys


def test_stop_ends_what_ignores_its_lifeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TERM follows, and then a command has no code."""
    monkeypatch.setattr(host_process, "FINISH_S", 0.5)
    archive = write_probe(tmp_path / "probe.pyz")
    text = f"echo {REACHED}; echo ready; exec sleep 600"
    commands = [marked(text, archive), shell("echo ready; exec sleep 600", 1)]

    _, ends = read(RunningCommands(commands, tmp_path), lambda lines, _: len(lines) >= 2)

    assert {(0, EndReason.STOPPED, None), (1, EndReason.STOPPED, None)} == {
        (end.host, end.ending, end.code) for end in ends
    }


def test_stop_before_the_start_starts_nothing(tmp_path: Path) -> None:
    """A stop before the start starts nothing, and each command still has an end."""
    going = RunningCommands([shell(f"touch {tmp_path}/ran", i) for i in range(3)], tmp_path)
    going.stop()

    _, ends = read(going)

    assert [(i, EndReason.STOPPED, None) for i in range(3)] == [
        (end.host, end.ending, end.code) for end in ends
    ]
    assert not (tmp_path / "ran").exists()


def test_unreached_host_is_given_up(tmp_path: Path) -> None:
    """A host that wasn't reached is given up, with the last lines of the program that tried."""
    archive = write_probe(tmp_path / "probe.pyz")
    commands = [marked("echo retrying >&2; exec sleep 600", archive), shell("true", 1)]

    _, ends = read(RunningCommands(commands, tmp_path, reach_s=1.0))

    assert {
        0: (EndReason.LATE, HostStage.STARTED, ("retrying",)),
        1: (EndReason.EXITED, HostStage.STARTED, ()),
    } == {end.host: (end.ending, end.stage, end.tail) for end in ends}


def test_second_beginning_on_a_host_is_ended(tmp_path: Path) -> None:
    """The probe has been sent once, and cannot be sent to a program that connects again."""
    archive = write_probe(tmp_path / "probe.pyz")
    text = f"echo {REACHED}; echo {REACHED}; exec sleep 600"

    _, (end,) = read(RunningCommands([marked(text, archive)], tmp_path))

    assert (EndReason.LOST, HostStage.REACHED, True) == (end.ending, end.stage, end.is_lost)


def test_program_without_its_connection_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that lost its connection is ended, because the probe can't be sent twice."""
    monkeypatch.setattr(host_process, "LOST_S", 0.5)
    archive = write_probe(tmp_path / "probe.pyz")
    cut = tmp_path / "cut"
    connected = f"echo {REACHED}; echo on; until [ -e {cut} ]; do sleep 0.1; done; exit 255"
    command = HostCommand(
        words=("sh", "-c", f"sh -c '{connected}'; sleep 600"),
        host=0,
        archive=archive,
        marks=True,
        reconnects=True,
    )
    come = RunningCommands([command], tmp_path).events()
    assert HostLine(0, "on", is_error=False) == next(filter(None, come))
    assert next(come) is None, "it has not looked at what the command started"
    cut.touch()

    (end,) = [event for event in come if isinstance(event, HostEnded)]

    assert (EndReason.LOST, HostStage.REACHED, True) == (end.ending, end.stage, end.is_lost)


def test_probe_is_sent_to_a_reached_host_alone(tmp_path: Path) -> None:
    """Programs here that ask something before there is a connection read nothing."""
    archive = write_probe(tmp_path / "probe.pyz", size=0)
    text = f"if read -t 0.5 line; then echo early; fi; echo {REACHED}; read -r line; echo then"
    command = HostCommand(words=("bash", "-c", text), host=0, archive=archive, marks=True)

    lines, _ = read(RunningCommands([command], tmp_path))

    assert ["then"] == [line.text for line in lines]


def test_text_without_line_end_hides_no_mark(tmp_path: Path) -> None:
    """A start-up file of a shell may write such a text."""
    archive = write_probe(tmp_path / "probe.pyz")

    lines, (end,) = read(RunningCommands([marked(f"printf hi; echo {REACHED}", archive)], tmp_path))

    assert (["hi"], HostStage.REACHED) == ([line.text for line in lines], end.stage)


def test_missing_program_is_a_problem(tmp_path: Path) -> None:
    """A missing program is a problem before anything is started."""
    with pytest.raises(Problem):
        RunningCommands([HostCommand(words=("no-such-program-here",))], tmp_path)


def test_leader_is_reached_before_the_others_start(tmp_path: Path) -> None:
    """The leader is reached before the others start, because they need what it makes."""
    key = tmp_path / "key"
    archive = write_probe(tmp_path / "probe.pyz")
    others_ran = " && ".join(f"[ -e {key}-{i} ]" for i in (1, 2))
    text = f"sleep 0.5; touch {key}; echo {REACHED}; until {others_ran}; do sleep 0.1; done"
    leader = HostCommand(words=("sh", "-c", text), host=0, archive=archive, marks=True, leads=True)
    others = [shell(f"ls {key} && touch {key}-{i}", i) for i in (1, 2)]

    _, ends = read(RunningCommands([leader, *others], tmp_path))

    assert [0, 0, 0] == [end.code for end in ends]


def test_many_hosts_start_in_turn(tmp_path: Path) -> None:
    """Many hosts start in turn, each of them once."""
    _, ends = read(RunningCommands([shell(f"exit {i}", i) for i in range(20)], tmp_path))

    assert [*range(20)] == sorted(end.code or 0 for end in ends)


def test_event_is_never_cut(tmp_path: Path) -> None:
    """A long event is one line."""
    text = "printf '{\"event\": \"'; head -c 300000 /dev/zero | tr '\\0' x; echo '\"}'"

    (line,), _ = read(RunningCommands([shell(text)], tmp_path))

    assert (300_013, True) == (len(line.text), line.is_event)


def test_flood_of_one_host_delays_no_stop(tmp_path: Path) -> None:
    """The others are read in turn, and a stop is seen."""
    commands = [
        shell(f"exec yes {'x' * 500}", 0),
        shell("sleep 0.5; echo quiet; exec sleep 600", 1),
    ]

    _, ends = read(
        RunningCommands(commands, tmp_path),
        lambda lines, _: any(line.host == 1 for line in lines[-1:]),
    )

    assert [EndReason.STOPPED] * 2 == [end.ending for end in ends]


def test_quiet_hosts_give_the_reader_a_turn(tmp_path: Path) -> None:
    """While all hosts are quiet the reader still gets a turn, to apply its own deadlines."""
    going = RunningCommands([shell("exec sleep 600")], tmp_path)
    events = going.events()

    assert next(events) is None
    events.close()
    going.stop()  # after the end nobody hears it


def test_end_is_lost_or_unreached() -> None:
    """A host that was reached is not called unreached, and every end has words."""
    for stage, kind, code in itertools.product(HostStage, EndReason, (None, 1, 255)):
        end = HostEnded(shell("", marks=True), stage, kind, code, ())

        assert not (end.is_lost and end.is_unreached)
        assert end.is_unreached == (stage is HostStage.STARTED)
        assert end.what
