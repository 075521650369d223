"""States of machine settings that are neither files nor packages, with a function for each.

A function returns None if it cannot decide, and the rest of the step's `look` decides.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable

from tpustarter.machine import host
from tpustarter.machine.containers import detect_container
from tpustarter.setup.environment.steps import State
from tpustarter.setup.machine import marked_lines
from tpustarter.setup.machine.step_kind import StepState

HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
LOGS = "/tmp/tpu_logs"  # noqa: S108 -- libtpu's default folder
TCMALLOC = "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"
EXPORTS, EXPORT_MARK = "/etc/exports", "nfs-server export"
"""The list of folders that this machine exports, and the name of set-up's marks in it."""
DOCKERD = ("/usr/bin/dockerd", "/usr/sbin/dockerd")
"""Paths of the Docker daemon in the packages docker-ce and docker.io."""
GCSFUSE = "https://docs.cloud.google.com/storage/docs/cloud-storage-fuse/install"
_ALL_MAY_WRITE = 0o1777
_RAISES_LIMITS = 1 << 24
"""The capability SYS_RESOURCE, as a bit of the sets in `/proc/self/status`."""
_LIMIT_STAYS = (
    "in this container not even root may raise the limit, because it runs without the capability "
    "SYS_RESOURCE; `docker run --ulimit memlock=-1` starts one without the limit"
)
_MAX_BYTES = 16 * 1024 * 1024


def _huge_pages(machine: host.Machine) -> StepState:
    text = host.clean_text(machine.read_text(HUGE_PAGES) or "", 60)
    found = re.search(r"\[(\w+)\]", text)
    if not found:
        return StepState("blocked", "this kernel has no such setting")
    end: State = "done" if found[1] == "always" else "todo"
    return StepState(end, f"transparent huge pages: {found[1]}", found[1])


def _locked_memory(machine: host.Machine) -> StepState | None:
    limits = machine.read_text("/proc/self/limits") or ""
    found = re.search(r"^Max locked memory\s+(\S+)\s+(\S+)", limits, re.MULTILINE)
    soft, hard = found.groups() if found else ("", "")
    if soft == "unlimited":
        return StepState("done", "there is no limit here")
    status = machine.read_text("/proc/self/status") or ""
    powers = re.search(r"^CapBnd:\s+([0-9a-f]+)$", status, re.MULTILINE)
    if hard == "unlimited" or powers is None or int(powers[1], 16) & _RAISES_LIMITS:
        return None
    return StepState("blocked", _LIMIT_STAYS)


def _logs(machine: host.Machine) -> StepState:
    status = machine.read_status(LOGS)
    if status is None:
        return StepState("done", f"there is no `{LOGS}` yet; whoever runs first makes it")
    mode = stat.S_IMODE(status.st_mode)
    if mode & _ALL_MAY_WRITE == _ALL_MAY_WRITE:
        return StepState("done", f"every user may write to `{LOGS}`")
    user = machine.user_name(status.st_uid)
    return StepState("todo", f"`{LOGS}` is of user {user}, mode {mode:o}", f"{mode:o}")


def _tcmalloc(machine: host.Machine) -> StepState | None:
    if machine.read_status(TCMALLOC) is None:
        return None
    return StepState("done", f"`LD_PRELOAD={TCMALLOC}` before a command makes it use this")


def _nfs_server(machine: host.Machine) -> StepState | None:
    if _has_file_system(machine, "nfsd", "fs/nfsd/nfsd.ko"):
        return None
    return StepState("blocked", _no_nfs(machine, "server"))


def _nfs_client(machine: host.Machine) -> StepState | None:
    if shared := _shared_lines(machine):
        return StepState(
            "blocked", f"this machine is the server: its folder is `{shared[0].split()[0]}`"
        )
    if _has_file_system(machine, "nfs4?", "fs/nfs/nfs.ko"):
        return None
    return StepState("blocked", _no_nfs(machine, "client"))


