"""`tpustarter tpu run` as a process: workers that hang, flood, crash, or are not there."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import copies
from tests.support.fake_cloud import NEVER, FakeCloud, Made, serving
from tests.support.fake_remote import behave, calls, lay_remote, node
from tests.support.places import SUPPORT
from tests.support.processes import HANG_S, until

Tpu = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def cloud() -> Iterator[FakeCloud]:
    """Serve an empty project."""
    with serving() as cloud:
        yield cloud


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """Return a folder with a fake gcloud and a fake ssh."""
    return lay_remote(tmp_path / "tools")


def environment(cloud: FakeCloud, tools: Path, home: Path) -> dict[str, str]:
    """Return the environment of a command: it has an SSH key, and nothing else of Google's."""
    (home / ".ssh").mkdir(exist_ok=True)
    (home / ".ssh/google_compute_engine").write_text("")
    return {
        **os.environ,
        "HOME": str(home),
        "PATH": str(tools),
        "TPUSTARTER_TPU_ENDPOINT": f"127.0.0.1:{cloud.port}",
        "CLOUDSDK_CORE_PROJECT": "my-project",
        "CLOUDSDK_COMPUTE_ZONE": "us-central1-b",
        "CLOUDSDK_CONFIG": str(home / "gcloud"),
        "COLUMNS": "80",
    }


def words(*arguments: str) -> list[str]:
    """Return the command line."""
    return [sys.executable, str(SUPPORT / "drive_tpu.py"), "tpu", "run", *arguments]


@pytest.fixture
def run(cloud: FakeCloud, tools: Path, home: Path) -> Tpu:
    """Return a function that runs the command to its end."""

    def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        env = {**environment(cloud, tools, home), **changes}
        return copies.run(words(*arguments), env=env, libraries=copies.CLOUD)

    return run


def add(cloud: FakeCloud, **fields: Any) -> None:
    """Add a node."""
    one = node(**fields)
    cloud.nodes[one.name] = one


def folder_of(done: subprocess.CompletedProcess[str]) -> Path:
    """Return the folder that the last line names."""
    return Path(done.stderr.strip().splitlines()[-1].removeprefix("output of each worker: "))


