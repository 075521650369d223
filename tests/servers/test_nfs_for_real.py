"""A folder shared over NFS for real: a server and a client, each with a Linux kernel of its own.

The kernel of this machine has no NFS, so both are guests of user-mode Linux. In them no systemd
runs; what its unit `nfs-server.service` does when a machine starts, `START` does.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import guests
from tests.support.guest import Guest
from tests.support.processes import HANG_S
from tpustarter.machine import machine
from tpustarter.setup.machine import machine_settings

MISSING = guests.missing() or ", ".join(
    path for path in ("/usr/sbin/exportfs", "/usr/sbin/mount.nfs") if not Path(path).exists()
)
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"This starts machines with kernels of their own: {MISSING} is missing."
)
START = """\
modprobe nfsd && mount -t nfsd nfsd /proc/fs/nfsd && touch /etc/exports &&
exportfs -r && rpc.nfsd --no-nfs-version 3 4 && rpc.mountd --no-nfs-version 3"""
SERVER, CLIENT, STRANGER = "10.77.0.1", "10.77.0.2", "10.78.0.2"
SUBNET = "--set clients=10.77.0.0/24"
OF_SERVER = f"--set server={SERVER}"
LISTING = """\
for path in /etc/exports /etc/fstab; do echo "$path:"; cat $path; done
find /srv /etc/exports* | sort
grep -h /srv /proc/self/mounts /var/lib/nfs/etab
dpkg-query -W -f '${binary:Package} ${db:Status-Abbrev}\\n' nfs-kernel-server nfs-common"""


def test_guests_that_cannot_start_are_told() -> None:
    """A kernel that ends before its first process has run is no guest."""
    assert guests.starts()
    assert not guests.starts(Path("/bin/false"))


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Guest, Guest]]:
    """Yield a server, which serves nothing yet, and a client that reaches it."""
    folder = tmp_path_factory.mktemp("guests")
    variables = {"HOME": "/root", "TPUSTARTER_COMMAND": "tpustarter", "COLUMNS": "80"}
    name = f"tpustarter-{os.getpid()}"
    with (
        guests.network(name, 2) as (first, second),
        guests.guest(folder / "server", first, [f"{SERVER}/24", "10.78.0.1/24"], variables) as one,
        guests.guest(folder / "client", second, [f"{CLIENT}/24"], variables) as other,
    ):
        yield one, other


@pytest.fixture
def server(machines: tuple[Guest, Guest]) -> Iterator[Guest]:
    """Yield the server; whatever a test left set up there is put back."""
    server, _ = machines
    if server.run("cat /proc/fs/nfsd/threads").returncode:
        done(server, START)
    yield server
    if not server.run("grep tpustarter /etc/exports").returncode:
        server.run("rm -rf /srv/share/*")
        set_up(server, "nfs-server --undo")


@pytest.fixture
def client(machines: tuple[Guest, Guest], server: Guest) -> Iterator[Guest]:
    """Yield the client, put back before the server is."""
    _, client = machines
    yield client
    if not client.run("grep tpustarter /etc/fstab").returncode:
        set_up(client, "nfs-client --undo")


def tpustarter(guest: Guest, words: str) -> tuple[int, str]:
    """Run `tpustarter setup` in a guest; return its exit code and output."""
    line = f"cd {shlex.quote(os.getcwd())} && {sys.executable} -m tpustarter setup {words}"  # noqa: PTH109
    ended = guest.run(line)
    return ended.returncode, ended.stdout


def done(guest: Guest, line: str) -> str:
    """Run a line that must succeed; return its output."""
    ended = guest.run(line)
    assert 0 == ended.returncode, ended.stdout
    return ended.stdout


def set_up(guest: Guest, words: str) -> str:
    """Run a set-up that has to end well."""
    code, said = tpustarter(guest, f"{words} --yes --root")
    assert 0 == code, said
    return said


def started(said: str) -> list[str]:
    """Return the steps that were run."""
    return [line.split()[1] for line in said.splitlines() if line.startswith("run ")]


def test_folder_is_shared_and_mounted_once_and_undone(server: Guest, client: Guest) -> None:
    """A client's files are exact on the server, and stay there after undo."""
    before = done(server, LISTING), done(client, LISTING)
    set_up(server, f"nfs-server {SUBNET}")
    said = set_up(client, f"nfs-client {OF_SERVER}")

    assert "64 MB written at" in said
    assert ["folder", "lines", "mount", "prove"] == started(said)
    lines = done(server, "cat /etc/exports").splitlines()
    assert ["/srv/share 10.77.0.0/24(rw,sync,no_subtree_check,root_squash)"] == [
        line for line in lines if line and not line.startswith("#")
    ]
    done(
        client, "head -c 100000000 /dev/urandom > /srv/share/large && echo hello > /srv/share/small"
    )
    both = "cd /srv/share && sha256sum * && ls"
    assert done(server, both) == done(client, both)
    after = done(server, LISTING), done(client, LISTING)
    assert not started(set_up(server, f"nfs-server {SUBNET}"))
    assert not started(set_up(client, f"nfs-client {OF_SERVER}"))
    assert after == (done(server, LISTING), done(client, LISTING))

    process = done(client, "sleep 600 </srv/share/large >/dev/null 2>&1 & echo $!")
    code, said = tpustarter(client, "nfs-client --undo --yes --root")
    assert (1, True) == (code, "a program still uses /srv/share" in " ".join(said.split())), said
    assert after[1] == done(client, LISTING)
    done(client, f"kill {process}")
    set_up(client, "nfs-client --undo")
    assert before[1] == done(client, LISTING)
    assert "it stays" in set_up(server, "nfs-server --undo")
    assert "large" in done(server, "ls /srv/share")
    done(server, "rm /srv/share/large /srv/share/small && rmdir /srv/share")
    assert before[0] == done(server, LISTING)


