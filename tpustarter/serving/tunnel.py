"""The tunnel from a browser on another machine to a loopback port of this machine."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import OK

from tpustarter.machine import host, http_get, metadata
from tpustarter.machine.machine import Machine

_FOLDER = "/computeMetadata/v1/instance"
_TPU, _VM, _ZONE, _WORKER = (
    f"{_FOLDER}/{key}"
    for key in ("attributes/instance-id", "name", "zone", "attributes/agent-worker-number")
)
"""Keys of the metadata server.

`attributes/instance-id` is the name of a TPU VM; other machines do not have it.
Source: https://github.com/ray-project/ray/blob/master/python/ray/_private/accelerators/tpu.py
(read 2026-11).
"""
_TIMEOUT_S = 1.0
_UNKNOWN = {"name": "NAME", "zone": "ZONE"}
"""Placeholders for the user to replace if the metadata server did not respond."""


@dataclass(frozen=True)
class TunnelCommand:
    """A command that opens a tunnel, to be run on the computer with the browser."""

    when: str
    """The case that it is for, as the beginning of a sentence; empty for the usual case."""
    command: tuple[str, ...]


def list_tunnels(port: int, machine: Machine) -> list[TunnelCommand]:
    """Return the commands that open a tunnel to a port; none if the browser is on this machine.

    On Google Cloud, this requests the machine's name and zone from the metadata server, with a
    timeout of one second.
    """
    forward = ("-N", "-L", f"{port}:127.0.0.1:{port}")
    ways = [*_gcloud(forward, _answers(machine))] if host.is_google_cloud(machine) else []
    if target := _ssh_target(machine.env):
        ways.append(TunnelCommand("With plain ssh" if ways else "", ("ssh", *forward, target)))
    return ways


def _gcloud(forward: tuple[str, ...], known: Mapping[str, str]) -> Iterator[TunnelCommand]:
    zone = f"--zone={known.get(_ZONE, _UNKNOWN['zone'])}"
    iap = "--tunnel-through-iap"
    no_address = "If this machine has no external address"
    if _TPU in known or _VM not in known:
        worker = known.get(_WORKER, "0")
        words = (
            "compute",
            "tpus",
            "tpu-vm",
            "ssh",
            known.get(_TPU, _UNKNOWN["name"]),
            zone,
            *((f"--worker={worker}",) if worker != "0" else ()),
        )
        yield TunnelCommand("", ("gcloud", *words, "--", *forward))
        yield TunnelCommand(no_address, ("gcloud", "alpha", *words, iap, "--", *forward))
    else:
        words = ("compute", "ssh", known[_VM], zone)
        yield TunnelCommand("", ("gcloud", *words, "--", *forward))
        yield TunnelCommand(no_address, ("gcloud", *words, iap, "--", *forward))


def _answers(machine: Machine) -> dict[str, str]:
    answers = http_get.fetch_paths(
        metadata.server_address(machine),
        [_TPU, _VM, _ZONE, _WORKER],
        {"Metadata-Flavor": "Google"},
        _TIMEOUT_S,
    )
    return {path: text for path, answer in answers.items() if (text := _name(answer))}


def _name(answer: http_get.HttpResponse | str) -> str | None:
    """Return the name in a metadata server's response, without its path; None if it is invalid."""
    if isinstance(answer, str) or answer.status != OK:
        return None
    text = answer.body.decode("ascii", "replace").strip().rpartition("/")[2]
    return text if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", text) else None


def _ssh_target(env: Mapping[str, str]) -> str | None:
    """Return the user and address that this SSH session is connected to, or None without one."""
    parts = env.get("SSH_CONNECTION", "").split()
    user = env.get("USER", "")
    try:
        _, _, address, _ = parts
        ipaddress.ip_address(address)
    except ValueError:
        return None
    return f"{user}@{address}" if re.fullmatch(r"[A-Za-z0-9_][\w.-]*", user) else address
