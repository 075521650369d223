"""Links between hosts that are filtered or slow, on hosts with a network and an sshd of their own.

What starts the run reaches every host all the time: only the hosts do not reach each other.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.slices.engines.network import NETWORK, Hosts, network
from tests.support.places import REPOSITORY
from tests.support.slice_hosts import HANG, run_started, start_command, write_checks
from tpustarter.core.problem import ExitCode

pytestmark = NETWORK


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    """Return three hosts whose links a test may change."""
    (tmp_path / "net").mkdir()
    with network(tmp_path / "net", 3) as made:
        yield made


def words(hosts: Hosts, *more: str) -> tuple[str, ...]:
    """Return the options of a run on these hosts."""
    place = ("--coordinator", f"{hosts[0].address}:8476")
    return ("--on", ",".join(hosts.names), "--set", f"ssh=-F {hosts.config}", *place, *more)


@contextlib.contextmanager
def events_of(
    folder: Path, *words: str, **options: Any
) -> Iterator[tuple[subprocess.Popen[str], Iterator[dict[str, Any]]]]:
    """Start a run over ssh, and yield its process and the events that it prints."""
    command, env = start_command(folder, "ssh", *words, output="--ndjson", **options)
    with subprocess.Popen(
        command, env=env, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        yield process, map(json.loads, process.stdout)


def test_host_with_slow_link_is_named(hosts: Hosts, tmp_path: Path) -> None:
    """The host with a slow link is named, whichever neighbour measures it."""
    hosts[1].slow_down()

    done = run_started(tmp_path, "ssh", *words(hosts, "--level", "full", "jax.slice_rate"))

    report: dict[str, Any] = json.loads(done.stdout)
    (rate,) = [one for one in report["results"] if one["id"] == "jax.slice_rate"]
    entities = {one["code"]: one["entity"] for one in rate["findings"]}
    slowest = [one for one in rate["findings"] if one["code"] == "SLICE-LINK-SLOWEST"]
    assert "host:1" == entities["SLICE-LINK-HOST"]
    assert "host:1" in f"{slowest[0]['entity']} {slowest[0]['found']}"
    assert "pass" == rate["status"]


def test_host_behind_a_filter_says_why_it_waits(hosts: Hosts, tmp_path: Path) -> None:
    """The others would wait for it for an hour, and it for host 0."""
    for number in (0, 1):
        hosts[number].filter()
    with events_of(tmp_path, *words(hosts, "jax.all_reduce")) as (process, events):
        waits = (one for one in events if (one["event"], one.get("host")) == ("host", 1))
        detail = next(one["detail"] for one in waits if "detail" in one)
        process.send_signal(signal.SIGINT)
        process.wait()

    assert f"{hosts[0].address}:8476" in detail
    assert ExitCode.INTERRUPTED == process.returncode
    hosts.wait_until_clean()


def test_host_lost_behind_a_filter_is_named(hosts: Hosts, tmp_path: Path) -> None:
    """A host is named as lost if a firewall drops its messages in the middle of a check."""
    checks = write_checks(tmp_path / "checks", HANG.format(host=1))
    with events_of(tmp_path, *words(hosts, "jax.probed"), checks=checks) as (process, events):
        next(one for one in events if (one["event"], one.get("id")) == ("started", "jax.probed"))
        for number in (0, 1):
            hosts[number].filter()
        ended = next(
            one for one in events if (one["event"], one.get("id")) == ("ended", "jax.probed")
        )
        process.terminate()  # host 1 cannot hear of it, so the run would wait for its end

    assert ("error", "lost") == (ended["status"], ended["reason"])
    assert "host 1" in ended["detail"]
    hosts.wait_until_clean()
