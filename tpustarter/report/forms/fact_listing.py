"""All facts of a report in Markdown: a folded block per section, then the missing sections."""

from __future__ import annotations

import html
from collections.abc import Iterator

from tpustarter.core.json_values import as_object, is_array, is_object
from tpustarter.report.forms import reproducer_files
from tpustarter.report.forms.report_view import (
    ReportView,
    escape_markdown,
    fence_text,
    format_scalar,
)
from tpustarter.report.report_document import FRAMEWORK_SECTIONS

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
"""Sections, the most useful to a maintainer first; the others follow."""
MAX_ROW_CHARACTERS = 240
"""Maximum length of a row; a longer one is split into a line per field."""


def format_sections(view: ReportView, *, whole: bool) -> Iterator[str]:
    """Yield each section as a folded block, then the missing sections and fields.

    The form already contains the reproducers, so they are listed only if `whole` is set.
    """
    places = {name: place for place, name in enumerate(ORDER)}
    for one in sorted(view.document.sections, key=lambda one: places.get(one.name, len(ORDER))):
        if one.name == reproducer_files.SECTION and not whole:
            continue
        if one.state == "answered" and _has_fact(one.facts):
            yield _fold(one.title, "\n".join(fence_text("\n".join(_format_facts(one.facts)))))
    missing = [one for one in view.document.sections if one.state != "answered"]
    if missing:
        rows = [
            f"- {one.title}, after {one.seconds:g} s: {escape_markdown(str(one.why))}"
            for one in missing
        ]
        yield _fold(f"What gave no answer ({len(rows)})", "\n".join(rows))
    fields = [one for one in view.document.left_out if "." in one["what"]]
    if fields:
        rows = ["- " + escape_markdown(f"{one['what']}: {one['why']}") for one in fields]
        yield _fold(f"What was left out ({len(rows)})", "\n".join(rows))
    counts = view.document.replacements
    replaced = ", ".join(f"{kind} {count}" for kind, count in counts.items() if count) or "none"
    yield (
        f"Made by tpustarter {view.document.tool['version']} at {view.document.made} in "
        f"{view.document.seconds:g} s. Names are replaced by pseudonyms ({replaced}).\n"
    )


def _fold(title: str, inside: str) -> str:
    return (
        f"<details><summary>{html.escape(title, quote=False)}</summary>\n\n{inside}\n\n</details>\n"
    )


def _has_fact(value: object) -> bool:
    """Return whether a value contains a fact; false, None, zero and empty values do not."""
    return any(map(_has_fact, value.values())) if is_object(value) else bool(value)


def _format_facts(value: object, name: str = "") -> Iterator[str]:
    """Yield facts as `name: value`, one per line. Text of several lines follows its name."""
    if is_object(value):
        for key, item in value.items():
            yield from _format_facts(item, f"{name}.{key}" if name else key)
    elif is_array(value):
        if any(isinstance(one, dict | list) or "\n" in str(one) for one in value):
            for number, item in enumerate(value):
                yield from _format_row(item, f"{name}[{number}]")
        elif value:
            yield f"{name}: {', '.join(map(format_scalar, value))}"
    elif value is not None:
        yield from _format_fact(name, format_scalar(value))


def _format_row(item: object, name: str) -> Iterator[str]:
    fields = as_object(item)
    if fields and not any("\n" in str(one) or isinstance(one, dict) for one in fields.values()):
        given = {key: one for key, one in fields.items() if one not in (None, [])}
        shown = (f"{key}={_format_item(one)}" for key, one in given.items())
        line = f"{name}: {', '.join(shown)}"
        yield from [line] if len(line) <= MAX_ROW_CHARACTERS else _format_facts(item, name)
    else:
        yield from _format_facts(item, name)


def _format_item(value: object) -> str:
    return "; ".join(map(format_scalar, value)) if is_array(value) else format_scalar(value)


def _format_fact(name: str, text: str) -> Iterator[str]:
    if "\n" in text:
        yield f"{name}:"
        yield from (f"  {line}" for line in text.split("\n"))
    else:
        yield f"{name}: {text}"
