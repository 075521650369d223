"""Commands that start a run on hosts: their words, and their text for a shell."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slices.fake_slice_probe import write_probe
from tpustarter.core.problem import Problem
from tpustarter.slices.starting import (
    gcloud_launcher,
    launch_request,
    mpi_launcher,
    slurm_launcher,
    ssh_launcher,
)
from tpustarter.slices.starting.host_shell_command import make_ssh_probe_command
from tpustarter.slices.starting.launch_request import HostCommand, LaunchRequest


@pytest.fixture
def probe(tmp_path: Path) -> Path:
    """Return a probe of 2000 bytes."""
    path = tmp_path / "probe.pyz"
    path.write_bytes(b"x" * 2000)
    return path


def request(probe: Path, *hosts: str, count: int | None = None, **options: str) -> LaunchRequest:
    """Return a request with the options of an engine."""
    named = {key.replace("_", "-"): value for key, value in options.items()}
    return LaunchRequest(archive=probe, hosts=hosts, count=count, options=named)


LINE = (
    "exec sh -c 'umask 077; trap : HUP INT TERM PIPE; echo tpustarter-reached; "
    'd=$(mktemp -d) && head -c 2000 >"$d/probe.pyz" && echo tpustarter-placed && '
    'TMPDIR="$d" python3 "$d/probe.pyz" slice --lifeline-s 60{options}; '
    'c=$?; rm -rf "$d"; exit $c\''
)


def test_ssh_runs_the_line_on_each_host(probe: Path) -> None:
    """Hosts have their numbers in order, and the first is the coordinator."""
    commands = ssh_launcher.build_commands(request(probe, "me@tpu-0", "tpu-1"))

    assert ["me@tpu-0", "tpu-1"] == [one.words[-3] for one in commands]
    for number, one in enumerate(commands):
        place = f" --coordinator tpu-0:8476 --hosts 2 --host {number}"
        assert ("--", LINE.replace("{options}", place)) == one.words[-2:]
        assert (number, probe, True) == (one.host, one.archive, one.marks)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tpu-0", "tpu-0:1"),
        ("me@tpu-0", "tpu-0:1"),
        ("ssh://me@tpu-0:2222", "tpu-0:1"),
        ("me@fe80::1", "[fe80::1]:1"),
        ("10.0.0.2", "10.0.0.2:1"),
    ],
)
def test_coordinator_is_the_plain_name(probe: Path, name: str, expected: str) -> None:
    """The coordinator is the plain host name, without ssh's user and port."""
    one = LaunchRequest(archive=probe, hosts=(name, "b"), port=1)

    words = shlex.split(shlex.split(ssh_launcher.build_commands(one)[1].words[-1])[3])

    assert expected == words[words.index("--coordinator") + 1]


def test_own_options_of_ssh_come_first(probe: Path) -> None:
    """Ssh takes the first value of an option, so the user's hold."""
    (one,) = ssh_launcher.build_commands(
        request(probe, "a", ssh="-p 2222 -o 'ConnectTimeout 90'", coordinator="10.0.0.2")
    )

    assert (
        "ssh",
        "-p",
        "2222",
        "-o",
        "ConnectTimeout 90",
        *ssh_launcher.OPTIONS,
        "a",
    ) == one.words[:-2]
    assert "--coordinator 10.0.0.2:8476" in one.words[-1]


@pytest.mark.parametrize("name", ["-oProxyCommand=touch x", ""])
def test_option_is_no_host(probe: Path, name: str) -> None:
    """Ssh would read it as an option, and run a program."""
    with pytest.raises(Problem):
        ssh_launcher.build_commands(request(probe, "a", name))


def test_gcloud_connects_to_each_worker(probe: Path) -> None:
    """One gcloud process connects to each worker, and TPU metadata give the hosts' places."""
    commands = gcloud_launcher.build_commands(
        request(probe, count=2, tpu="bert", zone="us-central1-b")
    )

    line = LINE.replace("{options}", "")
    for number, one in enumerate(commands):
        assert one.words == (
            *("gcloud", "compute", "tpus", "tpu-vm", "ssh", "bert", "--zone=us-central1-b"),
            *(f"--worker={number}", "--quiet", f"--ssh-flag={' '.join(ssh_launcher.OPTIONS)}"),
            f"--command={line}",
        )
        assert (number, probe, True) == (one.host, one.archive, one.marks)


