"""The differences between two reports, the most suspicious first.

It serves for a good and a bad host, or for one host then and now. Both are documents as
`opened_report` returns them, so every value in them is safe to show. Facts that differ between any
two reports, such as times and process numbers, are counted and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from tpustarter.report.clean import name_shapes
from tpustarter.report.compare import suspicions
from tpustarter.version import __version__

SCHEMA = "tpustarter.bug-report-comparison/1"
"""Name of the document; `comparison.schema.json` is its shape."""
MOST_CHARACTERS = 400
"""Characters of one value in the comparison."""
ROWS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "findings": (("code",), ("verdict", "what")),
    "errors": (("check",), ("reason", "what")),
    "steps": (("step",), ("state",)),
    "matches": (("id",), ("confidence", "title")),
    "on_pci": (("address",), ("driver", "nodes")),
    "nodes": (("path",), ("mode", "owner", "readable", "writable")),
    "holders": (("command", "script"), ("user", "zombie")),
    "hidden": (("name",), ("version",)),
    "results": (("id",), ("before", "now")),
    "versions": (("name",), ("before", "now")),
    "machine": (("name",), ("before", "now")),
}
"""The fields that identify a row of a list in both reports, and the fields that are compared."""
EXPECTED = re.compile(
    r"(.*\.)?(pid|seconds|waited_s|age_s|when|since|started|available_bytes|uptime_s|lines|others|"
    r"environment_info|output|libtpu_log|no_native_stack|metrics\..*)|resources\.free.*|logs\..*|"
    r"checks\.frameworks\..*|checks\.python_version|"
    r"known\.(searched|last_error).*|last_run\.(headline|counts.*)|checks\.counts.*|"
    r"metadata\.worker|variables\.values\.(TPU_WORKER_ID|CLOUD_TPU_TASK_ID|JAX_PROCESS_ID|"
    r"MEGASCALE_SLICE_ID)"
)
"""Facts that differ between any two reports, or that other facts imply."""
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")

Fields = dict[str, Any]


def compare(a: Fields, b: Fields) -> Fields:
    """Return the comparison of two opened reports as a document."""
    sections_a, sections_b = _sections(a), _sections(b)
    differences: list[Fields] = []
    compared, expected = 0, 0
    for name in (one for one in sections_a if _answered(sections_a, one)):
        if not _answered(sections_b, name):
            continue
        first, second = (_flat(one[name]["facts"]) for one in (sections_a, sections_b))
        for fact in dict.fromkeys((*first, *second)):
            compared += 1
            one, other = first.get(fact), second.get(fact)
            if one == other:
                continue
            if _is_expected(f"{name}.{fact}", one, other) or _follows(fact, first, second):
                expected += 1
            else:
                differences.append(_difference(name, fact, one, other))
    judged = [(*suspicions.judged(row, a, b), row) for row in differences]
    judged.sort(key=lambda one: one[0])
    return {
        "schema": SCHEMA,
        "tool": {"version": __version__},
        "a": _head(a),
        "b": _head(b),
        "differences": [
            {"group": suspicions.GROUPS[place[0]], **row, "why": why} for place, why, row in judged
        ],
        "unanswered": list(_unanswered(sections_a, sections_b)),
        "compared": compared,
        "expected": expected,
        "pseudonyms": any(_has_pseudonym(row) for row in differences),
        "exit_code": 0,
    }


def _head(document: Fields) -> Fields:
    opened = document["opened"]
    return {
        "name": opened["name"],
        "made": document["made"],
        "version": document["tool"]["version"],
        "notes": opened["notes"],
    }


def _sections(document: Fields) -> dict[str, Fields]:
    return {one["name"]: one for one in document["sections"]}


def _answered(sections: Mapping[str, Fields], name: str) -> bool:
    return name in sections and sections[name]["state"] == "answered"


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Return facts by name; a row is named after its identifying fields, a word after itself."""
    if isinstance(value, dict):
        fields = cast("Fields", value)
        parts = (_flat(one, f"{name}.{part}" if name else part) for part, one in fields.items())
        return {key: item for part in parts for key, item in part.items()}
    if isinstance(value, list):
        return _rows(cast("list[Any]", value), name)
    return {} if value is None else {name: value}


