"""Facts about this machine: chips, device nodes, lock, metadata, memory, disk, container, TPU logs.

Collecting them changes nothing: no device node is opened, and the lock is never taken.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from dataclasses import asdict
from pathlib import Path

from tpustarter.machine import host, memory
from tpustarter.machine.generations import GENERATIONS
from tpustarter.report.clean.allowed_fields import (
    choice_rule,
    clean_number,
    cleaned_text_rule,
    list_rule,
    name_rule,
    pattern_rule,
    pseudonymize_path,
    rows_rule,
)
from tpustarter.report.clean.cleaner import Cleaner, UncleanText
from tpustarter.report.collect.collector import Collector, CollectorUnanswered, ReportContext

LOG_FOLDER = "/tmp/tpu_logs"  # noqa: S108 -- libtpu's default folder; only read
LOG_FILES = 12
LOG_TAILS = 2
"""Number of logs, newest first, whose last lines are reported."""
LOG_LINES = 25
_TAIL_BYTES = 32 * 1024
_PROGRAMS = ("python", "python3", "bash", "sh", "zsh", "node", "docker", "jupyter", "java")
_LOG_NAME = re.compile(
    r"(?P<program>tpu_driver|libtpu|tpu_runtime|python3?(?:\.\d+)?)\."
    r"(?P<names>.+)\.log\.(?P<level>INFO|WARNING|ERROR|FATAL)"
    r"(?P<rest>\.\d{8}-\d{6}\.\d{1,10})?"
)
"""A log file name of Google's logging library: program, host, user, level, time, process."""


def collect_tpu(context: ReportContext) -> dict[str, object]:
    """Return the chips, their device nodes, and the processes that use them."""
    machine = context.machine
    chips = host.list_chips(machine)
    return {
        "chips": len(chips),
        "reachable_chips": host.count_reachable_chips(machine),
        "generation": sorted({chip.generation for chip in chips}),
        "on_pci": [
            {
                "address": chip.address,
                "driver": chip.driver,
                "numa": chip.numa,
                "functions": chip.functions,
                "nodes": list(chip.nodes),
            }
            for chip in chips
        ],
        "nodes": [asdict(node) for node in host.list_device_nodes(machine)],
        "unknown_google_devices": host.unknown_google_devices(machine),
        "lock": asdict(host.read_libtpu_lock(machine)),
        "holders": [
            {
                "pid": one.pid,
                "user": one.user,
                "command": _name_program(one.command),
                "script": one.command.partition(" ")[2].removeprefix("-m ").strip() or None,
                "age_s": one.age_s,
                "zombie": one.zombie,
                "nodes": list(one.nodes),
            }
            for one in host.list_tpu_processes(machine)
        ],
        "sees_every_process": host.can_read_every_process(machine),
    }


def _name_program(command: str) -> str:
    """Return a command line's program, or `another program` for one that is not common."""
    first = command.partition(" ")[0]
    return first if re.sub(r"[\d.]+$", "", first) in _PROGRAMS else "another program"


def collect_metadata(context: ReportContext) -> dict[str, object]:
    """Return this TPU's facts from the metadata server."""
    found = host.metadata(context.machine)
    if found.state == "not-google":
        raise CollectorUnanswered("this is not a Google Cloud machine")
    if found.state == "no-answer":
        raise CollectorUnanswered(f"the metadata server gave no answer ({found.why})")
    shape = host.find_slice(context.machine, found)
    return {
        "accelerator_type": found.accelerator_type,
        "runtime_version": found.tpu_env.get("RUNTIME_VERSION"),
        "zone": found.zone,
        "machine_type": found.machine_type,
        "worker": shape.worker,
        "hosts": shape.hosts,
        "devices_of_slice": shape.devices,
        "waits_for_other_hosts": shape.waits,
        "host_bounds": found.tpu_env.get("HOST_BOUNDS"),
        "chips_per_host_bounds": found.tpu_env.get("CHIPS_PER_HOST_BOUNDS"),
        "seconds": found.seconds,
    }


