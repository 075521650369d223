"""Runs started over the real ssh, on hosts with a network and an sshd of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.slices.engines.network import NETWORK, Hosts, network, run
from tests.slices.engines.seen import Seen, ending
from tests.slices.fake_slice_probe import events, write_probe
from tests.support.processes import HANG_S, until
from tpustarter.slices.starting import host_shell_command, launch_request, ssh_launcher
from tpustarter.slices.starting.launch_request import EndReason, HostStage, LaunchRequest
from tpustarter.slices.starting.running_commands import RunningCommands

pytestmark = NETWORK


@pytest.fixture(scope="module")
def three_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Return three hosts."""
    with network(tmp_path_factory.mktemp("net"), 3) as made:
        yield made


@pytest.fixture
def hosts(three_hosts: Hosts) -> Iterator[Hosts]:
    """Return three hosts that tests must leave clean; what a failed test leaves is removed."""
    yield three_hosts
    for host in three_hosts:
        host.clear()


def begin(hosts: Hosts, folder: Path, *more: str, python: str = sys.executable, **does: Any):
    """Return a run on all hosts that was not started yet."""
    request = LaunchRequest(
        archive=write_probe(folder / "probe.pyz", **does),
        python=python,
        hosts=hosts.names,
        options={"ssh": " ".join(("-F", str(hosts.config), *more))},
    )
    return RunningCommands(ssh_launcher.build_commands(request), folder)


SLEEPING: dict[str, Any] = {f"h{i}": {"sleep": 600} for i in range(3)}
WELL = (HostStage.RUNNING, EndReason.EXITED, 0)


def test_each_host_sends_its_output(hosts: Hosts, tmp_path: Path) -> None:
    """Lines come under the number of their host, and exit codes; nothing stays there."""
    seen = Seen(begin(hosts, tmp_path, h0={"lines": 500}, h1={"code": 7})).all()

    assert {0: WELL, 1: (HostStage.RUNNING, EndReason.EXITED, 7), 2: WELL} == {
        host: ending(one) for host, one in seen.ended.items()
    }
    for number in range(3):
        sent = events(seen.lines[number])
        assert {number} == {event["host"] for event in sent}
        assert f"log of {number}" in seen.lines[number]
        assert ["--coordinator", "h0:8476", "--hosts", "3", "--host", str(number)] == sent[0][
            "words"
        ][3:]
    assert 502 == len(events(seen.lines[0]))
    assert all(host.is_clean() for host in hosts)


def test_stop_ends_every_host(hosts: Hosts, tmp_path: Path) -> None:
    """A stop ends every host with its own event, before ssh is ended here."""
    going = begin(hosts, tmp_path, **SLEEPING)
    seen = Seen(going)
    seen.running(0, 1, 2)
    assert all(len(host.processes()) >= 3 for host in hosts)
    going.stop()

    seen.all()

    assert {(HostStage.RUNNING, EndReason.STOPPED, 4)} == {
        ending(one) for one in seen.ended.values()
    }
    assert dict.fromkeys(range(3), "lifeline ended") == seen.whys()
    assert all(host.is_clean() for host in hosts)


def test_second_stop_does_not_wait(hosts: Hosts, tmp_path: Path) -> None:
    """The hosts end all the same, because their lifeline does."""
    going = begin(hosts, tmp_path, **SLEEPING)
    seen = Seen(going)
    seen.running(0, 1, 2)
    going.stop()
    going.stop()

    seen.all()

    assert {EndReason.STOPPED} == {one.ending for one in seen.ended.values()}
    hosts.wait_until_clean()


def test_closing_the_events_ends_every_host(hosts: Hosts, tmp_path: Path) -> None:
    """An error in whoever reads them leaves nothing."""
    seen = Seen(begin(hosts, tmp_path, **SLEEPING))
    seen.running(0, 1, 2)

    seen.close()

    hosts.wait_until_clean()


