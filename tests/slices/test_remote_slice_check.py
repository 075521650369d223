"""Runs that are started from here, with a host that cannot come: nobody waits for it in vain.

The hosts are shells of this machine, behind a program that answers as ssh does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import until
from tests.support.slice_hosts import run_started
from tpustarter.core.problem import ExitCode
from tpustarter.core.redact import Redactor
from tpustarter.slices.remote_slice_check import RemoteEventSource
from tpustarter.slices.starting.launch_request import HostCommand

NO_ROUTE = "ssh: connect to host gone port 22: No route to host"
SSH = """#!/bin/sh
for last; do :; done
case "$*" in
*-G*) echo "hostname 127.0.0.1" ;;
*" gone "*) echo "{no_route}" >&2; exit 255 ;;
*" bare "*) exec sh -c "$(echo "$last" | sed 's,{python},/no/python3,')" ;;
*" stray "*) exec sh -c "$(echo "$last" | sed 's,--host 1,--host 7,')" ;;
*) exec sh -c "$last" ;;
esac
"""
"""Answers as ssh does: hosts that are not reached, without the Python under test, or misled."""


def check(folder: Path, names: str, *ids: str) -> subprocess.CompletedProcess[str]:
    """Run the check on hosts behind ssh."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "ssh").write_text(SSH.format(no_route=NO_ROUTE, python=sys.executable))
    (programs / "ssh").chmod(0o755)
    path = {"PATH": f"{programs}:{os.environ['PATH']}"}
    return run_started(folder, "ssh", "--on", names, *ids, env=path)


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("gone", ("was not reached", NO_ROUTE)),
        ("bare", ("could not run the probe", "/no/python3")),
        ("stray", ("this host has number 7", "expected 0 to 2")),
    ],
)
def test_unreachable_host_ends_the_wait(
    name: str, reasons: tuple[str, str], tmp_path: Path
) -> None:
    """An unreachable host ends the wait, and host 0's report has the reason."""
    done = check(tmp_path, f"here,{name},there", "jax.all_reduce")

    report = json.loads(done.stdout)
    (arrived,) = [one for one in report["results"] if one["id"] == "host.slice_arrived"]
    (missing,) = [one for one in arrived["findings"] if one["code"] == "SLICE-MISSING"]
    assert "host:1" == missing["entity"]
    assert [reason in missing["found"] for reason in reasons] == [True, True], missing["found"]
    assert [0, 2] == [one["host"] for one in report["hosts"]]
    assert ExitCode.FAILED == done.returncode


def test_check_with_own_process_is_left_out(tmp_path: Path) -> None:
    """The report has it, with the command that runs it."""
    done = check(tmp_path, "here,there", "jax.dlpack", "jax.slice_devices")

    report = json.loads(done.stdout)
    status = {one["id"]: one["status"] for one in report["results"]}
    assert ("skip", "pass") == (status["jax.dlpack"], status["jax.slice_devices"])
    (left_out,) = [one for one in report["results"] if one["id"] == "jax.dlpack"]
    assert "check --this-host jax.dlpack" in left_out["detail"]
    assert ("healthy", ExitCode.OK) == (report["verdict"], done.returncode)


def shell(host: int, text: str, folder: Path) -> HostCommand:
    """Return a host that is a shell, whose probe is empty."""
    archive = folder / "probe.pyz"
    archive.touch()
    return HostCommand(words=("sh", "-c", text), host=host, archive=archive)


def event(kind: str, host: int, **more: Any) -> str:
    """Return the line of a shell that sends an event."""
    return f"echo '{json.dumps({'event': kind, 'from': host, **more})}'; "


WAIT = "exec cat >&2"
"""Waits until its lifeline ends."""
ECHO = 'read -r line; printf \'{"event": "told", "from": 0, "line": %s}\\n\' "$line"; '


@pytest.mark.parametrize("kind", ["not-reached", "no-place"])
def test_host_0_learns_who_gives_up(kind: str, tmp_path: Path) -> None:
    """Host 0 is told which host gives up, and the reason is kept, before its command ends."""
    other = event(kind, 1, detail="no such JAX") + WAIT
    commands = [shell(0, ECHO + WAIT, tmp_path), shell(1, other, tmp_path)]
    source = RemoteEventSource(commands, tmp_path, Redactor({}))

    told = until(lambda: source.read(1), "a line that host 0 was told") or {}
    source.interrupt()
    source.close()

    assert {"do": "unreachable", "host": 1} == told.get("line")
    assert "no such JAX" == source.unreached[1]


def test_reason_of_trying_host_is_known(tmp_path: Path) -> None:
    """The last one counts, and the end of the host comes before it."""
    go = tmp_path / "go"
    tries = "".join(event("trying", 1, detail=text) for text in ("refused", "no answer"))
    other = f"{tries} until [ -e {go} ]; do sleep 0.1; done; exit 3"
    source = RemoteEventSource(
        [shell(0, WAIT, tmp_path), shell(1, other, tmp_path)], tmp_path, Redactor({})
    )

    until(lambda: source.read(1) or source.unreached.get(1) == "no answer", "the last reason")
    go.touch()
    until(lambda: source.read(1) or "exit code 3" in source.unreached[1], "the end of host 1")
    source.interrupt()
    source.close()
