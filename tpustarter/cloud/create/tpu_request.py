"""A request to Google Cloud for one TPU, validated before anything is sent.

Defaults are gcloud's: external addresses, the network `default`, Compute Engine's service account.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from tpustarter.cloud.api.resources import Api, Tier
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import tpus
from tpustarter.machine.tpus import TpuType

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_ZONE = re.compile(r"[a-z]+-[a-z]+[0-9]+-[a-z][a-z0-9]*")
_LABEL = re.compile(r"[a-z][-_a-z0-9]{0,62}")
_LABEL_VALUE = re.compile(r"[-_a-z0-9]{0,63}")
_DURATION = re.compile(r"([0-9]+)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MOST_DAYS = 3660
"""Longest accepted duration in days; Google's duration format ends at 10,000 years."""


FIXED_BOOT_DISK = (
    "The Cloud TPU API gives each TPU VM a boot disk of 100 GiB, and its size cannot be chosen. "
    "For more room, attach a data disk with `--data-disk`."
)
"""Source: https://docs.cloud.google.com/tpu/docs/setup-persistent-disk (read 2026-11)."""


@dataclass(frozen=True)
class DataDisk:
    """An existing disk in the same zone that is attached to every worker."""

    source: str
    """`projects/P/zones/Z/disks/NAME`."""
    read_only: bool = False


@dataclass(frozen=True)
class TpuRequest:
    """A TPU to request: a queued resource, an instance, or a group of instances."""

    name: str
    type: TpuType
    zone: str
    version: str
    """The runtime version, which is the TPU VM's image; empty for Compute Engine, which has its own
    images."""
    tier: Tier = "on-demand"
    slices: int = 1
    """Number of slices; several form a multislice with the nodes `NAME-0`, `NAME-1` and so on."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    data_disks: tuple[DataDisk, ...] = ()
    network: str = "default"
    subnetwork: str = ""
    internal_addresses: bool = False
    service_account: str = ""
    tags: tuple[str, ...] = ()
    reservation: str = ""
    """`projects/P/locations/Z/reservations/NAME`; only for the tier `reserved`."""
    valid_until_s: int = 0
    """Seconds after which the request leaves the queue; 0 for no limit."""
    api: Api = "cloud-tpu"
    run_s: int = 0
    """Seconds after which Google deletes it; only for the tier `flex-start`."""

    @property
    def chips(self) -> int:
        """Return the number of chips in all slices."""
        return self.type.chips * self.slices

    @property
    def node_names(self) -> tuple[str, ...]:
        """Return its nodes' names."""
        if self.slices == 1:
            return (self.name,)
        return tuple(f"{self.name}-{number}" for number in range(self.slices))


def validate_tpu_name(name: str) -> str:
    """Return a TPU's name unchanged; raises Problem if Google would refuse it."""
    if _NAME.fullmatch(name):
        return name
    raise Problem(
        f"`{name}` cannot be the name of a TPU, expected lowercase letters, digits and `-`, "
        "a letter first and at most 63",
        hint="take a name such as `bert` or `my-tpu-1`",
        code=ExitCode.USAGE,
    )


def is_zone(text: str) -> bool:
    """Return whether a string looks like a zone name, such as `us-central1-b`."""
    return _ZONE.fullmatch(text) is not None


def find_region(zone: str) -> str:
    """Return the region that contains a zone."""
    return zone.rpartition("-")[0]


def validate_zone(zone: str) -> str:
    """Return a zone name unchanged. Raises Problem for anything else, such as a region."""
    if is_zone(zone):
        return zone
    raise Problem(
        f"`{zone}` is not the name of a zone, expected a name such as `us-central1-b`",
        hint="`tpustarter tpu zones` lists the zones that have TPUs",
        code=ExitCode.USAGE,
    )


def parse_type(text: str) -> TpuType:
    """Parse `v5e-8` or `v5litepod-8`; raises Problem with the nearest name for an unknown type."""
    try:
        return tpus.parse_type(text)
    except LookupError as error:
        raise Problem(
            str(error.args[0]),
            hint="`tpustarter tpu types --zone ZONE` lists what a zone offers",
            code=ExitCode.USAGE,
        ) from error


def default_runtime_version(tpu: TpuType) -> str:
    """Return a generation's documented runtime version; raises Problem if there is none."""
    version = tpu.generation.runtime_version
    if version:
        return version
    raise Problem(
        f"no runtime version is documented for {tpu.generation.title}",
        hint="`tpustarter tpu versions --zone ZONE` lists them; pass one with `--version`",
        code=ExitCode.USAGE,
    )


def parse_duration(text: str) -> int:
    """Parse a duration such as `90m` or `6h` into seconds; raises Problem if it is invalid."""
    if match := _DURATION.fullmatch(text.strip()):
        seconds = int(match[1].lstrip("0")[:12] or 0) * _SECONDS[match[2]]
        if seconds <= MOST_DAYS * _SECONDS["d"]:
            return seconds
        raise Problem(
            f"`{text[:40]}` is too long, expected `{MOST_DAYS}d` at most", code=ExitCode.USAGE
        )
    raise Problem(
        f"`{text}` is not a duration, expected a number and its unit such as `90m`, `6h` or `2d`",
        code=ExitCode.USAGE,
    )


def validate_labels(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Return labels unchanged; raises Problem if Google would refuse one of them."""
    for key, value in labels.items():
        if not (_LABEL.fullmatch(key) and _LABEL_VALUE.fullmatch(value)):
            raise Problem(
                f"`{key}={value}` cannot be a label, expected lowercase letters, digits, `_` "
                "and `-`, at most 63 on each side",
                code=ExitCode.USAGE,
            )
    return labels


def add_libtpu_flags(script: str, flags: str) -> str:
    """Return a start-up script that also sets `LIBTPU_INIT_ARGS` for every later login.

    libtpu reads its flags only from this variable, and no metadata key sets it.
    """
    line = f"LIBTPU_INIT_ARGS={shlex.quote(flags)}"
    first, rest = "#!/bin/bash", script
    if script.startswith("#!"):
        first, _, rest = script.partition("\n")
    file = "/etc/environment"
    command = f"grep -q '^LIBTPU_INIT_ARGS=' {file} || echo {shlex.quote(line)} >> {file}"
    return "\n".join(filter(None, (first, command, rest)))
