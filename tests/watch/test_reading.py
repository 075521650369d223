"""A reading, from a server that speaks libtpu's protocol, and from servers that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.machines import lay_out
from tests.support.metrics_server import (
    DUTY,
    GIB,
    HOSTILE,
    TOTAL,
    USED,
    Gauges,
    gauges,
    hostile,
    serve,
    serve_bytes,
)
from tpustarter.machine import host
from tpustarter.watch import metrics_client
from tpustarter.watch.metric_names import read_metric_names
from tpustarter.watch.metrics_client import PORT, list_ports, read_port
from tpustarter.watch.metrics_service import make_message_classes
from tpustarter.watch.reading import TpuReading, read_tpu


@pytest.fixture
def machine(tmp_path: Path) -> host.Machine:
    """Return a v6e with eight chips, which a process holds."""
    return lay_out(tmp_path, "v6e", chips=8, holder={"pid": 4242})


def read(served: Gauges, machine: host.Machine, **sdk: tuple[str, ...]) -> TpuReading:
    """Return a reading of a server with some metrics."""
    with serve(served) as port:
        return read_tpu(machine, [port], sdk)


@pytest.mark.parametrize("count", [1, 8, 64])
@pytest.mark.parametrize("ordinal", [False, True])
def test_each_device_has_its_numbers(machine: host.Machine, count: int, ordinal: bool) -> None:
    """Each device has its own numbers, under either name that libtpu gives it."""
    served = gauges(count, used_gib=[n / 4 for n in range(count)], duty=[*range(count)])
    with serve(served, ordinal=ordinal) as port:
        reading = read_tpu(machine, [port], {})

    assert reading.missing is None
    assert [*range(count)] == [one.device for one in reading.devices]
    assert [n * GIB // 4 for n in range(count)] == [
        one.memory_used_bytes for one in reading.devices
    ]
    assert [*map(float, range(count))] == [one.duty_cycle_percent for one in reading.devices]
    assert ["v6e", 8, (4242,)] == [
        reading.generation,
        reading.chips,
        tuple(one.pid for one in reading.processes),
    ]


def test_chip_speaks_for_its_devices(machine: host.Machine) -> None:
    """A chip's duty cycle is that of both of its devices, as on v2 and v3."""
    served = {**gauges(8), DUTY: dict(enumerate([90.0, 10.0, 50.0, 70.0]))}

    assert [90, 90, 10, 10, 50, 50, 70, 70] == [
        one.duty_cycle_percent for one in read(served, machine).devices
    ]


def test_sdk_fills_what_service_lacks(machine: host.Machine) -> None:
    """Cores are averaged, scores are those of the text's second number, and links have names."""
    reading = read(
        gauges(2),
        machine,
        matrix_unit_percent=("10.00", "30.00", "0.00", "5.00"),
        throttle_score=("0-0", "1-3"),
        link_problem=("tray1.chip3.ici0.int: 0", "tray1.chip3.ici1.int: 10", "nonsense"),
    )

    assert [20.0, 2.5] == [one.matrix_unit_percent for one in reading.devices]
    assert [0, 3] == [one.throttle_score for one in reading.devices]
    assert [0, 10] == [link.problem for link in reading.links]


def test_numbers_that_do_not_fit_are_unknown(machine: host.Machine) -> None:
    """Three values for eight devices belong to nobody, and NaN is no number."""
    served = {**gauges(8), DUTY: {0: float("nan"), 1: 5.0, 2: 5.0, 3: 5.0}}
    reading = read(served, machine, matrix_unit_percent=("1", "2", "x"))

    assert {None} == {one.duty_cycle_percent for one in reading.devices}
    assert {None} != {one.memory_used_bytes for one in reading.devices}


def test_ports_are_merged_by_device(machine: host.Machine) -> None:
    """A process holds four chips and another one the others; the first answer counts."""
    first = {name: {n: v for n, v in row.items() if n < 4} for name, row in gauges(8).items()}
    with serve(first) as one, serve(gauges(8, duty=1)) as other:
        reading = read_tpu(machine, [one, other, 1], {})

    assert [98.0] * 4 + [1.0] * 4 == [device.duty_cycle_percent for device in reading.devices]


