"""The start and the end of a process's output are kept, and its outcome has a name."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.processes import HANG_S, until
from tpustarter.core.redact import Redactor
from tpustarter.running import probe_archive
from tpustarter.running.process import (
    LOG_HEAD_BYTES,
    PIPE_BYTES,
    RECENT_BYTES,
    CappedLog,
    Probe,
    _exists,
    signal_name,
)


def test_short_log_is_kept_unchanged(tmp_path: Path) -> None:
    """Bytes are not decoded, and nothing is added."""
    log = CappedLog(tmp_path / "log")
    log.write(b"\xff one\n")
    log.write(b"two\n")
    log.close()

    assert b"\xff one\ntwo\n" == (tmp_path / "log").read_bytes()
    assert "two\n" == log.read_since(6)


def test_flood_keeps_first_and_last_part(tmp_path: Path) -> None:
    """A flood of output keeps its first and last part, with the number of missing bytes."""
    log = CappedLog(tmp_path / "log")
    log.write(b"first\n")
    for _ in range(20):
        log.write(b"x" * (RECENT_BYTES - 1) + b"\n")
    log.write(b"last\n")
    log.close()
    kept = (tmp_path / "log").read_bytes()

    assert kept.startswith(b"first\n")
    assert kept.endswith(b"last\n")
    head, _, last = kept.partition(b"\n[")
    said = int(last.split()[0])
    assert log.size == len(head) + said + len(last.partition(b"]\n")[2])
    assert LOG_HEAD_BYTES >= len(head) > LOG_HEAD_BYTES - 2 * RECENT_BYTES
    assert log.read_since(0).endswith("last\n")


TOKEN = b"hf_Zq7AbCdEfGhIjKlMnOpQrSt"


@pytest.mark.parametrize("at", range(-len(TOKEN) - 2, 3, 4))
@pytest.mark.parametrize("fill", [b"x ", b"xy\n"], ids=["one line", "lines"])
@pytest.mark.parametrize("size", [LOG_HEAD_BYTES, RECENT_BYTES], ids=["first", "last"])
def test_half_secret_at_log_cut_is_dropped(tmp_path: Path, size: int, fill: bytes, at: int) -> None:
    """Half a secret at the cut of a log is dropped, in the file and in memory."""
    is_first = size == LOG_HEAD_BYTES
    beside = (fill * size)[: size + at if is_first else size - len(TOKEN) - at]
    others = (fill * LOG_HEAD_BYTES * 2)[: 2 * LOG_HEAD_BYTES]
    parts = (beside, TOKEN, others) if is_first else (others, TOKEN, beside)
    log = CappedLog(tmp_path / "log")
    log.write(b" ".join(parts))
    log.close()
    kept = (tmp_path / "log").read_text() + log.read_since(0)
    around = [kept[max(0, at.start() - 80) : at.end() + 80] for at in re.finditer("Zq7|Kl", kept)]

    assert "Zq7" not in Redactor({}).redact_text("\n".join(around))
    assert "Kl" not in Redactor({}).redact_text("\n".join(around))


def test_a_signal_without_a_name_has_its_number() -> None:
    """Real-time signals have no names."""
    assert "SIGSEGV" == signal_name(signal.SIGSEGV)
    assert "signal 40" == signal_name(40)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says that a process is a zombie")
def test_unreaped_process_counts_as_ended() -> None:
    """A process that is never reaped, as in some containers, counts as ended."""
    with subprocess.Popen(["true"]) as process:
        stat = Path(f"/proc/{process.pid}/stat")
        until(lambda: " Z " in stat.read_text(), "a zombie")

        assert not _exists(process.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="what a process leaves is found by /proc")
@pytest.mark.parametrize(("stays", "code"), [(True, 0), (True, 1), (False, 0)])
def test_machine_daemon_survives_without_open_files_of_ours(
    stays: bool, code: int, tmp_path: Path
) -> None:
    """A daemon survives only a machine command that ended well, and has none of our open files."""
    ours = os.open(tmp_path, os.O_RDONLY)
    held = f"/proc/self/fd/{ours}"
    script = f'setsid sleep 600 & ls {held} >&2; echo "$!"; exit {code}'
    log = CappedLog(tmp_path / "log")
    probe = Probe(
        Path(sys.executable),
        probe_archive.build_probe_archive(tmp_path / "probe.pyz"),
        log,
        env=os.environ,
        lease=ours,
        command=("/bin/sh", "-c", script),
        stays=stays,
    )
    try:
        while probe.read(1.0) != {
            "event": "gone",
            "code": code,
            "signal": None,
            "left": [],
            "exit": 0,
            "stopped": False,
        }:
            pass
        daemon = int((tmp_path / "log").read_text().split()[-1])
        is_left = _exists(daemon)
        if is_left:
            os.kill(daemon, signal.SIGKILL)
    finally:
        probe.close()
        log.close()
        os.close(ours)

    assert (stays and code == 0) == is_left
    assert stays == ("No such file" in (tmp_path / "log").read_text())


def test_fed_command_reads_what_it_is_given(tmp_path: Path) -> None:
    """A fed command reads its input to the end, and one that doesn't read blocks nobody."""
    log = CappedLog(tmp_path / "log")
    probe = Probe(
        Path(sys.executable),
        probe_archive.build_probe_archive(tmp_path / "probe.pyz"),
        log,
        env=os.environ,
        command=("/bin/sh", "-c", "read line; echo $line; sleep 0.5; wc -c"),
        fed=True,
    )
    sent = probe.feed(memoryview(b"first\n"))
    until(lambda: probe.read(0.1) or log.size, "the line that comes back")
    while taken := probe.feed(memoryview(bytes(1 << 16))):
        sent += taken
    probe.close_stdin()

    gone = probe.close()
    log.close()

    assert 0 == gone["code"]
    assert ["first", str(sent - len("first\n"))] == (tmp_path / "log").read_text().split()


def test_flood_is_read_one_pipe_a_call(tmp_path: Path) -> None:
    """Whoever reads looks for a stop in between, though each line of it takes long to write."""
    log = CappedLog(tmp_path / "log")
    probe = Probe(
        Path(sys.executable),
        probe_archive.build_probe_archive(tmp_path / "probe.pyz"),
        log,
        env=os.environ,
        command=("/usr/bin/env", "yes", "x" * 1000),
    )
    output = probe._process.stdout
    assert output
    write = log.write

    def write_slowly(data: bytes) -> None:
        write(data)
        select.select([output], [], [], HANG_S)  # meanwhile the command has printed more

    log.write = write_slowly
    sizes = [log.size]
    while log.size < 10 * PIPE_BYTES:
        probe.read(0)
        sizes.append(log.size)
    log.write = write
    probe.end()
    probe.close()
    log.close()

    assert max(b - a for a, b in pairwise(sizes)) < 2 * PIPE_BYTES
