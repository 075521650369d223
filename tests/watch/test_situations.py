"""The sentence that interprets the numbers, and its table of rows."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from tpustarter.core import content
from tpustarter.watch.missing_metrics import read_reasons
from tpustarter.watch.reading import DeviceReading, LinkReading, TpuReading
from tpustarter.watch.situations import collect_reading_facts, find_situation, read_situation_rules

GIB = 2**30


def make_reading(
    links: tuple[int, ...] = (), chips: int = 8, **numbers: float | list[float | None] | None
) -> TpuReading:
    """Return a reading of eight devices; a list has a number for each."""
    devices = [
        {name: one[n] if isinstance(one, list) else one for name, one in numbers.items()}
        for n in range(chips)
    ]
    return TpuReading(
        at=datetime(2026, 11, 30, 12, tzinfo=timezone.utc),
        chips=chips,
        generation="v6e",
        devices=tuple(make_device(n, **row) for n, row in enumerate(devices)),
        links=tuple(LinkReading(f"chip0.ici{n}", problem) for n, problem in enumerate(links)),
        processes=(),
        ports=(8431,),
    )


def make_device(device: int, memory: float | None = 38, **numbers: Any) -> DeviceReading:
    """Return a device, of which `memory` is the percentage that is used."""
    fields = {
        "duty": "duty_cycle_percent",
        "matrix": "matrix_unit_percent",
        "bandwidth": "memory_bandwidth_percent",
        "throttle": "throttle_score",
    }
    named = {fields[name]: value for name, value in numbers.items()}
    used = None if memory is None else int(memory * 32 * GIB / 100)
    return DeviceReading(device, used, None if memory is None else 32 * GIB, **named)


SITUATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "link-down": ({"duty": 98, "links": (0, 10)}, "chip0.ici1 is not usable"),
    "throttled": (
        {"duty": 98, "throttle": [0, 0, 0, 2, 0, 3, 0, 0]},
        "devices 3 and 5 are throttled by up to 30 %",
    ),
    "some-idle": ({"duty": [98, 97, 98, 0, 98, 97, 98, 98]}, "device 3 is idle while 7 of 8 work"),
    "holds-and-idles": ({"duty": 0, "memory": 90}, "does not compute"),
    "held-idle": ({"duty": 0, "memory": 2}, "nothing has run on them lately"),
    "memory-nearly-full": ({"duty": 98, "memory": [96] + [95] * 7}, "device 0 has 96 %"),
    "memory-uneven": ({"duty": 98, "memory": [59] + [33] * 7}, "device 0 uses 59 %"),
    "waits-for-the-host": ({"duty": 30}, "30 % of the time and wait for the host"),
    "memory-bound": ({"duty": 98, "matrix": 6, "bandwidth": 85}, "bound by memory"),
    "busy-without-matmul": (
        {"duty": 98, "matrix": 6, "bandwidth": 10},
        "busy 98 % and the matrix unit 6 %, so the chips wait for memory or for each other",
    ),
    "matrix-unit-at-work": ({"duty": 98, "matrix": 55}, "what they are made for"),
    "matrix-unit-in-part": ({"duty": 98, "matrix": 20}, "other work takes a large part"),
    "busy": ({"duty": 98}, "not known here"),
    "partly-busy": ({"duty": 70}, "70 % of the time"),
    "memory-alone": ({}, "no duty cycle"),
}
"""Numbers of each situation, and words of its sentence."""


@pytest.mark.parametrize("name", SITUATIONS)
def test_situation_has_its_sentence(name: str) -> None:
    """Each situation has its own sentence."""
    numbers, words = SITUATIONS[name]
    found = find_situation(make_reading(**numbers))

    assert found is not None
    assert name == found.id
    assert words in found.text
    assert "{" not in found.sentence


def test_every_rule_is_tried() -> None:
    """Every rule is reached by some numbers."""
    assert [*SITUATIONS] == [rule.id for rule in read_situation_rules()]


def test_no_devices_mean_nothing() -> None:
    """Without devices there is no situation, and the reason for missing metrics is shown."""
    assert find_situation(make_reading(chips=0)) is None


def test_conditions_name_known_facts() -> None:
    """A fact with another name would never hold."""
    whole = make_reading(links=(0,), duty=1, matrix=1, bandwidth=1, throttle=0)
    known = collect_reading_facts(whole).keys()

    assert set[str]() == {name for rule in read_situation_rules() for name in rule.when} - known


def test_rows_have_sources_and_lessons() -> None:
    """Public pages, and lessons that exist."""
    lessons = {lesson.id for lesson in content.read_lessons()}
    rows = [*read_situation_rules(), *read_reasons().values()]

    assert set[str]() == {row.lesson for row in rows} - lessons
    assert [] == [row.id for row in rows if not row.source.startswith("https://")]


def test_single_device_is_not_uneven() -> None:
    """A single idle device isn't called uneven."""
    found = find_situation(make_reading(chips=1, duty=0, memory=30))

    assert found is not None
    assert "held-idle" == found.id
    assert "1 devices" not in found.text