@pytest.mark.parametrize(
    ("value", "ports"),
    [(None, (PORT,)), ("8431,8432, 8433", (8431, 8432, 8433)), ("x,0,70000", (PORT,))],
)
def test_ports_come_from_environment(value: str | None, ports: tuple[int, ...]) -> None:
    """Those that are none are left out."""
    environ = {} if value is None else {metrics_client.PORTS_VARIABLE: value}

    assert ports == list_ports(environ)


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_server_gives_one_reason(kind: str, machine: host.Machine) -> None:
    """A silent, slow or hostile server ends with one reason, and can't block forever."""
    with hostile(kind) as port:
        answer = read_port(port, read_metric_names(), call_s=0.5)

    assert answer.failure == ("silent" if kind in ("silent", "trickle") else "not-libtpu")


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"\xff" * 99, "not-libtpu"), (b"\x0a" * (2 << 20), "too-large"), (b"", "no-metrics")],
)
def test_wrong_message_gives_one_reason(data: bytes, reason: str, machine: host.Machine) -> None:
    """A message that isn't a MetricResponse gives one reason and the port."""
    with serve_bytes(data) as port:
        reading = read_tpu(machine, [port], {})

    assert reading.missing is not None
    assert reason == reading.missing.id
    assert str(port) in reading.missing.text


def test_huge_device_number_is_no_device(machine: host.Machine) -> None:
    """Python refuses to read numbers of more than 4,300 digits, with an error."""
    response = make_message_classes()["MetricResponse"]()
    row = response.metric.metrics.add()
    row.attribute.value.string_attr = "9" * 5000
    row.gauge.as_double = 1
    with serve_bytes(response.SerializeToString()) as port:
        reading = read_tpu(machine, [port], {})

    assert "no-metrics" == getattr(reading.missing, "id", None)


def test_huge_list_is_cut(machine: host.Machine) -> None:
    """A message within the limit of bytes can name more devices than any host has."""
    served = {USED: dict.fromkeys(range(5000), 1), TOTAL: dict.fromkeys(range(5000), 2)}

    assert metrics_client.MAX_DEVICES == len(read(served, machine).devices)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "no-tpu"),
        ({"generation": "v5e"}, "nothing-runs"),
        ({"generation": "v5e", "holder": {"pid": 4242}}, "old-libtpu"),
        ({"generation": "v5e", "lock": "live"}, "old-libtpu"),
    ],
)
def test_closed_port_has_reason(
    tmp_path: Path, options: dict[str, object], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closed port is explained by what else the machine shows, with a fitting exit code."""
    monkeypatch.setattr(host, "can_read_every_process", lambda _: True)
    generation = options.pop("generation", None)
    machine = lay_out(tmp_path, generation, **options)  # type: ignore[arg-type]
    missing = read_tpu(machine, [1], {}).missing

    assert missing is not None
    assert reason == missing.id
    assert (69 if reason == "no-tpu" else 3) == missing.exit_code
    assert ("pid 4242" in missing.text) == ("holder" in options)


def test_hidden_processes_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If processes are hidden from this user, that is the reason."""
    monkeypatch.setattr(host, "can_read_every_process", lambda _: False)
    missing = read_tpu(lay_out(tmp_path, "v5e"), [1], {}).missing

    assert missing is not None
    assert "not-visible" == missing.id


def test_container_network_is_reason(tmp_path: Path) -> None:
    """In a container with its own network, that is the reason, as ports differ from the host's."""
    machine = lay_out(tmp_path, "v5e", container="docker", host_network=False)
    missing = read_tpu(machine, [1], {}).missing

    assert missing is not None
    assert "container" == missing.id


PUBLISHED = bytes.fromhex(
    "0a480a016d1a190a0f0a096465766963652d696412021803120208051a0210071a280a1b12"
    "1932170a150a0e6465766963655f6f7264696e616c12030a01341a0909000000000000e03f"
)
"""Written by the messages of tpu-info 0.14.2: 7 of device 3 with a time, and 0.5 of device 4."""


def test_published_bytes_are_understood() -> None:
    """The server of the tests shares the program's messages, and these bytes do not."""
    with serve_bytes(PUBLISHED) as port:
        answer = read_port(port, read_metric_names())

    assert {3: 7.0, 4: 0.5} == answer.values["memory_used_bytes"]


def test_messages_keep_what_they_do_not_know() -> None:
    """A newer libtpu adds fields, and the ones that count are read all the same."""
    message = make_message_classes()["Metric"](gauge={"as_int": 7})
    extended = message.SerializeToString() + b"\xa2\x06\x03abc"

    assert 7 == make_message_classes()["Metric"].FromString(extended).gauge.as_int
