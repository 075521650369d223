"""Tests of Ctrl-C at each moment of a job, and of full disks: no result is lost."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support import copies
from tests.support.fake_cloud import FakeCloud, serving
from tests.support.fake_remote import node
from tests.support.fake_workers import ending_jobs, lay_workers
from tests.support.places import SUPPORT
from tests.support.processes import HANG_S
from tpustarter.cloud.api.clock import WallClock

pytestmark = pytest.mark.skipif(
    shutil.which("tmux") is None, reason="Without systemd a job needs tmux."
)
needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="Only root can mount a small file system for one process.",
)
INTERRUPTING = """#!/bin/sh
exec 9<>{moments}
flock 9
echo worker >>{moments}
[ "$(wc -l <{moments})" = {at} ] && kill -INT $PPID
exec 9<&-
exec {gcloud} "$@"
"""
SMALL = """small=$1 full=$2
shift 2
mount -t tmpfs -o size=128k none "$small" || exit
[ -z "$full" ] || cat /dev/zero >"$small/fill" 2>/dev/null
"$@"
code=$?
rm -f "$small/fill"
cp -r "$small" "$small.after"
exit $code
"""
"""Runs a command with a small folder, whose files are in a folder beside it afterwards."""
MOMENTS = 16
"""Calls of Google and of the workers, from the first list to the end of the deletion."""
FIRST_SENT = 4
"""The first call that changes something on a worker."""
FIRST_FOLLOWED = 8
"""The first call after the command runs on all workers."""
COMMAND = "mkdir -p out; echo $TPUSTARTER_JOB >out/result; echo done"
LARGE = "mkdir -p out; head -c 1000000 /dev/zero >out/result; seq 100000"
RETURN = ("--give-back", "--yes", "--fetch", "out/*", "--fetch-to", "results")


@dataclass
class Site:
    """A TPU with two workers; each call of a worker or of Google is a moment."""

    cloud: FakeCloud
    homes: Path
    folder: Path
    env: dict[str, str]
    at: int = 0
    """Number of the moment at which Ctrl-C is pressed; 0 for none."""
    fills_at: str = ""
    """A method of Google at whose call the small folder becomes full."""
    small: Path | None = None
    pid: int = 0
    """The process of the running command."""
    is_started: threading.Event = field(default_factory=threading.Event)

    @property
    def moments(self) -> Path:
        """Return the file with a line for each moment."""
        return self.homes / "moments"

    def note(self, method: str) -> None:
        """Count a call of Google, and press Ctrl-C at the chosen moment."""
        self.is_started.wait(HANG_S)
        with self.moments.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            print(method, file=file, flush=True)
            file.seek(0)
            if len(file.readlines()) == self.at:
                os.kill(self.pid, signal.SIGINT)
        if self.small and method == self.fills_at:
            inside = Path(f"/proc/{self.pid}/root", *self.small.parts[1:])
            with contextlib.suppress(OSError):
                (inside / "fill").write_bytes(bytes(1 << 20))

    def note_start(self, pid: int) -> None:
        """Note the process of the command, which has made no call yet that was answered."""
        self.pid = pid
        self.is_started.set()

    def results(self) -> int:
        """Return the number of results on this machine."""
        return len([*self.folder.glob("results/w*/out/result")])

    def run(
        self, *words: str, at: int = 0, small: Path | None = None, is_full: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run `tpustarter tpu WORDS` to its end.

        Args:
            words: The command line.
            at: The moment of Ctrl-C.
            small: A folder that has 128 KiB for this command.
            is_full: Fill that folder before.
        """
        self.at = at
        self.moments.write_text("")
        gcloud = self.homes / "tools/gcloud"
        real = self.homes / "gcloud"
        gcloud.write_text(INTERRUPTING.format(moments=self.moments, at=at, gcloud=real))
        gcloud.chmod(0o755)
        command = [sys.executable, str(SUPPORT / "drive_tpu.py"), "tpu", *words]
        if small:
            full = "full" if is_full else ""
            command = ["unshare", "--mount", "sh", "-c", SMALL, "sh", str(small), full, *command]
        self.small = small
        self.is_started.clear()
        if not small:
            return copies.run(
                command,
                cwd=self.folder,
                env=self.env,
                libraries=copies.CLOUD,
                started=self.note_start,
            )
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.note_start(process.pid)
        try:
            out, err = process.communicate(timeout=3 * HANG_S)
        finally:
            process.kill()
        return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.fixture
