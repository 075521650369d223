"""The states of hosts, as a run that was started from here shows them."""

from __future__ import annotations

from typing import Any

from tpustarter.checking.machine_check import HostStateChanged
from tpustarter.checking.output import run_document
from tpustarter.slices.host_states import LOST, NOT_IN_TIME, HostStates, describe_host
from tpustarter.slices.starting.launch_request import HostCommand

COMMANDS = [HostCommand(words=("ssh",), host=number, name=f"w{number}") for number in range(3)]


def sentences(states: HostStates) -> list[str]:
    """Return a sentence for each host whose state has changed."""
    return [f"{one.name or one.host} {describe_host(one)}" for one in states.take_changes()]


def test_states_of_run_come_in_order() -> None:
    """The states of a run come in order, and each change is reported once."""
    states = HostStates(COMMANDS)
    assert sentences(states) == [f"w{number} is being connected" for number in range(3)]

    states.follow(0, {"event": "started"})
    states.follow(1, {"event": "placed", "hosts": 3})
    assert sentences(states) == ["w0 looks at itself", "w1 waits for the others"]

    states.follow(0, {"event": "placed", "hosts": 3})
    states.follow(0, {"event": "arriving", "missing": [2]})
    assert sentences(states) == ["w0 waits for the others", "w1 has arrived"]

    states.follow(0, {"event": "arrived", "missing": []})
    states.follow(0, {"event": "start", "id": "jax.psum"})
    states.follow(2, {"event": "progress", "id": "jax.psum"})
    assert sentences(states) == ["w0 runs jax.psum", "w2 runs jax.psum"]

    states.follow(0, {"event": "connecting"})
    states.follow(1, {"event": "followed"})
    states.end(1, "ended (exit code 1): words of JAX")
    assert sentences(states) == ["w0 has arrived", "w1 has ended"]
    assert sentences(states) == []


def test_reason_of_missing_host_stays() -> None:
    """The first reason of a missing host is kept."""
    states = HostStates(COMMANDS)
    states.follow(0, {"event": "placed", "hosts": 3})
    states.lose(1, "was not reached")
    states.follow(0, {"event": "arrived", "missing": [1, 2]})
    states.end(1, "was stopped")

    assert sentences(states)[1:] == ["w1 was not reached", f"w2 {NOT_IN_TIME}"]


def test_host_that_still_tries_says_why() -> None:
    """A host that still tries to reach host 0 says why, until it has arrived."""
    states = HostStates(COMMANDS[:2])
    states.follow(0, {"event": "placed", "hosts": 2})
    states.delay(1, "cannot reach `w0:8476`")
    assert "w1 cannot reach `w0:8476`" in sentences(states)

    states.follow(0, {"event": "arriving", "missing": []})
    states.delay(1, "cannot reach `w0:8476`")
    assert ["w1 has arrived"] == sentences(states)


def test_late_event_takes_nothing_back() -> None:
    """A late event changes no state back, because hosts' streams aren't ordered."""
    states = HostStates(COMMANDS)
    states.follow(0, {"event": "placed", "hosts": 3})
    states.follow(0, {"event": "arriving", "missing": [2]})
    states.follow(1, {"event": "started"})
    states.follow(1, {"event": "placed", "hosts": 3})

    assert "w1 has arrived" in sentences(states)


def test_lost_host_is_named() -> None:
    """A host is lost if host 0 no longer hears of it, or if it ends without a verdict."""
    states = HostStates(COMMANDS)
    states.follow(0, {"event": "lost", "lost": 2})
    states.end(1, "ended (exit code 137)")

    assert sentences(states)[1:] == ["w1 ended (exit code 137)", f"w2 {LOST}"]


def test_hosts_without_commands_are_known() -> None:
    """If one command starts all hosts, each becomes known by its first event."""
    states = HostStates([HostCommand(words=("srun",))])
    states.follow(1, {"event": "started"})

    assert sentences(states) == ["1 looks at itself"]


def test_events_of_wrong_form_change_nothing() -> None:
    """A check may have written anything."""
    wrong: list[dict[str, Any]] = [
        {"event": "placed", "hosts": "many"},
        {"event": "arriving", "missing": 3},
        {"event": "lost", "lost": {"host": 1}},
        {"event": "lost", "lost": 10**9},
        {"event": ["placed"]},
    ]
    states = HostStates(COMMANDS)
    states.take_changes()
    for one in wrong:
        states.follow(0, one)

    assert sentences(states) == ["w0 waits for the others"]


def test_stream_has_event_for_each_state() -> None:
    """A reader of `--ndjson` sees the hosts, too; a detail only where there is one."""
    told = run_document.event_fields(HostStateChanged(1, "w1", "missing", "was not reached"))
    assert told == {
        "event": "host",
        "host": 1,
        "name": "w1",
        "state": "missing",
        "detail": "was not reached",
    }
    assert "detail" not in run_document.event_fields(HostStateChanged(1, "w1", "arrived"))
