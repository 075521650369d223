"""A run's report as HTML for a notebook's cell: what needs attention, then every check, folded.

Each element carries its own style, and there is no script, style sheet or frame. Kaggle and a saved
notebook remove those: JupyterLab's `packages/apputils/src/sanitizer.ts` lists what it leaves, and
github.com/Kaggle/docker-python/issues/36 is about frames (read 2026-11). Text keeps the notebook's
own colour, and everything else has colours that suit a light page and a dark one.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from pathlib import Path

from tpustarter.checking.output.results_text import (
    NEVER_TRIED,
    STATUS_WORDS,
    finding_line,
    list_hosts,
    list_log_lines,
    list_other_findings,
    merge_same_findings,
    opening_lines,
    sort_worst_first,
    summarize_result,
)
from tpustarter.checking.results import next_step, verdict
from tpustarter.checking.results.headline import format_headline
from tpustarter.checking.results.results import Result, Run, Status
from tpustarter.checking.run import known_causes
from tpustarter.core import locations
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import escape_text

_COLOURS: dict[Status, str] = {
    "fail": "#cf222e",
    "error": "#8250df",
    "notrun": "#8250df",
    "warn": "#9a6700",
    "pass": "#1a7f37",
    "skip": "#6e7781",
}
"""Backgrounds of a white word."""
_VERDICTS: dict[verdict.Verdict, Status] = {
    "unhealthy": "fail",
    "inconclusive": "notrun",
    "degraded": "warn",
    "healthy": "pass",
}
_COUNTS: dict[Status, str] = {
    "fail": "failed",
    "error": "without a verdict",
    "notrun": "not run",
    "warn": "with a warning",
    "pass": "passed",
    "skip": "skipped",
}
_LINE = "1px solid rgba(128, 128, 128, 0.35)"
_TABLE = "border: none; border-collapse: collapse; table-layout: auto; width: 100%; margin: 8px 0"
_CELL = "border: none; padding: 4px 12px 4px 0; line-height: 1.6; vertical-align: top"
_QUIET, _MONOSPACE = "opacity: 0.75", "font-family: monospace"
_CODE = re.compile(r"`([^`\n]+)`")


def render_html(run: Run, *, verbose: bool = False, closing: str = "") -> str:
    """Return the report as one `div`.

    Args:
        run: The finished run.
        verbose: True to show every finding and full logs.
        closing: What to do next, below the report.
    """
    results = sort_worst_first(run.results)
    groups = sorted({result.framework for result in results}, key=lambda one: (one != "host", one))
    colour = _COLOURS[_VERDICTS[verdict.judge_run(run)]]
    headline = f"border-left: 5px solid {colour}; padding: 2px 12px; margin: 8px 0; font-size: 115%"
    opening = "<br>".join(_text(line) for line, _ in opening_lines(run))
    is_slice = len(run.hosts) > 1 and run.target.get("platform") == "tpu"
    notes = [run.blocked.hint if run.blocked else "", NEVER_TRIED if is_slice else "", closing]
    parts = [
        _element("div", f"<b>{_text(format_headline(run))}</b>", headline),
        _element("div", opening, f"{_QUIET}; margin: 8px 0"),
        _table(_urgent_row(one, verbose=verbose) for one in results if _is_urgent(one)),
        *(
            _section(name, [one for one in results if one.framework == name], verbose=verbose)
            for name in groups
        ),
        _folded("<b>hosts</b>", "<br>".join(map(_text, list_hosts(run)))),
        *(_element("div", _text(note), "margin: 8px 0") for note in notes if note),
    ]
    style = "max-width: 960px; line-height: 1.5; text-align: left"
    return _element("div", "\n".join(filter(None, parts)), style) + "\n"


def write_html(run: Run, path: Path, *, verbose: bool = False, closing: str = "") -> None:
    """Write the report to a file; raises Problem if it cannot be written."""
    locations.write_user_file(path, render_html(run, verbose=verbose, closing=closing))


def _is_urgent(result: Result) -> bool:
    """Return whether it is shown unfolded, which of a stopped run is only the running check."""
    is_running = result.status == "notrun" and bool(result.detail)
    return is_running or result.status in ("fail", "error", "warn")


def _element(tag: str, content: str, style: str) -> str:
    return f'<{tag} style="{style}">{content}</{tag}>'


def _text(text: str) -> str:
    """Return text of a check or a device with its commands as code, and nothing as markup."""
    code = f"{_MONOSPACE}; background-color: rgba(128, 128, 128, 0.15); padding: 1px 4px"
    escaped = html.escape(escape_text(format_commands(text)), quote=False)
    return _CODE.sub(lambda found: _element("code", found[1], code), escaped)


def _table(rows: Iterable[str]) -> str:
    body = "\n".join(rows)
    return _element("table", f"<tbody>{body}</tbody>", _TABLE) if body else ""


def _row(result: Result, content: str) -> str:
    badge = (
        f"background-color: {_COLOURS[result.status]}; color: #ffffff; font-size: 80%; "
        "font-weight: bold; padding: 1px 6px; border-radius: 3px"
    )
    seconds = f"{result.seconds:.1f} s" if result.seconds >= 0.05 else ""
    cells = (
        (_element("span", STATUS_WORDS[result.status], badge), "min-width: 56px; text-align: left"),
        (html.escape(result.id), f"min-width: 170px; text-align: left; {_MONOSPACE}"),
        (content, "width: 100%; text-align: left"),
        (seconds, f"white-space: nowrap; text-align: right; {_QUIET}"),
    )
    row = "".join(_element("td", content, f"{_CELL}; {style}") for content, style in cells)
    # A notebook's own stripes would be of another table.
    return _element("tr", row, f"border-top: {_LINE}; background-color: transparent")


def _urgent_row(result: Result, *, verbose: bool) -> str:
    lines = [summarize_result(result)]
    if result.cause:
        lines.append(known_causes.format_cause(result.cause))
    hint = "" if result.status == "notrun" else next_step.choose_hint(result)
    if hint:
        lines.append(f"do: {hint}")
    if result.lesson:
        lines.append(f"read: `tpustarter learn {result.lesson}`")
    content = "<br>".join(map(_text, lines))
    found: list[str] = []
    for one in list_other_findings(result):
        found.append(f"{one['verdict']}: {finding_line(one)}")
        if one["verdict"] != "ok" and one["hint"] not in (None, "", hint):
            found.append(f"do: {one['hint']}")
    title = phrases.format_count(len(list_other_findings(result)), "more finding")
    content += _folded(title, "<br>".join(map(_text, found)))
    log = html.escape("\n".join(list_log_lines(result, verbose=verbose)), quote=False)
    pre = _element("pre", log, f"white-space: pre-wrap; {_MONOSPACE}; font-size: 85%")
    return _row(result, content + (_folded("its output", pre) if log else ""))


def _section(name: str, results: list[Result], *, verbose: bool) -> str:
    """Return a framework's checks as a folded table, with their numbers as its title."""
    counts = [
        f"{number} {_COUNTS[status]}"
        for status in STATUS_WORDS
        if (number := sum(result.status == status for result in results))
    ]
    seconds = f"{sum(result.seconds for result in results):.1f} s"
    rows = (_row(result, _brief(result, verbose=verbose)) for result in results)
    return _folded(f"<b>{html.escape(name)}</b>: {', '.join(counts)}, {seconds}", _table(rows))


def _brief(result: Result, *, verbose: bool) -> str:
    lines = [result.title if result.status == "pass" else summarize_result(result)]
    if verbose:
        lines += map(finding_line, merge_same_findings(result.findings))
    return "<br>".join(map(_text, lines))


def _folded(title: str, content: str) -> str:
    if not content:
        return ""
    summary = _element("summary", title, "cursor: pointer")
    return _element("details", f"{summary}{content}", "margin: 4px 0")
