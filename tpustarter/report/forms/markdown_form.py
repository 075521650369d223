"""The report as Markdown: notes for the user before filing, then a tracker's form with all facts.

Facts are in fenced blocks, so nothing in them is markup. The first part is for the user: it stays
out of the issue, and fits a terminal. The text of the issue itself is not wrapped, because GitHub
renders the end of a line as a break.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from tpustarter.report.forms import (
    fact_listing,
    form_headings,
    issue_trackers,
    open_questions,
    report_summary,
    reproducer_files,
)
from tpustarter.report.forms.report_view import ReportView, escape_markdown
from tpustarter.report.report_document import FRAMEWORK_SECTIONS
from tpustarter.text import phrases

LONGEST = 60_000
"""Maximum length of an issue, below GitHub's limit; further facts are in report.json."""
WIDTH = 79
"""Columns of the notes for the user."""
MAX_ERROR_CHARACTERS = 160
"""Maximum length of an error on one line."""


def render_markdown(document: dict[str, object], limit: int = LONGEST) -> str:
    """Return the report in its tracker's form, cut to about `limit` characters."""
    view = ReportView(document)
    before, _, after = "\n".join([*_format_notes(view), *form_headings.fill_form(view)]).partition(
        form_headings.FACTS_PLACEHOLDER
    )
    text, room = before.rstrip() + "\n", limit - len(after)
    for block in fact_listing.format_sections(view, whole=limit > LONGEST):
        if len(text) + len(block) > room:
            title = re.search(r"<summary>(.*?)</summary>", block)
            text += f"\n{title[1] if title else 'More'}: too long for an issue, see report.json.\n"
            continue
        text += f"\n{block}"
    return f"{text.rstrip()}\n{after}".rstrip() + "\n"


def _format_notes(view: ReportView) -> Iterator[str]:
    """Yield the notes for the user, which are not part of the issue."""
    tracker = issue_trackers.find_tracker(view.first.tracker)
    yield "## Before you file"
    yield ""
    where = (
        f"**Where**: {tracker.title}, {view.first.file_at} ({view.first.why_there}). Search "
        f"{view.first.search_at} first."
    )
    note = [f"**Note**: {tracker.note}"] if tracker.note else []
    how = f"**How**: {tracker.how} Answer what `Yours to write` asks."
    points = [*_describe_symptoms(view), *_describe_known_failures(view)]
    for point in (*points, _describe_stale_packages(view), where, *note, how):
        yield from textwrap.wrap(
            point,
            WIDTH,
            initial_indent="- ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    yield ""
    yield from open_questions.format_next_steps(view)
    yield "<!-- The issue begins here. -->"
    yield ""
    yield "---"
    yield ""


def _describe_symptoms(view: ReportView) -> Iterator[str]:
    """Yield the hangs of frameworks, or the first error if there are none."""
    hung_steps: set[str] = set()
    for one in view.first.hung:
        likely = f", and {one.likely}" if one.likely else ""
        slow = " A first import may only be slow, which `--wait 300` shows."
        if one.step not in hung_steps:
            yield (
                f"**Hang**: {one.framework} did not come back from `{one.step}` within "
                f"{one.seconds:g} s{likely}. Its stack is below."
                + (slow if one.step.startswith("import ") else "")
            )
        hung_steps.add(one.step)
    described = (
        report_summary.describe_unfinished_import(view, name) for name in FRAMEWORK_SECTIONS
    )
    slow = list(filter(None, described))
    if slow:  # torch_xla imports torch first, so one sentence is enough
        yield f"**Slow**: {slow[0]}. `tpustarter report --wait 300` waits longer."
    if not view.first.hung:
        yield f"**What happens**: {next(_list_errors(view))}"


def _list_errors(view: ReportView) -> Iterator[str]:
    """Yield the errors, the most telling first, and at the end a sentence that there are none."""
    if last := view.facts.known.last_error:
        yield f"the log ends in {_quote(last)}"
    for name in FRAMEWORK_SECTIONS:
        facts = view.facts.framework(name)
        if error := facts.error.strip():
            yield f"{name} fails with {_quote(error.splitlines()[-1])}"
        elif facts.ended:
            yield f"{name} ends by {escape_markdown(facts.ended)}."
    yield from reproducer_files.describe_failing_reproducers(view)
    for one in view.facts.checks.findings:
        if one.verdict == "fail":
            yield f"the check {one.check} fails, because {_quote(one.what)}"
    yield (
        "nothing failed while this report was made, so the description has to say what does, "
        "or `--log FILE` does."
    )


def _quote(text: str) -> str:
    line = " ".join(text.replace("`", "'").split())
    if len(line) > MAX_ERROR_CHARACTERS:
        line = f"{line[:MAX_ERROR_CHARACTERS]} ..."
    return f"`{line}`."


def _describe_known_failures(view: ReportView) -> Iterator[str]:
    for one in view.first.known:
        yield (
            f"**Known failure** ({one.confidence}): {one.title} (`{one.id}`, seen in "
            f"{one.source}). Read {one.source_page} before you file."
        )
    if not view.first.known:
        searched = view.facts.known.searched
        yield "**Known failures**: " + (
            f"none matches what was searched ({', '.join(searched)})."
            if searched
            else "there was no text to search; `--log FILE` gives one."
        )


def _describe_stale_packages(view: ReportView) -> str:
    """Return the sentence on stale versions, naming packages of one release together."""
    together: dict[tuple[str, str], list[str]] = {}
    for one in open_questions.list_stale_packages(view):
        together.setdefault((one.found, one.newest), []).append(one.name)
    if not together:
        return "**Versions**: none that its maintainers ask for is known to be stale."
    packages = ", ".join(
        f"{phrases.join_words(names)} {found} (the newest for this Python is {newest})"
        for (found, newest), names in together.items()
    )
    return f"**Stale version**: {packages}. Try the newest first, because its maintainers will ask."
