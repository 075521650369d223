"""Derive the states of a run's hosts from their events, to show them live."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from tpustarter.checking.machine_check import HostState, HostStateChanged
from tpustarter.core.json_values import as_type
from tpustarter.slices.starting.launch_request import HostCommand

if TYPE_CHECKING:
    from tpustarter.probe.child import ProbeEvent

OVER: tuple[HostState, ...] = ("missing", "ended")
"""States that a host never leaves."""
NOT_IN_TIME = "did not arrive in time"
MOST_HOSTS = 4096
LOST = "was lost in the middle of a check"

_SENTENCES: dict[HostState, str] = {
    "connecting": "is being connected",
    "looking": "looks at itself",
    "waiting": "waits for the others",
    "arrived": "has arrived",
    "running": "runs",
    "missing": "",
    "ended": "has ended",
}


def describe_host(seen: HostStateChanged) -> str:
    """Return a phrase for a host's state, to follow the host's name."""
    if seen.state == "running":
        return f"runs {seen.detail}"
    return seen.detail or _SENTENCES[seen.state]


class HostStates:
    """The hosts of one run; `take_changes` returns those whose state has changed."""

    def __init__(self, commands: Iterable[HostCommand]) -> None:
        self._names = {one.host: one.name for one in commands if one.host is not None}
        self._seen: dict[int, HostStateChanged] = {}
        self._news: dict[int, HostStateChanged] = {}
        self._count = 0
        self._has_verdict: set[int] = set()
        """Hosts on which the run has ended with a verdict."""
        for host in self._names:
            self._change(host, "connecting")

    def take_changes(self) -> Sequence[HostStateChanged]:
        """Return the latest state of each host that has changed since the last call."""
        news, self._news = self._news, {}
        return [news[host] for host in sorted(news)]

    def follow(self, host: int, event: ProbeEvent) -> None:
        """Process an event from a host; a malformed event changes nothing."""
        match event["event"]:
            case "started" if self._is_on_its_way(host):
                self._change(host, "looking")
            case "placed":
                self._count = max(self._count, *_list_numbers([event.get("hosts")]), 0)
                if self._is_on_its_way(host):
                    self._change(host, "waiting")
            case "arriving" if host == 0:  # host 0 still waits for `missing`
                self._arrive(_list_numbers(event.get("missing")))
            case "arrived" if host == 0:  # host 0 has stopped waiting
                missing = _list_numbers(event.get("missing"))
                self._arrive(missing)
                self._change(host, "arrived")
                self._lose_all(missing, NOT_IN_TIME)
            case "connecting":
                self._change(host, "arrived")
            case "arrived" if self._is_on_its_way(host):
                self._change(host, "arrived")
            case "start":
                self._change(host, "running", str(event.get("id", "")))
            case "progress" if host:
                self._change(host, "running", str(event.get("id", "")))
            case "lost":
                self._lose_all(_list_numbers([event.get("lost")]), LOST)
            case "followed" | "checked-all":
                self._has_verdict.add(host)
            case _:
                pass

    def delay(self, host: int, why: str) -> None:
        """Record why a host has not reached host 0 yet; the host keeps trying."""
        if self._is_on_its_way(host):
            self._change(host, "waiting", why)

    def lose(self, host: object, why: str) -> None:
        """Record that a host will not arrive."""
        if isinstance(host, int):
            self._change(host, "missing", why)

    def _lose_all(self, hosts: Iterable[int], why: str) -> None:
        for host in hosts:
            self.lose(host, why)

    def end(self, host: object, why: str) -> None:
        """Record a host's end; the reason is dropped if the run ended there with a verdict."""
        if isinstance(host, int):
            self._change(host, "ended", "" if host in self._has_verdict else why)

    def _arrive(self, missing: Collection[int]) -> None:
        for number in range(1, self._count):
            if number not in missing and self._is_on_its_way(number):
                self._change(number, "arrived")

    def _is_on_its_way(self, host: int) -> bool:
        # A host's own events may arrive after host 0's events about it.
        seen = self._seen.get(host)
        return seen is None or seen.state in ("connecting", "looking", "waiting")

    def _change(self, host: int, state: HostState, detail: str = "") -> None:
        before = self._seen.get(host)
        seen = HostStateChanged(host, self._names.get(host, ""), state, detail)
        if seen != before and not (before and before.state in OVER):
            self._seen[host] = self._news[host] = seen


def _list_numbers(value: object) -> list[int]:
    return [one for one in as_type(value, list[int]) or [] if 0 <= one < MOST_HOSTS]