def _rows(rows: list[Any], name: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    keys, shown = ROWS.get(name.rpartition(".")[2], ((), ()))
    for row in rows:
        if isinstance(row, dict):
            fields = cast("Fields", row)
            label = " ".join(str(fields[key]) for key in keys if fields.get(key)) or "row"
            told = [_word(fields.get(key)) for key in shown or fields]
            value = ": ".join((told[0], ", ".join(told[1:]))) if told[1:] else "".join(told)
        else:
            label, equals, value = str(row).partition("=")
            value = value if equals else "set"
        label = label[:80]
        number = sum(1 for one in made if one.partition(" #")[0] == f"{name}.{label}")
        made[f"{name}.{label}" + (f" #{number + 1}" if number else "")] = value
    return made


def _word(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, cast("list[Any]", value)))
    return {True: "yes", False: "no", None: "none"}.get(value, str(value))


def _is_expected(name: str, one: Any, other: Any) -> bool:
    if EXPECTED.fullmatch(name):
        return True
    if not (isinstance(one, str) and isinstance(other, str)):
        return False
    is_text = "\n" in one or "\n" in other
    return is_text and _NUMBERS.sub("#", one) == _NUMBERS.sub("#", other)


def _follows(fact: str, first: Fields, second: Fields) -> bool:
    """Return whether a fact is missing because the framework hung or died before it answered."""
    return any(
        (one.get("hung_in") or one.get("unfinished_in") or one.get("ended"))
        and fact not in ("hung_in", "unfinished_in", "ended", "python_stack", "native_stack")
        and one.get(fact) in (None, "not asked")
        for one in (first, second)
    )


def _difference(section: str, fact: str, one: Any, other: Any) -> Fields:
    if isinstance(one, str) and isinstance(other, str) and ("\n" in one or "\n" in other):
        one, other = _first_lines(one, other)
    return {"section": section, "fact": fact, "a": _short(fact, one), "b": _short(fact, other)}


def _first_lines(one: str, other: str) -> tuple[str, str]:
    """Return the first lines in which two texts differ in more than numbers."""
    lines, others = one.split("\n"), other.split("\n")
    for number in range(max(len(lines), len(others))):
        pair = ["".join(part[number : number + 1]) for part in (lines, others)]
        if _NUMBERS.sub("#", pair[0]) != _NUMBERS.sub("#", pair[1]):
            return f"line {number + 1}: {pair[0].strip()}", f"line {number + 1}: {pair[1].strip()}"
    return one, other


def _short(fact: str, value: Any) -> Any:
    """Return a value in one line: the last line of an error, the first two of another text."""
    if not isinstance(value, str):
        return value
    lines = [" ".join(line.split()) for line in value.split("\n") if line.strip()]
    told = " ".join(lines[-1:] if fact == "error" else lines[:2])
    told += " ..." if len(lines) > 2 and fact != "error" else ""
    return told if len(told) <= MOST_CHARACTERS else f"{told[: MOST_CHARACTERS - 3]}..."


def _has_pseudonym(row: Fields) -> bool:
    return any(
        isinstance(row[key], str) and name_shapes.PSEUDONYM.search(row[key]) for key in ("a", "b")
    )


def _unanswered(a: Mapping[str, Fields], b: Mapping[str, Fields]) -> Iterator[Fields]:
    for name in dict.fromkeys((*a, *b)):
        missing = [key for key, one in (("a", a), ("b", b)) if not _answered(one, name)]
        if missing:
            whose = {"a": a, "b": b}
            section = next(one[name] for one in (a, b) if name in one)
            yield {
                "section": name,
                "title": section["title"],
                "in": missing,
                "why": [
                    str(whose[key][name]["why"]) if name in whose[key] else "it was not asked"
                    for key in missing
                ],
            }
