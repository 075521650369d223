"""Folders shared over NFS: permitted clients, written files, and obstacles."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.support.machine_setups import declare, machine, run
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import host
from tpustarter.setup.environment import setup_profiles, steps
from tpustarter.setup.machine import machine_settings, marked_lines
from tpustarter.setup.machine.machine_setup import MachineSetup
from tpustarter.setup.programs import prove_shared_folder

RELEASE = "/proc/sys/kernel/osrelease"
KERNEL = {RELEASE: "6.8.0-gcp\n", "/proc/filesystems": "nodev\tproc\n\text4\n"}
MODULES = {**KERNEL, "/lib/modules/6.8.0-gcp/modules.dep": "kernel/fs/nfsd/nfsd.ko.zst: \n"}
EXPORT = "/srv/share 10.128.0.0/20(rw,sync,no_subtree_check,root_squash)"
SHARED = "\n".join(
    (
        marked_lines.format_marks(machine_settings.EXPORT_MARK)[0],
        EXPORT,
        marked_lines.format_marks(machine_settings.EXPORT_MARK)[1],
        "",
    )
)
ETAB = "/srv/share\t10.128.0.0/20(rw,sync)\n"


@pytest.mark.parametrize(
    "clients",
    [
        "0.0.0.0/0",
        "*",
        "",
        "10.0.0.0/7",
        "8.8.8.0/24",
        "10.128.0.5/20",
        "10.128.0.2",
        "::/0",
        "10.0.0.0/8 *",
        "10.0.0.0/8(rw)",
        "host.internal",
        "172.0.0.0/8",
        "192.168.0.0/15",
    ],
)
def test_a_folder_is_never_shared_with_the_world(clients: str, tmp_path: Path) -> None:
    """A folder is shared only with a private subnet, in valid form."""
    with pytest.raises(Problem, match=re.escape(f"clients is `{clients}`, expected a private")):
        MachineSetup("nfs-server", machine=machine(tmp_path), values={"clients": clients})


def test_missing_subnet_shares_nothing(tmp_path: Path) -> None:
    """Without a subnet nothing is shared, and the value is requested."""
    setup = MachineSetup("nfs-server", machine=machine(tmp_path, MODULES), root=True)
    with pytest.raises(Problem, match="clients: the subnet") as problem:
        setup.run()
    assert ExitCode.USAGE == problem.value.code


@pytest.mark.parametrize("clients", ["10.128.0.0/20", "172.16.0.0/12", "192.168.7.0/24"])
def test_the_line_lets_one_private_subnet_in(clients: str, tmp_path: Path) -> None:
    """The line lets one private subnet in, with a client's root mapped to nobody."""
    setup = MachineSetup("nfs-server", machine=machine(tmp_path), values={"clients": clients})
    (step,) = [one for one in setup.steps if one.id == "export"]

    assert "/etc/exports" == step.file
    assert (f"/srv/share {clients}(rw,sync,no_subtree_check,root_squash)",) == step.writes[1:-1]


@pytest.mark.parametrize("server", ["8.8.8.8", "0.0.0.0", "10.128.0.0/20", "evil.example", ""])
def test_a_server_outside_of_the_network_is_refused(server: str, tmp_path: Path) -> None:
    """An NFS server outside of the private network is refused, because NFS isn't encrypted."""
    with pytest.raises(Problem, match="expected a private address"):
        MachineSetup("nfs-client", machine=machine(tmp_path), values={"server": server})


@pytest.mark.parametrize("path", ["/", "/etc", "/srv", "/srv/../etc", "/srv/a b", "srv/share"])
@pytest.mark.parametrize(("profile", "name"), [("nfs-server", "share"), ("nfs-client", "place")])
def test_only_folder_below_third_level_is_shared(
    profile: str, name: str, path: str, tmp_path: Path
) -> None:
    """A folder of the system is neither."""
    with pytest.raises(Problem, match=f"{name} is `{re.escape(path)}`, expected"):
        MachineSetup(profile, machine=machine(tmp_path), values={name: path})


@pytest.mark.parametrize(
    ("setting", "files", "expected"),
    [
        ("nfs-server", KERNEL, "blocked"),
        ("nfs-server", MODULES, None),
        ("nfs-server", {**KERNEL, "/proc/filesystems": "nodev\tnfsd\n"}, None),
        ("nfs-client", MODULES, "blocked"),
        ("nfs-client", {**KERNEL, "/proc/filesystems": "nodev\tnfs4\n"}, None),
        ("nfs-client", {**KERNEL, "/proc/filesystems": "nodev\tnfs\n"}, None),
        ("nfs-client", {"/proc/filesystems": "nodev\tnfs\n", "/etc/exports": SHARED}, "blocked"),
        ("nfs-shared", {}, "todo"),
        ("nfs-shared", {"/etc/exports": SHARED}, "blocked"),
        ("nfs-shared", {"/etc/exports": SHARED, "/proc/fs/nfsd/threads": "0\n"}, "blocked"),
        ("nfs-shared", {"/etc/exports": SHARED, "/proc/fs/nfsd/threads": "8\n"}, "todo"),
        (
            "nfs-shared",
            {"/etc/exports": SHARED, "/proc/fs/nfsd/threads": "8", "/var/lib/nfs/etab": ETAB},
            "done",
        ),
    ],
)
def test_obstacles_are_found_without_changing_machine(
    setting: str, files: dict[str, str], expected: str | None, tmp_path: Path
) -> None:
    """A kernel without NFS, a client that is the server, a server that does not run."""
    seen = machine_settings.SETTINGS[setting](machine(tmp_path, files))

    assert expected == (seen and seen.state)
    assert seen is None or seen.note or seen.state == "todo"


