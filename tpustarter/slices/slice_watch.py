"""The live numbers of all hosts of a slice, in one table with one sentence on what they mean.

Each host looks at its own TPU, with the tpustarter of its own Python; the commands that start it
there are those of `check --all-hosts`. A host that does not answer is named with its reason.

Facts for `watch_situations.yml` are counts of hosts: `hosts`, `answered` and `silent`; `without` a
program on the TPU, `unmeasured` for another reason, and those `with_metrics`; `idle`, `working` and
`throttled`. The others are the worst link score, and least, largest and spread of the hosts' mean
memory and duty cycle.
"""

from __future__ import annotations

import io
import json
import math
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from statistics import mean
from typing import Literal

import msgspec

from tpustarter.core.problem import ExitCode
from tpustarter.slices.remote_slice_check import Engine
from tpustarter.slices.starting.launch_request import (
    EndReason,
    HostCommand,
    HostEnded,
    StartEvent,
    keep_archive,
)
from tpustarter.slices.starting.running_commands import RunningCommands
from tpustarter.text.phrases import choose_plural, format_duration, join_words
from tpustarter.version import __version__
from tpustarter.watch.reading import DeviceReading
from tpustarter.watch.situations import (
    IDLE_PERCENT,
    NAMED,
    WORKING_PERCENT,
    Situation,
    choose_situation,
    read_situation_rules,
)
from tpustarter.watch.watch_document import SCHEMA, WatchDocument, WatchTool

PROGRAM = Path(__file__).with_name("starting") / "programs" / "watch_host.py"
SITUATIONS = Path(__file__).with_name("watch_situations.yml")
NO_PROGRAM = "nothing-runs"
"""Id of the reason in `missing.yml` that no program uses the TPU."""
ENGINES = ("gcloud", "ssh", "slurm", "mpi")
LATE_LOOKS, LATE_S = 3, 15.0
"""A host counts as silent after so many looks without an answer, and never before the seconds."""


class WatchedSliceHost(msgspec.Struct):
    """One host: its document, or the reason why there is none."""

    host: int
    name: str
    problem: str | None
    document: WatchDocument | None


class WatchedSlice(msgspec.Struct):
    """The output of `tpustarter watch --all-hosts --json`: one look at all hosts of a slice."""

    schema: Literal["tpustarter.watch/1"]
    tool: WatchTool
    at: datetime
    hosts: tuple[WatchedSliceHost, ...]
    situation: Situation | None
    exit_code: int


@dataclass
class _Host:
    name: str
    document: WatchDocument | None = None
    seen_at: float = 0.0
    problem: str = ""


def prepare_watch(engine: Engine, *, once: bool, seconds: float) -> tuple[HostCommand, ...]:
    """Write the hosts' zip, and return the commands that start it without running them.

    Raises:
        Problem: The engine lacks something, such as the host names.
    """
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py"), PROGRAM.read_bytes())
        request = json.dumps({"once": once, "seconds": seconds})
        archive.writestr(zipfile.ZipInfo("request.json"), request)
    if engine.name == "slurm":  # the program that is watched has the nodes of the allocation
        slurm = f"--overlap {engine.options.get('slurm', '')}".rstrip()
        engine = replace(engine, options={**engine.options, "slurm": slurm})
    return engine.build_commands(keep_archive("watch-all-hosts", stream.getvalue()))


