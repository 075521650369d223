"""The messages of libtpu's runtime metrics service, as far as a gauge needs them.

The types are made when they are first needed, in a pool of their own, because generated code would
pin protobuf's version and register its names for the whole process.
Source: tpu_metric_service.proto of tpu-info 0.14.2 (read 2026-11).
"""

from __future__ import annotations

import functools
from typing import Any

PACKAGE = "tpu.monitoring.runtime"
METHOD = f"/{PACKAGE}.RuntimeMetricService/GetRuntimeMetric"

_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "MetricRequest": {"metric_name": (1, "string")},
    "MetricResponse": {"metric": (1, "TPUMetric")},
    "TPUMetric": {"name": (1, "string"), "metrics": (3, "Metric*")},
    "Metric": {"attribute": (1, "Attribute"), "gauge": (3, "Gauge")},
    "Attribute": {"key": (1, "string"), "value": (2, "AttrValue")},
    "AttrValue": {
        "string_attr": (1, "string"),
        "int_attr": (3, "int64"),
        "kvlist_attr": (6, "KeyValueList"),
    },
    "KeyValueList": {"attributes": (1, "Attribute*")},
    "Gauge": {"as_double": (1, "double"), "as_int": (2, "int64")},
}
"""Fields of each message by name: the number and the type; `*` marks a repeated one."""
_ONE_OF = {"AttrValue": "attr", "Gauge": "value"}
"""Messages of which one field is set, with that group's name."""


@functools.cache
def make_message_classes() -> dict[str, Any]:
    """Return the class of each message, keyed by the message's name."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(
        name="tpu_metric_service.proto", package=PACKAGE, syntax="proto3"
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name in _ONE_OF:
            message.oneof_decl.add(name=_ONE_OF[name])
        for field, (number, kind) in fields.items():
            row = message.field.add(name=field, number=number)
            row.label = kinds.LABEL_REPEATED if kind.endswith("*") else kinds.LABEL_OPTIONAL
            inner = kind.rstrip("*")
            if inner in _MESSAGES:
                row.type, row.type_name = kinds.TYPE_MESSAGE, f".{PACKAGE}.{inner}"
            else:
                row.type = kinds.Type.Value(f"TYPE_{inner.upper()}")
            if name in _ONE_OF:
                row.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in _MESSAGES
    }
