"""libtpu's runtime metrics service on loopback, as gRPC, and servers that only pretend to be it.

    with serve(gauges(8)) as port: ...           # the published protocol, for 8 devices
    with hostile("huge") as port: ...            # see `HOSTILE`

The messages are the program's own. The lane `servers` compares them with those of tpu-info, whose
client asks the same server.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from typing import Any

import grpc

from tpustarter.watch.metrics_service import METHOD, make_message_classes

GIB = 2**30
USED, TOTAL = "tpu.runtime.hbm.memory.usage.bytes", "tpu.runtime.hbm.memory.total.bytes"
DUTY = "tpu.runtime.tensorcore.dutycycle.percent"
BANDWIDTH = "tpu.runtime.hbm.utilization.percent"
IDLE = "tpu.runtime.tensorcore.idle_duration.seconds"

Gauges = Mapping[str, Mapping[int, float]]
"""Value by device, by the name of a metric; whole numbers are sent as such."""


def gauges(
    devices: int = 8,
    *,
    used_gib: float | Sequence[float] = 12,
    total_gib: float = 31.25,
    duty: float | Sequence[float] = 98,
    bandwidth: float | Sequence[float] | None = None,
) -> dict[str, dict[int, float]]:
    """Return the metrics of a host with some devices; a sequence has a value for each."""
    served: dict[str, dict[int, float]] = {
        USED: dict(enumerate(int(one * GIB) for one in _each(used_gib, devices))),
        TOTAL: dict.fromkeys(range(devices), int(total_gib * GIB)),
        DUTY: dict(enumerate(map(float, _each(duty, devices)))),
        IDLE: dict.fromkeys(range(devices), 0.0),
    }
    if bandwidth is not None:
        served[BANDWIDTH] = dict(enumerate(map(float, _each(bandwidth, devices))))
    return served


def _each(values: float | Sequence[float], count: int) -> list[float]:
    return [values] * count if isinstance(values, (int, float)) else list(values)


@contextlib.contextmanager
def serve(
    served: Gauges | Callable[[], Gauges], *, port: int = 0, ordinal: bool = False
) -> Iterator[int]:
    """Serve metrics, and yield the port; NOT_FOUND for other names.

    Args:
        served: The metrics, or a function that is called for each answer.
        port: The port; 0 for any.
        ordinal: True if a device is `device_ordinal` in a list, as libtpu names it for its queues.
    """
    messages = make_message_classes()

    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        metrics = (served() if callable(served) else served).get(request.metric_name)
        if metrics is None:
            context.abort(grpc.StatusCode.NOT_FOUND, f"no metric {request.metric_name}")
        response = messages["MetricResponse"]()
        response.metric.name = request.metric_name
        for device, value in (metrics or {}).items():
            row = response.metric.metrics.add()
            if ordinal:
                row.attribute.value.kvlist_attr.attributes.add(
                    key="core_type"
                ).value.string_attr = "TENSORCORE"
                row.attribute.value.kvlist_attr.attributes.add(
                    key="device_ordinal"
                ).value.string_attr = str(device)
            else:
                row.attribute.key = "device-id"
                row.attribute.value.int_attr = device
            setattr(row.gauge, "as_int" if isinstance(value, int) else "as_double", value)
        return response

    handler = grpc.unary_unary_rpc_method_handler(
        answer,
        request_deserializer=messages["MetricRequest"].FromString,
        response_serializer=messages["MetricResponse"].SerializeToString,
    )
    service, name = METHOD.strip("/").split("/")
    server = grpc.server(futures.ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(service, {name: handler})]
    )
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    try:
        yield bound
    finally:
        server.stop(None).wait()


def _refuse(connection: socket.socket) -> None:
    connection.recv(65536)


def _web(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def _garbage(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(bytes(range(256)) * 64)


def _silent(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while connection.recv(65536):
            pass


def _trickle(connection: socket.socket) -> None:
    # A settings frame of HTTP/2, and then a byte of the next frame in each tenth of a second.
    with contextlib.suppress(OSError):
        connection.sendall(b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        while True:
            connection.sendall(b"\x00")
            time.sleep(0.1)


HOSTILE: dict[str, Callable[[socket.socket], None]] = {
    "closes": _refuse,
    "web": _web,
    "garbage": _garbage,
    "silent": _silent,
    "trickle": _trickle,
}
"""Servers that are not libtpu, by what they do with a connection before they close it."""


@contextlib.contextmanager
def hostile(kind: str) -> Iterator[int]:
    """Serve one of `HOSTILE`, and yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=treat, args=[connection], daemon=True).start()

        def treat(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                HOSTILE[kind](connection)

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextlib.contextmanager
def serve_bytes(data: bytes) -> Iterator[int]:
    """Answer each call with some bytes in place of a message, and yield the port."""
    handler = grpc.unary_unary_rpc_method_handler(lambda _request, _context: data)
    service, name = METHOD.strip("/").split("/")
    server = grpc.server(futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler(service, {name: handler})]
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()