PROGRAM = """
    import sys
    from pathlib import Path
    from tpustarter.slices.starting import ssh_launcher
    from tpustarter.slices.starting.launch_request import LaunchRequest
    from tpustarter.slices.starting.running_commands import RunningCommands
    folder, names, options, python = sys.argv[1:]
    request = LaunchRequest(archive=Path(folder, "probe.pyz"), python=python,
                           hosts=tuple(names.split()), options={"ssh": options})
    for event in RunningCommands(ssh_launcher.build_commands(request), Path(folder)).events():
        print(event, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_death_of_this_program_ends_hosts(
    hosts: Hosts, tmp_path: Path, number: signal.Signals
) -> None:
    """However it dies: nothing runs and nothing lies on any host, nor here."""
    write_probe(tmp_path / "probe.pyz", **SLEEPING)
    words = (str(tmp_path), " ".join(hosts.names), f"-F {hosts.config}", sys.executable)
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        until(lambda: all(len(host.processes()) >= 3 for host in hosts), "hosts that run")
        process.send_signal(number)
        process.wait()

    hosts.wait_until_clean()
    until(lambda: str(hosts.config) not in run("ps", "-ww", "-eo", "args"), "an end of every ssh")


def test_killed_in_the_transfer_leaves_nothing(hosts: Hosts, tmp_path: Path) -> None:
    """A host with half a probe removes it."""
    write_probe(tmp_path / "probe.pyz", size=200_000_000)
    words = (str(tmp_path), " ".join(hosts.names), f"-F {hosts.config}", sys.executable)
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        until(lambda: any(host.files() for host in hosts), "a host that receives it")
        process.kill()
        process.wait()

    hosts.wait_until_clean()


UNREACHED = (HostStage.STARTED, EndReason.EXITED, 255)


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Hosts]:
    """Return three hosts that a test may break."""
    (tmp_path / "net").mkdir()
    with network(tmp_path / "net", 3) as made:
        yield made


def go_down(hosts: Hosts) -> None:
    """Cut the host's link before anything begins."""
    hosts[1].cut()


def refuse(hosts: Hosts) -> None:
    """Stop its sshd."""
    hosts[1].stop_server()


def change_key(hosts: Hosts) -> None:
    """Give it another host key, as a machine has that was made anew."""
    hosts[1].stop_server()
    for name in ("host_key", "host_key.pub"):
        (hosts[1].folder / name).unlink()
    hosts[1].start()


def deny(hosts: Hosts) -> None:
    """Take the user's key out."""
    (hosts[1].folder / "authorized_keys").write_text("")


def forget_name(hosts: Hosts) -> None:
    """Leave its name out of the configuration."""
    hosts.config.write_text(hosts.config.read_text().replace("Host h1\n", "Host other\n"))


def fill_disk(hosts: Hosts) -> None:
    """Leave less room for temporary files than the probe needs."""
    run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(hosts[1].temporary))
    hosts[1].stop_server()  # it has mounts of its own, from when it began
    hosts[1].start()


def forbid_temporary(hosts: Hosts) -> None:
    """Name a folder for temporary files that is not there."""
    hosts[1].stop_server()
    hosts[1].environment["TMPDIR"] = str(hosts[1].folder / "none")
    hosts[1].start()


def greet(hosts: Hosts) -> None:
    """Have its shell write something before anything runs, as many a `.bashrc` does."""
    hosts[1].stop_server()
    start = hosts[1].folder / "bashrc"
    start.write_text("echo Welcome\necho -n no line end\n")
    hosts[1].environment["BASH_ENV"] = str(start)
    hosts[1].start()


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (go_down, UNREACHED),
        (refuse, UNREACHED),
        (change_key, UNREACHED),
        (deny, UNREACHED),
        (forget_name, UNREACHED),
        (fill_disk, (HostStage.REACHED, EndReason.EXITED, 1)),
        (forbid_temporary, (HostStage.REACHED, EndReason.EXITED, 1)),
        (greet, WELL),
    ],
)
def test_broken_host_is_named_and_others_kept(
    broken: Hosts, tmp_path: Path, fault: Any, expected: tuple[HostStage, EndReason, int]
) -> None:
    """A broken host is named with its stage, code and ssh's last lines; the others are kept."""
    fault(broken)
    seen = Seen(begin(broken, tmp_path, "-oConnectTimeout=3")).all()

    assert {0: WELL, 1: expected, 2: WELL} == {
        host: ending(one) for host, one in seen.ended.items()
    }
    if expected != WELL:
        print(f"\n{fault.__name__}: {' | '.join(seen.ended[1].tail)}")
        assert any(seen.ended[1].tail)
    assert all(host.is_clean() for host in broken)


@pytest.mark.parametrize(
    ("python", "code"), [("/missing/python3", 127), ("/etc/passwd", 126), ("false", 1)]
)
def test_host_without_python_is_at_its_start(
    hosts: Hosts, tmp_path: Path, python: str, code: int
) -> None:
    """A host without Python ends after it has the probe, with the shell's exit code."""
    seen = Seen(begin(hosts, tmp_path, python=python)).all()

    assert {(HostStage.PLACED, EndReason.EXITED, code)} == {
        ending(one) for one in seen.ended.values()
    }
    assert all(host.is_clean() for host in hosts)


