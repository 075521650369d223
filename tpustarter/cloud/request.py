"""What is asked of Google Cloud: one queued resource, checked before anything is sent.

Defaults are gcloud's: external addresses, the network `default`, the service account of Compute
Engine.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from tpustarter.cloud.resources import Tier
from tpustarter.machine import tpus
from tpustarter.machine.tpus import TpuType
from tpustarter.problem import ExitCode, Problem

_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_ZONE = re.compile(r"[a-z]+-[a-z]+[0-9]+-[a-z][a-z0-9]*")
_LABEL = re.compile(r"[a-z][-_a-z0-9]{0,62}")
_LABEL_VALUE = re.compile(r"[-_a-z0-9]{0,63}")
_DURATION = re.compile(r"([0-9]+)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class DataDisk:
    """A disk that exists in the same zone and is attached to every worker."""

    source: str
    """`projects/P/zones/Z/disks/NAME`."""
    read_only: bool = False


@dataclass(frozen=True)
class Request:
    """A queued resource to ask for."""

    name: str
    type: TpuType
    zone: str
    version: str
    """The runtime version, which is the image of the TPU VM."""
    tier: Tier = "on-demand"
    slices: int = 1
    """More than one makes a multislice, whose nodes are called `NAME-0`, `NAME-1` and so on."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    data_disks: tuple[DataDisk, ...] = ()
    network: str = "default"
    subnetwork: str = ""
    internal_addresses: bool = False
    service_account: str = ""
    tags: tuple[str, ...] = ()
    reservation: str = ""
    """`projects/P/locations/Z/reservations/NAME`; for the tier `reserved` alone."""
    valid_until_s: int = 0
    """Seconds after which the request leaves the queue; 0 for no limit."""

    @property
    def chips(self) -> int:
        """Return the chips that it asks for, in all its slices."""
        return self.type.chips * self.slices

    @property
    def node_names(self) -> tuple[str, ...]:
        """Return what its nodes will be called."""
        if self.slices == 1:
            return (self.name,)
        return tuple(f"{self.name}-{number}" for number in range(self.slices))


def check_name(name: str) -> str:
    """Return the name of a TPU; raises Problem for one that Google would refuse."""
    if _NAME.fullmatch(name):
        return name
    raise Problem(
        f"`{name}` cannot be the name of a TPU, expected lowercase letters, digits and `-`, "
        "a letter first and at most 63",
        hint="take a name such as `bert` or `my-tpu-1`",
        code=ExitCode.USAGE,
    )


def is_zone(text: str) -> bool:
    """Return whether a text has the form of a zone's name."""
    return _ZONE.fullmatch(text) is not None


def check_zone(zone: str) -> str:
    """Return a zone; raises Problem for what has not the form of one, such as a region."""
    if is_zone(zone):
        return zone
    raise Problem(
        f"`{zone}` is not the name of a zone, expected a name such as `us-central1-b`",
        hint="`tpustarter tpu zones` lists the zones that have TPUs",
        code=ExitCode.USAGE,
    )


def parse_type(text: str) -> TpuType:
    """Return the TPU meant by `v5e-8` or `v5litepod-8`; raises Problem with the nearest name."""
    try:
        return tpus.parse_type(text)
    except LookupError as error:
        raise Problem(
            str(error.args[0]),
            hint="`tpustarter tpu types --zone ZONE` lists what a zone offers",
            code=ExitCode.USAGE,
        ) from error


def default_version(tpu: TpuType) -> str:
    """Return the runtime version that Google documents for a generation."""
    version = tpu.generation.runtime_version
    if version:
        return version
    raise Problem(
        f"no runtime version is documented for {tpu.generation.title}",
        hint="`tpustarter tpu versions --zone ZONE` lists them; pass one with `--version`",
        code=ExitCode.USAGE,
    )


def parse_duration(text: str) -> int:
    """Return the seconds in `90m` or `6h`; raises Problem for another form."""
    if match := _DURATION.fullmatch(text.strip()):
        return int(match[1][:9]) * _SECONDS[match[2]]
    raise Problem(
        f"`{text}` is not a duration, expected a number and its unit such as `90m`, `6h` or `2d`",
        code=ExitCode.USAGE,
    )


def check_labels(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Return labels; raises Problem for one that Google would refuse."""
    for key, value in labels.items():
        if not (_LABEL.fullmatch(key) and _LABEL_VALUE.fullmatch(value)):
            raise Problem(
                f"`{key}={value}` cannot be a label, expected lowercase letters, digits, `_` "
                "and `-`, at most 63 on each side",
                code=ExitCode.USAGE,
            )
    return labels


def with_libtpu_flags(script: str, flags: str) -> str:
    """Return a start-up script that also sets `LIBTPU_INIT_ARGS` for every later login.

    libtpu reads flags from this variable alone, and no key of the metadata sets it.
    """
    line = f"LIBTPU_INIT_ARGS={shlex.quote(flags)}"
    first, rest = "#!/bin/bash", script
    if script.startswith("#!"):
        first, _, rest = script.partition("\n")
    file = "/etc/environment"
    command = f"grep -q '^LIBTPU_INIT_ARGS=' {file} || echo {shlex.quote(line)} >> {file}"
    return "\n".join(filter(None, (first, command, rest)))
