"""Hosts hand in their facts before JAX waits for anybody, and host 0 knows who is there."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from typing import Any

import pytest

from tests.support.processes import HANG_S, until
from tests.support.slice_hosts import free_port
from tpustarter.probe.slice import arrival
from tpustarter.probe.slice.arrival import MAX_BYTES, PATH, ArrivalFailed, PortInUse, Roster
from tpustarter.probe.slice.host_position import (
    HostPosition,
    UnknownHostPosition,
    find_host_position,
)


def facts(host: int, **changes: Any) -> dict[str, Any]:
    """Return the facts that a host sends when it arrives."""
    return {
        "host": host,
        "hosts": 2,
        "name": f"worker-{host}",
        "process": 40 + host,
        "python_version": "3.12.1",
        "frameworks": {},
        "settings": {},
        "time": time.time(),
        "checks": [],
        **changes,
    }


def place(host: int, port: int) -> HostPosition:
    """Return the place of a host on this machine."""
    return HostPosition(host, 2, f"127.0.0.1:{port}", detected=False)


def connect(port: int) -> socket.socket | None:
    """Return a connection to a port, or None while nothing listens there."""
    with contextlib.suppress(ConnectionRefusedError):
        return socket.create_connection(("127.0.0.1", port), HANG_S)
    return None


def ignore(roster: Roster, seconds: float) -> tuple[int, ...]:
    """Show nothing while host 0 waits, and know nothing of the others."""
    return ()


def test_every_host_gets_the_answer() -> None:
    """Every host gets the answer, even one that came before host 0 opened its port."""
    port, answers, failures = free_port(), list[Any](), list[ArrivalFailed]()

    def arrive() -> None:
        answers.append(arrival.send_host_facts(place(1, port), facts(1), 60, failures.append))

    early = threading.Thread(target=arrive)
    early.start()
    until(lambda: failures, "a first try")
    with arrival.receive_host_facts(place(0, port), facts(0), 60, ignore) as roster:
        roster.close(goes_on=True, code=0)
    early.join(60)

    assert ["refused"] == [failure.reason for failure in failures]
    assert roster.is_complete
    assert answers == [{"goes_on": True, "code": 0, "missing": [], "headline": ""}]


def test_error_on_host_0_ends_all_hosts() -> None:
    """An error on host 0 ends all hosts, once each of them has an answer."""
    port, answers = free_port(), list[Any]()

    def arrive() -> None:
        answers.append(arrival.send_host_facts(place(1, port), facts(1), 60, lambda _: None))

    def lead() -> None:
        with (
            contextlib.suppress(KeyError),
            arrival.receive_host_facts(place(0, port), facts(0), 60, ignore),
        ):
            raise KeyError("id")

    threads = [threading.Thread(target=one, daemon=True) for one in (arrive, lead)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_S)

    assert not any(thread.is_alive() for thread in threads)
    assert [False] == [answer["goes_on"] for answer in answers]


def test_unreachable_host_is_not_waited_for() -> None:
    """The start knows that one was not reached, and host 0 has hours left."""
    with arrival.receive_host_facts(
        place(0, free_port()), facts(0), 3600, lambda *_: (1,)
    ) as roster:
        roster.close(goes_on=False, code=3)

    assert roster.missing == [1]


def test_port_is_free_again() -> None:
    """JAX opens the same one next."""
    port = free_port()
    with arrival.receive_host_facts(place(0, port), facts(0), 0.1, ignore) as roster:
        roster.close(goes_on=False, code=3)

    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
    assert roster.missing == [1]


def test_taken_port_is_said() -> None:
    """A taken port is an error that names it, because the coordinator can use no other."""
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        with (
            pytest.raises(PortInUse, match=str(taken.getsockname()[1])),
            arrival.receive_host_facts(place(0, taken.getsockname()[1]), facts(0), 1, ignore),
        ):
            pass


STRANGERS = {
    "another text": b"hello",
    "no facts": b"[]",
    "half of them": b'{"host": 1}',
    "a host of another kind": json.dumps({**facts(1), "host": "1"}).encode(),
}


@pytest.mark.parametrize("case", STRANGERS)
def test_what_is_no_host_is_refused(case: str) -> None:
    """Anybody on the network can send something."""
    port = free_port()
    with arrival.receive_host_facts(place(0, port), facts(0), 0.1, ignore) as roster:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_S)
        connection.request("POST", PATH, STRANGERS[case])
        status = connection.getresponse().status
        connection.close()
        roster.close(goes_on=False, code=3)

    assert status == http.HTTPStatus.BAD_REQUEST
    assert roster.everyone() == [roster.members[0]]


def test_too_long_facts_are_refused_unread() -> None:
    """A host hands in a few KiB."""
    port = free_port()
    with arrival.receive_host_facts(place(0, port), facts(0), 0.1, ignore) as roster:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_S)
        connection.putrequest("POST", PATH)
        connection.putheader("Content-Length", str(MAX_BYTES + 1))
        connection.endheaders()
        status = connection.getresponse().status
        connection.close()
        roster.close(goes_on=False, code=3)

    assert status == http.HTTPStatus.BAD_REQUEST


@pytest.mark.parametrize(
    "sent", [b"", b"POST", f"POST {PATH} HTTP/1.1\r\nContent-Length: 999999\r\n\r\n".encode()]
)
def test_slow_peer_holds_no_port(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that sends its facts too slowly blocks nobody: the next host gets its answer."""
    monkeypatch.setattr(arrival, "READ_S", 0.5)
    port, is_over, answers = free_port(), threading.Event(), list[Any]()

    def trickle(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection.sendall(sent)
            while not is_over.wait(0.01):
                connection.sendall(b"x")

    def lead() -> None:
        with arrival.receive_host_facts(place(0, port), facts(0), HANG_S, ignore) as roster:
            roster.close(goes_on=True, code=0)

    leading = threading.Thread(target=lead, daemon=True)
    leading.start()
    with until(lambda: connect(port), "the port of host 0") as slow:
        trickling = threading.Thread(target=trickle, args=[slow])
        trickling.start()
        answers.append(arrival.send_host_facts(place(1, port), facts(1), 60, lambda _: None))
        leading.join(HANG_S)
        has_ended = not leading.is_alive()
        is_over.set()
        trickling.join()

    assert has_ended
    assert [True] == [answer["goes_on"] for answer in answers]


@pytest.mark.parametrize("changes", [{"host": 2}, {"host": 0}, {"host": -1}, {"hosts": 3}])
def test_stranger_is_refused_and_ends_no_wait(changes: dict[str, int]) -> None:
    """A stranger is refused and reported, and host 0 keeps waiting for host 1."""
    port, refused, shown = free_port(), list[Any](), list[int]()

    def show(roster: Roster, seconds: float) -> tuple[int, ...]:
        shown.append(len(roster.strangers))
        return ()

    def arrive_first() -> None:
        for name in ("one", "other", "third"):
            sent = {**facts(1, name=name), **changes}
            refused.append(arrival.send_host_facts(place(1, port), sent, 60, lambda _: None))
        until(lambda: 2 in shown, "host 0 to show both")
        arrival.send_host_facts(place(1, port), facts(1), 60, lambda _: None)

    arriving = threading.Thread(target=arrive_first)
    arriving.start()
    with arrival.receive_host_facts(place(0, port), facts(0), HANG_S, show) as roster:
        roster.close(goes_on=False, code=1)
    arriving.join(HANG_S)

    assert [arrival.REFUSAL] * 3 == refused
    assert 2 in shown
    assert not roster.missing
    assert ["one", "other"] == [one["name"] for one in roster.strangers]
    assert not roster.is_complete


def test_same_host_may_try_again() -> None:
    """A connection that broke does not make two hosts of one."""
    roster = Roster(2)
    for _ in range(2):
        roster.add(facts(1))

    assert not roster.strangers


def test_clock_is_compared_on_arrival() -> None:
    """Host 0's own counts as right."""
    roster = Roster(2)
    roster.add(facts(1, time=time.time() + 600))

    assert roster.members[1]["clock_ahead_s"] == pytest.approx(600, abs=5)


def test_nobody_there_is_said() -> None:
    """The reason is data, and the text has the address."""
    port = free_port()

    with pytest.raises(ArrivalFailed, match=str(port)) as raised:
        arrival.send_host_facts(place(1, port), facts(1), 0.5, list[ArrivalFailed]().append)

    assert raised.value.reason == "refused"


@pytest.mark.parametrize(
    "given",
    [
        {"coordinator": "worker-0", "hosts": 2, "host": 0},
        {"coordinator": "worker-0:8476", "hosts": 2, "host": 2},
    ],
)
def test_contradicting_place_is_refused(given: dict[str, Any]) -> None:
    """Before JAX is asked for anything."""
    with pytest.raises(UnknownHostPosition, match="expected"):
        find_host_position(given, 1)
