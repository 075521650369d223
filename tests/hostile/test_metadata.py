"""Whatever answers at the metadata server's address: no traceback, no wrong claim, an end.

A server on loopback sends what hypothesis draws, byte by byte. A value may only be claimed where
the bytes sent for its key were an answer of Google's server, in the form that is documented.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tests.support.machines import lay_out
from tpustarter.checks.host import metadata as check_metadata
from tpustarter.checks.host import one_host
from tpustarter.machine import host
from tpustarter.machine.metadata import KEYS
from tpustarter.probe.finding import NoAnswer

TIMEOUT_S = 0.15
"""Of a question; a server that keeps a connection open hangs for ever."""
EXAMPLES = 100

GOOGLE = b"Metadata-Flavor: Google"
TEXTS = {
    "attributes/accelerator-type": ["v5litepod-8", "v4-32", "v5litepod-16", "v9-8", "tpu", "a b"],
    "attributes/agent-worker-number": ["0", "3", "-1", "1_0", "9" * 5000, "٣", "0x1", "1.5"],
    "attributes/worker-network-endpoints": [
        "unknown:unknown:10.0.0.2",
        "a:1:10.0.0.2,b:2:10.0.0.3",
        "host-0,host-1",
        ",,,",
        "a b,c",
        "\x1b[31m",
        "x" * 70000,
        "a:b",
        "<html>",
        "[1::2]:80",
    ],
    "attributes/tpu-env": [
        "HOST_BOUNDS: '2,2,1'",
        "HOST_BOUNDS: '0,1,1'",
        f"HOST_BOUNDS: '{'9,' * 9999}9'",
        "ACCELERATOR_TYPE: 'v4-32'\nCHIPS_PER_HOST_BOUNDS: '2,2,1'",
        "]",
        "{}",
        ": :",
    ],
    "zone": ["projects/1/zones/us-central1-b", "projects/1/zones/\x1b]0;x\x07", "/", ""],
    "machine-type": ["projects/1/machineTypes/ct6e-standard-4t", "ct6e-standard-8t", "n1", "`id`"],
}
"""For each key what is close to true, so that not everything is refused at the first byte."""

statuses = st.just(b"HTTP/1.1 200 OK") | st.sampled_from(
    [
        b"HTTP/1.0 200 OK",
        b"HTTP/1.1 404 Not Found",
        b"HTTP/1.1 500 Oops",
        b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/",
        b"HTTP/1.1 204 No Content",
        b"HTTP/9.9 200 OK",
        b"HTTP/1.1 100 Continue",
        b"HTTP/1.1 -1 x",
        b"HTTP/1.1",
        b"ICY 200 OK",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 500 + b"HTTP/1.1 200 OK",
        b"",
    ]
)
flavors = st.just(GOOGLE) | st.sampled_from(
    [
        b"metadata-flavor: Google",
        b"Metadata-Flavor: Hotel",
        b"X: y",
        GOOGLE + b"\r\n" + GOOGLE,
        b"Metadata-Flavor:\r\n Google",
        b"Metadata-Flavor: Google\x00",
    ]
)
extras = st.just(b"") | st.sampled_from(
    [
        b"Content-Length: 5",
        b"Content-Length: 99999999999",
        b"Content-Length: -1",
        b"Content-Length: 0\r\nContent-Length: 7",
        b"Transfer-Encoding: chunked",
        b"no colon here",
        b"Content-Encoding: gzip",
        b"A: " + b"a" * 70000,
        b"B: c\r\n" * 200,
        b"\xff\xfe: \x00",
        b"Set-Cookie: a=b",
        b"Connection: keep-alive",
    ]
)


@st.composite
def answers(draw: st.DrawFn, key: str) -> tuple[bytes, float, bool]:
    """Draw the bytes sent for one key, how slowly, and whether the connection is then closed."""
    body = draw(
        st.one_of(
            st.sampled_from(TEXTS[key]).map(str.encode),
            st.sampled_from(TEXTS[key]).map(str.encode),
            st.binary(max_size=200),
            st.just(b"a" * 300_000),
            st.just(b"5\r\nhello\r\n0\r\n\r\n"),
        )
    )
    head = draw(statuses) + b"\r\n" + draw(flavors) + b"\r\n" + draw(extras)
    whole = st.just(head + b"\r\n\r\n" + body)
    sent = draw(st.one_of(whole, whole, whole, st.binary(max_size=100)))
    return sent, draw(st.sampled_from([0.0, 0.0, 0.0, 0.02])), not draw(st.booleans())


class Server:
    """Sends for each key the answer that the test has set, and nothing else."""

    def __init__(self) -> None:
        self.told: Mapping[str, tuple[bytes, float, bool]] = {}
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            request = connection.recv(4096).decode("latin-1")
            if not request:  # its reader gave up before it asked
                return
            key = request.split(" ")[1].removeprefix("/computeMetadata/v1/instance/")
            data, pause_s, closes = self.told[key]
            step = 1 if pause_s else max(1, len(data))
            for start in range(0, min(len(data), 50 * step), step):
                connection.sendall(data[start : start + step])
                time.sleep(pause_s)  # a slow answer is one of those that are drawn
            if not closes:
                connection.recv(1)  # until the other end goes, which it does by itself

    def close(self) -> None:
        """Take no more connections."""
        self._socket.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Return one server for every example."""
    made = Server()
    yield made
    made.close()


