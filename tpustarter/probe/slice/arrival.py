"""The arrival of the hosts: each sends its facts to host 0 before JAX waits for any of them.

`jax.distributed.initialize` lets no host report anything until all have joined. So host 0 receives
the others' facts over HTTP, on the coordinator's own port, which it closes before JAX opens it. A
port in use, a firewall or a wrong address is thereby reported by name, instead of as a hang.
"""

from __future__ import annotations

import contextlib
import http
import http.client
import http.server
import json
import socket
import threading
import time
from collections.abc import Callable, Collection
from typing import TypeGuard

from tpustarter.probe.slice.host_position import HostPosition
from tpustarter.probe.slice.messages import ArrivalAnswer, ArrivalFacts, ArrivingEvent
from tpustarter.probe.slice.shared_checks import INCONCLUSIVE

PATH = "/tpustarter/arrive"
MAX_BYTES = 1 << 20
"""Largest request body that host 0 reads."""
RETRY_S = 0.25
CONNECT_S = 5.0
"""Seconds to wait for a connection to host 0."""
TICK_S = 1.0
READ_S = 10.0
"""Seconds in which a host must have sent all of its facts; one that was slower tries again."""
ANSWER_S = 3600.0
"""Seconds that a host's connection waits for the answer; host 0 sends it far earlier."""

Waiting = Callable[["Roster", float], Collection[int]]
"""Called once a second with those that have arrived and the seconds so far; returns the hosts known
not to come.
"""
Failing = Callable[["ArrivalFailed"], None]
"""Called with the reason why host 0 could not be reached, whenever that changes."""

REFUSAL: ArrivalAnswer = {
    "goes_on": False,
    "code": INCONCLUSIVE,
    "missing": [],
    "headline": "refused by host 0: another host has this number, or another number of hosts",
}
"""The answer to a stranger, for which no other host waits."""


class ArrivalFailed(Exception):  # noqa: N818  a result, not a program's error
    """Raised on a host that could not send its facts; `reason` identifies the obstacle."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class PortInUse(Exception):  # noqa: N818  a result, not a program's error
    """Raised on host 0 if the coordinator's port cannot be opened."""


class Roster:
    """The hosts that have arrived at host 0."""

    def __init__(self, hosts: int) -> None:
        self.hosts = hosts
        self.members: dict[int, ArrivalFacts] = {}
        self.strangers: list[ArrivalFacts] = []
        """Facts of hosts with a taken or invalid number, or with another number of hosts; they go
        into the report, as many as there are hosts at most.
        """
        self.unreachable: set[int] = set()
        """Hosts known not to come."""
        self._changed = threading.Condition()
        self._answer: ArrivalAnswer | None = None

    def add(self, facts: ArrivalFacts) -> bool:
        """Add a host, comparing its clock with this host's; return False for a stranger."""
        facts["clock_ahead_s"] = round(facts["time"] - time.time(), 1)
        with self._changed:
            known = self.members.get(facts["host"])
            if known and (known["name"], known["process"]) == (facts["name"], facts["process"]):
                return True  # it retried
            if known or facts["hosts"] != self.hosts or not 0 <= facts["host"] < self.hosts:
                self.strangers = [*self.strangers, facts][: self.hosts]
                return False
            self.members[facts["host"]] = facts
            self._changed.notify_all()
            return True

    @property
    def missing(self) -> list[int]:
        """Numbers of the hosts that have not arrived."""
        return [number for number in range(self.hosts) if number not in self.members]

    @property
    def is_decided(self) -> bool:
        """True if there is no host left to wait for."""
        return self.unreachable.issuperset(self.missing)

    def wait(self, timeout_s: float, waiting: Waiting) -> None:
        """Wait until all hosts that can come have arrived, or time is up."""
        began = time.monotonic()
        with self._changed:
            while not self.is_decided:
                passed_s = time.monotonic() - began
                if passed_s >= timeout_s:
                    return
                self._changed.wait(min(TICK_S, timeout_s - passed_s))
                self.unreachable |= {*waiting(self, time.monotonic() - began)}

    def describe_wait(self, seconds: float) -> ArrivingEvent:
        """Return the event that tells what is awaited after so many seconds."""
        return {
            "event": "arriving",
            "missing": self.missing,
            "refused": len(self.strangers),
            "seconds": round(seconds, 1),
        }

    @property
    def is_complete(self) -> bool:
        """True if all hosts have arrived, and no strangers."""
        return not self.missing and not self.strangers

    def everyone(self) -> list[ArrivalFacts]:
        """Return the facts of all arrivals: those of the hosts by number, then strangers'."""
        return [*(self.members[number] for number in sorted(self.members)), *self.strangers]

    def close(self, *, goes_on: bool, code: int) -> None:
        """Send the answer to all waiting hosts."""
        with self._changed:
            self._answer = {
                "goes_on": goes_on,
                "code": code,
                "missing": self.missing,
                "headline": "",
            }
            self._changed.notify_all()

    def wait_for_answer(self, timeout_s: float) -> ArrivalAnswer | None:
        """Return the answer for an arrived host, or None if it is not ready in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._answer is not None, timeout_s)
        return self._answer


@contextlib.contextmanager
def receive_host_facts(place: HostPosition, own: ArrivalFacts, timeout_s: float, waiting: Waiting):
    """Receive the other hosts' facts on host 0, yielding the roster when the wait is over.

    When the block is left, the other hosts have their answer and the port is free again.

    Raises:
        PortInUse: The coordinator's port cannot be opened.
    """
    roster = Roster(place.hosts)
    roster.add(own)
    if place.hosts == 1:
        yield roster
        return
    try:
        server = _Server(("", place.port), _Handler)
    except OSError as error:
        raise PortInUse(f"port {place.port} cannot be opened: {error.strerror or error}") from error
    server.roster = roster
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        roster.wait(timeout_s, waiting)
        yield roster
    finally:
        if roster.wait_for_answer(0) is None:  # an error, which the others must not wait through
            roster.close(goes_on=False, code=INCONCLUSIVE)
        server.shutdown()
        thread.join()
        server.server_close()  # waits until each host has its answer


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 1024
    roster: Roster

    address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET

    def server_bind(self) -> None:
        with contextlib.suppress(OSError, AttributeError):  # one address family is enough
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a host that closed its connection: it retries, or is missing."""


