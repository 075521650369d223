"""Make the results of a run on many hosts from the events of host 0's probe."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tpustarter.checking.results.results import (
    WORST_FIRST,
    FindingFields,
    Reason,
    Result,
    Run,
    Status,
    UsedDevices,
)
from tpustarter.checking.run import probe_events
from tpustarter.checking.run.outcomes import judge_check, parse_end_event, result_without_findings
from tpustarter.checking.run.runner import (
    TICK_S,
    CheckEnded,
    CheckStarted,
    CheckWaiting,
    FindingReported,
    describe_blockers,
)
from tpustarter.core.content import Check
from tpustarter.core.json_values import as_object, as_type
from tpustarter.core.redact import Redactor
from tpustarter.probe.events import EndEvent, FindingEvent
from tpustarter.running.process import ProcessEvent
from tpustarter.slices.host_facts import HostFacts, make_report_fields
from tpustarter.text import phrases

ARRIVED = "host.slice_arrived"
"""The check that waits for all hosts."""
ALIKE = "host.slice_alike"
CHECKS_BEFORE_CONNECTION = (ARRIVED, ALIKE)
"""Checks that have to pass before the hosts are connected to each other."""

HOST = "host:"
"""Prefix of the entity of a finding about one host, as in `host:3 device:5`."""
MISSING = "SLICE-MISSING"
"""Code of the finding about a host that did not arrive."""

SliceEvent = CheckStarted | CheckWaiting | FindingReported | CheckEnded


class SliceResults:
    """The results so far of a run on many hosts."""

    def __init__(self, checks: Sequence[Check], run: Run, redact: Redactor) -> None:
        self.left = {check.id: check for check in checks}
        """Checks without a result yet, keyed by id, in the order of the run."""
        self.current: Check | None = None
        """The check that is running."""
        self.progress = ""
        self.unreached: Mapping[int, str] = {}
        """Why a host did not arrive, keyed by host number, if this program started it."""
        self.is_complete = False
        """True if every check of the run ended by itself."""
        self.is_over = False
        """True if there is nothing more to read."""
        self._run = run
        self._redact = redact
        self._hosts: dict[int | None, Result] = {}
        self._findings: dict[int | None, list[FindingFields]] = {}
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the running check began, or since the last one ended."""
        return time.monotonic() - self._began

    def waiting(self) -> Iterator[CheckWaiting]:
        """Yield a waiting event for the check that is running or comes next."""
        check = self.current or self.left.get(ARRIVED) or next(iter(self.left.values()), None)
        if check and self.seconds >= TICK_S:
            yield CheckWaiting(check, self.seconds, self.progress)

    def follow(self, event: ProcessEvent) -> Iterator[SliceEvent]:
        """Process an event from host 0, and yield the resulting events."""
        check = self.left.get(str(as_object(event).get("id")))
        match event["event"]:
            case "arriving":
                missing = [str(host) for host in event["missing"]]
                hosts = phrases.choose_plural(len(missing), "host", "hosts")
                self.progress = f"waiting for {hosts} {phrases.join_words(missing)}"
                if refused := event.get("refused"):
                    self.progress += f"; {refused} refused, whose number is taken or wrong"
                yield from self.waiting()
            case "arrived":
                self.progress = ""
                told = self._redact.redact_value(event.get("members"))
                self._run.hosts = [
                    make_report_fields(one) for one in as_type(told, list[HostFacts]) or []
                ]
            case "connecting":
                self.progress = "connecting through JAX"
                yield from self.waiting()
            case "progress" if check:
                self.progress = self._redact.redact_text(str(event.get("text")))
                yield from self.waiting()
            case "start" if check:
                self.current, self.progress, self._began = check, "", time.monotonic()
                yield CheckStarted(check)
            case "finding" if check:
                yield from self._find(check, event)
            case "end" if check:
                self._end_on_host(check, event)
            case "blocked" if check:
                names = [str(name) for name in event["after"]]
                results = {result.id: result for result in self._run.results}
                detail = f"after {describe_blockers(names, results)}"
                self._hosts[None] = result_without_findings(check, "skip", "dependency", detail)
            case "checked" if check:
                yield from self._end(
                    check, merge_host_results(self._hosts) if self._hosts else None
                )
            case "checked-all":
                self.is_complete = self.is_over = True
            case _:
                pass

    def lose(self, status: Status, reason: Reason, detail: str, log: str) -> Iterator[SliceEvent]:
        """End the run after a loss, yielding results for the running check and all later ones."""
        self.is_over = True
        check = self.current or next(iter(self.left.values()), None)
        if check:
            result = result_without_findings(check, status, reason, detail)
            findings = [one for found in self._findings.values() for one in found]
            yield from self._end(check, replace(result, log=log, findings=tuple(findings)))
        why: Reason = "interrupted" if reason == "interrupted" else "lost"
        for check in list(self.left.values()):
            yield from self._end(check, result_without_findings(check, "notrun", why))

    def _find(self, check: Check, event: FindingEvent) -> Iterator[FindingReported]:
        host = event.get("host")
        kept = probe_events.parse_finding(self._redact.redact_value(event.get("finding")))
        if kept is None:
            return
        if kept["code"] == MISSING:
            number = int(str(kept["entity"]).removeprefix(HOST))
            kept["found"] = self.unreached.get(number, kept["found"])
        self._findings.setdefault(host, []).append(kept)
        yield FindingReported(check.id, add_host_to_finding(kept, host))

    def _end_on_host(self, check: Check, event: EndEvent) -> None:
        host, ending = event.get("host"), parse_end_event(event, self._redact)
        result = judge_check(check, self._findings.get(host, []), ending)
        seconds = as_object(event).get("seconds")
        self._hosts[host] = replace(
            result, seconds=float(seconds) if isinstance(seconds, int | float) else 0.0
        )

    def _end(self, check: Check, result: Result | None) -> Iterator[CheckEnded]:
        del self.left[check.id]
        self._hosts, self._findings = {}, {}
        self.current, self.progress, self._began = None, "", time.monotonic()
        yield CheckEnded(
            result
            or result_without_findings(check, "error", "protocol", "no host said how it ended")
        )