@pytest.fixture(scope="module")
def machine(server: Server, tmp_path_factory: pytest.TempPathFactory) -> host.Machine:
    """Return a TPU VM whose metadata server that one is."""
    root = tmp_path_factory.mktemp("machine")
    return lay_out(root, "v5e", chips=8, env={"GCE_METADATA_HOST": server.address})


@given(data=st.data())
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_answer_is_a_value_or_unknown(
    data: st.DataObject, server: Server, machine: host.Machine
) -> None:
    """Any answer ends in fields that are null or of the documented form."""
    server.told = {key: data.draw(answers(key), label=key) for key in KEYS}
    found = host.metadata(machine, TIMEOUT_S)
    event(found.state)

    assert found.state in ("ok", "no-answer")
    assert found.why.isprintable()
    fields = {
        "attributes/accelerator-type": found.accelerator_type,
        "attributes/agent-worker-number": found.worker_number,
        "attributes/worker-network-endpoints": found.worker_endpoints or None,
        "attributes/tpu-env": found.tpu_env or None,
        "zone": found.zone,
        "machine-type": found.machine_type,
    }
    for key, value in fields.items():
        sent = server.told[key][0]
        if value is not None:
            event(f"{key} has a value")
            assert b"200 OK\r\n" in sent, key
            assert b"google" in sent.lower(), key
            words = value.items() if isinstance(value, Mapping) else [value]
            assert all(text.isprintable() for text in re.split("[',() ]", str(words))), key
    assert found.worker_number is None or 0 <= found.worker_number < 10**5
    shape = host.find_slice(machine, found)
    assert shape.hosts is None or 0 < shape.hosts <= 10**6
    _judge(machine, found)


def _judge(machine: host.Machine, found: host.Metadata) -> None:
    """Prove that the checks which read metadata claim one host only where something named one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "metadata", lambda *_: found)
        findings = [*one_host.run(machine)]
        with contextlib.suppress(NoAnswer):
            findings.extend(check_metadata.run(machine))
    hosts = next(finding for finding in findings if finding.code == "HOST-SLICE-HOSTS")
    if hosts.verdict == "ok":
        assert hosts.found == 1
        assert (
            found.worker_endpoints
            or found.tpu_env
            or found.accelerator_type
            or (found.machine_type)
        )
    if found.state == "no-answer":
        assert (hosts.verdict, hosts.found) == ("warn", "unknown")


ADDRESSES = [
    "127.0.0.1:99999",
    "127.0.0.1:-1",
    "127.0.0.1:x",
    "[::1",
    "::1",
    "[::1]:9",
    "a b",
    "häh",
    "\x00",
    "a" * 300,
    "127.0.0.1:9\r\nX: y",
    "256.256.256.256:1",
    "0.0.0.0:9",
    ":",
    "://",
    ".",
    "http://127.0.0.1:9/",
    "xn--a",
    "127.0.0.1:9/path?x#y",
    "user:password@127.0.0.1:9",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_invalid_address_has_no_answer(address: str, tmp_path: Path) -> None:
    """A nonsense address in a variable gives no answer and a reason, and nothing is raised."""
    machine = lay_out(tmp_path, "v5e", env={"GCE_METADATA_HOST": address})
    found = host.metadata(machine, TIMEOUT_S)

    assert "no-answer" == found.state
    assert found.why
