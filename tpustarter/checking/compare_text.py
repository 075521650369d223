"""What changed between two runs, as text: what is worse first, then what may explain it."""

from __future__ import annotations

import textwrap
from typing import Any

from tpustarter.checking.compare import ORDER, Fields
from tpustarter.checking.text import ID_WIDTH, number
from tpustarter.terminal import WIDTH, Paint, unpainted, visible

_MEANS = {"fail": "fails", "error": "has no verdict", "notrun": "was not run", "warn": "warns",
          "skip": "does not apply", "pass": "passes"}  # fmt: skip
_PAST = {"fail": "failed", "error": "had no verdict", "notrun": "was not run", "warn": "warned",
         "skip": "did not apply", "pass": "passed"}  # fmt: skip
_CAME_OR_WENT = {"gone": ("gone", "not in this run"), "added": ("new", "not in the earlier run")}
Line = tuple[str, str, str]
"""A word of the result column, a name, and what is said of it."""
MOST_SHOWN = 20
"""Lines of one part in the text; the JSON holds all."""
MOST_ALONE = 3
"""Checks that came or went, up to which each has a line of its own."""
_LONGEST = 40


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
    for change in ORDER:
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
