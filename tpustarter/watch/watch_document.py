"""A reading as a `tpustarter.watch/1` JSON document; `schema.json` is made of these types."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from tpustarter.core.problem import ExitCode
from tpustarter.version import __version__
from tpustarter.watch.missing_metrics import MissingMetrics
from tpustarter.watch.reading import DeviceReading, LinkReading, TpuReading
from tpustarter.watch.situations import Situation, find_situation

SCHEMA = "tpustarter.watch/1"


class WatchTool(msgspec.Struct):
    """The program that made the document."""

    version: str


class WatchedHost(msgspec.Struct):
    """Chips on PCI, and their generation."""

    chips: int
    generation: str | None


class WatchedProcess(msgspec.Struct):
    """A process that has chips open, as far as this user can see it."""

    pid: int
    user: str
    command: str
    age_s: float | None
    nodes: tuple[str, ...]


class SdkUse(msgspec.Struct):
    """The Python whose libtpu was queried besides the service, and why it returned nothing."""

    python: str | None
    problem: str | None


class WatchDocument(msgspec.Struct):
    """The output of `tpustarter watch --json`: one look at the TPU of this host.

    A number that this libtpu doesn't offer is null. Within this major number fields are only added.
    """

    schema: Literal["tpustarter.watch/1"]
    tool: WatchTool
    at: datetime
    host: WatchedHost
    ports: tuple[int, ...]
    devices: tuple[DeviceReading, ...]
    links: tuple[LinkReading, ...]
    processes: tuple[WatchedProcess, ...]
    sdk: SdkUse
    situation: Situation | None
    missing: MissingMetrics | None
    exit_code: int


class WatchErrorText(msgspec.Struct):
    """An error of the command line."""

    what: str
    hint: str | None


class WatchError(msgspec.Struct):
    """The document of a command that failed."""

    schema: Literal["tpustarter.watch/1"]
    error: WatchErrorText
    exit_code: int


def exit_code(reading: TpuReading) -> ExitCode:
    """Return the command's exit code: the reason's if there are no metrics."""
    return ExitCode(reading.missing.exit_code) if reading.missing else ExitCode.OK


def make_json_document(
    reading: TpuReading, python: Path | None, problem: str | None
) -> dict[str, object]:
    """Return a reading as a JSON document.

    Args:
        reading: The reading.
        python: The Python whose libtpu was asked, if one was.
        problem: The reason why it gave nothing.
    """
    document = WatchDocument(
        schema=SCHEMA,
        tool=WatchTool(__version__),
        at=reading.at,
        host=WatchedHost(reading.chips, reading.generation),
        ports=reading.ports,
        devices=reading.devices,
        links=reading.links,
        processes=tuple(
            WatchedProcess(one.pid, one.user, one.command, one.age_s, one.nodes)
            for one in reading.processes
        ),
        sdk=SdkUse(str(python) if python else None, problem),
        situation=find_situation(reading),
        missing=reading.missing,
        exit_code=int(exit_code(reading)),
    )
    return msgspec.to_builtins(document, str_keys=True)


def make_schema(*kinds_of_all_hosts: type[msgspec.Struct]) -> dict[str, object]:
    """Return the JSON schema that is published as `schema.json`.

    Args:
        kinds_of_all_hosts: The documents of `--all-hosts`, which a package above this one defines.
    """
    kinds, definitions = msgspec.json.schema_components(
        (WatchDocument, WatchError, *kinds_of_all_hosts), ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "oneOf": list(kinds),
        "$defs": definitions,
    }
