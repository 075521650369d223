"""What changed between two runs: results, figures beyond noise, and what may explain them.

Both runs are compared as documents, as `--json` prints them. The earlier one may hold anything:
its values are shown as text, cut short, and a status it alone knows counts as an error.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, cast

from tpustarter.checking.results import STATUSES
from tpustarter.checking.text import ID_WIDTH, number
from tpustarter.terminal import WIDTH, Paint, unpainted, visible

Fields = dict[str, Any]


class Noise(NamedTuple):
    """How much figures of one kind differ between two runs without a reason."""

    code: str
    """Pattern of the findings' codes."""
    unit: str
    """Pattern of the unit; one that matches the empty text matches findings without a unit."""
    factor: float
    """The larger figure divided by the smaller one, up to which nothing changed."""
    why: str
    whole: bool = True
    """Whether whole numbers are measured too; where not, they are counts, and exact."""


NOISE = (
    Noise("HOST-SPACE-*", r".*", 2.0,
          "free space changes with whatever any program writes"),
    Noise("JAX-TRANSFER-*", r".*/s", 1.5,
          "a copy to or from the host depends on what else the host does"),
    Noise("*", r".*/s", 1.1,
          "the best of some repeats varies by a few percent, a throttled chip loses more"),
    Noise("*", r"s|ms|us|µs|ns|min", 1.5,
          "a single duration depends on what else the host does"),
    Noise("*", r"|n \* 2\*\*-\d+", 2.0,
          "a rounding error is known to about one bit: compilers order sums differently",
          whole=False),
)  # fmt: skip
"""First match wins. A finding that matches no row is exact: any other figure is a change."""

VIRTUAL = Noise("*", r".*/s|s|ms|us|µs|ns", 10.0,
                "virtual devices share the cores of a machine with all else it does")  # fmt: skip
"""Comes before the others where one of the runs was on virtual devices."""

_BAD = ("fail", "error", "notrun")
_ORDER = ("failing", "worse", "warning", "skipped", "gone", "changed", "added", "passing")
_RANK = {"fail": 0, "error": 1, "notrun": 2, "warn": 3, "skip": 4, "pass": 5}
_MEANS = {"fail": "fails", "error": "has no verdict", "notrun": "was not run", "warn": "warns",
          "skip": "does not apply", "pass": "passes"}  # fmt: skip
_PAST = {"fail": "failed", "error": "had no verdict", "notrun": "was not run", "warn": "warned",
         "skip": "did not apply", "pass": "passed"}  # fmt: skip
_TARGET = ("python", "platform", "kind", "devices", "virtual")
_HOST = ("chips", "generation")
_CAME_OR_WENT = {"gone": ("gone", "not in this run"), "added": ("new", "not in the earlier run")}
Line = tuple[str, str, str]
"""A word of the result column, a name, and what is said of it."""
MOST_SHOWN = 20
"""Lines of one part in the text; the JSON holds all."""
MOST_ALONE = 3
"""Checks that came or went, up to which each has a line of its own."""
_LONGEST = 40


def compare(file: str, before: Fields, now: Fields) -> Fields:
    """Return what changed since `before`, as it stands in the document under `comparison`.

    Args:
        file: Name of the file `before` was read from.
        before: A report that `saved.read` found sound.
        now: The report of this run.
    """
    then, here = _results(before), _results(now)
    results = [one for name in dict.fromkeys([*then, *here])
               if (one := _result(name, then.get(name), here.get(name)))]  # fmt: skip
    results.sort(key=lambda one: (_ORDER.index(one["change"]), _RANK.get(one["now"], 6)))
    virtual = any(one["target"].get("virtual") is True for one in (before, now))
    compared = list(_figures(then, here, (VIRTUAL, *NOISE) if virtual else NOISE))
    figures = [one for one in compared if one["beyond"]]
    figures.sort(key=lambda one: -abs(1e9 if one["relative"] is None else one["relative"]))
    return {
        "file": file,
        "started": _text(before.get("started")),
        "results": results,
        "figures": [{k: v for k, v in one.items() if k != "beyond"} for one in figures],
        "target": _differences(_place(before), _place(now)),
        "versions": _differences(_versions(before), _versions(now)),
        "environment": _differences(before["target"]["env"], now["target"]["env"]),
        "same": {
            "results": len(then.keys() & here.keys())
            - sum(1 for one in results if one["before"] and one["now"]),
            "figures": len(compared) - len(figures),
        },
    }


