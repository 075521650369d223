"""`tpustarter tpu ssh-config`: what real ssh reads in it, and that nothing else changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import copies
from tests.support.fake_cloud import FakeCloud, serving
from tests.support.fake_remote import node
from tests.support.places import SUPPORT
from tpustarter.cloud.jobs.ssh_config import BEGIN, END

Run = Callable[..., subprocess.CompletedProcess[str]]

CONTENTS = [
    b"",
    b"ServerAliveInterval 7\n\nHost old\n  HostName 1.2.3.4\n",
    b"# no line end at the end\nHost *\n\tUser somebody",
    b"Host a\r\n  User b\r\n",
    b"# \xff\xfe not UTF-8\n\n\n",
]


@pytest.fixture
def cloud() -> Iterator[FakeCloud]:
    """Serve a project with a slice of four workers."""
    with serving() as cloud:
        add(cloud, workers=4)
        yield cloud


def add(cloud: FakeCloud, **fields: Any) -> None:
    """Add a node."""
    one = node(**fields)
    cloud.nodes[one.name] = one


@pytest.fixture
def run(cloud: FakeCloud, home: Path) -> Run:
    """Return a function that runs the command to its end."""

    def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        env = {
            **os.environ,
            "HOME": str(home),
            "TPUSTARTER_TPU_ENDPOINT": f"127.0.0.1:{cloud.port}",
            "CLOUDSDK_CORE_PROJECT": "my-project",
            "CLOUDSDK_CONFIG": str(home / "gcloud"),
            "LOGNAME": "somebody",
            **changes,
        }
        words = [sys.executable, str(SUPPORT / "drive_tpu.py"), "tpu", "ssh-config", *arguments]
        return copies.run(words, env=env, libraries=copies.CLOUD)

    return run


def config(home: Path, data: bytes | None = None) -> Path:
    """Write the user's configuration, and return its path."""
    path = home / ".ssh/config"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    if data is not None:
        path.write_bytes(data)
        path.chmod(0o600)
    return path


def of_ssh(path: Path, host: str) -> dict[str, str]:
    """Return the settings that the real ssh would use for a host."""
    ssh = shutil.which("ssh")
    if ssh is None:
        pytest.skip("ssh is not installed here, so that what it reads was not tried")
    done = subprocess.run([ssh, "-G", "-F", str(path), host], capture_output=True, check=False)
    assert 0 == done.returncode, done.stderr
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return {key: value for key, _, value in (line.partition(" ") for line in lines)}


def test_ssh_reads_every_worker(home: Path, run: Run) -> None:
    """The real ssh reads every worker from the file, which only the user can read."""
    done = run()

    assert 0 == done.returncode, done.stderr
    assert "Connect with: ssh tpu-bert\n" in done.stdout
    assert "There is no ~/.ssh/google_compute_engine yet." in done.stdout
    path = config(home)
    assert (0o600, 0o700) == (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777)
    for host, address in (
        ("tpu-bert", "192.0.2.1"),
        ("tpu-bert-w0", "192.0.2.1"),
        ("tpu-bert-w3", "192.0.2.4"),
    ):
        read = of_ssh(path, host)
        assert address == read["hostname"]
        assert "somebody" == read["user"]
        assert "~/.ssh/google_compute_engine" == read["identityfile"]
        assert read["stricthostkeychecking"] == "accept-new"
        assert read["userknownhostsfile"].endswith("/.ssh/google_compute_known_hosts")
        assert "proxycommand" not in read
    alias = "tpu.my-project.us-central1-b.bert-w3.20261122080000"
    assert alias == of_ssh(path, "tpu-bert-w3")["hostkeyalias"]


def test_node_without_external_address_uses_iap(cloud: FakeCloud, home: Path, run: Run) -> None:
    """A node without an external address is reached through IAP, as gcloud documents."""
    add(cloud, external=False, name="inside")

    done = run("inside")

    assert 0 == done.returncode, done.stderr
    read = of_ssh(config(home), "tpu-inside")
    assert (
        "gcloud alpha compute tpus tpu-vm ssh somebody@inside --zone=us-central1-b "
        "--project=my-project --worker=0 --tunnel-through-iap -- -W localhost:22"
    ) == read["proxycommand"]
    assert "hostname" in read


@pytest.mark.parametrize("content", CONTENTS)
def test_removing_leaves_every_other_byte(home: Path, run: Run, content: bytes) -> None:
    """Removing our entries leaves every other byte, and writing twice changes nothing."""
    path = config(home, content)

    written = run()
    once = path.read_bytes()
    again = run()

    assert 0 == written.returncode == again.returncode, written.stderr
    assert once == path.read_bytes()
    assert once.endswith(content)
    assert once.startswith(BEGIN + b"\n")
    assert "is as it should be" in again.stdout
    removed = run("--remove")
    assert 0 == removed.returncode
    assert content == path.read_bytes()
    assert 0o600 == path.stat().st_mode & 0o777


def test_other_hosts_are_as_they_were(home: Path, run: Run) -> None:
    """Settings of other hosts stay the same, and our hosts use ours."""
    path = config(home, b"ServerAliveInterval 7\nHost old\n  User x\nHost *\n  User everybody\n")
    before = of_ssh(path, "old"), of_ssh(path, "new")

    run()

    assert before == (of_ssh(path, "old"), of_ssh(path, "new"))
    assert "somebody" == of_ssh(path, "tpu-bert")["user"]


