"""Names of this machine, its users and its project, which a report must not contain.

They are used only for the pseudonyms. A source that cannot be read adds nothing, because names are
also recognised by their shape.
"""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

from tpustarter.machine import host, http_get, metadata
from tpustarter.report.clean.pseudonyms import Pseudonyms

METADATA_S = 1.0
"""Longest wait for the metadata server, in seconds."""
_METADATA_KEYS = {
    "project/project-id": "project",
    "project/numeric-project-id": "project",
    "instance/name": "host",
    "instance/hostname": "host",
    "instance/service-accounts/default/email": "email",
}
_HOST_VARIABLES = (
    "HOSTNAME",
    "TPU_NAME",
    "NODE_NAME",
    "POD_NAME",
    "MEGASCALE_COORDINATOR_ADDRESS",
    "JAX_COORDINATOR_ADDRESS",
    "TPU_WORKER_HOSTNAMES",
    "TPU_PROCESS_ADDRESSES",
)
PROJECT_VARIABLES = (
    "GOOGLE_CLOUD_PROJECT",
    "CLOUDSDK_CORE_PROJECT",
    "GCP_PROJECT",
    "GCLOUD_PROJECT",
    "DEVSHELL_PROJECT_ID",
)
"""Variables whose value is a project."""
_USER_VARIABLES = ("USER", "LOGNAME", "SUDO_USER", "USERNAME")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_BUCKET = re.compile(r"\b(?:gs|s3)://([A-Za-z0-9][\w.-]{2,})")
_ADDRESS = re.compile(r"[\d.]+|[\da-fA-F:]+")
_FIRST_USER = 1000
"""Smaller user ids belong to the system, and every machine has them."""


def add_names_of_machine(names: Pseudonyms, machine: host.Machine) -> None:
    """Add the names of this machine, its users and its project to the pseudonyms."""
    for kind, name in (
        *_list_names_in_variables(machine.env),
        *_list_user_names(machine),
        *_list_names_in_gcloud_settings(machine.env),
        *_list_host_names(machine),
        *_fetch_names_from_metadata(machine),
    ):
        if kind == "host":
            names.add_names(kind, (name, name.partition(".")[0]))
        else:
            names.add_names(kind, (name,))


def _list_names_in_variables(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in PROJECT_VARIABLES:
        yield "project", env.get(name, "")
    for name in _USER_VARIABLES:
        yield "user", env.get(name, "")
    for name in _HOST_VARIABLES:
        for part in env.get(name, "").split(","):
            yield from _find_host(part)
    home = env.get("HOME", "").rstrip("/")
    if home.count("/") > 1:
        yield "user", home.rpartition("/")[2]
    for value in env.values():
        yield from (("email", match[0]) for match in _EMAIL.finditer(value))
        yield from (("bucket", match[1]) for match in _BUCKET.finditer(value))


def _find_host(text: str) -> Iterator[tuple[str, str]]:
    """Yield the host of an entry such as `HOST:PORT`; addresses are recognised by their shape."""
    name = text.strip().rpartition("//")[2].partition(":")[0]
    if name and not _ADDRESS.fullmatch(name):
        yield "host", name


def _list_user_names(machine: host.Machine) -> Iterator[tuple[str, str]]:
    for file in ("/etc/passwd", "/etc/oslogin_passwd.cache"):
        for line in (machine.read_text(file, 1 << 20) or "").splitlines():
            fields = line.split(":")
            if len(fields) > 5 and fields[2].isdecimal() and int(fields[2]) >= _FIRST_USER:
                yield "user", fields[0]
    for name in machine.list_names("/home"):
        yield "user", name


def _list_host_names(machine: host.Machine) -> Iterator[tuple[str, str]]:
    yield "host", machine.read_text("/etc/hostname") or ""
    with contextlib.suppress(OSError):
        yield "host", socket.gethostname()
    for line in (machine.read_text("/etc/hosts") or "").splitlines():
        address, *hosts = line.partition("#")[0].split() or [""]
        if hosts and not address.startswith(("127.", "169.254.", "::1", "fe00", "ff0")):
            yield from (("host", name) for name in hosts)


def _list_names_in_gcloud_settings(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    place = env.get("CLOUDSDK_CONFIG") or f"{env.get('HOME', '')}/.config/gcloud"
    with contextlib.suppress(OSError, ValueError):
        for file in sorted(Path(place, "configurations").glob("config_*"))[:20]:
            text = file.read_text(encoding="utf-8", errors="replace")[:65536]
            for key, value in re.findall(r"^\s*(\w+)\s*=\s*(\S+)", text, re.MULTILINE):
                if key in ("project", "account"):
                    yield ("email" if "@" in value else "project"), value


def _fetch_names_from_metadata(machine: host.Machine) -> Iterator[tuple[str, str]]:
    if not host.is_google_cloud(machine):
        return
    paths = {f"/computeMetadata/v1/{key}": kind for key, kind in _METADATA_KEYS.items()}
    flavor = {"Metadata-Flavor": "Google"}
    answers = http_get.fetch_paths(
        metadata.server_address(machine), list(paths), flavor, METADATA_S
    )
    for path, answer in answers.items():
        if isinstance(answer, str) or answer.status != 200:
            continue
        yield paths[path], answer.body[:500].decode("utf-8", "replace").strip()
