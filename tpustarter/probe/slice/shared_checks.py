"""The checks of one run on all hosts: host 0 sends each to the others and collects the results.

A host whose heartbeat stops ends the run. So does a host that ended a check with an error while
host 0 waits for it in a collective. JAX would wait, or end all hosts without naming one.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping

from tpustarter.probe.events import CheckEvent, EndEvent
from tpustarter.probe.slice import message_store
from tpustarter.probe.slice.host_position import HostPosition
from tpustarter.probe.slice.messages import (
    ArrivalFacts,
    CheckFields,
    CheckRecord,
    Emit,
    EndCommand,
    HeartbeatMessage,
    RunCheck,
    SliceVerdict,
)

ALIVE_S = 1.0
"""Seconds between heartbeats of a host."""
SILENT_S = 40.0
"""Seconds without a heartbeat after which a host counts as lost."""
LEFT_S = 10.0
"""Seconds that host 0 continues a check that ended with an error on another host."""
FAILED, INCONCLUSIVE = 1, 3
"""Exit codes of the contract."""

_FINE = ("done", "unmet")
"""Outcomes that do not block other checks."""
_NO_END: EndEvent = {"event": "end", "id": "", "outcome": "protocol", "seconds": 0.0}
"""Stands for the end of a check that did not end by itself."""


class CheckRecorder:
    """Records the events of a check on this host."""

    def __init__(self) -> None:
        self.record: CheckRecord = {"findings": [], "end": None}

    def emit(self, event: CheckEvent) -> None:
        """Record an event of the check."""
        if event["event"] == "finding":
            self.record["findings"].append(event["finding"])
        elif event["event"] == "end":
            self.record["end"] = event


class Heartbeat:
    """The thread that sends this host's heartbeats, with the check that it is running."""

    def __init__(self, place: HostPosition) -> None:
        self.at = -1
        """Number of the check that is running or ran last."""
        self._place = place
        self._count = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._thread.start()

    def _show(self) -> None:
        while not self._is_over.wait(ALIVE_S):
            self._count += 1
            try:
                message_store.write_message(
                    f"alive/{self._place.host}", {"count": self._count, "at": self.at}
                )
            except Exception:  # noqa: BLE001  the connection is gone, which the running check reports
                return

    def close(self) -> None:
        """End the thread."""
        self._is_over.set()
        self._thread.join(ALIVE_S)


def run_received_checks(place: HostPosition, emit: Emit, run_check: RunCheck) -> EndCommand:
    """Run the checks that host 0 sends; return its last message, with the end of the run."""
    signs, number = Heartbeat(place), 0
    try:
        while True:
            message = message_store.wait_for_command(f"command/{number}")
            if message["do"] == "end":
                return message
            signs.at = number
            emit({"event": "progress", "id": message["id"], "text": message["id"]})
            recorder = CheckRecorder()
            run_check(message, recorder.emit)
            message_store.write_message(f"result/{number}/{place.host}", recorder.record)
            number += 1
    finally:
        signs.close()


