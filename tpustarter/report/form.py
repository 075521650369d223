"""The report as Markdown, in the form of a tracker: what the form asks for, then all the facts.

Facts stand in fenced blocks, so nothing in them is markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tpustarter.report import forms, listing, trackers
from tpustarter.report.view import Fields, View

LONGEST = 60_000
"""Characters of an issue, somewhat fewer than GitHub takes: facts beyond are in report.json."""


def markdown(document: Fields, limit: int = LONGEST) -> str:
    """Return the report in the form of its tracker, of at most about so many characters."""
    view = View(document)
    tracker = trackers.named(view.first["tracker"])
    head = [*_before(view, tracker), *forms.FORMS[tracker.id](view)]
    text = "\n".join(head)
    for block in listing.blocks(view):
        if len(text) + len(block) > limit:
            title = re.search(r"<summary>(.*?)</summary>", block)
            text += f"\n{title[1] if title else 'More'}: too long for an issue, see report.json.\n"
            continue
        text += f"\n{block}"
    return text.rstrip() + "\n"


def _before(view: View, tracker: trackers.Tracker) -> Iterator[str]:
    """Yield what is to be seen first."""
    first = view.first
    yield "## Before you file"
    yield ""
    for one in first["stale"]:
        yield (
            f"- **Stale version**: {one['name']} {one['found']} is installed, {one['newest']} is "
            "out. Try that first, because its maintainers will ask."
        )
    if not first["stale"]:
        yield "- **Versions**: none of those installed is known to be stale."
    for one in first["known"]:
        yield (
            f"- **Known failure** ({one['confidence']}): {one['title']} (`{one['id']}`, seen in "
            f"{one['from']}). Read {one['sources'][0]} before you file."
        )
    if not first["known"]:
        searched = view.fact("known", "searched", [])
        none = f"none matches what was searched ({', '.join(searched)})."
        yield "- **Known failures**: " + (
            none if searched else "there was no text to search; `--log FILE` gives one."
        )
    for one in first["hung"]:
        yield (
            f"- **Hang**: {one['framework']} did not come back from `{one['in']}` within "
            f"{one['seconds']:g} s"
            + (f", and {one['likely']}" if one.get("likely") else "")
            + ". Its stack is below."
        )
    yield (
        f"- **Where**: {tracker.title}, {first['file_at']} ({first['why_there']}). Search "
        f"{first['search_at']} first."
    )
    yield ""