def collect_resources(context: ReportContext) -> dict[str, object]:
    """Return facts about processors, memory, disk and the container."""
    machine = context.machine
    container = host.detect_container(machine)
    total = re.search(
        r"^MemTotal:\s+(\d+) kB", machine.read_text("/proc/meminfo") or "", re.MULTILINE
    )
    thp = machine.read_text("/sys/kernel/mm/transparent_hugepage/enabled") or ""
    chosen = re.search(r"\[(always|madvise|never)\]", thp)
    model = re.search(
        r"^model name\s*: (.+)$", machine.read_text("/proc/cpuinfo") or "", re.MULTILINE
    )
    uptime = re.match(r"\d{1,10}", machine.read_text("/proc/uptime") or "")
    return {
        "cpu": " ".join(model[1].split()) if model else None,
        "uptime_s": int(uptime[0]) if uptime else None,
        "memory_bytes": int(total[1]) * 1024 if total else None,
        "available_bytes": memory.available_memory_bytes(machine),
        "limit_bytes": memory.container_memory_limit_bytes(machine),
        "oom_kills": memory.count_oom_kills(machine),
        "shm_gib": host.shared_memory_gib(machine),
        "huge_pages": chosen[1] if chosen else None,
        "container": container.kind if container else "none",
        "host_network": container.host_network if container else None,
        "free": [
            {"folder": name, "free_bytes": shutil.disk_usage(place).free}
            for name, place in (
                ("/", machine.path("/")),
                ("/tmp", machine.path("/tmp")),  # noqa: S108
                ("home", Path(machine.env.get("HOME") or "/")),
            )
            if place.is_dir()
        ],
    }


def collect_logs(context: ReportContext) -> dict[str, object]:
    """Return the list of libtpu's logs, and the last lines of the newest ones."""
    machine = context.machine
    folder = machine.env.get("TPU_LOG_DIR") or LOG_FOLDER
    if not folder.startswith("/"):
        raise CollectorUnanswered("TPU_LOG_DIR disables them, or is a relative path")
    place = machine.path(folder)
    files = _list_logs(place)
    if not files:
        raise CollectorUnanswered("libtpu has written no logs here")
    now = time.time()
    return {
        "folder": folder,
        "files": [
            {
                **_parse_log_name(one.name),
                "bytes": one.stat().st_size,
                "age_s": int(now - one.stat().st_mtime),
            }
            for one in files[:LOG_FILES]
        ],
        "count": len(files),
        "last_lines": read_newest_lines(place),
    }


def read_newest_lines(place: Path) -> list[str]:
    """Return the last lines of the newest logs in a folder."""
    return [_read_tail(one) for one in _list_logs(place)[:LOG_TAILS]]


def _list_logs(place: Path) -> list[Path]:
    """Return the logs in a folder, newest first; a log and the links to it count once."""
    found = [one for one in place.iterdir() if one.is_file()] if place.is_dir() else []
    return sorted({one.resolve() for one in found}, key=lambda one: -one.stat().st_mtime)


def _parse_log_name(name: str) -> dict[str, str | None]:
    """Return the parts of a log's name; `_clean_log_owner` hides its host and user later."""
    match = _LOG_NAME.fullmatch(name)
    if not match:
        return {"name": name, "program": None, "level": None, "of": None}
    return {
        "name": None,
        "program": match["program"],
        "level": match["level"],
        "of": match["names"] + (match["rest"] or ""),
    }


def _read_tail(file: Path) -> str:
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _TAIL_BYTES))
        lines = stream.read().decode("utf-8", "replace").split("\n")
    return "\n".join(lines[1:] if size > _TAIL_BYTES else lines)


def _clean_log_owner(value: object, cleaner: Cleaner) -> str:
    """Return a log's host and user as pseudonyms, followed by its time and process."""
    match = re.fullmatch(r"(.+?)(\.\d{8}-\d{6}\.\d+)?", str(value))
    if match is None:
        raise UncleanText("it is not the name of a log")
    names, rest = match.group(1, 2)
    owner, _, user = names.rpartition(".")
    shown = [cleaner.names.make_pseudonym("host", owner)] if owner else []
    shown.append(user if user == "root" else cleaner.names.make_pseudonym("user", user))
    return cleaner.require_clean(".".join(shown) + (rest or ""))


GENERATION = choice_rule(*(row.name for row in GENERATIONS))
_NODE = pattern_rule(r"/dev/(accel\d+|vfio/\d+)")
_CPU = pattern_rule(
    r"(?:AMD|Intel\(R\))(?: (?:EPYC|Ryzen|Xeon\(R\)|Core\(TM\)|Platinum|Gold|Silver|Bronze|"
    r"Processor|CPU|@|\d[\dA-Za-z.-]{0,11}))*"
)
_BOUNDS = pattern_rule(r"\d+(,\d+){0,3}")