def _text(value: Any) -> str | None:
    if isinstance(value, dict | list):
        return "..."  # where a report has one, it is not of the published shape
    return None if value is None else str(value)[:200]


def _results(document: Fields) -> dict[str, Fields]:
    return {str(one["id"])[:200]: one for one in document["results"]}


def _status(result: Fields | None) -> str | None:
    if result is None:
        return None
    return result["status"] if result["status"] in STATUSES else "error"


def _result(name: str, before: Fields | None, now: Fields | None) -> Fields | None:
    """Return how one check's result changed; null where it did not."""
    was, is_ = _status(before), _status(now)
    if was == is_:
        return None
    return {"id": name, "change": _change(was, is_), "before": was, "now": is_}


def _change(was: str | None, is_: str | None) -> str:
    if is_ is None:
        return "gone"
    if is_ in _BAD:
        if was not in _BAD:
            return "failing"
        return "worse" if is_ == "fail" else "changed"
    if was is None:
        return "added"
    if is_ == "warn":
        return "changed" if was in _BAD else "warning"
    if is_ == "skip":
        return "skipped"
    return "passing"


def _figures(
    then: dict[str, Fields], here: dict[str, Fields], rows: Sequence[Noise]
) -> Iterator[Fields]:
    """Yield every figure that both runs have, and whether it changed beyond noise."""
    for name in (one for one in here if one in then):
        before, now = _findings(then[name]), _findings(here[name])
        for key in (one for one in now if one in before):
            yield from _figure(name, before[key], now[key], rows)


def _findings(result: Fields) -> dict[tuple[str, ...], Fields]:
    """Return findings by code and entity; where these are not enough, by name as well."""
    groups: dict[tuple[str, str], list[Fields]] = {}
    for one in cast("list[Fields]", result["findings"]):
        groups.setdefault((str(one.get("code")), str(one.get("entity"))), []).append(one)
    found: dict[tuple[str, ...], Fields] = {}
    for key, group in groups.items():
        for one in group:
            found[key if len(group) == 1 else (*key, str(one.get("name")))] = one
    return found


def _figure(name: str, before: Fields, now: Fields, rows: Sequence[Noise]) -> Iterator[Fields]:
    """Yield the comparison of one figure; nothing for findings that hold none."""
    was, is_ = before.get("found"), now.get("found")
    if not (_is_number(was) or _is_number(is_)):
        return
    code, unit = str(now.get("code")), now.get("unit")
    if before.get("unit") != unit:
        return  # figures in two units have nothing in common to judge
    row = noise(code, unit, was, is_, rows)
    yield {
        "id": name,
        "code": code,
        "entity": now.get("entity"),
        "name": now.get("name"),
        "unit": unit,
        "before": was if _is_number(was) else _text(was),
        "now": is_ if _is_number(is_) else _text(is_),
        "relative": relative(was, is_),
        "noise_factor": row.factor if row else None,
        "beyond": beyond(was, is_, row.factor if row else None),
    }


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e300  # a whole number may be too large for a float


def noise(code: str, unit: Any, before: Any, now: Any, rows: Sequence[Noise]) -> Noise | None:
    """Return the row that says how much a figure may differ; null for an exact one."""
    whole = all(_is_number(one) and float(one).is_integer() for one in (before, now))
    for row in rows:
        matches = fnmatchcase(code, row.code) and re.fullmatch(row.unit, str(unit or ""))
        if matches and (row.whole or not whole):
            return row
    return None


def beyond(before: Any, now: Any, factor: float | None) -> bool:
    """Tell whether a figure changed beyond noise; without a factor any change is."""
    if before == now:
        return False
    if factor is None or not (_is_number(before) and _is_number(now)) or before * now <= 0:
        return True
    small, large = sorted((abs(before), abs(now)))
    return large > small * factor


def relative(before: Any, now: Any) -> float | None:
    """Return the change in parts of what was; null where there is nothing to divide by."""
    if not (_is_number(before) and _is_number(now)) or before == 0:
        return None
    change = now / before - 1
    return round(change, 4) if abs(change) < 1e12 else None


def _place(document: Fields) -> Fields:
    """Return what a run was made on."""
    found = {name: document["target"].get(name) for name in _TARGET}
    found |= {name: document["host"].get(name) for name in _HOST}
    return {**found, "level": document["selection"].get("level")}