def is_alive(pid: int) -> bool:
    """Return whether a process runs; zombies don't count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def group_of(pid: int) -> int:
    """Return the group of a process; 0 for one that has ended."""
    with contextlib.suppress(ProcessLookupError):
        return os.getpgid(pid)
    return 0


def until_nothing_is_left(tools: Path) -> None:
    """Wait until no process of any worker runs."""
    groups = {call["group"] for call in calls(tools)}

    def are_gone() -> bool:
        pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
        return not groups & {group_of(pid) for pid in pids if is_alive(pid)}

    until(are_gone, "the end of the processes of the workers")


def test_every_worker_has_label_and_output_file(cloud: FakeCloud, tools: Path, run: Tpu) -> None:
    """Every worker has a label and an output file, and the gcloud command is shown first."""
    add(cloud, workers=4)
    behave(tools, w2={"say": "one\n\ntwo, without an end", "error": "a warning\n"})

    done = run("bert", "--worker", "all", "--", "python3", "-c", "print(1, 'a')")

    assert 0 == done.returncode, done.stderr
    expected = [*(f"w{i} | hello from {i}" for i in (0, 1, 3)), "w2 | one", "w2 | "]
    assert sorted([*expected, "w2 | two, without an end"]) == sorted(done.stdout.splitlines())
    assert "w2 | a warning\n" in done.stderr
    assert "4 of 4 workers ended with 0 in " in done.stderr
    assert "and the same for w1 to w3\n" in done.stderr
    shown = done.stderr.partition("$ ")[2].partition("\nand the same")[0]
    text = "python3 -c 'print(1, '\"'\"'a'\"'\"')'"
    (call, *_, last) = calls(tools)
    flags = "--ssh-flag=-oBatchMode=yes -oConnectTimeout=20 -oServerAliveInterval=30"
    verb = ["compute", "tpus", "tpu-vm", "ssh", "bert", "--zone=us-central1-b", "--worker=0"]
    assert [*verb, flags, f"--command={text}"] == call["words"][1:]
    assert ["gcloud", *call["words"][1:]] == shlex.split(shown.replace("\\\n", ""))
    assert "/dev/null" == call["stdin"] == last["stdin"]
    assert call["pid"] == call["group"] != last["group"]
    assert "never" == call["env"]["SSH_ASKPASS_REQUIRE"]
    names = sorted(path.name for path in folder_of(done).iterdir())
    assert [f"w{i}.log" for i in range(4)] == names
    assert 0o700 == folder_of(done).stat().st_mode & 0o777
    kept = folder_of(done).joinpath("w2.log").read_bytes()
    assert {b"one", b"two, without an end", b"a warning\n"} == {
        part for part in (b"one", b"two, without an end", b"a warning\n") if part in kept
    }


def test_64_workers_run_side_by_side(cloud: FakeCloud, tools: Path, home: Path) -> None:
    """64 workers run side by side, because a JAX program needs all its hosts.

    They need more open files than a shell usually allows.
    """
    add(cloud, workers=64)
    behave(tools, all={"until": 64})
    few = ["/bin/sh", "-c", 'ulimit -S -n 256; exec "$@"', "-"]

    done = subprocess.run(
        [*few, *words("bert", "--worker", "all", "--timeout", "300", "--", "train")],
        env=environment(cloud, tools, home),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert 0 == done.returncode, done.stderr
    assert "64 of 64 workers ended with 0" in done.stderr
    assert 64 == len(calls(tools)) == len(done.stdout.splitlines())


def test_exit_code_is_worst_and_failures_are_named(cloud: FakeCloud, tools: Path, run: Tpu) -> None:
    """The exit code is the worst one, and failed workers are named."""
    add(cloud, workers=6)
    missing = (
        "ERROR: (gcloud.compute.tpus.tpu-vm.ssh) SSH Key is not present in the SSH agent. Please "
        'run "ssh-add ~/.ssh/google_compute_engine" to add it, and try again.\n'
    )
    behave(
        tools, w1={"code": 3}, w4={"code": 1, "error": missing}, w5={"signal": 9}, w3={"code": 3}
    )

    done = run("bert", "--worker", "all", "--", "train")

    assert 137 == done.returncode
    assert "2 of 6 workers ended with 0" in done.stderr
    for line in (
        "w1, w3 ended with 3",
        "w5 was ended by SIGKILL",
        "w4 was not reached: the SSH agent does not hold gcloud's key",
        "  $ ssh-add ~/.ssh/google_compute_engine",
    ):
        assert f"{line}\n" in done.stderr, done.stderr


def test_exit_255_is_explained_by_tpu_state(cloud: FakeCloud, tools: Path, run: Tpu) -> None:
    """Exit code 255 is explained by the TPU's state, such as a pre-emption."""
    add(cloud, workers=2)
    behave(tools, all={"code": 255, "error": "ssh: connection lost in some way\n"})
    looked: list[str] = []

    def preempt(method: str) -> None:
        looked.append(method)
        if method == "GetNode":
            add(cloud, workers=2, state="PREEMPTED")

    cloud.before_call = preempt
    done = run("bert", "--worker", "all", "--", "train")

    assert 255 == done.returncode
    assert "w0, w1 ended with 255, which is what ssh ends with" in done.stderr
    assert "`bert` is PREEMPTED, expected READY" in done.stderr
    assert ["ListNodes", "GetNode"] == looked


