"""The results of a search as one JSON document; `../search.schema.json` is its schema."""

from __future__ import annotations

from collections.abc import Mapping

from tpustarter.core.problem import ExitCode
from tpustarter.learning.search.passages import Kind
from tpustarter.learning.search.search import Parts, SearchHit, SearchResult

SCHEMA = "tpustarter.search/1"
_COMMANDS: Mapping[Kind, str] = {
    "lesson": "tpustarter learn {}",
    "check": "tpustarter check {}",
    "old": "tpustarter learn --old {}",
}
"""The command that shows a hit; the meaning of a glossary term is in the hit itself."""


def make_json_document(found: SearchResult) -> dict[str, object]:
    """Return the hits, best first within each kind, with the exit code of the command."""
    return {
        "schema": SCHEMA,
        "text": found.text,
        "synonyms": [*found.synonyms],
        "meant": found.meant or None,
        "hits": [_hit_fields(hit) for hit in found.hits],
        "exit_code": int(exit_code(found)),
    }


def exit_code(found: SearchResult) -> ExitCode:
    """Return the exit code of a search."""
    return ExitCode.OK if found.hits else ExitCode.NOTHING_VERIFIED


def _hit_fields(hit: SearchHit) -> dict[str, object]:
    command = _COMMANDS.get(hit.kind)
    return {
        "kind": hit.kind,
        "id": hit.id,
        "title": _plain(hit.title),
        "text": _plain(hit.text) or None,
        "command": command.format(hit.id) if command else None,
        "has_every_word": hit.has_every_word,
        "lines": [
            {"line": line.number, "heading": line.heading, "text": _plain(line.parts)}
            for line in hit.lines
        ],
    }


def _plain(parts: Parts) -> str:
    return " ".join("".join(text for text, _ in parts).split())
