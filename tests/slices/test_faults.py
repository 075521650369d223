"""A slice on which something is wrong: the host and the reason are named, and nothing hangs."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.support import loopback
from tests.support.processes import until
from tests.support.slice_hosts import HANG, Slice, free_port, started, write_checks
from tpustarter.core.problem import ExitCode

Fields = dict[str, Any]


def result(report: Fields, check_id: str) -> Fields:
    """Return the result of a check."""
    return next(one for one in report["results"] if one["id"] == check_id)


def wrong(report: Fields, check_id: str) -> dict[str, list[tuple[str | None, Any]]]:
    """Return the warnings and failures of a check by code: the host and what was found."""
    found: dict[str, list[tuple[str | None, Any]]] = {}
    for one in result(report, check_id)["findings"]:
        if one["verdict"] in ("warn", "fail"):
            found.setdefault(one["code"], []).append((one["entity"], one["found"]))
    return found


def versions(folder: Path, **names: str) -> Path:
    """Lay out distributions that hide those of the Python under test; returns their folder."""
    for name, version in names.items():
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return folder


def test_hosts_that_are_alike_pass(tmp_path: Path) -> None:
    """Every host ends with the code of the run, and the others print one line."""
    with started(tmp_path, [{}, {}, {}], "jax.all_reduce") as hosts:
        report = hosts.report()

    assert report["verdict"] == "healthy"
    assert [host.process.returncode for host in hosts.hosts] == [0, 0, 0]
    assert [len(host.errors.splitlines()) for host in hosts.hosts[1:]] == [1, 1]
    assert [one["name"] for one in report["hosts"]] == [socket.gethostname()] * 3
    entities = {one["entity"] for one in result(report, "jax.all_reduce")["findings"]}
    assert {"host:0", "host:1", "host:2"} <= entities
    assert result(report, "jax.all_reduce")["ran_on"]["count"] == 6


def test_missing_host_is_named(tmp_path: Path) -> None:
    """A missing host is named, the others are described, and none waits past its limit."""
    with started(tmp_path, [{}, None, {}], "jax.all_reduce") as hosts:
        report = hosts.report()

    assert wrong(report, "host.slice_arrived")["SLICE-MISSING"] == [("host:1", "no answer")]
    assert [one["host"] for one in report["hosts"]] == [0, 2]
    assert result(report, "jax.all_reduce")["reason"] == "dependency"
    assert [host.process.returncode for host in hosts.hosts] == [1, 1]


VERSIONS = {"jax": "0.99.2", "jaxlib": "0.1.1", "libtpu": "0.0.7"}
SETTINGS = {
    "XLA_FLAGS": "--xla_cpu_enable_fast_math=true",
    "LIBTPU_INIT_ARGS": "--xla_tpu_spmd_rng_bit_generator_unsafe=true",
    "JAX_ENABLE_X64": "1",
}
DIFFERENCES = [
    *((f"SLICE-{name.upper()}", version) for name, version in VERSIONS.items()),
    *(("SLICE-SETTING", value) for value in SETTINGS.values()),
]
"""Code and value of what differs on the hosts from number 2."""


@pytest.fixture(scope="module")
def different(tmp_path_factory: pytest.TempPathFactory) -> Fields:
    """Return the report of hosts of which two are alike, and each other one differs in one way."""
    folder = tmp_path_factory.mktemp("different")
    changes: list[Fields] = [{}, {}]
    for name, version in VERSIONS.items():
        changes.append({"path": versions(folder / name, **{name: version})})
    for name, value in SETTINGS.items():
        changes.append({"env": {name: value}})
    with started(folder, changes, "jax.all_reduce") as hosts:
        report = hosts.report()
    assert [host.process.returncode for host in hosts.hosts] == [1] * len(changes)
    return report


@pytest.mark.parametrize("host", range(2, 2 + len(DIFFERENCES)))
def test_version_or_setting_that_differs_is_named(host: int, different: Fields) -> None:
    """A host with another version or another flag runs other programs than the others."""
    code, found = DIFFERENCES[host - 2]

    assert (f"host:{host}", found) in wrong(different, "host.slice_alike")[code]
    assert [one["code"] for one in different["hosts"][host]["differs"]] == [code]


def test_hosts_that_differ_start_no_device(different: Fields) -> None:
    """Hosts that differ start no device, because JAX would hang or give a misleading error."""
    assert result(different, "jax.all_reduce")["reason"] == "dependency"
    assert [[], []] == [one["differs"] for one in different["hosts"][:2]]


def test_wrong_order_is_named(tmp_path: Path) -> None:
    """A host whose number is not its worker's would hold other devices than JAX believes."""
    swapped = [{"env": {"TPU_WORKER_ID": "1"}}, {"env": {"TPU_WORKER_ID": "0"}}]

    with started(tmp_path, swapped, "jax.all_reduce") as hosts:
        report = hosts.report()

    assert wrong(report, "host.slice_alike")["SLICE-ORDER"] == [("host:0", 1), ("host:1", 0)]


def test_fewer_devices_are_named(tmp_path: Path) -> None:
    """A host that sees fewer devices than the others is found before anything waits."""
    with started(tmp_path, [{}, {"arguments": {"--devices": 1}}, {}], "jax.all_reduce") as hosts:
        report = hosts.report()

    assert wrong(report, "host.slice_alike")["SLICE-DEVICES"] == [("host:1", 1)]