def test_time_limit_kills_command_ignoring_sigterm(cloud: FakeCloud, tools: Path, run: Tpu) -> None:
    """A time limit kills a command that ignores SIGTERM, and keeps the others' output.

    The limit is reached once those have ended.
    """
    add(cloud, workers=3)
    behave(tools, w1={"sleep": 3600, "ignore_term": True, "child": True})

    late = {"TPUSTARTER_TEST_LATE": "1"}
    done = run("bert", "--worker", "all", "--timeout", "600", "--", "train", **late)

    assert 124 == done.returncode
    assert "2 of 3 workers ended with 0" in done.stderr
    assert "w1 was ended at the time limit" in done.stderr
    assert "may still run there" in done.stderr
    until_nothing_is_left(tools)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_no_process_survives_any_end_of_program(
    cloud: FakeCloud, tools: Path, home: Path, number: int, code: int
) -> None:
    """No process survives Ctrl-C or SIGKILL of the program."""
    add(cloud, workers=3)
    behave(tools, all={"sleep": 3600, "child": True})
    env = environment(cloud, tools, home)
    with subprocess.Popen(
        words("bert", "--worker", "all", "--", "train"),
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert 3 == len([process.stdout.readline() for _ in range(3)])
        process.send_signal(number)
        _, error = process.communicate(timeout=HANG_S)

    assert code == process.returncode
    assert ("0 of 3 workers ended with 0" in error) == (number == signal.SIGINT)
    until_nothing_is_left(tools)


def test_closed_reader_ends_run_cleanly(cloud: FakeCloud, tools: Path, home: Path) -> None:
    """If the reader closes, as `head` does, the workers are ended and the exit code says why."""
    add(cloud, workers=2)
    behave(tools, all={"bytes": 10**9})
    with subprocess.Popen(
        words("bert", "--worker", "all", "--", "cat", "log"),
        env=environment(cloud, tools, home),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout
        process.stdout.readline()
        process.stdout.close()

        assert 141 == process.wait(HANG_S)
    until_nothing_is_left(tools)


def test_200_mb_of_output_need_little_memory(cloud: FakeCloud, tools: Path, home: Path) -> None:
    """200 MB of output need little memory; the file keeps its first and last parts."""
    add(cloud, workers=2)
    behave(tools, w1={"bytes": 200_000_000, "sleep": 0, "say": "begins\n", "error": "ends\n"})
    env = environment(cloud, tools, home)
    with subprocess.Popen(
        words("bert", "--worker", "1", "--", "cat", "log"),
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        count, peak = 0, 0
        while data := process.stdout.read(1 << 20):
            count += data.count(b"\n")
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = max(peak, *map(int, re.findall(r"VmRSS:\s+(\d+)", status)), 0)
        error = process.stderr.read().decode()

    assert 0 == process.returncode, error
    assert 200_000_000 // 64_000 * 640 + 1 == count
    assert peak < 250_000, f"{peak} kB"
    assert "bytes are not in its file" in error
    file = Path(error.strip().splitlines()[-1].removeprefix("output of each worker: "), "w1.log")
    assert 64 * 2**20 < file.stat().st_size < 66 * 2**20
    assert b"bytes left out]" in file.read_bytes()[-66 * 1024 :]


@pytest.mark.parametrize(("state", "code"), [("CREATING", 75), ("STOPPED", 2), ("PREEMPTED", 2)])
def test_unready_tpu_is_one_error(
    cloud: FakeCloud, tools: Path, run: Tpu, state: str, code: int
) -> None:
    """A TPU that isn't ready is one error, and nothing is started."""
    add(cloud, state=state)
    expected = f"`bert` is {state}, expected READY"

    done = run("bert", "--", "ls")

    assert (code, "") == (done.returncode, done.stdout)
    assert f"error: {expected}: " in done.stderr
    assert "\nhint: " in done.stderr
    assert [] == calls(tools)


def test_absent_tpu_is_one_error(cloud: FakeCloud, tools: Path, run: Tpu) -> None:
    """An absent TPU is one error, and one that is still queued is reported as such."""
    path = "projects/my-project/locations/us-central1-b/queuedResources/waits"
    from google.cloud import tpu_v2

    cloud.made[path] = Made(tpu_v2.QueuedResource(name=path), cloud.clock.now(), NEVER)

    missing, waits = run("nope", "--", "ls"), run("waits", "--", "ls")

    assert 2 == missing.returncode
    assert "there is no TPU and no request called `nope`" in missing.stderr
    assert 75 == waits.returncode
    assert "`waits` has no TPU VM, because it is ACCEPTED" in waits.stderr
    assert [] == calls(tools)


def test_missing_gcloud_is_one_error_and_ssh_works(
    cloud: FakeCloud, tmp_path: Path, run: Tpu
) -> None:
    """A missing gcloud is one error that says how to install it; ssh works without it."""
    add(cloud, workers=2)
    only_ssh = lay_remote(tmp_path / "ssh", "ssh")

    refused = run("bert", "--", "ls", PATH=str(only_ssh))
    done = run("bert", "--via", "ssh", "--worker", "1", "--", "ls ~", PATH=str(only_ssh))

    assert 2 == refused.returncode
    assert "error: `gcloud` is not installed" in refused.stderr
    assert "cloud.google.com/sdk/docs/install" in refused.stderr
    assert 0 == done.returncode, done.stderr
    assert "w1 | hello from 1\n" == done.stdout
    (call,) = calls(only_ssh)
    assert ["192.0.2.2", "--", "ls ~"] == call["words"][-3:]
    alias = "-oHostKeyAlias=tpu.my-project.us-central1-b.bert-w1.20261122080000"
    assert {alias, "-oBatchMode=yes", "-oStrictHostKeyChecking=accept-new"} < {*call["words"]}


def test_node_without_external_address_uses_iap(cloud: FakeCloud, tools: Path, run: Tpu) -> None:
    """A node without an external address uses IAP, whose flag is in gcloud's alpha track."""
    add(cloud, external=False)

    done = run("bert", "--", "ls")

    assert 0 == done.returncode, done.stderr
    (call,) = calls(tools)
    assert ["alpha", "compute"] == call["words"][1:3]
    assert "--tunnel-through-iap" in call["words"]


def test_slices_of_multislice_are_distinguished(cloud: FakeCloud, tools: Path, run: Tpu) -> None:
    """The slices of a multislice are distinguished; the request's name means all of them."""
    for name in ("bert-0", "bert-1", "bert-10"):
        add(cloud, name=name, workers=2, queued_resource="bert")

    done = run("bert", "--worker", "all", "--", "ls")

    assert 0 == done.returncode, done.stderr
    assert "bert-10/w1 | hello from 1" in done.stdout
    assert "and the same for bert-0/w1 to bert-10/w1" in done.stderr
    assert "6 of 6 workers" in done.stderr


def test_several_workers_need_the_key_that_gcloud_makes(
    cloud: FakeCloud, tools: Path, run: Tpu, home: Path
) -> None:
    """Several workers need gcloud's SSH key first, or each connection would create one."""
    add(cloud, workers=2)
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()

    done = run("bert", "--worker", "all", "--", "ls", HOME=str(elsewhere))

    assert 2 == done.returncode
    assert "gcloud compute tpus tpu-vm ssh bert --zone=us-central1-b --command=true" in done.stderr
    assert [] == calls(tools)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["bert", "--worker", "2", "--", "ls"], "`bert` has no worker 2, expected 0 to 1"),
        (["bert", "--worker", "0-2", "--", "ls"], "`bert` has no worker 2, expected 0 to 1"),
        *(
            (
                ["bert", "--worker", text, "--", "ls"],
                f"`{text}` doesn't name a worker, expected a number",
            )
            for text in ("first", ",", "-1", "3-1", "1-", "1-2-3", "0x1", "999999", "all,0")
        ),
        (["bert", "--user", "-oX", "--", "ls"], "`-oX` cannot be the name of a user"),
        (["bert", "--zone", "europe", "--", "ls"], "`europe` is not the name of a zone"),
    ],
)
def test_invalid_options_are_one_error(
    cloud: FakeCloud, tools: Path, run: Tpu, arguments: list[str], expected: str
) -> None:
    """Invalid options are one error, and nothing is started."""
    add(cloud, workers=2)

    done = run(*arguments)

    assert 2 == done.returncode
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert [] == calls(tools)