def test_step_after_impossible_step_is_impossible(tmp_path: Path) -> None:
    """A step after an impossible step is impossible, so the plan doesn't offer it."""
    here = machine(tmp_path, KERNEL)
    setup = MachineSetup("nfs-client", machine=here, values={"server": "10.0.0.2"}, root=True)

    assert {"blocked"} == {step.state for step in setup.steps}
    assert "6.8.0-gcp" in setup.steps[0].note
    assert {"blocked"} == {*run(setup).values()}


@pytest.mark.parametrize(
    ("exports", "is_removed"),
    [
        (None, True),
        ("", True),
        ("# of the package\n\n", True),
        ("/srv/mine 10.0.0.0/8(ro)\n", False),
    ],
)
def test_a_server_that_shares_other_folders_stays(
    exports: str | None, is_removed: bool, tmp_path: Path
) -> None:
    """A server that shares other folders isn't purged, because that would delete their list."""
    path = tmp_path / "exports"
    if exports is not None:
        path.write_text(exports)
    steps = steps_of_lesson("nfs-server")
    (_, _, script, *_) = next(step["undo"] for step in steps if step["id"] == "package")
    words = ["sh", "-c", script.replace("/etc/exports", str(path)), "sh", "echo", "purged"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (0 if is_removed else 1) == ended.returncode
    assert is_removed == (ended.stdout == "purged\n")


def steps_of_lesson(profile: str) -> list[dict[str, Any]]:
    """Return the steps of a profile as the lesson declares them."""
    return steps.find_setup_lesson(setup_profiles.find_profile(profile)).header["setups"][profile]


@pytest.mark.parametrize("threads", ["0", "8"])
def test_stopped_server_has_no_share_to_undo(threads: str, tmp_path: Path) -> None:
    """A stopped NFS server has no list of shares, where `exportfs -u` would fail."""
    files = {"/etc/exports": SHARED, "/proc/fs/nfsd/threads": threads}
    seen = machine_settings.SETTINGS["nfs-shared"](machine(tmp_path, files))

    assert seen
    assert "not shared" == seen.before


def chain(tmp_path: Path) -> tuple[host.Machine, Path, Path]:
    """Return a machine, lessons whose second step needs the first, and where both write."""
    here = machine(tmp_path)
    first, second = here.root / "home/alice/first", here.root / "home/alice/second"
    second.parent.mkdir(parents=True, exist_ok=True)
    guard = 'test ! -e "$1.used" || exit 1; shift; exec "$@"'
    lessons = declare(
        tmp_path,
        {"id": "one", "look": {"file": "/home/alice/first", "text": "1"}},
        {
            "id": "two",
            "look": {"file": "/home/alice/second", "text": "2"},
            "undo": ["sh", "-c", guard, "sh", str(second), "{undo}"],
            "after": ["one"],
        },
    )
    return here, lessons, first


def test_undo_stops_below_step_that_cannot_revert(tmp_path: Path) -> None:
    """Undo stops at a step that can't be reverted, keeps those before it, and can be repeated."""
    here, lessons, first = chain(tmp_path)
    run(MachineSetup("tuning", machine=here, lessons=lessons))
    used = first.with_name("second.used")
    used.touch()
    refused = MachineSetup("tuning", machine=here, lessons=lessons)

    assert {"two": "failed", "one": "blocked"} == run(refused, undo=True)
    assert ExitCode.FAILED == refused.exit_code
    assert first.exists()
    used.unlink()
    again = MachineSetup("tuning", machine=here, lessons=lessons)
    assert {"two": "undone", "one": "undone"} == run(again, undo=True)
    assert [] == [path.name for path in first.parent.iterdir() if path.is_file()]


def test_proof_compares_what_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes are rates, and a folder that gives back others is named."""
    monkeypatch.setattr(prove_shared_folder, "LARGE_MB", 2)
    assert "2 MB written at" in prove_shared_folder.measure_large_file(str(tmp_path))

    zeros = io.BytesIO(bytes(2_000_000))
    with tempfile.TemporaryFile(dir=tmp_path) as real:
        file = mock.Mock(fileno=real.fileno, read=zeros.read)
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: contextlib.nullcontext(file))
        with pytest.raises(SystemExit, match="gives back other bytes"):
            prove_shared_folder.measure_large_file(str(tmp_path))
