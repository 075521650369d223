"""The changes between two runs: results, figures beyond noise, and what may explain them.

Both runs are compared as documents, as `--json` prints them. The earlier one may hold anything:
its values are shown as text, cut short, and a status it alone knows counts as an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, cast

from tpustarter.checking.results.results import STATUSES

Fields = dict[str, Any]


class Noise(NamedTuple):
    """How much figures of one kind may differ between two runs without a reason."""

    code: str
    """Glob that matches the findings' codes."""
    unit: str
    """Regular expression for the unit; one that matches the empty text matches findings without a
    unit."""
    factor: float
    """Ratio of the larger to the smaller figure up to which nothing counts as changed."""
    why: str
    whole: bool = True
    """Whether whole numbers are treated as measurements too; otherwise they are counts, and
    exact."""


NOISE = (
    Noise("HOST-SPACE-*", r".*", 2.0, "free space changes with whatever any program writes"),
    Noise(
        "JAX-TRANSFER-*",
        r".*/s",
        1.5,
        "a copy to or from the host depends on what else the host does",
    ),
    Noise(
        "*",
        r".*/s",
        1.1,
        "the best of some repeats varies by a few percent, a throttled chip loses more",
    ),
    Noise("*", r"s|ms|us|µs|ns|min", 1.5, "a single duration depends on what else the host does"),
    Noise(
        "*",
        r"|n \* 2\*\*-\d+",
        2.0,
        "a rounding error is known to about one bit: compilers order sums differently",
        whole=False,
    ),
)
"""First match wins. A finding that matches no row is exact: any difference counts as a change."""

VIRTUAL = Noise(
    "*",
    r".*/s|s|ms|us|µs|ns",
    10.0,
    "virtual devices share the cores of a machine with all else it does",
)
"""The row that comes before the others where one of the runs was on virtual devices."""

_BAD = ("fail", "error", "notrun")
ORDER = ("failing", "worse", "warning", "skipped", "gone", "changed", "added", "passing")
"""Kinds of change of a result, worst first."""
_RANK = {"fail": 0, "error": 1, "notrun": 2, "warn": 3, "skip": 4, "pass": 5}
_TARGET = ("python", "platform", "kind", "devices", "virtual")
_HOST = ("chips", "generation")


def compare(file: str, before: Fields, now: Fields) -> Fields:
    """Return the changes since `before`, as they appear in the document under `comparison`.

    Args:
        file: Name of the file `before` was read from.
        before: A report that `saved.read` found sound.
        now: The report of this run.
    """
    earlier, current = _results(before), _results(now)
    results = [
        result
        for name in dict.fromkeys([*earlier, *current])
        if (result := _result(name, earlier.get(name), current.get(name)))
    ]
    results.sort(key=lambda result: (ORDER.index(result["change"]), _RANK.get(result["now"], 6)))
    virtual = any(document["target"].get("virtual") is True for document in (before, now))
    compared = list(_figures(earlier, current, (VIRTUAL, *NOISE) if virtual else NOISE))
    figures = [figure for figure in compared if figure["beyond"]]
    figures.sort(key=lambda figure: -abs(1e9 if figure["relative"] is None else figure["relative"]))
    return {
        "file": file,
        "started": _text(before.get("started")),
        "results": results,
        "figures": [{k: v for k, v in figure.items() if k != "beyond"} for figure in figures],
        "target": _differences(_place(before), _place(now)),
        "versions": _differences(_versions(before), _versions(now)),
        "environment": _differences(_environment(before), _environment(now)),
        "same": {
            "results": len(earlier.keys() & current.keys())
            - sum(1 for result in results if result["before"] and result["now"]),
            "figures": len(compared) - len(figures),
        },
    }


def _environment(document: Fields) -> Fields:
    names = document["target"].get("settings")
    listed = cast("list[Any]", names) if isinstance(names, list) else []
    return {**{str(name)[:200]: "set" for name in listed}, **document["target"]["env"]}


def _text(value: Any) -> str | None:
    if isinstance(value, dict | list):
        return "..."  # a report of the published shape has none here
    return None if value is None else str(value)[:200]


