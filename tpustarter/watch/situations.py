"""The sentence on what the numbers mean: rows of `situations.yml`, and the facts they compare.

The facts of a reading are counts and percentages: `devices`; `idle` and `working`, by their duty
cycle; least, largest and median value of the duty cycle, the matrix unit, memory and its bandwidth;
and the worst link and throttle score. Each is left out if it is unknown.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from tpustarter.core import yaml_rows
from tpustarter.core.problem import Problem
from tpustarter.core.yaml_rows import Text
from tpustarter.text.phrases import choose_plural, join_words
from tpustarter.watch.reading import DeviceReading, TpuReading

FILE = Path(__file__).with_name("situations.yml")
IDLE_PERCENT, WORKING_PERCENT = 5, 50
"""A device below the first duty cycle is idle, and from the second on it works."""
NAMED = 4
"""Most devices that a sentence names."""

_CONDITION = re.compile(r"(<|<=|>=|>|==) (\d+(?:\.\d+)?)")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
}


class SituationRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A situation: conditions on the facts, and what they mean."""

    id: Text
    when: dict[str, str]
    """Comparison by fact, such as `>= 80`."""
    text: Text
    """A clause with facts and names in braces."""
    todo: Text
    source: Text
    lesson: Text

    def holds(self, facts: dict[str, float]) -> bool:
        """Return whether all conditions hold."""
        return all(
            name in facts and _OPERATORS[sign](facts[name], float(limit))
            for name, condition in self.when.items()
            for sign, limit in [_split(condition)]
        )


@dataclass(frozen=True)
class Situation:
    """The meaning of a reading."""

    id: str
    text: str
    todo: str
    source: str
    lesson: str

    @property
    def sentence(self) -> str:
        """The meaning as a sentence."""
        return f"{self.text[:1].upper()}{self.text[1:]}."


def _split(condition: str) -> tuple[str, str]:
    match = _CONDITION.fullmatch(condition)
    if match is None:
        raise Problem(f"`{condition}` of `{FILE.name}` is not a comparison such as `>= 80`")
    return match[1], match[2]


@functools.cache
def read_situation_rules(file: Path = FILE) -> tuple[SituationRule, ...]:
    """Return the rules for situations, in the order in which they are tried.

    Raises:
        Problem: The file cannot be read, or a row does not fit.
    """
    return yaml_rows.read_rows(file, SituationRule)


def find_situation(reading: TpuReading) -> Situation | None:
    """Return the meaning of a reading, or None if it has no metrics."""
    facts = collect_reading_facts(reading)
    return choose_situation(read_situation_rules(), facts, _names(reading))


def choose_situation(
    rules: Sequence[SituationRule], facts: dict[str, float], names: dict[str, str]
) -> Situation | None:
    """Return the first rule that holds, with facts and names in its text; None if none does."""
    rule = next((rule for rule in rules if rule.holds(facts)), None)
    if rule is None:
        return None
    text = rule.text.format(**facts, **names)
    return Situation(rule.id, text, rule.todo, rule.source, rule.lesson)


def collect_reading_facts(reading: TpuReading) -> dict[str, float]:
    """Return the facts that conditions compare, without those that are unknown."""
    devices = reading.devices
    duty = _known([device.duty_cycle_percent for device in devices])
    memory = _known([device.memory_percent for device in devices])
    facts: dict[str, float] = {"devices": len(devices)}
    if len(duty) == len(devices):
        facts["idle"] = sum(value < IDLE_PERCENT for value in duty)
        facts["working"] = sum(value >= WORKING_PERCENT for value in duty)
    for name, values in {
        "duty": duty,
        "memory": memory,
        "matrix": _known([device.matrix_unit_percent for device in devices]),
        "bandwidth": _known([device.memory_bandwidth_percent for device in devices]),
    }.items():
        if values:
            facts |= {f"{name}_min": min(values), f"{name}_max": max(values)}
            facts[f"{name}_median"] = median(values)
    if memory:
        facts["memory_spread"] = max(memory) - min(memory)
    if reading.links:
        facts["link_worst"] = max(link.problem for link in reading.links)
    if scores := _known([device.throttle_score for device in devices]):
        facts["throttle_worst"] = max(scores)
    return facts


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _names(reading: TpuReading) -> dict[str, str]:
    """Return the names that a clause can use."""
    devices = reading.devices
    idle = [one for one in devices if (one.duty_cycle_percent or 0) < IDLE_PERCENT]
    slow = [one for one in devices if one.throttle_score]
    by_memory = sorted(devices, key=lambda one: one.memory_percent or 0)
    worst = max(reading.links, key=lambda link: link.problem, default=None)
    return {
        "idle_names": name_devices(idle),
        "idle_verb": choose_plural(len(idle), "is", "are"),
        "throttled_names": name_devices(slow),
        "throttled_verb": choose_plural(len(slow), "is", "are"),
        "throttled_percent": str(10 * max((one.throttle_score or 0 for one in slow), default=0)),
        "fullest_name": name_devices(by_memory[-1:]),
        "emptiest_name": name_devices(by_memory[:1]),
        "worst_link": worst.name if worst else "",
    }


def name_devices(devices: Sequence[DeviceReading]) -> str:
    """Return `device 3`, or `devices 3, 5 and 6`."""
    numbers = join_words((one.device for one in devices), most=NAMED)
    return f"{choose_plural(len(devices), 'device', 'devices')} {numbers}"