def site(tmp_path: Path, home: Path) -> Iterator[Site]:
    """Return a TPU and a folder of code."""
    (home / ".ssh").mkdir()
    (home / ".ssh/google_compute_engine").touch()
    folder = tmp_path / "train"
    folder.mkdir()
    (folder / "train.py").touch()
    cloud = FakeCloud(clock=WallClock(), delete_s=0.0)  # type: ignore[arg-type]
    with serving(cloud), ending_jobs(lay_workers(tmp_path / "workers")) as homes:
        (homes / "tools").mkdir()
        one = node(workers=2)
        cloud.nodes[one.name] = one
        env = {
            **os.environ,
            "HOME": str(home),
            "PATH": f"{homes}/tools:{os.environ['PATH']}",
            "TPUSTARTER_TPU_ENDPOINT": f"127.0.0.1:{cloud.port}",
            "CLOUDSDK_CORE_PROJECT": "my-project",
            "CLOUDSDK_COMPUTE_ZONE": "us-central1-b",
            "CLOUDSDK_CONFIG": str(home / "gcloud"),
            "COLUMNS": "80",
        }
        site = Site(cloud, homes, folder, env)
        cloud.before_call = site.note
        yield site


@pytest.mark.parametrize("at", range(1, MOMENTS + 1))
def test_interrupted_job_says_what_still_runs(site: Site, at: int) -> None:
    """An interrupted job deletes nothing before its results are fetched, and can be followed."""
    done = site.run("job", "bert", *RETURN, "--", COMMAND, at=at)

    seen = site.moments.read_text().split()
    assert at <= len(seen), done.stderr
    assert 130 == done.returncode, done.stderr
    assert "Traceback" not in done.stderr
    if at >= FIRST_SENT:
        assert "tpustarter tpu" in done.stderr.partition("hint:")[2]
    if "DeleteNode" in seen:
        assert site.results() == 2
        return
    listed = json.loads(site.run("list", "--json").stdout)["tpus"]
    assert ["bert"] == [one["name"] for one in listed]
    if at < FIRST_FOLLOWED:
        jobs = json.loads(site.run("job", "list", "bert", "--json").stdout)["jobs"]
        assert "running" not in {one["state"] for job in jobs for one in job["workers"]}
        return
    assert 0 == site.run("job", "logs", "-f", "bert").returncode
    assert (2, {}) == (site.results(), site.cloud.nodes)


@needs_root
def test_full_disk_keeps_tpu_with_results(site: Site) -> None:
    """On a full disk the TPU is kept until its results can be fetched."""
    (site.folder / "results").mkdir()
    done = site.run("job", "bert", *RETURN, "--", LARGE, small=site.folder / "results")

    assert 0 < done.returncode < 128, done.stderr
    assert "No space left" in done.stderr
    assert site.cloud.nodes
    assert 0 == site.run("job", "logs", "-f", "bert").returncode
    assert (2, {}) == (site.results(), site.cloud.nodes)


@needs_root
@pytest.mark.parametrize("is_full", [True, False])
def test_full_state_folder_gives_nothing_back(site: Site, *, is_full: bool) -> None:
    """Nothing starts that this machine cannot note; without room for logs the job goes on."""
    state = Path(site.env["TPUSTARTER_HOME"])
    state.mkdir(exist_ok=True)
    done = site.run("job", "bert", *RETURN, "--", LARGE, small=state, is_full=is_full)

    assert 0 < done.returncode < 128, done.stderr
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr
    assert site.cloud.nodes
    assert is_full == (not [*site.homes.glob("w*/tpustarter-jobs/*/code")])


@needs_root
@pytest.mark.parametrize(
    ("words", "code"),
    [(("delete", "bert", "--yes"), 0), (("job", "bert", *RETURN, "--", COMMAND), 78)],
)
def test_disk_full_in_deletion_loses_no_entry(
    site: Site, words: tuple[str, ...], code: int
) -> None:
    """The TPU is deleted, and stays in the ledger until Google is asked again; a job says so."""
    state = Path(site.env["TPUSTARTER_HOME"])
    state.mkdir(exist_ok=True)
    site.fills_at = "DeleteNode"
    done = site.run(*words, small=state, is_full=False)
    shutil.rmtree(state)
    state.with_name(f"{state.name}.after").rename(state)
    entries = json.loads((state / "tpus.json").read_text())["entries"]

    assert (code, {}) == (done.returncode, site.cloud.nodes), done.stderr
    assert "Traceback" not in done.stderr
    assert ["bert"] == [one["name"] for one in entries]
    assert [] == json.loads(site.run("list", "--json").stdout)["tpus"]
    assert [] == json.loads((state / "tpus.json").read_text())["entries"]


@needs_root
def test_full_state_folder_creates_nothing(site: Site) -> None:
    """With a full state folder nothing is created, because it could be billed unseen."""
    state = Path(site.env["TPUSTARTER_HOME"])
    state.mkdir(exist_ok=True)
    done = site.run("create", "new", "--type", "v6e-8", "--yes", "--no-wait", small=state)

    assert 0 < done.returncode < 128, done.stderr
    assert "No space left" in done.stderr
    assert [] == site.cloud.called("CreateQueuedResource")