@pytest.mark.parametrize("has_key", [True, False])
def test_first_worker_leads_without_a_key(
    probe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_key: bool
) -> None:
    """Gcloud makes a key where there is none, and only one may do so."""
    monkeypatch.setenv("HOME", str(tmp_path))
    if has_key:
        (tmp_path / ".ssh").mkdir()
        (tmp_path / ".ssh/google_compute_engine").touch()

    commands = gcloud_launcher.build_commands(request(probe, count=3, tpu="bert"))

    assert [not has_key, False, False] == [one.leads for one in commands]


def test_options_of_gcloud_are_passed_on(probe: Path) -> None:
    """Tunnels need gcloud's alpha commands."""
    (one,) = gcloud_launcher.build_commands(
        request(probe, count=1, tpu="bert", project="p", user="me", iap="yes", ssh="-v")
    )

    first = ("gcloud", "alpha", "compute", "tpus", "tpu-vm", "ssh", "me@bert", "--project=p")
    assert (*first, "--worker=0", "--tunnel-through-iap", "--quiet") == one.words[:-2]
    assert one.words[-2].startswith("--ssh-flag=-v -T ")
    (internal,) = gcloud_launcher.build_commands(
        request(probe, count=1, tpu="bert", internal_ip="yes")
    )
    assert "--internal-ip" in internal.words


def test_gcloud_needs_the_number_of_hosts(probe: Path) -> None:
    """A request for gcloud without the number of hosts is a Problem."""
    with pytest.raises(Problem):
        gcloud_launcher.build_commands(request(probe, tpu="bert"))


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (b'{"networkEndpoints": [{}, {}, {}, {}]}', 4),
        (b'{"networkEndpoints": [{}, {}, {}, {}], "networkConfigs": [{}, {}]}', 2),
        (b'{"networkEndpoints": [{}], "networkConfigs": []}', 1),
        (b'{"networkEndpoints": []}', None),
        (b"{}", None),
        (b"null", None),
        (b"[]", None),
        (b"ERROR: (gcloud.compute) no such node", None),
    ],
)
def test_hosts_are_counted_by_their_endpoints(document: bytes, expected: int | None) -> None:
    """A host has one in each network."""
    assert expected == gcloud_launcher.count_tpu_hosts(document)


@pytest.mark.parametrize(
    ("python", "expected"),
    [
        ("python3", "python3"),
        ("~/tpu/bin/python", "~/tpu/bin/python"),
        ("~/my env/bin/python", "~/'my env/bin/python'"),
        ("/a b/python; reboot", "'/a b/python; reboot'"),
    ],
)
def test_python_is_one_word_on_the_host(probe: Path, python: str, expected: str) -> None:
    """A path may have spaces, and `~` is the home there."""
    line = make_ssh_probe_command(LaunchRequest(archive=probe, python=python), ())

    inner = shlex.split(line)[3]
    assert f' && TMPDIR="$d" {expected} "$d/probe.pyz" slice ' in inner


WORDS = [
    "plain",
    "two words",
    "it's",
    "$HOME",
    "a \"b\" 'c' $d `e` \\f",
    "it's!",
    "",
    "é",
]


def test_shown_words_are_those_that_run() -> None:
    """A shell reads the text as the same words, whatever is in them."""
    command = HostCommand(words=("printf", "%s\\0", *WORDS))

    done = subprocess.run(["sh", "-c", command.text], capture_output=True, check=True)

    assert [*WORDS, ""] == done.stdout.decode().split("\0")