@pytest.mark.parametrize(
    ("typed", "numbers"),
    [("0,2", [0, 2]), ("1-3", [1, 2, 3]), ("3,, 0-1,1", [0, 1, 3]), ("ALL", [0, 1, 2, 3])],
)
def test_workers_are_chosen_as_with_gcloud(
    cloud: FakeCloud, tools: Path, run: Tpu, typed: str, numbers: list[int]
) -> None:
    """Workers are chosen as with gcloud: a list, a range, both or all, each once."""
    add(cloud, workers=4)
    done = run("bert", "--worker", typed, "--", "ls")

    assert 0 == done.returncode, done.stderr
    assert f"{len(numbers)} of {len(numbers)} workers ended with 0" in done.stderr
    assert numbers == sorted(int(call["worker"]) for call in calls(tools))


def test_a_dry_run_names_the_workers(run: Tpu) -> None:
    """A dry run names the workers, with the command of the first."""
    done = run("bert", "--worker", "1-3,7", "--dry-run", "--", "ls")

    assert "--worker=1" in done.stdout
    assert "The same is run for w2, w3, w7." in done.stdout


def test_dry_run_sends_no_request(cloud: FakeCloud, tools: Path, run: Tpu) -> None:
    """A dry run needs no credentials, gcloud or TPU, and sends no request."""
    done = run("bert", "--worker", "all", "--dry-run", "--", "ls", PATH="/nowhere")

    assert 0 == done.returncode, done.stderr
    assert done.stdout.startswith("$ gcloud compute tpus tpu-vm ssh bert --zone=us-central1-b")
    assert "Nothing was run.\n" in done.stdout
    assert [] == cloud.calls
    assert [] == calls(tools)


