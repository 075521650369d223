"""Opens a report of somebody else, and judges it again by today's rules.

What comes out is a document as `making` makes one, so the form, the comparison and every reader of
`report.json` take it. Under `opened` it says what is different today, and what is not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tpustarter.problem import Problem
from tpustarter.report import (
    admitting,
    again,
    form,
    judging,
    making,
    runs,
    shapes,
    software,
    trackers,
    unpacking,
)
from tpustarter.report.admitting import Reader
from tpustarter.report.collecting import Section
from tpustarter.terminal import cut, visible, wrap
from tpustarter.version import __version__

Fields = dict[str, Any]
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{1,80}")


def read(path: Path) -> Fields:
    """Return the document of a report, judged again; raises Problem for what is no report."""
    bundle = unpacking.read(path)
    try:
        given = unpacking.parsed(bundle.files[unpacking.REPORT], unpacking.REPORT)
        if defect := _defect(given):
            raise ValueError(defect)
    except ValueError as error:
        raise Problem(f"cannot open `{bundle.name}`: {error}", hint=_hint(str(error))) from error
    return _judged_again(given, bundle)


def text(document: Fields, limit: int) -> str:
    """Return an opened report as it is shown: what is different today, then the report."""
    opened = document["opened"]
    said = opened["differs"] or ["Today's rules come to the judgement that it had then."]
    made = (
        f"`{opened['name']}` was made by tpustarter {document['tool']['version']} at "
        f"{moment(document)}, and is judged again by tpustarter {opened['by']}."
    )
    lines = [row for one in (" ".join((made, *said)), *opened["notes"]) for row in wrap(one)]
    return "\n".join([*lines, "", form.markdown(document, limit=limit)])


def moment(document: Fields) -> str:
    """Return when a report was made, as people read it."""
    return re.sub(r"(T[\d:]{5})[\d:.]*(Z|\+00:00)$", r"\1 UTC", document["made"]).replace(
        "T", " ", 1
    )


def _defect(given: Fields) -> str | None:
    """Return what makes a document no report; null where nothing does."""
    schema = given.get("schema")
    kind, _, major = making.SCHEMA.rpartition("/")
    if not isinstance(schema, str):
        return f"it says of no schema, expected `{making.SCHEMA}`"
    if schema != making.SCHEMA:
        found = f"found `{cut(visible(schema), 40)}`"
        parts = schema.rpartition("/")
        is_number = re.fullmatch(r"[0-9]{1,9}", parts[2])
        if parts[0] == kind and is_number and int(parts[2]) > int(major):
            return f"{found}, which a newer tpustarter made, expected `{making.SCHEMA}`"
        return f"{found}, expected `{making.SCHEMA}`"
    if "error" in given:
        return "it describes an error of `tpustarter report`, and no machine"
    return None if isinstance(given.get("sections"), list) else "it has no `sections`"


def _hint(why: str) -> str:
    if "newer tpustarter" in why:
        return "update tpustarter, and open it again"
    return "give the .tar.gz that `tpustarter report` wrote, its folder, or its report.json"


def _judged_again(given: Fields, bundle: unpacking.Bundle) -> Fields:
    raw = bundle.files[unpacking.REPORT].decode("utf-8-sig")
    reader = Reader(raw)
    sections, left_out, strange = admitting.sections(given["sections"], reader)
    sections = [_known_again(sections) if one.name == "known" else one for one in sections]
    facts = {one.name: one.facts for one in sections}
    unanswered = [making.fields(one) for one in sections if one.state != "answered"]
    then = _then(given.get("first"))
    asked = [one for one in unanswered if one["why"] != admitting.NOT_ASKED]
    first = judging.first(facts, asked, then["wanted"])
    first["unanswered"] = [{key: one[key] for key in ("name", "why", "seconds")}
                           for one in unanswered]  # fmt: skip
    tool = given.get("tool")
    version = cast("Fields", tool).get("version") if isinstance(tool, dict) else None
    return {
        "schema": making.SCHEMA,
        "tool": {"version": _told(shapes.version, version, reader) or "(unknown)"},
        "made": _told(runs.TIME, given.get("made"), reader) or "an unknown time",
        "seconds": admitting.seconds(given.get("seconds")),
        "first": first,
        "sections": [making.fields(one) for one in sections],
        "replacements": admitting.replacements(given.get("replacements")),
        "left_out": [
            {"what": one.what, "why": one.why}
            for one in (*admitting.left_out_then(given.get("left_out"), reader), *left_out)
        ],
        "opened": {
            "name": bundle.name,
            "by": __version__,
            "notes": [*bundle.notes, *_notes(left_out, strange)],
            "differs": [*_differs(then, first)],
        },
        "exit_code": 0,
    }


def _known_again(sections: Sequence[Section]) -> Section:
    """Return the section on known failures, made anew from what the others hold."""
    facts = {one.name: one.facts for one in sections}
    one = next(one for one in sections if one.name == "known")
    made = again.search(facts)
    if made is None:
        why = one.why or "there is no text to search; `--log FILE` gives one"
        return replace(one, state="unanswered", facts={}, why=why)
    return replace(one, state="answered", facts=made, why="")


def _told(shape: shapes.Shape, value: Any, reader: Reader) -> str:
    told, _ = shapes.admitted({"value": value}, {"value": shape}, reader)
    return str(told.get("value") or "")


def _then(given: Any) -> Fields:
    """Return what the report said first when it was made, as far as it is compared."""
    first = cast("Fields", given) if isinstance(given, dict) else {}
    tracker = first.get("tracker")
    tracker = next((one for one in trackers.TRACKERS if one.id == tracker), None)
    return {
        "said": isinstance(given, dict),
        "stale": {name for name in _each(first, "stale", "name") if name in software.PACKAGES},
        "known": {again.today(one) for one in _each(first, "known", "id") if _ID.fullmatch(one)},
        "tracker": tracker.title if tracker else "",
        "wanted": tracker.id if tracker and first.get("why_there") == judging.NAMED else None,
    }


def _each(first: Fields, name: str, key: str) -> Iterator[str]:
    rows = first.get(name)
    for row in cast("list[Any]", rows)[: shapes.MOST] if isinstance(rows, list) else ():
        value = cast("Fields", row).get(key) if isinstance(row, dict) else None
        if isinstance(value, str):
            yield value


def _differs(then: Fields, now: Fields) -> Iterator[str]:
    """Yield where today's judgement is another one, a sentence for each time."""
    if not then["said"]:
        yield "The report does not say how it was judged when it was made."
        return
    stale = {str(one["name"]): one for one in now["stale"]}
    known = {str(one["id"]) for one in now["known"]}
    tracker = trackers.named(now["tracker"]).title
    today = [
        *(f"{name} {one['found']} counts as stale, as {one['newest']} is out"
          for name, one in stale.items() if name not in then["stale"]),
        *(f"`{name}` is recognised" for name in sorted(known - then["known"])),
        *([f"it belongs to {tracker}"] if tracker != then["tracker"] else []),
    ]  # fmt: skip
    before = [
        *(f"{name} counted as stale" for name in sorted(then["stale"] - stale.keys())),
        *(f"`{name}` was recognised" for name in sorted(then["known"] - known)),
        *([f"it belonged to {then['tracker']}"] if then["tracker"] not in ("", tracker) else []),
    ]
    if today:
        yield f"New today: {', and '.join(today)}."
    if before:
        yield f"No longer so: {', and '.join(before)}."


def _notes(left_out: Sequence[shapes.LeftOut], strange: Sequence[str]) -> Iterator[str]:
    """Yield what is not shown of the report, a sentence for each reason."""
    if strange:
        names = ", ".join(f"`{name}`" for name in strange[:3])
        more = f" and {len(strange) - 3} more" if len(strange) > 3 else ""
        yield f"This version does not know the section {names}{more}, and does not show it."
    unknown = [one for one in left_out if one.what.endswith(admitting.UNKNOWN_FIELD)]
    if unknown:
        yield f"{_fields(len(unknown))} unknown to this version, and not shown."
    if len(left_out) > len(unknown):
        yield (
            f"{_fields(len(left_out) - len(unknown))} not shown, because what they hold is "
            "nothing that a report tells."
        )


def _fields(count: int) -> str:
    return "1 field is" if count == 1 else f"{count} fields are"
