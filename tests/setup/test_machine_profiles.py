"""The profiles `docker` and `gcs`: the state that they see, and the commands of each step."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.machine_setups import declare, home_file, machine, run, with_apt
from tpustarter.core.problem import Problem
from tpustarter.setup import server_commands
from tpustarter.setup.machine import machine_settings
from tpustarter.setup.machine.access_steps import GroupMember, RegistryStep
from tpustarter.setup.machine.machine_setup import MachineSetup

HOST = "us-central1-docker.pkg.dev"
CONFIG = ".docker/config.json"
RUNS = {"/run/docker.pid": "42", "/proc/42/": ""}
GCLOUD = f"""\
#!{sys.executable}
# Stands in for `gcloud auth configure-docker`.
import json, pathlib, sys
path = pathlib.Path({{path!r}})
path.parent.mkdir(exist_ok=True)
fields = json.loads(path.read_text()) if path.exists() else {{{{}}}}
fields.setdefault("credHelpers", {{{{}}}})[sys.argv[3]] = "gcloud"
path.write_text(json.dumps(fields))
"""


@pytest.mark.parametrize(
    ("profile", "step", "files", "expected"),
    [
        ("docker", "engine", {"/usr/bin/dockerd": ""}, "done"),
        ("docker", "engine", {}, "blocked"),
        ("docker", "server", RUNS, "done"),
        ("docker", "server", {"/run/docker.pid": "42", "/usr/sbin/dockerd": ""}, "todo"),
        ("docker", "server", {"/run/docker.sock": "", "/run/systemd/system/": ""}, "done"),
        ("docker", "server", {"/run/docker.sock": "", "/usr/sbin/dockerd": ""}, "todo"),
        ("docker", "prove", {**RUNS, "/usr/sbin/dockerd": ""}, "todo"),
        ("gcs", "package", {}, "blocked"),
        ("gcs", "folder", {}, "blocked"),
        ("gcs", "boot", {"/etc/": ""}, "blocked"),
        (
            "gcs",
            "mount",
            {"/proc/self/mounts": "my-data /mnt/my-data fuse.gcsfuse rw 0 0\n", "/dev/fuse": ""},
            "done",
        ),
    ],
)
def test_step_states_match_machine(
    profile: str, step: str, files: Mapping[str, str], expected: str, tmp_path: Path
) -> None:
    """A step's state matches the machine, and a step that can't be done here has a note."""
    told = {"bucket": "my-data"} if profile == "gcs" else {}
    setup = MachineSetup(profile, machine=machine(tmp_path, files), values=told)
    (found,) = [one for one in setup.steps if one.id == step]

    assert expected == found.state
    assert found.note or found.state == "todo"


@pytest.mark.parametrize(
    ("group", "user", "expected"),
    [
        ("docker:x:113:\n", "alice", "todo"),
        ("docker:x:113:bob,alice\n", "alice", "done"),
        ("docker:x:113:bob,alice\n", "ali", "todo"),
        ("dockers:x:113:alice\n", "alice", "blocked"),
        ("", "root", "done"),
    ],
)
def test_group_membership_is_read_from_groups_line(
    group: str, user: str, expected: str, tmp_path: Path
) -> None:
    """The whole name counts, and root needs none; the way there and back name the same two."""
    kind = GroupMember(machine(tmp_path, {"/etc/group": group}), user, "docker")

    assert expected == kind.read_state().state
    assert {"docker", user} <= {*kind.command()}
    assert {"docker", user} <= {*kind.undo("outside")}


@pytest.mark.parametrize(
    "before",
    [
        None,
        {},
        {"auths": {"x": {}}},
        {"credHelpers": {"eu-docker.pkg.dev": "gcloud"}},
        {"credHelpers": {HOST: "gcr"}, "psFormat": "table"},
    ],
)
def test_registry_entry_is_added_and_removed(
    before: dict[str, object] | None, tmp_path: Path
) -> None:
    """The registry entry is added and removed, which restores the file or its absence."""
    here = machine(tmp_path)
    path = home_file(here, CONFIG)
    if before is not None:
        path.parent.mkdir()
        path.write_text(json.dumps(before))
        path.chmod(0o600)
    gcloud = tmp_path / "tools" / "gcloud"
    gcloud.write_text(GCLOUD.format(path=str(path)))
    gcloud.chmod(0o755)
    lessons = declare(tmp_path, {"id": "registry", "look": {"registry": HOST}})

    assert {"registry": "done"} == run(MachineSetup("tuning", machine=here, lessons=lessons))
    assert "gcloud" == json.loads(path.read_text())["credHelpers"][HOST]
    assert {} == run(MachineSetup("tuning", machine=here, lessons=lessons))
    undoing = MachineSetup("tuning", machine=here, lessons=lessons)
    assert {"registry": "undone"} == run(undoing, undo=True)
    assert before == (json.loads(path.read_text()) if path.exists() else None)
    assert (before is not None) == path.parent.exists()
    assert before is None or 0o600 == path.stat().st_mode & 0o777


@pytest.mark.parametrize("text", ["[]", "{", '{"credHelpers": "x"}'])
def test_a_broken_configuration_of_docker_is_left_alone(text: str, tmp_path: Path) -> None:
    """A broken configuration of Docker isn't changed, and the step names its file."""
    here = machine(tmp_path, {f"/home/alice/{CONFIG}": text})
    seen = RegistryStep(here, HOST, "/home/alice").read_state()

    assert ("blocked", True) == (seen.state, f"/home/alice/{CONFIG}` cannot be read" in seen.note)


