"""An explanation as a JSON document (`tpustarter.explain/1`), whose schema is `schema.json`."""

from __future__ import annotations

from tpustarter.explain import explanation_text
from tpustarter.explain.explanation import Explanation
from tpustarter.explain.failure_ranking import FailureMatch
from tpustarter.explain.library_errors import LibraryError
from tpustarter.explain.program_mistakes import FoundMistake

SCHEMA = "tpustarter.explain/1"


def make_json_document(one: Explanation) -> dict[str, object]:
    """Return the explanation as a JSON document."""
    return {
        "schema": SCHEMA,
        "lines": one.lines,
        "last_error": one.last_error or None,
        "matches": [_fields(match, one) for match in one.matches],
        "own_line": one.own_line or None,
        "mistake": _mistake_fields(one.mistake) if one.mistake else None,
        "raised": _raised_fields(one.library) if one.library else None,
        "exit_code": int(one.code),
    }


def _mistake_fields(found: FoundMistake) -> dict[str, object]:
    mistake = found.mistake
    return {
        "error": found.error,
        "component": mistake.component or None,
        "place": found.place or None,
        "cause": mistake.means,
        "command": found.command or None,
        "fix": mistake.fix or None,
        "lesson": mistake.read or None,
        "source": mistake.source or None,
    }


def _raised_fields(found: LibraryError) -> dict[str, object]:
    return {
        "library": found.library,
        "function": found.function or None,
        "place": found.place or None,
        "caller": found.caller or None,
        "condition": found.condition or None,
        "documentation": found.documentation or None,
        "source": found.source or None,
        "issues": found.issues or None,
    }


def _fields(match: FailureMatch, one: Explanation) -> dict[str, object]:
    failure, sign = match.failure, match.signs[0]
    return {
        "id": failure.id,
        "title": explanation_text.format_problem(match),
        "role": failure.role,
        "confidence": match.confidence,
        "explained_by": match.explained_by or None,
        "line": sign.line,
        "quote": sign.quote,
        "signs": [{"line": found.line, "quote": found.quote} for found in match.signs],
        "here": match.here or None,
        "cause": explanation_text.format_cause(match),
        "fix": explanation_text.list_fixes(match, one.python, one.framework),
        "never": failure.never or None,
        "lesson": failure.read or None,
        "sources": list(failure.sources),
    }
