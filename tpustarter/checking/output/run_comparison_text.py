"""The changes between two runs as text: worse results first, then possible causes."""

from __future__ import annotations

import textwrap

from tpustarter.checking.output.results_text import ID_WIDTH, format_number
from tpustarter.checking.results.run_comparison import (
    ORDER,
    FigureChange,
    ResultChange,
    RunComparison,
    ValueChange,
)
from tpustarter.text import phrases
from tpustarter.text.terminal import WIDTH, Paint, escape_text, paint_nothing

_PRESENT = {
    "fail": "fails",
    "error": "has no verdict",
    "notrun": "was not run",
    "warn": "warns",
    "skip": "does not apply",
    "pass": "passes",
}
_PAST = {
    "fail": "failed",
    "error": "had no verdict",
    "notrun": "was not run",
    "warn": "warned",
    "skip": "did not apply",
    "pass": "passed",
}
_CAME_OR_WENT = {"gone": ("gone", "not in this run"), "added": ("new", "not in the earlier run")}
Line = tuple[str, str, str]
"""A word for the result column, a name, and the text beside them."""
MOST_SHOWN = 20
"""Maximum lines per section; the JSON document has all of them."""
MOST_ALONE = 3
"""Maximum number of added or removed checks that get a line each."""
_LONGEST = 40


def render_comparison(changed: RunComparison, paint: Paint = paint_nothing) -> str:
    """Return a comparison as text: changed results, then changes that may explain them."""
    since = (
        escape_text(changed.started or "an unknown time")
        .replace("T", " ")
        .replace("+00:00", " UTC")[:30]
    )
    parts = [
        _part(_result_lines(changed.results, paint)),
        _part([_figure_line(figure) for figure in changed.figures]),
        _part(
            [
                _difference_line(difference)
                for differences in (changed.target, changed.versions, changed.environment)
                for difference in differences
            ]
        ),
    ]
    lines = [line for part in parts for line in part]
    rest = phrases.join_words(
        phrases.format_count(changed.same[f"{noun}s"], noun) for noun in ("result", "figure")
    )
    rest += " as before."
    title = f"{'Changed' if lines else 'Nothing changed'} since {since} ({changed.file}):"
    return "\n".join(
        [
            *_wrap(title if lines else f"{title[:-1]}: {rest}"),
            *lines,
            *(_wrap(rest) if lines else []),
        ]
    )


def _result_lines(results: list[ResultChange], paint: Paint) -> list[Line]:
    lines: list[Line] = []
    for change in ORDER:
        group = [result for result in results if result.change == change]
        if change in _CAME_OR_WENT and len(group) > MOST_ALONE:
            word, note = _CAME_OR_WENT[change]
            lines.append((f"{word:<6}", f"{len(group)} checks", note))
        else:
            lines += [_result_line(result, paint) for result in group]
    return lines


def _part(rows: list[Line]) -> list[str]:
    lines: list[str] = []
    for word, name, text in rows[:MOST_SHOWN]:
        lines += _row(word, name, text)
    hidden = len(rows) - MOST_SHOWN
    return [*lines, f"{' ' * 6}and {hidden} more, all of them with --json"] if hidden > 0 else lines


def _row(word: str, name: str, text: str) -> list[str]:
    indent = 6 + ID_WIDTH
    if len(name) >= ID_WIDTH:
        return [f"{word}{name}"[: WIDTH + len(word) - 6], *_wrap(text, " " * indent)]
    first, *rest = textwrap.wrap(text, WIDTH - indent, break_on_hyphens=False) or [""]
    return [f"{word}{name:<{ID_WIDTH}}{first}", *(" " * indent + line for line in rest)]


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def _result_line(result: ResultChange, paint: Paint) -> Line:
    old, new = result.before, result.now
    words: dict[str | None, str] = {
        "fail": "FAIL",
        "error": "ERROR",
        "notrun": "NOT",
        "warn": "WARN",
        None: "gone",
    }
    word = f"{words.get(new, str(new)):<6}"
    if new is not None:
        word = paint(word, str(new))
    past = f"{_PAST[old]} then" if old else "not in the earlier run"
    present = f"{_PRESENT[new]} now" if new else "not in this run"
    return word, _cut(result.id), f"{past}, {present}"


def _figure_line(figure: FigureChange) -> Line:
    unit = f" {_cut(figure.unit)}" if figure.unit else ""
    where = f" ({_cut(figure.entity)})" if figure.entity else ""
    change = "" if figure.relative is None else f" ({figure.relative:+.0%})"
    figures = f"{_value(figure.before)} then, {_value(figure.now)}{unit} now{change}"
    return " " * 6, _cut(figure.id), f"{_cut(figure.name)}{where}: {figures}"


def _difference_line(difference: ValueChange) -> Line:
    figures = f"{_value(difference.before)} then, {_value(difference.now)} now"
    return " " * 6, _cut(difference.name), figures


def _value(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return _cut(format_number(value))


def _cut(value: object) -> str:
    text = escape_text(str(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
