"""The changes between two runs: results, figures beyond noise, and possible causes.

Both runs are compared as JSON documents. The earlier one is untrusted: its values are shown as
shortened text, and an unknown status counts as an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeGuard

import msgspec

from tpustarter.checking.results.results import STATUSES
from tpustarter.checking.results.saved_reports import SavedFinding, SavedReport, SavedResult
from tpustarter.core.json_values import JsonValue, is_array
from tpustarter.probe.finding import Value


class NoiseRule(NamedTuple):
    """The usual variation of one kind of figure; smaller differences mean nothing."""

    code: str
    """Glob for the codes of findings."""
    unit: str
    """Regular expression for the unit; if it matches "", it includes findings without a unit."""
    factor: float
    """Largest ratio of the larger to the smaller figure that does not count as a change."""
    why: str
    whole: bool = True
    """True to treat whole numbers as measurements too, instead of as exact counts."""


NOISE = (
    NoiseRule("HOST-SPACE-*", r".*", 2.0, "free space changes with whatever any program writes"),
    NoiseRule(
        "JAX-TRANSFER-*",
        r".*/s",
        1.5,
        "a copy to or from the host depends on what else the host does",
    ),
    NoiseRule(
        "*",
        r".*/s",
        1.1,
        "the best of some repeats varies by a few percent, a throttled chip loses more",
    ),
    NoiseRule(
        "*", r"s|ms|us|µs|ns|min", 1.5, "a single duration depends on what else the host does"
    ),
    NoiseRule(
        "*",
        r"|n \* 2\*\*-\d+",
        2.0,
        "a rounding error is known to about one bit: compilers order sums differently",
        whole=False,
    ),
)
"""The first match wins. A finding that matches no row is exact: any difference is a change."""

VIRTUAL = NoiseRule(
    "*",
    r".*/s|s|ms|us|µs|ns",
    10.0,
    "virtual devices share the cores of a machine with all else it does",
)
"""The row that comes first if one of the runs used virtual devices."""

_BAD = ("fail", "error", "notrun")
ORDER = ("failing", "worse", "warning", "skipped", "gone", "changed", "added", "passing")
"""Kinds of changed results, worst first."""
_RANK = {"fail": 0, "error": 1, "notrun": 2, "warn": 3, "skip": 4, "pass": 5}
_TARGET = ("python", "platform", "kind", "devices", "virtual")
_HOST = ("chips", "generation")


class ResultChange(msgspec.Struct):
    """A check whose status differs between two runs; None for a run without the check."""

    id: str
    change: str
    """One of `ORDER`."""
    before: str | None
    now: str | None


class FigureChange(msgspec.Struct):
    """A measured figure that differs between two runs."""

    id: str
    code: str
    entity: JsonValue
    name: JsonValue
    unit: JsonValue
    before: Value
    now: Value
    relative: float | None
    noise_factor: float | None


class ValueChange(msgspec.Struct):
    """A value of the target, the versions or the environment that differs between two runs."""

    name: str
    before: Value
    now: Value


class RunComparison(msgspec.Struct):
    """The changes between two runs, as published in the document's `comparison`."""

    file: str
    started: str | None
    results: list[ResultChange]
    figures: list[FigureChange]
    target: list[ValueChange]
    versions: list[ValueChange]
    environment: list[ValueChange]
    same: dict[str, int]
    """Numbers of unchanged `results` and `figures`."""


def compare_runs(file: str, before: SavedReport, now: SavedReport) -> RunComparison:
    """Return the changes since `before`, which was read from `file`."""
    earlier, current = _results(before), _results(now)
    results = [
        result
        for name in dict.fromkeys([*earlier, *current])
        if (result := _result(name, earlier.get(name), current.get(name)))
    ]
    results.sort(key=lambda result: (ORDER.index(result.change), _RANK.get(result.now or "", 6)))
    virtual = before.target.virtual is True or now.target.virtual is True
    compared = list(_figures(earlier, current, (VIRTUAL, *NOISE) if virtual else NOISE))
    figures = [figure for figure, is_beyond in compared if is_beyond]
    figures.sort(key=lambda figure: -abs(1e9 if figure.relative is None else figure.relative))
    return RunComparison(
        file,
        _text(before.started),
        results,
        figures,
        target=_differences(_place(before), _place(now)),
        versions=_differences(_versions(before), _versions(now)),
        environment=_differences(_environment(before), _environment(now)),
        same={
            "results": len(earlier.keys() & current.keys())
            - sum(1 for result in results if result.before and result.now),
            "figures": len(compared) - len(figures),
        },
    )


def _environment(report: SavedReport) -> dict[str, object]:
    names = report.target.settings if is_array(report.target.settings) else []
    return {**{str(name)[:200]: "set" for name in names}, **report.target.env}


