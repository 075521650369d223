"""What `explain` says of a log, as text and as a document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tpustarter.explain import known
from tpustarter.explain.ranking import Match
from tpustarter.explain.scanning import Sign
from tpustarter.problem import ExitCode
from tpustarter.terminal import Paint, cut, unpainted, visible, wrap

SCHEMA = "tpustarter.explain/1"
"""Name of the document; `schema.json` is its shape."""
INDENT = " " * 8
OTHERS = 5
"""How many further failures are listed, each in a line."""

_SAFE = re.compile(r"[\w./][\w./:@+-]{0,200}", re.ASCII)
_ERROR = re.compile(
    r".*(?:Error|Exception|Interrupt|\b(?:FATAL|Fatal|F\d{4}|[Ee]rror|ERROR|[Ff]ailed|FAILED|"
    r"[Aa]borted|Killed))\b.*",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Explanation:
    """What a log shows, and what to do."""

    matches: tuple[Match, ...]
    """The most likely root cause first."""
    lines: int
    """How many lines the log has."""
    last_error: str
    """The last line of the log that looks like an error; empty where there is none."""
    python: str
    """How the user's interpreter is started, for commands."""

    @property
    def code(self) -> ExitCode:
        """Return 0 where something known matches, 5 where nothing does."""
        return ExitCode.OK if self.matches else ExitCode.NOTHING_VERIFIED


def last_error(end_of_log: str) -> str:
    """Return the last line that looks like an error; empty where none does."""
    found = [match[0] for match in _ERROR.finditer(end_of_log)]
    return " ".join(found[-1].split()) if found else ""


def title(match: Match) -> str:
    """Return what is wrong as a sentence, with what the log says filled in."""
    what = known.filled(match.failure.what, _values(match))
    return what[:1].upper() + what[1:]


def fixes(match: Match, python: str) -> list[str]:
    """Return what to do: what this machine needs first, then what helps anywhere, filled in."""
    values = {"PYTHON": python} | _values(match)
    hint = [match.hint[0].upper() + match.hint[1:].removesuffix(".") + "."] if match.hint else []
    return [*hint, *(known.filled(fix, values) for fix in match.failure.fix)]


def _values(match: Match) -> dict[str, str]:
    """Return what fills in the words of a row; only what a shell takes as one word."""
    found = [pair for sign in match.signs for pair in sign.values.items()]
    return {name: value for name, value in found if _SAFE.fullmatch(value)}


def text(one: Explanation, paint: Paint = unpainted) -> str:
    """Return the explanation for people: the first cause at length, the others in a line each."""
    if not one.matches:
        return "\n".join(_nothing(one))
    first, *others = one.matches
    lines = list(_at_length(first, one.python, paint))
    groups = (
        ("Follows from it:", [o for o in others if o.explained_by == first.failure.id]),
        ("The log also shows:", [o for o in others if _is_other(o, first)]),
        ("Harmless here:", [o for o in others if _is_notice(o, first)]),
    )
    for heading, group in groups:
        if group:
            lines += ["", heading]
            for match in group[:OTHERS]:
                lines += _in_a_line(match, paint)
            if len(group) > OTHERS:
                lines.append(f"  and {len(group) - OTHERS} more (`--json` has them all)")
    return "\n".join(lines)


def _is_notice(match: Match, first: Match) -> bool:
    return match.explained_by != first.failure.id and match.failure.role == "notice"


def _is_other(match: Match, first: Match) -> bool:
    return match.explained_by != first.failure.id and match.failure.role != "notice"


def _at_length(match: Match, python: str, paint: Paint) -> Iterator[str]:
    sure = paint(match.confidence, match.confidence)
    *lines, last = wrap(visible(f"{title(match)} ({match.confidence})"))
    yield from lines
    yield last.replace(f"({match.confidence})", f"({sure})")
    for sign in _telling(match):
        yield from wrap(visible(sign.quote), f"{f'line {sign.line}':<7} ", INDENT)
    if match.here:
        yield from wrap(visible(match.here), "here    ", INDENT)
    yield ""
    yield from wrap(match.failure.why)
    yield ""
    for number, fix in enumerate(fixes(match, python)):
        label = "do" if not number else "or"
        if known.is_command(fix):
            yield f"{label:<7} {visible(fix)}"  # never wrapped, so that it can be copied
        else:
            yield from wrap(visible(fix), f"{label:<7} ", INDENT)
    if match.failure.never:
        yield from wrap(match.failure.never, "don't   ", INDENT)
    if match.failure.read:
        yield f"read    tpustarter learn {match.failure.read}"
    for source in match.failure.sources[:2]:
        yield f"source  {source}"


def _telling(match: Match) -> list[Sign]:
    """Return the signs worth quoting: each line once, three at most."""
    return list({sign.quote: sign for sign in reversed(match.signs)}.values())[:-4:-1]


def _in_a_line(match: Match, paint: Paint) -> Iterator[str]:
    sign = match.signs[0]
    sure = paint(match.confidence, match.confidence)
    line = f"line {sign.line}"
    what = known.filled(match.failure.what, _values(match))
    text = f"{what} ({match.confidence})"
    for row in wrap(text, f"  {line:<9} ", " " * 12):
        yield row.replace(f"({match.confidence})", f"({sure})")


def _nothing(one: Explanation) -> Iterator[str]:
    size = "1 line" if one.lines == 1 else f"{one.lines:,} lines"
    if not one.lines:
        yield "The log is empty, so there is nothing to explain."
        return
    yield f"No known failure of a TPU matches in {size}."
    if one.last_error:
        yield from wrap(visible(cut(one.last_error, 300)), "last    ", INDENT)
    yield ""
    yield from wrap(
        "If you expected one, the line that tells may be missing. On a slice the worker that fails "
        "first says why, and the others only say that it is gone, so collect the output of all of "
        "them. Frameworks say more with these variables set:"
    )
    yield "  export JAX_TRACEBACK_FILTERING=off TPU_STDERR_LOG_LEVEL=0 TPU_MIN_LOG_LEVEL=0"
    yield from wrap("Then see whether this machine is sound:")
    yield "  tpustarter check"


def document(one: Explanation) -> dict[str, Any]:
    """Return the explanation as a JSON document."""
    return {
        "schema": SCHEMA,
        "lines": one.lines,
        "last_error": one.last_error or None,
        "matches": [_fields(match, one.python) for match in one.matches],
        "exit_code": int(one.code),
    }


def _fields(match: Match, python: str) -> dict[str, Any]:
    failure, sign = match.failure, match.signs[0]
    return {
        "id": failure.id,
        "title": title(match),
        "role": failure.role,
        "confidence": match.confidence,
        "explained_by": match.explained_by or None,
        "line": sign.line,
        "quote": sign.quote,
        "signs": [{"line": one.line, "quote": one.quote} for one in match.signs],
        "here": match.here or None,
        "cause": failure.why,
        "fix": fixes(match, python),
        "never": failure.never or None,
        "lesson": failure.read or None,
        "sources": list(failure.sources),
    }