class LeadingHost:
    """Host 0 of a run. `members` has the facts of all hosts, keyed by host number."""

    def __init__(
        self,
        place: HostPosition,
        members: Mapping[int, ArrivalFacts],
        emit: Emit,
        run_check: RunCheck,
    ) -> None:
        self._place = place
        self._members = members
        self._emit = emit
        self._run_check = run_check
        self._number = 0
        self._blocking: set[str] = set()
        """Checks that failed on a host or have no verdict."""
        self._signs: Heartbeat | None = None
        self.code = 0
        """Exit code so far: 1 for a failure, 3 for a check without a verdict."""

    def connected(self) -> None:
        """Start this host's heartbeats; called once JAX has connected all hosts."""
        self._signs = Heartbeat(self._place)

    def can_run(self, check: CheckFields) -> bool:
        """Return whether none of a check's dependencies has failed."""
        return self._blocking.isdisjoint(check["after"])

    def run(self, check: CheckFields) -> None:
        """Run a check on the hosts it is for, and emit the findings of each."""
        self._emit({"event": "start", "id": check["id"]})
        if not self.can_run(check):
            self._blocking.add(check["id"])
            blockers = [name for name in check["after"] if name in self._blocking]
            self._emit({"event": "blocked", "id": check["id"], "after": blockers})
        elif check["framework"] != "host":
            self._everywhere(check, self._signs)
        elif "hosts" in check["needs"]:
            self._here(check)
        else:
            for host, facts in sorted(self._members.items()):
                for record in facts.get("checks") or ():
                    if record["end"] and record["end"]["id"] == check["id"]:
                        self._emit_of(host, check["id"], record)
        self._emit({"event": "checked", "id": check["id"]})

    def _here(self, check: CheckFields) -> None:
        recorder = CheckRecorder()
        self._run_check(check, recorder.emit)
        self._emit_of(None, check["id"], recorder.record)

    def _everywhere(self, check: CheckFields, signs: Heartbeat | None) -> None:
        message_store.write_message(f"command/{self._number}", {**check, "do": "check"})
        if signs:
            signs.at = self._number
        watch = _Watch(self._place, self._number, check["id"], self._emit)
        recorder = CheckRecorder()
        try:
            self._run_check(check, recorder.emit)
            watch.is_here_done = True
            results = watch.wait()
        finally:
            watch.close()
        results["0"] = recorder.record
        for host in sorted(results, key=int):
            self._emit_of(int(host), check["id"], results[host])
        self._number += 1

    def _emit_of(self, host: int | None, check_id: str, result: CheckRecord) -> None:
        end: EndEvent = result["end"] or _NO_END
        for finding in result["findings"]:
            self._emit({"event": "finding", "id": check_id, "host": host, "finding": finding})
        self._emit({**end, "id": check_id, "host": host})
        fails = any(finding["verdict"] == "fail" for finding in result["findings"])
        is_undecided = end["outcome"] not in _FINE
        if fails or is_undecided:
            self._blocking.add(check_id)
        if fails:
            self.code = FAILED
        elif is_undecided:
            self.code = self.code or INCONCLUSIVE

    def end(self, message: SliceVerdict) -> None:
        """Send the end of the run to all hosts, and disconnect."""
        if self._signs is None:
            return
        message_store.write_message(f"command/{self._number}", {**message, "do": "end"})
        self._signs.close()
        message_store.disconnect_from_other_hosts()


class _Watch:
    """The thread that watches the other hosts while host 0 runs a check."""

    def __init__(self, place: HostPosition, number: int, check_id: str, emit: Emit) -> None:
        self.is_here_done = False
        self._others = [str(host) for host in range(place.hosts) if host != place.host]
        self._number, self._id, self._emit = number, check_id, emit
        self._results: dict[str, CheckRecord] = {}
        self._counts: dict[str, tuple[int, float]] = {}
        self._failed_since: dict[str, float] = {}
        self._said = ""
        self._is_over = threading.Event()
        self._is_complete = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def wait(self) -> dict[str, CheckRecord]:
        """Return the other hosts' results, once all have arrived."""
        self._is_complete.wait()
        return self._results

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        began = time.monotonic()
        while not self._is_over.is_set():
            self._results = message_store.read_results(self._number)
            now = time.monotonic()
            self._find_failed(now)
            if all(host in self._results for host in self._others):
                self._is_complete.set()
                if not self._failed_since:  # otherwise this host may still wait for one of them
                    return
            if now - began > ALIVE_S:
                alive = message_store.read_heartbeats()
                self._find_silent(alive, now)
                self._say(alive)
            self._is_over.wait(0.02 if now - began < ALIVE_S else 0.25)

    def _find_silent(self, alive: Mapping[str, HeartbeatMessage], now: float) -> None:
        for host in self._others:
            count = alive[host]["count"] if host in alive else 0
            if host not in self._counts or self._counts[host][0] != count:
                self._counts[host] = (count, now)
            elif now - self._counts[host][1] > SILENT_S:
                text = f"host {host} gave no sign of life for {SILENT_S:g} s"
                self._lose(int(host), "silent", text)

    def _find_failed(self, now: float) -> None:
        # This host may be waiting in a collective for a host that left the check with an error.
        for host, result in self._results.items():
            end = result["end"] or _NO_END
            if host in self._others and end["outcome"] not in _FINE:
                since = self._failed_since.setdefault(host, now)
                if not self.is_here_done and now - since > LEFT_S:
                    what = end.get("detail") or end["outcome"]
                    text = f"host {host} ended it with {what}, and host 0 still waits in it"
                    self._lose(int(host), "left", text)

    def _say(self, alive: Mapping[str, HeartbeatMessage]) -> None:
        late = [host for host in self._others if host not in self._results]
        begun = {host for host, sign in alive.items() if sign["at"] >= self._number}
        behind = [host for host in late if host not in begun]
        text = f"waiting for host {', '.join(late)}" if self.is_here_done else ""
        if behind:
            text = f"not begun on host {', '.join(behind)}"
        if text != self._said:
            self._said = text
            self._emit({"event": "progress", "id": self._id, "text": text})

    def _lose(self, host: int, why: str, detail: str) -> None:
        self._emit({"event": "lost", "id": self._id, "lost": host, "why": why, "detail": detail})
        os._exit(INCONCLUSIVE)