COLLECTORS = (
    Collector(
        "tpu",
        "TPU chips, device nodes and who uses them",
        collect_tpu,
        {
            "chips": clean_number,
            "reachable_chips": clean_number,
            "sees_every_process": clean_number,
            "generation": list_rule(GENERATION),
            "unknown_google_devices": list_rule(pattern_rule(r"[0-9a-f]{4}:[0-9a-f?]{1,4}")),
            "on_pci": rows_rule(
                {
                    "address": pattern_rule(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}"),
                    "numa": clean_number,
                    "driver": choice_rule("vfio-pci", "google_tpu", "gasket", "accel", "apex"),
                    "functions": clean_number,
                    "nodes": list_rule(_NODE),
                }
            ),
            "nodes": rows_rule(
                {
                    "path": _NODE,
                    "mode": pattern_rule(r"[crwxbtTsS-]{10}"),
                    "owner": name_rule("user"),
                    "readable": clean_number,
                    "writable": clean_number,
                }
            ),
            "lock": lambda value, cleaner: rows_rule(
                {
                    "state": choice_rule("absent", "stale", "live", "foreign", "unusable"),
                    "path": pseudonymize_path,
                    "owner": name_rule("user"),
                    "pid": clean_number,
                    "why": choice_rule("folder", "socket", "link", "read-only", "no folder"),
                }
            )([value], cleaner)[0],
            "holders": rows_rule(
                {
                    "pid": clean_number,
                    "user": name_rule("user"),
                    "age_s": clean_number,
                    "zombie": clean_number,
                    "command": pattern_rule(r"another program|[a-z]+[\d.]*"),
                    "script": name_rule("path"),
                    "nodes": list_rule(_NODE),
                }
            ),
        },
    ),
    Collector(
        "metadata",
        "Metadata of the TPU VM",
        collect_metadata,
        {
            "accelerator_type": pattern_rule(r"[a-z0-9]{2,12}-\d{1,5}"),
            "runtime_version": pattern_rule(r"(?:tpu|v\d|cos|ubuntu)[a-z0-9.-]{0,40}"),
            "zone": pattern_rule(r"[a-z]+-[a-z]+\d+-[a-z]\w?"),
            "machine_type": pattern_rule(
                r"(?:ct|tpu|n|c|a|e|m|g)\w{0,8}(?:-[a-z]{2,12})?(?:-\d+[a-z]?)?(?:-tpu)?"
            ),
            "worker": clean_number,
            "hosts": clean_number,
            "devices_of_slice": clean_number,
            "waits_for_other_hosts": clean_number,
            "host_bounds": _BOUNDS,
            "chips_per_host_bounds": _BOUNDS,
            "seconds": clean_number,
        },
        limit_s=6.0,
    ),
    Collector(
        "resources",
        "Processors, memory, disk and container",
        collect_resources,
        {
            "cpu": _CPU,
            "uptime_s": clean_number,
            "limit_bytes": clean_number,
            "oom_kills": clean_number,
            "memory_bytes": clean_number,
            "available_bytes": clean_number,
            "shm_gib": clean_number,
            "huge_pages": choice_rule("always", "madvise", "never"),
            "host_network": clean_number,
            "container": choice_rule("none", "docker", "podman", "kubernetes", "other"),
            "free": rows_rule(
                {
                    "folder": choice_rule("/", "/tmp", "home"),  # noqa: S108
                    "free_bytes": clean_number,
                }
            ),
        },
    ),
    Collector(
        "logs",
        "Logs of libtpu",
        collect_logs,
        {
            "folder": pseudonymize_path,
            "count": clean_number,
            "last_lines": list_rule(cleaned_text_rule(LOG_LINES)),
            "files": rows_rule(
                {
                    "name": name_rule("path"),
                    "program": pattern_rule(r"[a-z_]+[\d.]*"),
                    "of": _clean_log_owner,
                    "level": choice_rule("INFO", "WARNING", "ERROR", "FATAL"),
                    "bytes": clean_number,
                    "age_s": clean_number,
                }
            ),
        },
        limit_s=8.0,
    ),
)
