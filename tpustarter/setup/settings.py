"""Settings of a machine that no file and no package stands for: one function each, which looks.

A function returns null where it has nothing to say, and the rest of the step's `look` decides.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable

from tpustarter.machine import host
from tpustarter.machine.containers import container
from tpustarter.setup import marked
from tpustarter.setup.kind import Look
from tpustarter.setup.steps import State

HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
LOGS = "/tmp/tpu_logs"  # noqa: S108 -- where libtpu writes unless told otherwise
TCMALLOC = "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4"
EXPORTS, EXPORT_MARK = "/etc/exports", "nfs-server export"
"""Where the folders are listed that this machine shares, and the name of our marks there."""
DOCKERD = ("/usr/bin/dockerd", "/usr/sbin/dockerd")
"""Where the packages docker-ce and docker.io put it."""
GCSFUSE = "https://docs.cloud.google.com/storage/docs/cloud-storage-fuse/install"
_ALL_MAY_WRITE = 0o1777
_RAISES_LIMITS = 1 << 24
"""The capability SYS_RESOURCE, as a bit of the sets in `/proc/self/status`."""
_LIMIT_STAYS = (
    "in this container not even root may raise the limit, because it runs without the capability "
    "SYS_RESOURCE; `docker run --ulimit memlock=-1` starts one without the limit"
)
_MAX_BYTES = 16 * 1024 * 1024


def _huge_pages(machine: host.Machine) -> Look:
    text = host.plain(machine.text(HUGE_PAGES) or "", 60)
    found = re.search(r"\[(\w+)\]", text)
    if not found:
        return Look("blocked", "this kernel has no such setting")
    end: State = "done" if found[1] == "always" else "todo"
    return Look(end, f"transparent huge pages: {found[1]}", found[1])


def _locked_memory(machine: host.Machine) -> Look | None:
    limits = machine.text("/proc/self/limits") or ""
    found = re.search(r"^Max locked memory\s+(\S+)\s+(\S+)", limits, re.MULTILINE)
    soft, hard = found.groups() if found else ("", "")
    if soft == "unlimited":
        return Look("done", "there is no limit here")
    status = machine.text("/proc/self/status") or ""
    powers = re.search(r"^CapBnd:\s+([0-9a-f]+)$", status, re.MULTILINE)
    if hard == "unlimited" or powers is None or int(powers[1], 16) & _RAISES_LIMITS:
        return None
    return Look("blocked", _LIMIT_STAYS)


def _logs(machine: host.Machine) -> Look:
    status = machine.status(LOGS)
    if status is None:
        return Look("done", f"there is no `{LOGS}` yet; whoever runs first makes it")
    mode = stat.S_IMODE(status.st_mode)
    if mode & _ALL_MAY_WRITE == _ALL_MAY_WRITE:
        return Look("done", f"every user may write to `{LOGS}`")
    user = machine.user_name(status.st_uid)
    return Look("todo", f"`{LOGS}` is of user {user}, mode {mode:o}", f"{mode:o}")


def _tcmalloc(machine: host.Machine) -> Look | None:
    if machine.status(TCMALLOC) is None:
        return None
    return Look("done", f"`LD_PRELOAD={TCMALLOC}` before a command makes it use this")


def _nfs_server(machine: host.Machine) -> Look | None:
    if _has_file_system(machine, "nfsd", "fs/nfsd/nfsd.ko"):
        return None
    return Look("blocked", _no_nfs(machine, "server"))


def _nfs_client(machine: host.Machine) -> Look | None:
    if shared := _shared_lines(machine):
        return Look(
            "blocked", f"this machine is the server: its folder is `{shared[0].split()[0]}`"
        )
    if _has_file_system(machine, "nfs4?", "fs/nfs/nfs.ko"):
        return None
    return Look("blocked", _no_nfs(machine, "client"))


def _nfs_shared(machine: host.Machine) -> Look:
    """Tell by the kernel's threads and by the list that `exportfs` keeps."""
    lines = _shared_lines(machine)
    if not lines:
        return Look("todo", "", "not shared")
    share, clients = lines[0].partition("(")[0].split()
    exported = (machine.text("/var/lib/nfs/etab", _MAX_BYTES) or "").splitlines()
    is_exported = any(line.startswith(f"{share}\t{clients}(") for line in exported)
    if (machine.text("/proc/fs/nfsd/threads") or "0") == "0":
        note = "no NFS server runs: `sudo systemctl start nfs-server` starts it"
        return Look("blocked", note, "" if is_exported else "not shared")
    if is_exported:
        return Look("done", f"`{share}` can be mounted from {clients}")
    return Look("todo", "", "not shared")


def _shared_lines(machine: host.Machine) -> tuple[str, ...]:
    """Return our lines in the list of shared folders."""
    try:
        parts = marked.read(machine.path(EXPORTS), EXPORT_MARK)
    except marked.UnreadableError:
        return ()
    return (parts and parts.ours) or ()


def _has_file_system(machine: host.Machine, name: str, module: str) -> bool:
    """Tell whether the kernel knows a file system, or has a module for it."""
    if re.search(rf"(?m)^nodev\s+{name}$", machine.text("/proc/filesystems") or ""):
        return True
    folder = f"/lib/modules/{_release(machine)}"
    lists = (f"{folder}/modules.dep", f"{folder}/modules.builtin")
    return any(module in (machine.text(path, _MAX_BYTES) or "") for path in lists)


def _no_nfs(machine: host.Machine, what: str) -> str:
    where = "; set this up outside of the container" if container(machine) else ""
    return f"the kernel here, {_release(machine)}, has no NFS {what}{where}"


def _release(machine: host.Machine) -> str:
    return host.plain(machine.text("/proc/sys/kernel/osrelease") or "of unknown version", 60)


def _docker(machine: host.Machine) -> Look | None:
    found = [path for path in DOCKERD if machine.status(path)]
    return Look("done", f"the server of Docker found at {found[0]}") if found else None


def _docker_server(machine: host.Machine) -> Look:
    pid = (machine.text("/run/docker.pid") or "").strip()
    if pid.isdigit() and machine.status(f"/proc/{pid}"):
        return Look("done", f"it runs as process {pid}")
    if machine.status("/run/systemd/system") and machine.status("/run/docker.sock"):
        return Look("done", "systemd starts it when somebody asks for it")
    return Look("todo", "", "stopped")


def _gcsfuse(machine: host.Machine) -> Look | None:
    found = shutil.which("gcsfuse", path=machine.env.get("PATH", os.defpath))
    if found:
        return Look("done", f"gcsfuse found at {found}")
    if any("gcsfuse" in name for name in machine.names("/var/lib/apt/lists")):
        return None
    return Look("blocked", f"apt does not know this package yet; three commands of Google's page "
                f"tell it where to look: {GCSFUSE}")  # fmt: skip


def _fuse(machine: host.Machine) -> Look | None:
    if machine.status("/dev/fuse"):
        return None
    return Look("blocked", "there is no /dev/fuse here, which a container is given with "
                "`--device=/dev/fuse --cap-add=SYS_ADMIN`")  # fmt: skip


SETTINGS: dict[str, Callable[[host.Machine], Look | None]] = {
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
