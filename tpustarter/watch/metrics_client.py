"""The runtime metrics of the libtpu behind a port: one bounded gRPC call per metric.

gRPC is imported here alone, when the first port is asked.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tpustarter.watch.metric_names import MetricName

if TYPE_CHECKING:
    import grpc

HOST = "127.0.0.1"
PORT = 8431
"""Source: tpu_info/metrics.py 0.14.2 (read 2026-11)."""
PORTS_VARIABLE = "TPU_RUNTIME_METRICS_PORTS"
"""A variable of the processes that hold the chips, if each holds some of them.
Source: tpu_info/cli_helper.py 0.14.2 (read 2026-11)."""
CONNECT_S = 1.0
CALL_S = 3.0
"""Seconds that all calls to a port may take together."""
MAX_BYTES = 1 << 20
"""Largest answer: a gauge takes about 50 bytes for each of a host's devices."""
MAX_DEVICES = 1024
"""Most devices of an answer; the largest host has 8."""

Failure = Literal["closed", "silent", "too-large", "not-libtpu", "no-metrics"]
"""Reasons why a port gives no metrics: nothing listens there; no answer in time; an answer larger
than any of libtpu's; an answer that is not the service's; or the service without the metrics."""


@dataclass(frozen=True)
class PortMetrics:
    """The answer of a port."""

    port: int
    failure: Failure | None = None
    values: Mapping[str, Mapping[int, float]] = field(
        default_factory=dict[str, Mapping[int, float]]
    )
    """Value by device, for each id of `metrics.yml` that this libtpu offers."""


def list_ports(environ: Mapping[str, str]) -> tuple[int, ...]:
    """Return the ports that a user's environment names, or libtpu's usual one."""
    numbers = [word.strip() for word in environ.get(PORTS_VARIABLE, "").split(",")]
    ports = [int(word) for word in numbers if word.isdecimal() and 0 < int(word) < 65536]
    return tuple(dict.fromkeys(ports)) or (PORT,)


def read_port(port: int, names: Sequence[MetricName], call_s: float = CALL_S) -> PortMetrics:
    """Ask the libtpu behind a port for metrics; takes at most `CONNECT_S` and `call_s`."""
    try:
        socket.create_connection((HOST, port), CONNECT_S).close()
    except TimeoutError:
        return PortMetrics(port, "silent")
    except OSError:
        return PortMetrics(port, "closed")
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC logs to stderr when a server disconnects
    offered = [name for name in names if name.service]
    with _connect(port) as channel:
        return _answers(port, channel, offered, call_s)


@contextlib.contextmanager
def _connect(port: int) -> Generator[grpc.Channel]:
    import grpc

    channel = grpc.insecure_channel(
        f"{HOST}:{port}",
        options=[
            ("grpc.enable_http_proxy", 0),
            ("grpc.enable_retries", 0),
            ("grpc.max_receive_message_length", MAX_BYTES),
            ("grpc.max_metadata_size", 16384),
            ("grpc.use_local_subchannel_pool", 1),  # a port that was closed is tried again at once
        ],
    )
    try:
        yield channel
    finally:
        channel.close()


def _answers(
    port: int, channel: grpc.Channel, names: Sequence[MetricName], call_s: float
) -> PortMetrics:
    import grpc

    from tpustarter.watch.metrics_service import METHOD, make_message_classes

    messages = make_message_classes()
    ask: Any = channel.unary_unary(
        METHOD,
        request_serializer=messages["MetricRequest"].SerializeToString,
        response_deserializer=messages["MetricResponse"].FromString,
    )
    calls = {
        name.id: ask.future(messages["MetricRequest"](metric_name=name.service), timeout=call_s)
        for name in names
    }
    values = dict[str, Mapping[int, float]]()
    failures = list[Failure]()
    for name, call in calls.items():
        try:
            read = _by_device(call.result().metric.metrics)
        except grpc.RpcError as error:
            failures.append(_classify(error))
            continue
        if read:
            values[name] = read
    if values:
        return PortMetrics(port, None, values)
    return PortMetrics(port, failures[0] if failures else "no-metrics")


def _classify(error: grpc.RpcError) -> Failure:
    import grpc

    kinds: dict[grpc.StatusCode, Failure] = {
        grpc.StatusCode.DEADLINE_EXCEEDED: "silent",
        grpc.StatusCode.RESOURCE_EXHAUSTED: "too-large",
        grpc.StatusCode.NOT_FOUND: "no-metrics",
        grpc.StatusCode.INVALID_ARGUMENT: "no-metrics",
    }
    return kinds.get(error.code(), "not-libtpu") if isinstance(error, grpc.Call) else "not-libtpu"


def _by_device(metrics: Any) -> dict[int, float]:
    values = dict[int, float]()
    for metric in metrics[:MAX_DEVICES]:
        kind = metric.gauge.WhichOneof("value")
        device = _device(metric.attribute.value)
        value = float(getattr(metric.gauge, kind)) if kind else math.nan
        if device is not None and math.isfinite(value):
            values.setdefault(device, value)
    return values


def _device(value: Any) -> int | None:
    # A number, or a list of keys and values with `device_ordinal`, which newer ones write as text.
    for attribute in value.kvlist_attr.attributes:
        if attribute.key == "device_ordinal":
            return _device(attribute.value)
    kind = value.WhichOneof("attr")
    if kind == "string_attr":
        text = value.string_attr
        return int(text) if text.isdecimal() and len(text) < 10 else None
    return int(value.int_attr) if kind == "int_attr" else None