def test_worker_output_cannot_control_terminal(cloud: FakeCloud, tools: Path, home: Path) -> None:
    """Worker output can't control the terminal; in a pipe it is unchanged."""
    add(cloud)
    behave(tools, w0={"say": "\x1b[2J\tred\r50 %\r100 %\n"})
    env = environment(cloud, tools, home)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        words("bert", "--", "ls"), env=env, stdout=theirs, stderr=subprocess.DEVNULL
    ) as process:
        os.close(theirs)
        shown = b""
        while select.select([ours], [], [], HANG_S)[0]:
            with contextlib.suppress(OSError):
                shown += os.read(ours, 4096)
                continue
            break
    os.close(ours)
    piped = copies.run(words("bert", "--", "ls"), env=env, text=False, libraries=copies.CLOUD)

    assert 0 == process.returncode == piped.returncode
    assert b"w0 | \\x1b[2J        red\r\nw0 | 50 %\r\nw0 | 100 %\r\n" == shown.replace(
        b"\\x1b[2J    red", b"\\x1b[2J        red"
    )
    assert b"w0 | \x1b[2J\tred\nw0 | 50 %\nw0 | 100 %\n" == piped.stdout


def test_hostile_names_from_service_are_refused(cloud: FakeCloud, tools: Path, run: Tpu) -> None:
    """Hostile names from the service are refused before they are part of a command."""
    one = node()
    one.network_endpoints[0].access_config.external_ip = "-oProxyCommand=x"
    cloud.nodes[one.name] = one

    done = run("bert", "--via", "ssh", "--", "ls")

    assert 78 == done.returncode
    assert "is not the address of a worker" in done.stderr
    assert [] == calls(tools)