def _nfs_shared(machine: host.Machine) -> StepState:
    # `threads` shows whether the server runs, and `etab` whether the folder is exported.
    lines = _shared_lines(machine)
    if not lines:
        return StepState("todo", "", "not shared")
    share, clients = lines[0].partition("(")[0].split()
    exported = (machine.read_text("/var/lib/nfs/etab", _MAX_BYTES) or "").splitlines()
    is_exported = any(line.startswith(f"{share}\t{clients}(") for line in exported)
    if (machine.read_text("/proc/fs/nfsd/threads") or "0") == "0":
        note = "no NFS server runs: `sudo systemctl start nfs-server` starts it"
        return StepState("blocked", note, "" if is_exported else "not shared")
    if is_exported:
        return StepState("done", f"`{share}` can be mounted from {clients}")
    return StepState("todo", "", "not shared")


def _shared_lines(machine: host.Machine) -> tuple[str, ...]:
    try:
        parts = marked_lines.read_parts(machine.path(EXPORTS), EXPORT_MARK)
    except marked_lines.UnchangeableFileError:
        return ()
    return (parts and parts.ours) or ()


def _has_file_system(machine: host.Machine, name: str, module: str) -> bool:
    # A module that is not loaded yet counts too.
    if re.search(rf"(?m)^nodev\s+{name}$", machine.read_text("/proc/filesystems") or ""):
        return True
    folder = f"/lib/modules/{_release(machine)}"
    lists = (f"{folder}/modules.dep", f"{folder}/modules.builtin")
    return any(module in (machine.read_text(path, _MAX_BYTES) or "") for path in lists)


def _no_nfs(machine: host.Machine, what: str) -> str:
    where = "; set this up outside of the container" if detect_container(machine) else ""
    return f"the kernel here, {_release(machine)}, has no NFS {what}{where}"


def _release(machine: host.Machine) -> str:
    return host.clean_text(
        machine.read_text("/proc/sys/kernel/osrelease") or "of unknown version", 60
    )


def _docker(machine: host.Machine) -> StepState | None:
    found = [path for path in DOCKERD if machine.read_status(path)]
    return StepState("done", f"the server of Docker found at {found[0]}") if found else None


def _docker_server(machine: host.Machine) -> StepState:
    pid = (machine.read_text("/run/docker.pid") or "").strip()
    if pid.isdigit() and machine.read_status(f"/proc/{pid}"):
        return StepState("done", f"it runs as process {pid}")
    if machine.read_status("/run/systemd/system") and machine.read_status("/run/docker.sock"):
        return StepState("done", "systemd starts it when somebody asks for it")
    return StepState("todo", "", "stopped")


def _gcsfuse(machine: host.Machine) -> StepState | None:
    found = shutil.which("gcsfuse", path=machine.env.get("PATH", os.defpath))
    if found:
        return StepState("done", f"gcsfuse found at {found}")
    if any("gcsfuse" in name for name in machine.list_names("/var/lib/apt/lists")):
        return None
    return StepState(
        "blocked",
        f"apt does not know this package yet; three commands of Google's page "
        f"tell it where to look: {GCSFUSE}",
    )


def _fuse(machine: host.Machine) -> StepState | None:
    if machine.read_status("/dev/fuse"):
        return None
    return StepState(
        "blocked",
        "there is no /dev/fuse here, which a container is given with "
        "`--device=/dev/fuse --cap-add=SYS_ADMIN`",
    )


SETTINGS: dict[str, Callable[[host.Machine], StepState | None]] = {
    "huge-pages": _huge_pages,
    "locked-memory": _locked_memory,
    "logs": _logs,
    "tcmalloc": _tcmalloc,
    "docker": _docker,
    "docker-server": _docker_server,
    "gcsfuse": _gcsfuse,
    "fuse": _fuse,
    "nfs-server": _nfs_server,
    "nfs-client": _nfs_client,
    "nfs-shared": _nfs_shared,
}
