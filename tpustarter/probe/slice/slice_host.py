"""One host's part in a run on several, from its static checks to the end."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Collection
from dataclasses import replace

from tpustarter.probe.finding import describe_error, shorten_for_json
from tpustarter.probe.slice import arrival, host_facts, host_position, message_store
from tpustarter.probe.slice.messages import (
    ArrivalFacts,
    BeginSliceCommand,
    CheckFields,
    CheckRecord,
    Emit,
    RunCheck,
    SliceEvent,
    SliceVerdict,
)
from tpustarter.probe.slice.shared_checks import (
    INCONCLUSIVE,
    CheckRecorder,
    LeadingHost,
    run_received_checks,
)
from tpustarter.probe.target import set_target, target

USAGE = 2
"""Exit code of a host that does not know its place."""
PATIENCE_S = 10.0
"""Seconds that the other hosts wait longer than host 0, so that they receive its answer."""

_leader: LeadingHost | None = None
"""The run that waits for its verdict, on host 0."""
_code = 0
"""The exit code on any other host."""


def serve_slice(
    command: BeginSliceCommand,
    emit: Emit,
    run_check: RunCheck,
    read_unreachable: Callable[[], Collection[int]],
) -> int:
    """Serve a `slice` command: arrive, then lead or follow; return an exit code.

    While host 0 waits for the others, `read_unreachable` returns those known not to come.
    """
    global _code  # noqa: PLW0603  the verdict comes with a later command
    statics = [_run_alone(check, run_check) for check in command["checks"] if _is_static(check)]
    try:
        place = host_position.find_host_position(command, command["wait_s"])
    except host_position.UnknownHostPosition as missing:
        emit({"event": "no-place", "detail": shorten_for_json(str(missing))})
        _code = USAGE
        return _code
    set_target(replace(target(), hosts=place.hosts))
    sent = _with_host(place.host, emit)
    own: ArrivalFacts = {**host_facts.collect_host_facts(place), "checks": statics}
    sent(
        {
            "event": "placed",
            "host": place.host,
            "hosts": place.hosts,
            "coordinator": place.coordinator,
        }
    )
    if place.host:
        _code = _follow(place, own, command["wait_s"], sent, run_check)
    else:
        _code = _lead(
            place, own, command, sent, run_check=run_check, read_unreachable=read_unreachable
        )
    return _code


def serve_verdict(code: int | None, headline: str, emit: Emit) -> int:
    """Serve a `verdict` command: on host 0, send the end of the run to the other hosts.

    Without a code the checks decide: 1 for a failure, 3 for no verdict. Returns the code; on the
    other hosts, the one that they received.
    """
    if _leader is None:
        return _code
    message: SliceVerdict = {"code": _leader.code if code is None else code, "headline": headline}
    _leader.end(message)
    emit({"event": "followed", "host": 0, **message})
    return message["code"]


def _with_host(host: int, emit: Emit) -> Emit:
    def sent(event: SliceEvent) -> None:
        event.setdefault("host", host)
        emit(event)

    return sent


def _is_static(check: CheckFields) -> bool:
    return check["framework"] == "host" and "hosts" not in check["needs"]


def _run_alone(check: CheckFields, run_check: RunCheck) -> CheckRecord:
    recorder = CheckRecorder()
    run_check(check, recorder.emit)
    return recorder.record


def _follow(
    place: host_position.HostPosition,
    own: ArrivalFacts,
    wait_s: float,
    emit: Emit,
    run_check: RunCheck,
) -> int:
    def failing(failure: arrival.ArrivalFailed) -> None:
        emit(
            {"event": "trying", "reason": failure.reason, "detail": shorten_for_json(str(failure))}
        )

    try:
        answer = arrival.send_host_facts(place, own, wait_s + PATIENCE_S, failing)
    except arrival.ArrivalFailed as failure:
        emit(
            {
                "event": "not-reached",
                "reason": failure.reason,
                "detail": shorten_for_json(str(failure)),
            }
        )
        return INCONCLUSIVE
    emit({"event": "arrived", "missing": answer["missing"]})
    if not answer["goes_on"]:
        emit({"event": "followed", "code": answer["code"], "headline": answer["headline"]})
        return answer["code"]
    message_store.connect_to_other_hosts(place, wait_s)
    message = run_received_checks(place, emit, run_check)
    emit({"event": "followed", "code": message["code"], "headline": message["headline"]})
    message_store.disconnect_from_other_hosts()
    return message["code"]


def _lead(
    place: host_position.HostPosition,
    own: ArrivalFacts,
    command: BeginSliceCommand,
    emit: Emit,
    *,
    run_check: RunCheck,
    read_unreachable: Callable[[], Collection[int]],
) -> int:
    global _leader  # noqa: PLW0603  the verdict comes with a later command

    def waiting(roster: arrival.Roster, seconds: float) -> Collection[int]:
        if roster.missing:
            emit(roster.describe_wait(seconds))
        return read_unreachable()

    checks = command["checks"]
    try:
        with arrival.receive_host_facts(place, own, command["wait_s"], waiting) as roster:
            shown: list[ArrivalFacts] = [{**facts, "checks": None} for facts in roster.everyone()]
            set_target(replace(target(), members=tuple(shown)))
            emit({"event": "arrived", "missing": roster.missing, "members": shown})
            _leader = LeadingHost(place, roster.members, emit, run_check)
            for check in checks:
                if check["framework"] == "host":
                    _leader.run(check)
            rest = [check for check in checks if check["framework"] != "host"]
            goes_on = roster.is_complete and any(map(_leader.can_run, rest))
            code = _leader.code or (0 if roster.is_complete else INCONCLUSIVE)
            roster.close(goes_on=goes_on, code=code)
    except arrival.PortInUse as taken:
        emit({"event": "port-taken", "port": place.port, "detail": shorten_for_json(str(taken))})
        return INCONCLUSIVE
    current = ""
    try:
        if goes_on:
            emit({"event": "connecting"})
            message_store.connect_to_other_hosts(place, command["wait_s"])
            _leader.connected()
        for check in rest:
            current = check["id"]
            _leader.run(check)
    except Exception as error:  # noqa: BLE001  JAX's error if a host is gone or never connected
        traceback.print_exc()
        detail = shorten_for_json(describe_error(error))
        emit({"event": "lost", "lost": None, "id": current, "why": "connection", "detail": detail})
        os._exit(INCONCLUSIVE)  # JAX's normal exit would wait for the other hosts
    emit({"event": "checked-all"})
    return _leader.code