class _Handler(http.server.BaseHTTPRequestHandler):
    def setup(self) -> None:
        super().setup()
        # The library's own timeout begins anew with every byte.
        self._deadline = threading.Timer(READ_S, self._stop_reading)
        self._deadline.daemon = True
        self._deadline.start()

    def _stop_reading(self) -> None:
        with contextlib.suppress(OSError):  # the peer has gone
            self.connection.shutdown(socket.SHUT_RD)

    def finish(self) -> None:
        self._deadline.cancel()
        super().finish()

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        facts: object = None
        if self.path == PATH and length.isdigit() and int(length) <= MAX_BYTES:
            with contextlib.suppress(ValueError):
                facts = json.loads(self.rfile.read(int(length)))
        self._deadline.cancel()
        if not _are_facts(facts) or not isinstance(self.server, _Server):
            self.send_error(400)
            return
        roster = self.server.roster
        given = roster.wait_for_answer(ANSWER_S) if roster.add(facts) else REFUSAL
        answer = json.dumps(given or {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
        """Print nothing."""


_TYPES: dict[str, type | tuple[type, ...]] = {
    "host": int,
    "hosts": int,
    "name": str,
    "process": int,
    "python_version": str,
    "frameworks": dict,
    "settings": dict,
    "time": (int, float),
    "checks": list,
}
"""Types of the fields that host 0 itself reads; others are passed on unchanged."""


def _are_facts(body: object) -> TypeGuard[ArrivalFacts]:
    # Data from the network is used only in the form that `collect_host_facts` gives it.
    return _is_object(body) and all(
        isinstance(body.get(name), kind) for name, kind in _TYPES.items()
    )


def _is_object(body: object) -> TypeGuard[dict[str, object]]:
    return isinstance(body, dict)


def send_host_facts(
    place: HostPosition, own: ArrivalFacts, timeout_s: float, failing: Failing
) -> ArrivalAnswer:
    """Send this host's facts to host 0 until it answers, and return the answer.

    Raises:
        ArrivalFailed: Host 0 never answered; the error has the reason of the last attempt.
    """
    deadline, last = time.monotonic() + timeout_s, ""
    failure = ArrivalFailed("no-answer", f"host 0 did not answer at {place.coordinator}")
    while (left_s := deadline - time.monotonic()) > 0:
        try:
            return _post(place, own, left_s)
        except ConnectionRefusedError:
            failure = ArrivalFailed("refused", f"nothing listens at {place.coordinator}")
        except socket.gaierror as error:
            failure = ArrivalFailed(
                "unknown-name", f"`{place.name}` is not known: {error.strerror}"
            )
        except TimeoutError:
            failure = ArrivalFailed("no-answer", f"host 0 did not answer at {place.coordinator}")
        except (http.client.HTTPException, ValueError):
            text = f"something else than tpustarter answers at {place.coordinator}"
            failure = ArrivalFailed("something-else", text)
        except OSError as error:
            failure = ArrivalFailed("network", f"no way to {place.coordinator}: {error.strerror}")
        if failure.reason != last:
            last = failure.reason
            failing(failure)
        time.sleep(RETRY_S)
    raise failure


def _post(place: HostPosition, own: ArrivalFacts, left_s: float) -> ArrivalAnswer:
    connection = http.client.HTTPConnection(
        place.name, place.port, timeout=max(0.1, min(CONNECT_S, left_s))
    )
    try:
        connection.connect()
        connection.sock.settimeout(left_s)
        body = json.dumps({**own, "time": time.time()}).encode()
        connection.request("POST", PATH, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        is_answer = response.status == http.HTTPStatus.OK
        answer = json.loads(response.read(MAX_BYTES)) if is_answer else None
        if not _is_answer(answer):
            raise http.client.HTTPException(response.reason)
        return answer
    finally:
        connection.close()


def _is_answer(body: object) -> TypeGuard[ArrivalAnswer]:
    return _is_object(body) and "goes_on" in body