@dataclass
class SliceWatch:
    """The hosts of a slice, with the last document of each."""

    commands: Sequence[HostCommand]
    folder: Path
    seconds: float
    count: int | None = None
    """The number of hosts, if it is known."""
    _hosts: dict[int, _Host] = field(default_factory=dict[int, _Host], init=False)

    def __post_init__(self) -> None:
        names = {one.host: one.name for one in self.commands if one.host is not None}
        for host in range(self.count or 0):
            self._hosts[host] = _Host(names.get(host, ""))
        for host, name in names.items():
            self._hosts.setdefault(host, _Host(name))
        self._started = RunningCommands(self.commands, self.folder)

    @property
    def latest(self) -> WatchedSlice:
        """The hosts as they are known now."""
        return self._summarise(max(LATE_LOOKS * self.seconds, LATE_S))

    def stop(self) -> None:
        """End every host; safe in any thread and signal handler."""
        self._started.stop()

    def look_once(self, wait_s: float) -> WatchedSlice:
        """Return the answers of all hosts, giving up those that need more than `wait_s`."""
        end_at, is_stopped = time.monotonic() + wait_s, False
        for event in self._started.events():
            self._take(event)
            if not is_stopped and time.monotonic() > end_at:
                is_stopped = True
                self._give_up(f"did not answer within {format_duration(wait_s)}")
                self._started.stop()
        self._give_up("ended without an answer")
        return self._summarise(math.inf)

    def follow(self) -> Iterator[WatchedSlice]:
        """Yield the hosts as they are known every `seconds`, until all of them have ended."""
        next_at = time.monotonic()
        for event in self._started.events():
            self._take(event)
            if time.monotonic() >= next_at:
                next_at = time.monotonic() + self.seconds
                yield self.latest
        self._give_up("ended without an answer")
        yield self.latest

    def _give_up(self, why: str) -> None:
        if not self._hosts:
            self._hosts[0] = _Host("")
        for host in self._hosts.values():
            if host.document is None and not host.problem:
                host.problem = why

    def _take(self, event: StartEvent | None) -> None:
        if isinstance(event, HostEnded):
            self._end(event)
        elif event is not None and event.is_event and event.host is not None:
            host = self._hosts.setdefault(event.host, _Host(""))
            try:
                told = msgspec.json.decode(event.text, type=_Watched)
            except msgspec.MsgspecError as error:
                host.problem = f"sent a document that this version does not know: {error}"
                return
            host.document, host.seen_at = told.document, time.monotonic()
            host.problem = told.problem

    def _end(self, ended: HostEnded) -> None:
        if ended.ending is EndReason.STOPPED:
            return
        tail = "; ".join(line for line in ended.tail[-2:] if line.strip())
        what = f"{ended.what}: {tail}" if tail else ended.what
        if ended.host is None and len(self._hosts) > 1:  # one command has started all of them
            for one in self._hosts.values():
                if ended.code != 0 and one.document is None and not one.problem:
                    one.problem = what
            return
        host = self._hosts.setdefault(ended.host or 0, _Host(ended.command.name))
        has_finished = host.document is not None and ended.code == 0
        if not (host.problem or has_finished):
            host.problem = what

    def _summarise(self, late_s: float) -> WatchedSlice:
        """Return a look; a host whose last answer is older than `late_s` is silent."""
        rows: list[WatchedSliceHost] = []
        for number, host in sorted(self._hosts.items()):
            age_s = time.monotonic() - host.seen_at
            is_late = host.document is not None and age_s > late_s
            late = f"has not answered for {format_duration(age_s)}" if is_late else ""
            problem = host.problem or late
            document = None if problem else host.document
            rows.append(WatchedSliceHost(number, host.name, problem or None, document))
        hosts = tuple(rows)
        has_metrics = any(one.document and one.document.devices for one in hosts)
        code = ExitCode.OK if has_metrics else ExitCode.INCONCLUSIVE
        now = datetime.now(timezone.utc)
        situation = find_slice_situation(hosts)
        return WatchedSlice(SCHEMA, WatchTool(__version__), now, hosts, situation, int(code))


class _Watched(msgspec.Struct):
    """An event of a host."""

    document: WatchDocument | None = None
    problem: str = ""


def make_slice_document(seen: WatchedSlice) -> dict[str, object]:
    """Return a look as a JSON document."""
    return msgspec.to_builtins(seen, str_keys=True)


def find_slice_situation(hosts: Sequence[WatchedSliceHost]) -> Situation | None:
    """Return the meaning of several hosts' numbers; None while too few have answered."""
    rules, facts, names = read_situation_rules(SITUATIONS), collect_facts(hosts), _names(hosts)
    if situation := choose_situation(rules, facts, names):
        return situation
    own = [one.document.situation for one in hosts if one.document and one.document.situation]
    if not own:
        return None
    ((most, count),) = Counter(one.id for one in own).most_common(1)
    first = next(one for one in own if one.id == most)
    where = f"all {count} hosts" if count == len(hosts) else f"{count} of {len(hosts)} hosts"
    return replace(first, text=f"on {where}, such as the first: {first.text}")


