"""Docker set up for real in a copy of this machine: installed, proved, interrupted and put back."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import sandbox
from tests.support.guest import Guest
from tpustarter.setup import server_commands

LACKS = sandbox.missing()
if not LACKS and not Path("/usr/bin/apt-get").exists():
    LACKS = "apt-get"
if not LACKS and not sandbox.gives_every_capability():
    LACKS = "a capability that a privileged container is given"
pytestmark = pytest.mark.skipif(
    bool(LACKS),
    reason="This installs Docker in a copy of this machine, which takes root, Debian or Ubuntu, "
    f"overlayfs and every capability; here it lacks {LACKS}.",
)

TPUSTARTER = shlex.join([sys.executable, "-m", "tpustarter"])
SETUP = f"{TPUSTARTER} setup docker"
OWN_SETTINGS = '{"iptables": false, "ip6tables": false, "bridge": "none"}'
"""An administrator's, so that the server changes nothing of this machine's network."""
GCLOUD = f"""\
#!{sys.executable}
# Stands in for `gcloud auth configure-docker`.
import json, pathlib, sys
path = pathlib.Path.home() / ".docker/config.json"
path.parent.mkdir(exist_ok=True)
fields = json.loads(path.read_text()) if path.exists() else {{}}
fields.setdefault("credHelpers", {{}})[sys.argv[3]] = "gcloud"
path.write_text(json.dumps(fields))
"""
PREPARE = f"""\
set -e
mkdir -p /etc/docker /home/alice
echo '{OWN_SETTINGS}' >/etc/docker/daemon.json
printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
cat >/usr/bin/gcloud <<'END'
{GCLOUD}END
chmod 755 /usr/bin/gcloud
rm -f /usr/local/bin/docker
! dpkg -s docker.io || dpkg --purge docker.io
"""
LISTING = """\
dpkg --get-selections
find /etc /home/alice /usr/bin /usr/sbin /var/lib/docker | grep -v -e '-$'
ls -d /run/docker.sock /run/docker.pid
ps -eo comm | grep -e docker -e containerd
true
"""
"""What may be left in /run is gone when the machine restarts."""
EMPTY = "head -c 10240 /dev/zero | docker import -"


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Guest]:
    """Return a copy of this machine without Docker, where nobody was asked for anything."""
    with sandbox.sandbox(tmp_path / "copy") as running:
        assert 0 == running.run(PREPARE).returncode
        yield running


def run(machine: Guest, line: str) -> tuple[int, str]:
    """Run a line as a user whose home is /home/alice; return the exit code and the output."""
    state = "TPUSTARTER_HOME=/home/alice/.state HOME=/home/alice COLUMNS=200"
    done = machine.run(f"cd /home/alice; export {state}; {line}", timeout_s=300)
    if "Temporary failure resolving" in done.stdout or "Unable to locate package" in done.stdout:
        pytest.skip("This installs packages of Debian, whose server was not reached.")
    return done.returncode, done.stdout


def listing(machine: Guest) -> set[str]:
    """Return the packages, files and processes that there are."""
    lines = set(machine.run(LISTING).stdout.splitlines())
    return {line for line in lines if "/.state" not in line and "/systemd/system" not in line}


def test_docker_is_installed_proved_and_removed(copy: Guest) -> None:
    """A second run changes nothing, and undo leaves an administrator's file and every image."""
    before = listing(copy)
    refused, said = run(copy, f"{SETUP} --yes")
    assert (3, True) == (refused, "needs root" in said)
    assert before == listing(copy)
    code, said = run(copy, f"{SETUP} --yes --root")
    assert 0 == code, said
    for claim in (
        "the server of Docker",
        "answers",
        "it has the network of this machine",
        "it has 16384 MiB of shared memory",
        "its image has gone",
        "no TPU was tested",
    ):
        assert claim in said
    after = listing(copy)
    assert {"dockerd", "/home/alice/.docker/config.json", "/usr/sbin/dockerd"} <= after - before

    code, said = run(copy, f"{SETUP} --yes --root")
    assert (0, after) == (code, listing(copy))
    assert not [line for line in said.splitlines() if line.startswith("run ")]

    assert 0 == run(copy, f"{EMPTY} mine")[0]
    assert (3, True) == (*[run(copy, f"{SETUP} --undo --yes")[0]], "dockerd" in listing(copy))
    code, said = run(copy, f"{SETUP} --undo --yes --root")
    assert 0 == code, said
    left = listing(copy) - before
    kept = ("/var/lib/docker/", "/etc/docker/key.json")
    assert set() == {line for line in left if not line.startswith(kept)}
    assert set() == before - listing(copy)
    assert "mine:latest" in run(copy, "cat /var/lib/docker/image/*/repositories.json")[1]
    assert OWN_SETTINGS == run(copy, "cat /etc/docker/daemon.json")[1].strip()


def test_killed_installation_continues_and_can_be_undone(copy: Guest) -> None:
    """After a killed installation, the next run does the remaining steps and undo reverts all."""
    before = listing(copy)
    killed = (
        f"mkfifo pipe; {SETUP} --yes --root >pipe & pid=$!; "
        "grep -m 1 '^run     server' pipe; kill -KILL $pid; sleep 2; rm pipe"
    )
    run(copy, killed)
    assert {"/usr/sbin/dockerd"} <= listing(copy) - before
    code, said = run(copy, f"{SETUP} --yes --root")
    assert (0, False) == (code, "run     engine" in said), said
    assert 0 == run(copy, f"{SETUP} --undo --yes --root")[0]
    left = {line for line in listing(copy) - before if not line.startswith("/var/lib/docker/")}
    assert left <= {"/etc/docker/key.json"}


def test_container_flags_give_access_to_chips(copy: Guest) -> None:
    """Named device nodes are enough to see the chips, and a report inside knows its flags."""
    assert 0 == run(copy, f"{SETUP} --yes --root")[0]
    nodes = "mkdir -p /dev/vfio; for name in vfio 0 1; do mknod /dev/vfio/$name c 1 3; done"
    assert 0 == run(copy, f"mount -t tmpfs vfio /dev/vfio 2>/dev/null; {nodes}; {EMPTY} mine")[0]
    prove = server_commands.PROGRAMS / "prove_docker.py"
    folders = ["/usr", "/bin", "/lib", "/lib64", sys.base_prefix, sys.prefix, str(prove.parents[3])]
    mounts = " ".join(f"--volume={folder}:{folder}:ro" for folder in folders)
    started = f"docker run --rm --net=host --shm-size=16g {mounts}"
    look = shlex.join([sys.executable, "-IB", str(prove), "look"])

    assert '"nodes": []' in run(copy, f"{started} mine {look}")[1]
    assert (
        '"nodes": ["/dev/vfio/0", "/dev/vfio/1"]'
        in run(copy, f"{started} --device=/dev/vfio mine {look}")[1]
    )
    report = f"{TPUSTARTER} report --no-ask --json"
    inside = run(copy, f"{started} --env=TPUSTARTER_HOME=/tmp/state mine {report}")[1]
    assert '"shm_gib": 16.0' in inside  # what the flag gave it, and not what this machine has
    assert '"container": "docker"' in inside