def test_client_outside_subnet_cannot_mount(server: Guest, client: Guest) -> None:
    """The same machine, with another address, is refused by the server."""
    set_up(server, f"nfs-server {SUBNET}")
    mount = "mount -t nfs -o vers=4.2,retry=0 {}:/srv/share /mnt && umount /mnt"
    inside = client.run(mount.format(SERVER))
    client.run(f"ip address add {STRANGER}/24 dev eth0")
    outside = client.run(mount.format("10.78.0.1"))
    client.run(f"ip address delete {STRANGER}/24 dev eth0")

    assert (0, "") == (inside.returncode, inside.stdout)
    assert "access denied by server" in outside.stdout
    assert 32 == outside.returncode


def test_killed_setup_continues_and_can_be_undone(server: Guest) -> None:
    """After a killed set-up, the next run does the remaining steps and undo reverts all."""
    before = done(server, LISTING)
    tpustarter(
        server,
        f"nfs-server {SUBNET} --yes --root | while read -r word step rest; do\n"
        '[ "$word $step" = "run export" ] && kill -9 $(pgrep -f "setup nfs-server")\ndone',
    )
    assert "/srv/share" in done(server, "ls -d /srv/*")
    assert "/srv/share" not in done(server, "cat /var/lib/nfs/etab")
    said = set_up(server, f"nfs-server {SUBNET}")
    assert "serve" in started(said)
    assert "folder" not in started(said)
    assert "/srv/share" in done(server, "cat /var/lib/nfs/etab")
    set_up(server, "nfs-server --undo")
    assert before == done(server, LISTING)


def test_missing_server_fails_soon_and_machine_boots(client: Guest) -> None:
    """A missing server fails soon, leaves no process, and doesn't delay the machine's start."""
    before = done(client, LISTING)
    code, said = tpustarter(client, "nfs-client --set server=10.77.0.9 --yes --root")
    generate = "/lib/systemd/system-generators/systemd-fstab-generator . . ."
    units = done(client, f"mkdir /tmp/units && cd /tmp/units && {generate} && find . | sort")
    unit = done(client, "cat /tmp/units/srv-share.mount").splitlines()
    options = next(line for line in unit if line.startswith("Options="))

    assert 1 == code, said
    assert "No route to host" in said
    assert not client.run("pgrep -a mount").stdout
    assert "./srv-share.mount" in units
    assert "remote-fs.target.requires" not in units
    assert {"retry=10000", "nofail", "fg"} <= {*options.removeprefix("Options=").split(",")}
    set_up(client, "nfs-client --undo")
    assert before == done(client, LISTING)


@pytest.mark.skipif(
    machine_settings.SETTINGS["nfs-client"](machine.Machine()) is None,
    reason="The kernel of this machine has NFS, so nothing stands in the way here.",
)
@pytest.mark.parametrize("words", [f"nfs-server {SUBNET}", f"nfs-client {OF_SERVER}"])
def test_kernel_without_nfs_gets_plan_with_reason(words: str) -> None:
    """A kernel without NFS gets a plan with the reason, and no step is run."""
    command = [sys.executable, "-m", "tpustarter", "setup", *words.split(), "--yes", "--root"]
    before = Path("/etc/fstab").exists(), Path("/etc/exports").exists(), sorted(os.listdir("/srv"))  # noqa: PTH208
    ended = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    after = Path("/etc/fstab").exists(), Path("/etc/exports").exists(), sorted(os.listdir("/srv"))  # noqa: PTH208

    assert 3 == ended.returncode, ended.stderr
    assert "has no NFS" in " ".join(ended.stdout.split())
    assert "`package` comes first" in ended.stdout
    assert not started(ended.stdout)
    assert before == after