def collect_facts(hosts: Sequence[WatchedSliceHost]) -> dict[str, float]:
    """Return the facts that conditions compare, without those that are unknown."""
    answered = [one.document for one in hosts if one.document]
    duty, memory = _values(hosts, "duty"), _values(hosts, "memory")
    facts: dict[str, float] = {
        "hosts": len(hosts),
        "silent": sum(one.problem is not None for one in hosts),
        "without": len(_without(hosts)),
        "unmeasured": len(_unmeasured(hosts)),
        "with_metrics": sum(bool(one.devices) for one in answered),
        "idle": sum(value < IDLE_PERCENT for value in duty.values()),
        "working": sum(value >= WORKING_PERCENT for value in duty.values()),
        "throttled": len(_throttled(hosts)),
    }
    if all(one.document or one.problem for one in hosts):
        facts["answered"] = len(answered)
    if links := [link.problem for one in answered for link in one.links]:
        facts["link_worst"] = max(links)
    for name, values in {"duty": [*duty.values()], "memory": [*memory.values()]}.items():
        if values:
            facts |= {f"{name}_min": min(values), f"{name}_max": max(values)}
        if len(values) > 1:
            facts[f"{name}_spread"] = max(values) - min(values)
    return facts


def _values(hosts: Sequence[WatchedSliceHost], name: Literal["duty", "memory"]) -> dict[int, float]:
    """Return each host's mean, without the hosts on which it is unknown."""
    means: dict[int, float] = {}
    for one in hosts:
        values = [_value(device, name) for device in (one.document.devices if one.document else ())]
        if known := [value for value in values if value is not None]:
            means[one.host] = mean(known)
    return means


def _value(device: DeviceReading, name: Literal["duty", "memory"]) -> float | None:
    return device.duty_cycle_percent if name == "duty" else device.memory_percent


def _without(hosts: Sequence[WatchedSliceHost]) -> list[int]:
    """Return the hosts on which no program uses the TPU."""
    found = [(one, one.document.missing) for one in hosts if one.document]
    return [one.host for one, missing in found if missing and missing.id == NO_PROGRAM]


def _unmeasured(hosts: Sequence[WatchedSliceHost]) -> dict[int, str]:
    """Return why other hosts have no numbers, so that what they do is unknown."""
    found = [(one, one.document.missing) for one in hosts if one.document]
    return {
        one.host: missing.text for one, missing in found if missing and missing.id != NO_PROGRAM
    }


def _throttled(hosts: Sequence[WatchedSliceHost]) -> list[int]:
    return [
        one.host
        for one in hosts
        if one.document and any(device.throttle_score for device in one.document.devices)
    ]


def _names(hosts: Sequence[WatchedSliceHost]) -> dict[str, str]:
    """Return the names that a clause can use."""
    duty, memory = _values(hosts, "duty"), _values(hosts, "memory")
    idle = [host for host, value in duty.items() if value < IDLE_PERCENT]
    working = sum(value >= WORKING_PERCENT for value in duty.values())
    throttled, unmeasured = _throttled(hosts), _unmeasured(hosts)
    links = [(one.host, link) for one in hosts if one.document for link in one.document.links]
    worst = max(links, key=lambda row: row[1].problem, default=None)
    return {
        "idle_names": _name_hosts(idle),
        "idle_verb": choose_plural(len(idle), "is", "are"),
        "working_verb": choose_plural(working, "works", "work"),
        "without_names": _name_hosts(_without(hosts)),
        "unmeasured_names": _name_hosts([*unmeasured]),
        "unmeasured_verb": choose_plural(len(unmeasured), "does", "do"),
        "unmeasured_why": next(iter(unmeasured.values()), ""),
        "silent_names": _name_hosts([one.host for one in hosts if one.problem]),
        "throttled_names": _name_hosts(throttled),
        "throttled_verb": choose_plural(len(throttled), "is", "are"),
        "fullest_name": _extreme(memory, max),
        "emptiest_name": _extreme(memory, min),
        "busiest_name": _extreme(duty, max),
        "laziest_name": _extreme(duty, min),
        "worst_link": worst[1].name if worst else "",
        "worst_link_host": f"host {worst[0]}" if worst else "",
    }


def _extreme(values: Mapping[int, float], choose: Callable[[Iterable[float]], float]) -> str:
    """Return the name of the first host with the least or largest value."""
    return _name_hosts([host for host, one in values.items() if one == choose(values.values())][:1])


def _name_hosts(numbers: Sequence[int]) -> str:
    listed = join_words(numbers, most=NAMED)
    return f"{choose_plural(len(numbers), 'host', 'hosts')} {listed}"