def _text(value: object) -> str | None:
    if isinstance(value, dict | list):
        return "..."  # invalid in a published report
    return None if value is None else str(value)[:200]


def _results(report: SavedReport) -> dict[str, SavedResult]:
    return {result.id[:200]: result for result in report.results}


def _status(result: SavedResult | None) -> str | None:
    if result is None:
        return None
    return result.status if result.status in STATUSES else "error"


def _result(name: str, before: SavedResult | None, now: SavedResult | None) -> ResultChange | None:
    old, new = _status(before), _status(now)
    return None if old == new else ResultChange(name, _change(old, new), old, new)


def _change(old: str | None, new: str | None) -> str:
    if new is None:
        return "gone"
    if new in _BAD:
        if old not in _BAD:
            return "failing"
        return "worse" if new == "fail" else "changed"
    if old is None:
        return "added"
    if new == "warn":
        return "changed" if old in _BAD else "warning"
    if new == "skip":
        return "skipped"
    return "passing"


def _figures(
    earlier: dict[str, SavedResult], current: dict[str, SavedResult], rows: Sequence[NoiseRule]
) -> Iterator[tuple[FigureChange, bool]]:
    """Yield each figure of both runs, with True if it changed beyond noise."""
    for name in (candidate for candidate in current if candidate in earlier):
        before, now = _findings(earlier[name]), _findings(current[name])
        for key in (candidate for candidate in now if candidate in before):
            yield from _figure(name, before[key], now[key], rows)


def _findings(result: SavedResult) -> dict[tuple[str, ...], SavedFinding]:
    groups: dict[tuple[str, str], list[SavedFinding]] = {}
    for finding in result.findings:
        groups.setdefault((str(finding.code), str(finding.entity)), []).append(finding)
    by_key: dict[tuple[str, ...], SavedFinding] = {}
    for key, group in groups.items():
        for finding in group:
            by_key[key if len(group) == 1 else (*key, str(finding.name))] = finding
    return by_key


def _figure(
    name: str, before: SavedFinding, now: SavedFinding, rows: Sequence[NoiseRule]
) -> Iterator[tuple[FigureChange, bool]]:
    old, new = before.found, now.found
    if not (_is_number(old) or _is_number(new)):
        return
    if before.unit != now.unit:
        return  # figures with different units cannot be compared
    row = find_noise_rule(str(now.code), now.unit, old, new, rows)
    factor = row.factor if row else None
    change = FigureChange(
        name,
        str(now.code),
        now.entity,
        now.name,
        now.unit,
        old if _is_number(old) else _text(old),
        new if _is_number(new) else _text(new),
        compute_relative_change(old, new),
        factor,
    )
    yield change, is_beyond_noise(old, new, factor)


def _is_number(value: object) -> TypeGuard[int | float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e300  # an integer may be too large for a float


def find_noise_rule(
    code: str, unit: object, before: object, now: object, rows: Sequence[NoiseRule]
) -> NoiseRule | None:
    """Return the first row that matches a figure, or None if the figure is exact."""
    whole = all(_is_number(value) and float(value).is_integer() for value in (before, now))
    for row in rows:
        matches = fnmatchcase(code, row.code) and re.fullmatch(row.unit, str(unit or ""))
        if matches and (row.whole or not whole):
            return row
    return None


def is_beyond_noise(before: object, now: object, factor: float | None) -> bool:
    """Return whether a figure changed by more than its noise, or at all if no noise is known."""
    if before == now:
        return False
    if factor is None or not (_is_number(before) and _is_number(now)) or before * now <= 0:
        return True
    small, large = sorted((abs(before), abs(now)))
    return large > small * factor


def compute_relative_change(before: object, now: object) -> float | None:
    """Return the change as a fraction of `before`, or None if `before` is 0 or not a number."""
    if not (_is_number(before) and _is_number(now)) or before == 0:
        return None
    change = now / before - 1
    return round(change, 4) if abs(change) < 1e12 else None


def _place(report: SavedReport) -> dict[str, object]:
    fields = {name: getattr(report.target, name) for name in _TARGET}
    fields |= {name: report.host.get(name) for name in _HOST}
    return {**fields, "level": report.selection.get("level")}


def _versions(report: SavedReport) -> dict[str, object]:
    own = {"tpustarter": report.tool.get("version"), "python": report.target.python_version}
    return {**own, **report.target.frameworks}


def _differences(before: dict[str, object], now: dict[str, object]) -> list[ValueChange]:
    return [
        ValueChange(name[:200], _plain(before.get(name)), _plain(now.get(name)))
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    ]


def _plain(value: object) -> Value:
    return value if isinstance(value, bool) or _is_number(value) else _text(value)