def test_shown_command_feeds_the_probe(probe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file comes first, and heartbeats follow until the command ends."""
    monkeypatch.setattr(launch_request, "HEARTBEAT_S", 0.1)
    one = HostCommand(words=("sh", "-c", "head -c 2000 | wc -c; read a; read b"), archive=probe)

    done = subprocess.run(["sh", "-c", one.text], capture_output=True, check=True)

    assert b"2000" == done.stdout.strip()
    assert f"{one.text} &\n{one.text} &\nwait" == launch_request.format_script([one, one])


@pytest.mark.parametrize("login", ["sh", "bash", "zsh", "fish", "tcsh", "busybox"])
def test_line_runs_in_any_login_shell(tmp_path: Path, login: str) -> None:
    """The line runs in any login shell, and its temporary folder is removed."""
    if shutil.which(login) is None:
        pytest.skip(f"The shell `{login}` is not installed here, so it cannot run the line.")
    temporary = tmp_path / "my tmp"
    temporary.mkdir()
    archive = write_probe(tmp_path / "probe.pyz", h0={"code": 3})
    line = make_ssh_probe_command(
        LaunchRequest(archive=archive, python=sys.executable), ("--host", "0")
    )

    done = subprocess.run(
        [login, *(["sh"] if login == "busybox" else []), "-c", line],
        input=archive.read_bytes(),
        capture_output=True,
        env={**os.environ, "TMPDIR": str(temporary)},
        check=False,
    )

    marks = done.stdout.decode().splitlines()[:2]
    assert (3, [launch_request.REACHED, launch_request.PLACED]) == (done.returncode, marks)
    assert [] == [*temporary.iterdir()]


SCRIPT = (
    "umask 077; trap : HUP INT TERM PIPE; echo tpustarter-reached; "
    'd=$(mktemp -d) && {receive} >"$d/probe.pyz" && echo tpustarter-placed && '
    'TMPDIR="$d" python3 "$d/probe.pyz" slice {options}; '
    'c=$?; rm -rf "$d"; echo "tpustarter-ended $c"; '
)


def test_srun_runs_the_script_on_all_hosts(probe: Path) -> None:
    """One srun runs the script on all hosts, the user's options last; JAX asks Slurm for places."""
    (one,) = slurm_launcher.build_commands(request(probe, count=4, slurm="--partition=tpu -t 10"))

    assert ("srun", "--nodes=4", "--ntasks=4") == one.words[:3]
    assert ("--partition=tpu", "-t", "10", "sh", "-c") == one.words[-6:-1]
    script = SCRIPT.format(receive="head -c 2000", options="--lifeline-s 60") + "exit $c"
    assert script == one.words[-1]
    assert (None, probe, True) == (one.host, one.archive, one.marks)


def test_srun_in_an_allocation_names_no_nodes(probe: Path) -> None:
    """Within an allocation srun names no nodes, because it uses those of the allocation."""
    (one,) = slurm_launcher.build_commands(request(probe))

    assert not [word for word in one.words if word.startswith(("--nodes", "--ntasks=", "--nodel"))]


def test_mpirun_4_feeds_all_processes(probe: Path) -> None:
    """With mpirun 4 the probe is sent to all processes, and JAX finds its place by itself."""
    (one,) = mpi_launcher.build_commands(request(probe, "a", "b", mpi="-x PATH", version="4"))

    assert {"--host", "a,b", "--stdin", "all", "--tag-output", "-x"} <= {*one.words}
    script = SCRIPT.format(receive="head -c 2000", options="--lifeline-s 60") + "exit 0"
    assert script == one.words[-1]
    assert probe == one.archive


def test_mpirun_5_reads_the_shared_probe(probe: Path) -> None:
    """With mpirun 5 hosts read the shared probe, and Open MPI's variables give their numbers."""
    (one,) = mpi_launcher.build_commands(request(probe, "me@a", "b", version="5", shared="yes"))

    place = '--coordinator a:8476 --hosts "$OMPI_COMM_WORLD_SIZE" --host "$OMPI_COMM_WORLD_RANK"'
    script = SCRIPT.format(receive=f"cat {probe}", options=f"--no-lifeline {place}") + "exit 0"
    assert script == one.words[-1]
    assert {"--output", "tag", "none"} <= {*one.words}
    assert one.archive is None


@pytest.mark.parametrize("options", [{}, {"shared": "yes"}])
def test_mpirun_5_lacks_a_folder_or_a_coordinator(probe: Path, options: dict[str, str]) -> None:
    """A request for mpirun 5 without a shared folder or a coordinator is refused."""
    with pytest.raises(Problem):
        mpi_launcher.build_commands(request(probe, count=2, version="5", **options))