def test_number_given_twice_is_named(tmp_path: Path) -> None:
    """Both are named, and the one that nobody has is missing."""
    twice = {"arguments": {"--host": 1}}

    with started(tmp_path, [{}, {}, twice], "jax.all_reduce") as hosts:
        report = hosts.report()

    found = wrong(report, "host.slice_arrived")
    assert [entity for entity, _ in found["SLICE-TWICE"]] == ["host:1"]
    assert found["SLICE-MISSING"] == [("host:2", "no answer")]


def test_other_number_of_hosts_is_named(tmp_path: Path) -> None:
    """A host with another number of hosts is named with that number."""
    with started(tmp_path, [{}, {"arguments": {"--hosts": 4}}], "jax.all_reduce") as hosts:
        report = hosts.report()

    assert wrong(report, "host.slice_arrived")["SLICE-COUNT"] == [("host:1", 4)]


def test_port_in_use_is_named(tmp_path: Path) -> None:
    """A port in use is named by host 0, with how to find its process."""
    with socket.socket(socket.AF_INET6) as taken:
        taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        taken.bind(("", 0))
        taken.listen()
        with started(tmp_path, [{}, None], "jax.all_reduce", port=taken.getsockname()[1]) as hosts:
            report = hosts.report()

    assert str(hosts.port) in report["error"]["what"]
    assert hosts.hosts[0].process.returncode == ExitCode.BUSY


class _Stranger(loopback.Handler):
    def do_POST(self) -> None:  # noqa: N802  the name of the library
        self.send_error(404)


def test_host_says_why_it_reached_nobody(tmp_path: Path) -> None:
    """An address of the last attempt, another program on the port, a name that nobody knows."""
    with loopback.serve(_Stranger) as stranger:
        reasons = {
            f"127.0.0.1:{free_port()}": "nothing listens",
            stranger: "something else",
            "no-such-host.invalid:8476": "is not known",
        }
        changes = [{"arguments": {"--coordinator": one, "--wait": 2}} for one in reasons]
        with started(tmp_path, [None, *changes], "jax.all_reduce", output="-v") as hosts:
            codes = {host.wait() for host in hosts.hosts}

    for host, (address, reason) in zip(hosts.hosts, reasons.items(), strict=True):
        assert reason in host.errors
        assert address.rpartition(":")[0] in host.errors
    assert codes == {ExitCode.INCONCLUSIVE}


def child_of(host: Any) -> int:
    """Return the process that runs the checks of a host."""
    supervisor = _children(host.process.pid)[0]
    return _children(supervisor)[0]


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def _wait_for_start(hosts: Slice) -> None:
    hosts.hosts[0].until("started", "jax.probed")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_host_lost_in_the_middle_is_named(number: signal.Signals, tmp_path: Path) -> None:
    """A host that is killed or stopped in the middle is named, and no process is left."""
    checks = write_checks(tmp_path / "checks", HANG.format(host=1))

    with started(tmp_path, [{}, {}, {}], "jax.probed", checks=checks, output="--ndjson") as hosts:
        _wait_for_start(hosts)
        children = [child_of(host) for host in hosts.hosts]
        os.kill(children[1], number)
        code = hosts.hosts[0].wait()
        if number == signal.SIGSTOP:
            hosts.hosts[1].process.terminate()
        for host in hosts.hosts:
            host.wait()

    [ended] = [
        one
        for one in hosts.hosts[0].events()
        if one.get("id") == "jax.probed" and one["event"] == "ended"
    ]
    assert ended["status"] == "error"
    assert "host 1" in ended["detail"]
    assert code == ExitCode.INCONCLUSIVE
    assert not [pid for pid in children if Path(f"/proc/{pid}").exists()]


def test_error_on_one_host_does_not_hang(tmp_path: Path) -> None:
    """The others wait inside a collective: the one that left it is named, with its error."""
    body = (
        "if host == 1: raise ValueError('no input left')\n"
        "    from jax.experimental import multihost_utils\n"
        "    multihost_utils.process_allgather(jax.numpy.ones(2))"
    )
    checks = write_checks(tmp_path / "checks", body)

    with started(tmp_path, [{}, {}], "jax.*", checks=checks) as hosts:
        report = hosts.report()

    ended = result(report, "jax.probed")
    assert (ended["status"], ended["reason"]) == ("error", "lost")  # and no time-out of JAX's own
    assert "host 1" in ended["detail"]
    assert "no input left" in ended["detail"]
    assert [host.process.returncode for host in hosts.hosts] == [3, 3]


def test_error_outside_a_collective_goes_on(tmp_path: Path) -> None:
    """An error on one host outside of a collective fails that check alone."""
    checks = write_checks(tmp_path / "checks", "if host == 1: raise ValueError('a bad disk')")

    with started(tmp_path, [{}, {}], "jax.*", checks=checks) as hosts:
        report = hosts.report()

    assert result(report, "jax.probed")["detail"] == "host 1: ValueError: a bad disk"
    assert result(report, "jax.after")["status"] == "pass"


@pytest.mark.parametrize("host", [0, 1])
def test_ctrl_c_ends_every_host(host: int, tmp_path: Path) -> None:
    """Ctrl-C on any host ends every host and leaves no process."""
    checks = write_checks(tmp_path / "checks", HANG.format(host=1))

    with started(tmp_path, [{}, {}], "jax.probed", checks=checks, output="--ndjson") as hosts:
        _wait_for_start(hosts)
        children = [child_of(one) for one in hosts.hosts]
        hosts.hosts[host].process.send_signal(signal.SIGINT)
        for one in hosts.hosts:
            one.wait()

    until(lambda: not [pid for pid in children if Path(f"/proc/{pid}").exists()], "an end of all")
    assert hosts.hosts[host].process.returncode == ExitCode.INTERRUPTED
