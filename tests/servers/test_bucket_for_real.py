"""A bucket as a folder, in a copy of this machine: its line in fstab, its mount, and the way back.

Cloud Storage FUSE and a bucket cannot be had here. A stand-in for its mount helper puts memory in
the bucket's place, and refuses the options that the real one passes on and fusermount refuses.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import sandbox
from tests.support.guest import Guest

pytestmark = pytest.mark.skipif(
    bool(sandbox.missing()) or not Path("/dev/fuse").exists(),
    reason="This mounts a folder in a copy of this machine, which takes root, overlayfs and FUSE; "
    f"here it lacks {sandbox.missing() or '/dev/fuse'}.",
)

SETUP = f"{shlex.join([sys.executable, '-m', 'tpustarter'])} setup gcs --set bucket=my-data-1234"
LINE = (
    "my-data-1234 /mnt/my-data-1234 gcsfuse rw,_netdev,allow_other,uid=0,gid=0,implicit_dirs,"
    "x-systemd.mount-timeout=60 0 0"
)
HELPER = """\
#!/bin/sh
# Stands in for mount.gcsfuse: source, folder, -o and the options that mount(8) leaves.
echo "$*" >>/helper-calls
[ ! -e /no-permission ] || { echo 'googleapi: Error 403: storage.objects.list denied' >&2; exit 1; }
for option in $(echo "$4" | tr , ' '); do
  case $option in
    rw|_netdev|allow_other|implicit_dirs|uid=*|gid=*) ;;
    *) echo "fusermount3: unknown option '$option'" >&2; exit 1 ;;
  esac
done
exec mount -t tmpfs "$1" "$2"
"""
PREPARE = f"""\
cat >/usr/sbin/mount.gcsfuse <<'END'
{HELPER}END
printf '#!/bin/sh\\n' >/usr/bin/gcsfuse
chmod 755 /usr/sbin/mount.gcsfuse /usr/bin/gcsfuse
mkdir /home/alice
printf '# mine' >/etc/fstab
"""
LISTING = "cat /etc/fstab; ls -a /mnt /home/alice; grep my-data /proc/mounts; true"


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Guest]:
    """Return a copy of this machine with the stand-in."""
    with sandbox.sandbox(tmp_path / "copy") as running:
        assert 0 == running.run(PREPARE).returncode
        yield running


def run(machine: Guest, line: str) -> tuple[int, str]:
    """Run a line as a user whose home is /home/alice; return the exit code and the output."""
    state = "TPUSTARTER_HOME=/var/lib/state HOME=/home/alice COLUMNS=200"
    done = machine.run(f"cd /home/alice; export {state}; {line}")
    return done.returncode, done.stdout


def test_bucket_is_mounted_proved_and_removed(copy: Guest) -> None:
    """A second run changes nothing, fstab brings it back, and its files stay in the bucket."""
    before = run(copy, LISTING)
    code, said = run(copy, f"{SETUP} --yes --root")
    assert 0 == code, said
    for claim in (
        "a file system is mounted on /mnt/my-data-1234",
        "it reads back as it was",
        "it has been removed",
    ):
        assert claim in said
    after = run(copy, LISTING)
    assert LINE in after[1]
    assert "tmpfs" in after[1]
    assert "" == run(copy, "ls -A /mnt/my-data-1234")[1]

    code, said = run(copy, f"{SETUP} --yes --root")
    assert (0, after) == (code, run(copy, LISTING))
    assert not [line for line in said.splitlines() if line.startswith("run ")]
    assert "1" == run(copy, "wc -l </helper-calls")[1].strip()

    assert 0 == run(copy, "umount /mnt/my-data-1234 && mount --all --types gcsfuse")[0]
    assert after == run(copy, LISTING)  # as a restart does
    code, said = run(copy, f"{SETUP} --undo --yes --root")
    assert 0 == code, said
    assert before == run(copy, LISTING)


def test_missing_permission_is_named_and_run_continues_later(copy: Guest) -> None:
    """After a missing permission, the next run does the remaining steps and undo reverts all."""
    before = run(copy, LISTING)
    run(copy, "touch /no-permission")
    code, said = run(copy, f"{SETUP} --yes --root")
    assert (1, True) == (code, "Error 403" in said), said
    run(copy, "rm /no-permission")
    code, said = run(copy, f"{SETUP} --yes --root")
    assert (0, False) == (code, "run     folder" in said), said
    assert 0 == run(copy, f"{SETUP} --undo --yes --root")[0]
    assert before == run(copy, LISTING)


def test_file_in_use_keeps_mount(copy: Guest) -> None:
    """While a file is in use undo fails with the reason, and the next undo continues."""
    assert 0 == run(copy, f"{SETUP} --yes --root")[0]
    holding = "sleep 60 >/mnt/my-data-1234/held & echo $! >/held"
    assert 0 == run(copy, holding)[0]
    code, said = run(copy, f"{SETUP} --undo --yes --root")
    assert (1, True) == (code, "busy" in said), said
    assert "my-data-1234" in run(copy, "grep my-data /proc/mounts")[1]
    run(copy, "kill $(cat /held)")
    code, said = run(copy, f"{SETUP} --undo --yes --root")
    assert 0 == code, said
    assert "" == run(copy, "grep my-data /proc/mounts")[1]
