"""Steps that the real sudo runs as root: each ends with its run, and only its changes remain."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tpustarter
from tests.support import sandbox
from tests.support.guest import Guest

pytestmark = pytest.mark.skipif(
    bool(sandbox.missing()) or not Path("/usr/bin/apt-get").exists(),
    reason="This installs sudo in a copy of this machine, which takes root, Debian or Ubuntu and "
    f"overlayfs; here it lacks {sandbox.missing() or 'apt-get'}.",
)

SETUP = f"{shlex.join([sys.executable, '-m', 'tpustarter'])} setup"
NEEDED = (sys.executable, os.path.realpath(sys.executable), tpustarter.__file__)
FOLDERS = sorted({str(folder) for name in NEEDED for folder in Path(name).parents})
PREPARE = f"""\
set -e
apt-get update
apt-get install -y --no-install-recommends sudo bindfs
useradd --create-home alice
echo 'alice ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/alice
chmod 440 /etc/sudoers.d/alice
chmod a+x {shlex.join(FOLDERS)}
mkdir -m 777 /bucket
"""
WORKING = """\
# Stands in for apt-get: works for ever, with processes of its own.
sleep 1234 &
sleep 1235 &
echo 'it works'
wait
"""
HEEDING = f"""\
#!{sys.executable}
# Runs a command that heeds Ctrl-C, which a shell has its background ignore.
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
HELPER = """\
#!/bin/sh
# Stands in for mount.gcsfuse: a program that stays, and shows the folder /bucket.
exec bindfs -o allow_other /bucket "$2"
"""
START = (
    f"rm -f said; heeding {SETUP} editor --only mosh --yes --root >said 2>&1 & program=$!\n"
    "until grep -q 'it works' said; do kill -0 $program || { cat said; exit 1; }; sleep 0.1; done"
)
LEFT = "ps -eo user,args | grep -e '[s]leep 123' -e '[a]pt-get' -e '[s]udo -n'"
RUNNING = "ps -eo args | grep '[b]indfs'"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """Return a copy of this machine with sudo, and with alice, who may become root."""
    with sandbox.sandbox(tmp_path_factory.mktemp("sudo") / "copy") as running:
        done = running.run(PREPARE)
        if "resolving" in done.stdout or "Unable to locate package" in done.stdout:
            pytest.skip("This installs packages of Debian, whose server was not reached.")
        assert 0 == done.returncode, done.stdout
        assert (0, "") == as_alice(running, f"{SETUP} >/dev/null"), "alice cannot run the program"
        yield running


def put(machine: Guest, path: str, text: str) -> None:
    """Write a program into the copy."""
    machine.run(f"cat >{path} <<'END'\n{text}END\nchmod 755 {path}")


def as_alice(machine: Guest, line: str) -> tuple[int, str]:
    """Run a line as alice; return the exit code and the output."""
    variables = "cd; export TPUSTARTER_HOME=/home/alice/.state COLUMNS=200 LC_ALL=C.UTF-8"
    done = machine.run(f"su alice -c {shlex.quote(f'{variables}; {line}')}")
    return done.returncode, done.stdout


@pytest.mark.parametrize("defaults", ["use_pty", "!use_pty"])
@pytest.mark.parametrize(
    ("number", "whom", "code"),
    [("INT", "program", 3), ("KILL", "program", 137), ("KILL", "supervisor", 1)],
)
def test_processes_of_root_step_end_with_run(
    number: str, whom: str, code: int, defaults: str, copy: Guest
) -> None:
    """Processes of a root step end with the run, though their user may not signal them."""
    copy.run(f"echo 'Defaults {defaults}' >/etc/sudoers.d/terminal")
    put(copy, "/usr/local/bin/apt-get", f"#!/bin/sh\n{WORKING}")
    put(copy, "/usr/bin/heeding", HEEDING)
    lines = (
        START,
        "supervisor=$(pgrep -f '[s]upervise .* stays ')",
        LEFT,
        f"kill -{number} ${whom}; wait $program",
    )
    ended, said = as_alice(copy, "\n".join(lines))
    left = f"for n in $(seq 100); do {LEFT} >left || exit 0; sleep 0.1; done; cat left; exit 1"

    assert (code, True) == (ended, "root     sleep 1235" in said), said
    assert (0, "") == as_alice(copy, left)


def test_process_that_ignores_signals_is_named(copy: Guest) -> None:
    """A process that ignores signals, as apt does while unpacking, is named."""
    put(copy, "/usr/local/bin/apt-get", f"#!/bin/sh\ntrap '' HUP INT TERM\n{WORKING}")
    put(copy, "/usr/bin/heeding", HEEDING)
    lines = (
        START,
        "kill -INT $program; wait $program; code=$?; cat said; exit $code",
    )
    code, said = as_alice(copy, "\n".join(lines))
    (pid,) = copy.run("pgrep apt-get; pkill -KILL apt-get; pkill -KILL sleep").stdout.split()

    assert 3 == code
    assert f"stopped before it was done, and process {pid} still works; run this again" in said


@pytest.mark.parametrize("is_root", [True, False])
def test_mount_process_survives_run_and_death_is_seen(is_root: bool, copy: Guest) -> None:
    """The mount works after the run; when its program has died, set-up still looks and undoes."""
    put(copy, "/usr/sbin/mount.gcsfuse", HELPER)
    put(copy, "/usr/bin/gcsfuse", "#!/bin/sh\n")
    setup = f"{SETUP} gcs --set bucket=my-data-1234"

    def run(line: str) -> tuple[int, str]:
        if not is_root:
            return as_alice(copy, line)
        done = copy.run(f"export TPUSTARTER_HOME=/state HOME=/home/alice; {line}")
        return done.returncode, done.stdout

    code, said = run(f"{setup} --yes --root")
    assert (0, True) == (code, "it reads back as it was written" in said), said
    assert 0 == copy.run(RUNNING).returncode
    again = run(f"{setup} --yes --root")
    assert (0, False) == (again[0], "run     " in again[1]), again[1]

    copy.run("pkill -KILL bindfs")
    assert "not connected" in copy.run("ls /mnt/my-data-1234").stdout
    assert 0 == run(setup)[0]
    code, said = run(f"{setup} --undo --yes --root")
    assert 0 == code, said
    assert "" == copy.run("(cat /proc/mounts /etc/fstab; ls /mnt) | grep my-data").stdout