def add_host_to_finding(finding: FindingFields, host: int | None) -> FindingFields:
    """Return a finding with its host added to the entity, unless a host is already named."""
    entity = finding["entity"] or ""
    if host is None or entity.startswith(HOST):
        return finding
    return {**finding, "entity": f"{HOST}{host} {entity}".rstrip()}


def merge_host_results(results: Mapping[int | None, Result]) -> Result:
    """Merge the results of a check on several hosts; the key None is a result about all hosts.

    Of several errors the earliest counts, because hosts that waited for the failed one fail later.
    """
    worst = min(results.values(), key=lambda one: (WORST_FIRST.index(one.status), one.seconds))
    alike = [
        host
        for host, one in results.items()
        if host is not None and (one.status, one.detail) == (worst.status, worst.detail)
    ]
    detail = worst.detail
    if detail and None not in results and len(alike) < len(results):
        detail = f"{_list_hosts(alike)}: {detail}"
    return replace(
        worst,
        detail=detail,
        seconds=max(one.seconds for one in results.values()),
        ran_on=_together([one.ran_on for one in results.values() if one.ran_on]),
        findings=tuple(
            add_host_to_finding(finding, host)
            for host, one in results.items()
            for finding in one.findings
        ),
    )


def _list_hosts(hosts: list[int]) -> str:
    numbers = phrases.join_words([str(host) for host in hosts])
    return f"{phrases.choose_plural(len(hosts), 'host', 'hosts')} {numbers}"


def _together(places: list[UsedDevices]) -> UsedDevices | None:
    if not places:
        return None
    first = places[0]
    return UsedDevices(first.platform, first.kind, sum(one.count for one in places), first.virtual)