def test_cut_link_ends_both_sides(
    broken: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ssh notices here, and the silent lifeline there, which no end of file reaches."""
    monkeypatch.setattr(host_shell_command, "LIFELINE_S", 6)
    monkeypatch.setattr(launch_request, "HEARTBEAT_S", 1)
    quick = ("-oServerAliveInterval=1", "-oServerAliveCountMax=3")
    going = begin(broken, tmp_path, *quick, **SLEEPING)
    seen = Seen(going)
    seen.running(0, 1, 2)
    broken[1].cut()

    seen.until(lambda: seen.ended)
    assert (HostStage.RUNNING, EndReason.EXITED, 255) == ending(seen.ended[1])
    seen.until(broken[1].is_clean)
    assert all(len(broken[number].processes()) >= 3 for number in (0, 2))
    going.stop()
    seen.all()

    assert {(HostStage.RUNNING, EndReason.STOPPED, 4)} == {ending(seen.ended[i]) for i in (0, 2)}
    assert all(host.is_clean() for host in broken)


def test_cut_link_and_killed_program_leave_nothing(
    broken: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a cut link and a killed program, the unreachable host ends by itself."""
    monkeypatch.setattr(host_shell_command, "LIFELINE_S", 6)
    seen = Seen(begin(broken, tmp_path, **SLEEPING))
    seen.running(0, 1, 2)
    broken[1].cut()
    seen.close()

    broken.wait_until_clean()


def test_heartbeats_keep_a_quiet_host(
    hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Heartbeats keep a host running that is silent for longer than its lifeline allows."""
    monkeypatch.setattr(host_shell_command, "LIFELINE_S", 4)
    monkeypatch.setattr(launch_request, "HEARTBEAT_S", 0.5)
    seen = Seen(begin(hosts, tmp_path, h0={"sleep": 9})).all()

    assert "done" == seen.whys()[0]


@pytest.mark.parametrize("victim", ["ssh", "server", "probe", "shell"])
def test_killed_process_ends_its_host_alone(hosts: Hosts, tmp_path: Path, victim: str) -> None:
    """Whichever process of a host is killed, the others of it end, and the other hosts stay."""
    going = begin(hosts, tmp_path, **SLEEPING)
    seen = Seen(going)
    seen.running(0, 1, 2)
    (hello,) = events(seen.lines[1])
    pid = {
        "probe": lambda: hello["pid"],
        "shell": lambda: parent(hello["pid"]),
        "server": lambda: parent(parent(hello["pid"])),
        "ssh": lambda: find(f"{hosts.config}", " h1 -- "),
    }[victim]()
    os.kill(pid, signal.SIGKILL)

    seen.until(lambda: seen.ended)
    assert [1] == [*seen.ended]
    until(lambda: not hosts[1].processes(), hosts[1].processes)
    expected = {"ssh": (EndReason.SIGNALLED, None), "probe": (EndReason.EXITED, 137)}
    assert expected.get(victim, (EndReason.EXITED, 255)) == ending(seen.ended[1])[1:]
    if victim == "shell":  # nobody is left who could remove it
        shutil.rmtree(hello["folder"])
    assert not hosts[1].files()
    going.stop()
    seen.all()
    assert all(host.is_clean() for host in hosts)


def parent(pid: int) -> int:
    """Return a process's parent."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def find(*texts: str) -> int:
    """Return the one process of this machine that is an ssh with some texts in its command."""
    (line,) = [
        line
        for line in run("ps", "-ww", "-eo", "pid,comm,args").splitlines()
        if line.split()[1] == "ssh" and all(text in line for text in texts)
    ]
    return int(line.split()[0])


def test_shown_commands_do_the_same(hosts: Hosts, tmp_path: Path) -> None:
    """Pasted into a shell they run on every host, and a slow host outlives the lifeline's data."""
    request = LaunchRequest(
        archive=write_probe(tmp_path / "probe.pyz", h1={"code": 7}),
        python=sys.executable,
        hosts=hosts.names,
        options={"ssh": f"-F {hosts.config}"},
    )
    text = launch_request.format_script(ssh_launcher.build_commands(request))

    done = subprocess.run(
        ["bash", "-c", text], capture_output=True, text=True, timeout=HANG_S, check=False
    )

    sent = events(done.stdout.splitlines())
    assert [0, 1, 2] == sorted(event["host"] for event in sent if event["event"] == "end")
    assert {"done"} == {event["why"] for event in sent if event["event"] == "end"}
    assert all(host.is_clean() for host in hosts)


def test_coordinator_is_named_as_ssh_configures_it(hosts: Hosts) -> None:
    """The other hosts do not have this machine's configuration."""
    options = f"-F {hosts.config}"

    assert hosts[0].address == ssh_launcher.find_coordinator("root@h0", options)
    assert "elsewhere" == ssh_launcher.find_coordinator("elsewhere", options)