def test_lines_around_ours_stay_where_they_are(home: Path, run: Run) -> None:
    """Lines around ours stay where they are, even if our lines were moved."""
    path = config(home)
    run()
    ours = path.read_bytes()
    path.write_bytes(b"# above\n" + ours + b"# below, no end")

    run("--user", "root")

    data = path.read_bytes()
    assert data.startswith(b"# above\n" + BEGIN)
    assert data.endswith(END + b"\n# below, no end")
    assert b"User root" in data
    run("--remove")
    assert b"# above\n# below, no end" == path.read_bytes()


@pytest.mark.parametrize(
    "damaged",
    [
        BEGIN + b"\nHost a\n",
        b"Host a\n" + END + b"\n",
        END + b"\n" + BEGIN + b"\n",
        BEGIN + b"\n" + BEGIN + b"\n" + END + b"\n",
        BEGIN + b"\n" + END + b"\n" + BEGIN + b"\n" + END + b"\n",
    ],
)
@pytest.mark.parametrize("arguments", [(), ("--remove",), ("--dry-run",)])
def test_damaged_marks_are_refused(
    home: Path, run: Run, damaged: bytes, arguments: tuple[str, ...]
) -> None:
    """Damaged marks are refused, because it isn't known which lines are ours."""
    path = config(home, damaged)

    done = run(*arguments)

    assert 78 == done.returncode
    assert "are damaged: found them in line" in done.stderr
    assert damaged == path.read_bytes()


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path, home: Path, run: Run) -> None:
    """A link stays a link, and permissions stay, because dotfiles are often kept elsewhere."""
    real = tmp_path / "dotfiles"
    real.write_bytes(b"Host a\n")
    real.chmod(0o640)
    path = config(home)
    path.symlink_to(real)

    done = run("bert")

    assert 0 == done.returncode, done.stderr
    assert path.is_symlink()
    assert real.read_bytes().endswith(b"Host a\n")
    assert b"Host tpu-bert tpu-bert-w0" in real.read_bytes()
    assert 0o640 == real.stat().st_mode & 0o777
    assert [] == [one.name for one in tmp_path.iterdir() if one.name.startswith(".dot")]


def test_entries_are_kept_replaced_and_removed_by_name(
    cloud: FakeCloud, home: Path, run: Run
) -> None:
    """Entries are kept, replaced and removed by name; without one, absent TPUs are removed."""
    path = config(home)
    add(cloud, name="gpt", zone="us-east5-a")
    run("bert")
    run("gpt")
    assert {"192.0.2.1"} == {of_ssh(path, f"tpu-{name}")["hostname"] for name in ("bert", "gpt")}
    add(cloud, workers=4, made="2026-11-23T08:00:00Z")

    run("bert")

    assert of_ssh(path, "tpu-bert")["hostkeyalias"].endswith(".20261123080000")
    del cloud.nodes[node(workers=4).name]
    cloud.unreachable = ["us-east5-a"]
    del cloud.nodes[node("gpt", zone="us-east5-a").name]
    done = run()
    assert "Google could not reach us-east5-a: its entries stay" in done.stderr
    assert b"bert" not in path.read_bytes()
    assert b"Host tpu-gpt" in path.read_bytes()
    missing, removed = run("--remove", "bert"), run("--remove", "gpt")
    assert "`bert` has no entry" in missing.stderr
    assert 0 == removed.returncode
    assert b"" == path.read_bytes()


def test_one_name_for_two_tpus_is_refused(cloud: FakeCloud, home: Path, run: Run) -> None:
    """One name for two TPUs is refused, and so is a worker named like another TPU."""
    add(cloud, zone="us-east5-a")
    add(cloud, name="bert-w1")

    named, by_zone = run("bert"), run("--zone", "us-central1-b")

    assert 2 == named.returncode == by_zone.returncode
    assert "`bert` exists in 2 zones: us-central1-b, us-east5-a" in named.stderr
    assert "`tpu-bert-w1` would stand for two TPUs" in by_zone.stderr
    assert not (home / ".ssh/config").exists()


def test_unready_tpu_is_not_written(cloud: FakeCloud, home: Path, run: Run) -> None:
    """A TPU that isn't ready is left out, or is an error if it was named."""
    add(cloud, name="off", state="STOPPED")

    named, everything = run("off"), run()

    assert 2 == named.returncode
    assert "`off` is STOPPED, expected READY" in named.stderr
    assert 0 == everything.returncode
    assert b"tpu-off" not in config(home).read_bytes()


def test_dry_run_shows_diff_and_writes_nothing(home: Path, run: Run) -> None:
    """The lines of a diff are those that would be written, and no credentials are needed."""
    path = config(home, b"Host a\x1b[2J\n")

    done = run("--dry-run")
    unknown = run("bert", "--dry-run", TPUSTARTER_TPU_ENDPOINT="", CLOUDSDK_CORE_PROJECT="")
    removal = run("--remove", "--dry-run", TPUSTARTER_TPU_ENDPOINT="", CLOUDSDK_CORE_PROJECT="")

    assert 0 == done.returncode == unknown.returncode == removal.returncode, unknown.stderr
    assert "+    HostName 192.0.2.2\n" in done.stdout
    assert "\x1b" not in done.stdout
    assert "Nothing was written.\n" in done.stdout
    assert "+    HostName 192.0.2.1\n" in unknown.stdout
    assert "Google was not asked, because no project is known" in unknown.stderr
    assert b"Host a\x1b[2J\n" == path.read_bytes()


def test_strange_files_are_refused(tmp_path: Path, run: Run) -> None:
    """Unusual files are refused: a pipe, a folder, or a folder that can't be created."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "file").write_text("")

    for path in (pipe, tmp_path, tmp_path / "file/config"):
        done = run("bert", "--file", str(path))

        assert done.returncode in (74, 78), done.stderr
        assert done.stderr.count("error: ") == 1
        assert "Traceback" not in done.stderr