def test_missing_gcloud_means_no_login(tmp_path: Path) -> None:
    """Without gcloud there is no login, and the step says so."""
    here = replace(machine(tmp_path), env={"PATH": str(tmp_path / "tools")})

    assert "there is no `gcloud` here" == RegistryStep(here, HOST, "/home/alice").read_state().note


def test_undo_keeps_data_deleted_by_package_purge(tmp_path: Path) -> None:
    """Debian's docker.io deletes every image when it is purged, unless its script may not run."""
    here = with_apt(tmp_path, "bash")
    step = {
        "id": "a",
        "look": {"package": "tmux"},
        "undo": ["sh", "-c", 'echo kept >&2; exec "$@"', "sh", "{undo}"],
    }
    lessons = declare(tmp_path, step)
    run(MachineSetup("tuning", machine=here, lessons=lessons))
    undoing = MachineSetup("tuning", machine=here, lessons=lessons)
    (words,) = undoing.removed_by_undo()

    assert words.index("echo kept") < words.index("dpkg --purge") < words.index("libtmux tmux")
    assert {"a": "undone"} == run(undoing, undo=True)
    assert "tmux" not in (here.root / "var/lib/dpkg/status").read_text()
    (engine, *_) = MachineSetup("docker", machine=here).steps
    assert "docker.io" == engine.command[-1]


def test_bucket_package_waits_for_google_index(tmp_path: Path) -> None:
    """The gcsfuse package is blocked with a link until apt knows of it; then it is installed."""
    here = with_apt(tmp_path, "bash")
    (package, *_) = MachineSetup("gcs", machine=here).steps
    assert ("blocked", True) == (package.state, machine_settings.GCSFUSE in package.note)
    lists = here.root / "var/lib/apt/lists"
    lists.mkdir(parents=True)
    (lists / "apt_dists_gcsfuse-jammy_main_binary-amd64_Packages").touch()
    (package, *_) = MachineSetup("gcs", machine=here).steps

    assert ("todo", "gcsfuse") == (package.state, package.command[-1])


def test_machine_without_fuse_explains_container_flag(tmp_path: Path) -> None:
    """Without /dev/fuse the note explains the container flag; with it, the mounts decide."""
    here = machine(tmp_path)
    seen = machine_settings.SETTINGS["fuse"](here)

    assert seen is not None
    assert ("blocked", True) == (seen.state, "--device=/dev/fuse" in seen.note)
    here.path("/dev").mkdir(exist_ok=True)
    here.path("/dev/fuse").touch()
    assert machine_settings.SETTINGS["fuse"](here) is None


@pytest.mark.parametrize("bucket", ["gs://my-data", "My-Data", "a b", "a,b", "x", "-x", "a/b"])
def test_invalid_bucket_name_is_refused(bucket: str, tmp_path: Path) -> None:
    """A bucket name with other characters is refused: it becomes part of a line of /etc/fstab."""
    with pytest.raises(Problem, match="expected the name of your bucket, without gs://"):
        MachineSetup("gcs", machine=machine(tmp_path), values={"bucket": bucket})


@pytest.mark.parametrize("options", ["nofail", "implicit_dirs,nofail", "a b", "a,,b", "a=$(id)"])
def test_option_that_breaks_mount_is_refused(options: str, tmp_path: Path) -> None:
    """An option that would break the mount is refused before it gets into /etc/fstab."""
    told = {"bucket": "my-data", "options": options}
    with pytest.raises(Problem, match="options of Cloud Storage FUSE, parted by commas"):
        MachineSetup("gcs", machine=machine(tmp_path), values=told)


def test_bucket_line_has_only_options_fuse_accepts(tmp_path: Path) -> None:
    """`nofail` goes through mount(8) and gcsfuse to fusermount, which ends with it."""
    told = {"bucket": "my-data", "options": "implicit_dirs,cache_dir=/var/cache/gcsfuse"}
    setup = MachineSetup("gcs", machine=machine(tmp_path), values=told)
    line = next(one for one in setup.steps if one.id == "boot").writes[1]
    source, folder, kind, options, *_ = line.split()

    assert ("my-data", "/mnt/my-data", "gcsfuse") == (source, folder, kind)
    assert {"_netdev", "allow_other", *told["options"].split(",")} <= {*options.split(",")}
    assert "nofail" not in options


def test_folder_without_mount_proves_nothing(tmp_path: Path) -> None:
    """A folder without a mount isn't a proof, and nothing is written there."""
    words = [
        sys.executable,
        "-IB",
        str(server_commands.PROGRAMS / "prove_folder.py"),
        str(tmp_path),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert (1, "") == (done.returncode, done.stdout)
    assert f"not so: a file system is mounted on {tmp_path}" in done.stderr
    assert [] == list(tmp_path.iterdir())


def test_missing_docker_is_named(tmp_path: Path) -> None:
    """The name is the one that a person can look for on PATH."""
    program = str(server_commands.PROGRAMS / "prove_docker.py")
    done = subprocess.run(
        [sys.executable, "-IB", program],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(tmp_path)},
    )

    assert (1, "") == (done.returncode, done.stdout)
    assert "`docker` on PATH" in done.stderr