def _results(document: Fields) -> dict[str, Fields]:
    return {str(result["id"])[:200]: result for result in document["results"]}


def _status(result: Fields | None) -> str | None:
    if result is None:
        return None
    return result["status"] if result["status"] in STATUSES else "error"


def _result(name: str, before: Fields | None, now: Fields | None) -> Fields | None:
    old, new = _status(before), _status(now)
    if old == new:
        return None
    return {"id": name, "change": _change(old, new), "before": old, "now": new}


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
    earlier: dict[str, Fields], current: dict[str, Fields], rows: Sequence[Noise]
) -> Iterator[Fields]:
    for name in (candidate for candidate in current if candidate in earlier):
        before, now = _findings(earlier[name]), _findings(current[name])
        for key in (candidate for candidate in now if candidate in before):
            yield from _figure(name, before[key], now[key], rows)


def _findings(result: Fields) -> dict[tuple[str, ...], Fields]:
    groups: dict[tuple[str, str], list[Fields]] = {}
    for finding in cast("list[Fields]", result["findings"]):
        groups.setdefault((str(finding.get("code")), str(finding.get("entity"))), []).append(
            finding
        )
    by_key: dict[tuple[str, ...], Fields] = {}
    for key, group in groups.items():
        for finding in group:
            by_key[key if len(group) == 1 else (*key, str(finding.get("name")))] = finding
    return by_key


def _figure(name: str, before: Fields, now: Fields, rows: Sequence[Noise]) -> Iterator[Fields]:
    old, new = before.get("found"), now.get("found")
    if not (_is_number(old) or _is_number(new)):
        return
    code, unit = str(now.get("code")), now.get("unit")
    if before.get("unit") != unit:
        return  # figures in two units cannot be compared
    row = noise(code, unit, old, new, rows)
    yield {
        "id": name,
        "code": code,
        "entity": now.get("entity"),
        "name": now.get("name"),
        "unit": unit,
        "before": old if _is_number(old) else _text(old),
        "now": new if _is_number(new) else _text(new),
        "relative": relative(old, new),
        "noise_factor": row.factor if row else None,
        "beyond": beyond(old, new, row.factor if row else None),
    }


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e300  # a whole number may be too large for a float


def noise(code: str, unit: Any, before: Any, now: Any, rows: Sequence[Noise]) -> Noise | None:
    """Return the first row that matches a figure; None for an exact one."""
    whole = all(_is_number(value) and float(value).is_integer() for value in (before, now))
    for row in rows:
        matches = fnmatchcase(code, row.code) and re.fullmatch(row.unit, str(unit or ""))
        if matches and (row.whole or not whole):
            return row
    return None


def beyond(before: Any, now: Any, factor: float | None) -> bool:
    """Return whether a figure changed beyond noise; without a factor any difference does."""
    if before == now:
        return False
    if factor is None or not (_is_number(before) and _is_number(now)) or before * now <= 0:
        return True
    small, large = sorted((abs(before), abs(now)))
    return large > small * factor


def relative(before: Any, now: Any) -> float | None:
    """Return the change relative to `before`, as a fraction; None without a usable base."""
    if not (_is_number(before) and _is_number(now)) or before == 0:
        return None
    change = now / before - 1
    return round(change, 4) if abs(change) < 1e12 else None


def _place(document: Fields) -> Fields:
    fields = {name: document["target"].get(name) for name in _TARGET}
    fields |= {name: document["host"].get(name) for name in _HOST}
    return {**fields, "level": document["selection"].get("level")}


def _versions(document: Fields) -> Fields:
    target = document["target"]
    own = {"tpustarter": document["tool"].get("version"), "python": target.get("python_version")}
    return {**own, **target["frameworks"]}


def _differences(before: Fields, now: Fields) -> list[Fields]:
    return [
        {"name": str(name)[:200], "before": _plain(before.get(name)), "now": _plain(now.get(name))}
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    ]


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool) or _is_number(value) else _text(value)