def _versions(document: Fields) -> Fields:
    target = document["target"]
    own = {"tpustarter": document["tool"].get("version"), "python": target.get("python_version")}
    return {**own, **target["frameworks"]}


def _differences(before: Fields, now: Fields) -> list[Fields]:
    """Return the names whose values differ; null stands for one that is not there."""
    return [
        {"name": str(name)[:200], "before": _plain(before.get(name)), "now": _plain(now.get(name))}
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    ]


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool) or _is_number(value) else _text(value)


def render(changed: Fields, paint: Paint = unpainted) -> str:
    """Return a comparison as text: what is worse first, then what may explain it."""
    since = (
        visible(changed["started"] or "an unknown time")
        .replace("T", " ")
        .replace("+00:00", " UTC")[:30]
    )
    parts = [
        _part(_result_lines(changed["results"], paint)),
        _part([_figure_line(one) for one in changed["figures"]]),
        _part([_difference_line(one) for kind in ("target", "versions", "environment")
               for one in changed[kind]]),
    ]  # fmt: skip
    lines = [line for part in parts for line in part]
    same = changed["same"]
    rest = f"{_many(same['results'], 'result')} and {_many(same['figures'], 'figure')} as before."
    title = f"{'Changed' if lines else 'Nothing changed'} since {since} ({changed['file']}):"
    return "\n".join([*_wrap(title if lines else f"{title[:-1]}: {rest}"), *lines,
                      *(_wrap(rest) if lines else [])])  # fmt: skip


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _result_lines(results: list[Fields], paint: Paint) -> list[Line]:
    """Return a line per result; many checks that came or went with the selection share one."""
    lines: list[Line] = []
    for change in _ORDER:
        group = [one for one in results if one["change"] == change]
        if change in _CAME_OR_WENT and len(group) > MOST_ALONE:
            word, said = _CAME_OR_WENT[change]
            lines.append((f"{word:<6}", f"{len(group)} checks", said))
        else:
            lines += [_result_line(one, paint) for one in group]
    return lines


def _part(rows: list[Line]) -> list[str]:
    """Return the lines of one part, the first ones where there are too many."""
    lines: list[str] = []
    for word, name, text in rows[:MOST_SHOWN]:
        lines += _row(word, name, text)
    left = len(rows) - MOST_SHOWN
    return [*lines, f"{' ' * 6}and {left} more, all of them with --json"] if left > 0 else lines


def _row(word: str, name: str, text: str) -> list[str]:
    """Return a line with a word, a name and what is said of it, or more lines of 80 columns."""
    indent = 6 + ID_WIDTH
    if len(name) >= ID_WIDTH:
        return [f"{word}{name}"[: WIDTH + len(word) - 6], *_wrap(text, " " * indent)]
    first, *more = textwrap.wrap(text, WIDTH - indent, break_on_hyphens=False) or [""]
    return [f"{word}{name:<{ID_WIDTH}}{first}", *(" " * indent + line for line in more)]


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent,
                         break_on_hyphens=False)  # fmt: skip


def _result_line(one: Fields, paint: Paint) -> Line:
    was, is_ = one["before"], one["now"]
    words: dict[str | None, str] = {"fail": "FAIL", "error": "ERROR", "notrun": "NOT",
                                    "warn": "WARN", None: "gone"}  # fmt: skip
    word = f"{words.get(is_, str(is_)):<6}"
    if is_ is not None:
        word = paint(word, str(is_))
    past = f"{_PAST[was]} then" if was else "not in the earlier run"
    here = f"{_MEANS[is_]} now" if is_ else "not in this run"
    return word, _cut(one["id"]), f"{past}, {here}"


def _figure_line(one: Fields) -> Line:
    unit = f" {_cut(one['unit'])}" if one["unit"] else ""
    where = f" ({_cut(one['entity'])})" if one["entity"] else ""
    change = "" if one["relative"] is None else f" ({one['relative']:+.0%})"
    figures = f"{_value(one['before'])} then, {_value(one['now'])}{unit} now{change}"
    return " " * 6, _cut(one["id"]), f"{_cut(one['name'])}{where}: {figures}"


def _difference_line(one: Fields) -> Line:
    was, is_ = (_value(one[name]) for name in ("before", "now"))
    return " " * 6, _cut(one["name"]), f"{was} then, {is_} now"


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return _cut(number(value))


def _cut(value: Any) -> str:
    """Return a value of a report as text on one line, cut short."""
    text = visible(str(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
