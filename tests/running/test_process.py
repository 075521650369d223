"""What a process writes is kept at both ends, and its end has a name."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tpustarter.running.process import (
    LOG_HEAD_BYTES,
    RECENT_BYTES,
    CappedLog,
    _exists,
    signal_name,
)


def test_a_short_log_is_kept_as_it_came(tmp_path: Path) -> None:
    """Bytes are not decoded, and nothing is added."""
    log = CappedLog(tmp_path / "log")
    log.write(b"\xff one\n")
    log.write(b"two\n")
    log.close()

    assert b"\xff one\ntwo\n" == (tmp_path / "log").read_bytes()
    assert "two\n" == log.since(6)


def test_of_a_flood_the_first_and_the_last_part_are_kept(tmp_path: Path) -> None:
    """The file says how many bytes are missing between them."""
    log = CappedLog(tmp_path / "log")
    log.write(b"first\n")
    for _ in range(20):
        log.write(b"x" * RECENT_BYTES)
    log.write(b"last\n")
    log.close()
    kept = (tmp_path / "log").read_bytes()

    assert kept.startswith(b"first\n")
    assert kept.endswith(b"last\n")
    assert f"[{log.size - LOG_HEAD_BYTES - RECENT_BYTES} bytes left out]".encode() in kept
    assert log.since(0).endswith("last\n")


def test_a_signal_without_a_name_has_its_number() -> None:
    """Real-time signals have no names."""
    assert "SIGSEGV" == signal_name(signal.SIGSEGV)
    assert "signal 40" == signal_name(40)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says that a process is a zombie")
def test_a_process_that_waits_to_be_reaped_is_gone() -> None:
    """In a container whose first process reaps nobody it would be told of for ever."""
    with subprocess.Popen(["true"]) as process:
        stat = Path(f"/proc/{process.pid}/stat")
        deadline = time.monotonic() + 30
        while " Z " not in stat.read_text() and time.monotonic() < deadline:
            time.sleep(0.01)

        assert not _exists(process.pid)
