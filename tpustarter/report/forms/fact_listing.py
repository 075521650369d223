"""All facts of a report in Markdown: a folded block per section, then the missing sections."""

from __future__ import annotations

import html
from collections.abc import Iterator

from tpustarter.core.json_values import as_object, is_array, is_object
from tpustarter.report.forms import reproducer_files
from tpustarter.report.forms.report_view import ReportView, escape_text, fence_text
from tpustarter.report.report_document import FRAMEWORK_SECTIONS, ReportSection

ORDER = (
    "known",
    *FRAMEWORK_SECTIONS,
    "tpu",
    "logs",
    "metadata",
    "checks",
    "changes",
    "python",
    "variables",
    "resources",
    "limits",
    "program",
    "last_run",
)
"""Sections, the most useful to a maintainer first."""
LONG = 240
"""Maximum length of a row; a longer one is split into a line per field."""


def format_sections(view: ReportView, *, whole: bool) -> Iterator[str]:
    """Yield each section as a folded block, then the missing sections and fields.

    The form already contains the reproducers, so they are listed only if `whole` is set.
    """
    for one in sorted(view.document.sections, key=_place):
        if one.name == reproducer_files.SECTION and not whole:
            continue
        if one.state == "answered" and _has(one.facts):
            yield _folded(one.title, "\n".join(fence_text("\n".join(_lines(one.facts)))))
    missing = [one for one in view.document.sections if one.state != "answered"]
    if missing:
        rows = [
            f"- {one.title}, after {one.seconds:g} s: {escape_text(str(one.why))}"
            for one in missing
        ]
        yield _folded(f"What gave no answer ({len(rows)})", "\n".join(rows))
    fields = [one for one in view.document.left_out if "." in one["what"]]
    if fields:
        rows = [f"- {escape_text(one['what'])}: {escape_text(one['why'])}" for one in fields]
        yield _folded(f"What was left out ({len(rows)})", "\n".join(rows))
    counts = view.document.replacements
    told = ", ".join(f"{kind} {count}" for kind, count in counts.items() if count) or "none"
    yield (
        f"Made by tpustarter {view.document.tool['version']} at {view.document.made} in "
        f"{view.document.seconds:g} s. Names are replaced by pseudonyms ({told}).\n"
    )


def _folded(title: str, inside: str) -> str:
    return (
        f"<details><summary>{html.escape(title, quote=False)}</summary>\n\n{inside}\n\n</details>\n"
    )


def _has(value: object) -> bool:
    """Return whether a value contains a fact; false, None, zero and empty values do not."""
    return any(map(_has, value.values())) if is_object(value) else bool(value)


def _place(section: ReportSection) -> int:
    """Return a section's position; sections that are not in `ORDER` come last."""
    return ORDER.index(section.name) if section.name in ORDER else len(ORDER)


def _lines(value: object, name: str = "") -> Iterator[str]:
    """Yield facts as `name: value`, one per line. Text of several lines follows its name."""
    if is_object(value):
        for key, item in value.items():
            yield from _lines(item, f"{name}.{key}" if name else key)
    elif is_array(value):
        if any(isinstance(one, dict | list) or "\n" in str(one) for one in value):
            for number, item in enumerate(value):
                yield from _row(item, f"{name}[{number}]")
        elif value:
            yield f"{name}: {', '.join(map(_word, value))}"
    elif value is not None:
        yield from _one(name, _word(value))


def _row(item: object, name: str) -> Iterator[str]:
    fields = as_object(item)
    if fields and not any("\n" in str(one) or isinstance(one, dict) for one in fields.values()):
        shown = (f"{key}={_told(one)}" for key, one in fields.items() if one not in (None, []))
        line = f"{name}: {', '.join(shown)}"
        yield from [line] if len(line) <= LONG else _lines(item, name)
    else:
        yield from _lines(item, name)


def _told(value: object) -> str:
    return "; ".join(map(_word, value)) if is_array(value) else _word(value)


def _one(name: str, text: str) -> Iterator[str]:
    if "\n" in text:
        yield f"{name}:"
        yield from (f"  {line}" for line in text.split("\n"))
    else:
        yield f"{name}: {text}"


def _word(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
