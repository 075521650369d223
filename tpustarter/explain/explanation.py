"""What `explain` says of a log, as text and as a document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tpustarter.explain import known, sizes
from tpustarter.explain.mistakes import Found
from tpustarter.explain.ranking import Match
from tpustarter.explain.scanning import Sign
from tpustarter.invocation import as_typed
from tpustarter.machine import pip
from tpustarter.problem import ExitCode
from tpustarter.terminal import Paint, cut, unpainted, visible, wrap

SCHEMA = "tpustarter.explain/1"
"""Name of the document; `schema.json` is its shape."""
OTHERS = 5
"""How many further failures are listed, each in a line."""
SOURCES = 2
"""How many sources are shown."""
VERBOSE = "export JAX_TRACEBACK_FILTERING=off TPU_STDERR_LOG_LEVEL=0 TPU_MIN_LOG_LEVEL=0"
"""Has frameworks say more."""

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
    """How many lines the log has; a sign behind them is how it ended."""
    last_error: str
    """The last line of the log that looks like an error; empty where there is none."""
    python: str
    """How the user's interpreter is started, for commands."""
    own_line: str = ""
    """The line of the program that led to what matches first, as its traceback names it."""
    mistake: Found | None = None
    """What is wrong in the program, where nothing known matches; null where that isn't known."""

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
    hint = [sentence(match.hint)] if match.hint else []
    without = match.failure.without_tpu if not match.here else ""
    last = [f"If that machine has no TPU, {without}."] if without else []
    return [*hint, *(pip.command(known.filled(fix, values)) for fix in match.failure.fix), *last]


def cause(match: Match) -> str:
    """Return why it goes wrong, with the numbers of the log where it has some."""
    told = next((size for sign in match.signs if (size := sizes.told(sign.values))), None)
    if not told or not match.failure.numbers:
        return match.failure.why
    return f"{known.filled(match.failure.numbers, told)} {match.failure.why}"


def sentence(hint: str) -> str:
    """Return a hint, a clause in lowercase, as a sentence."""
    return hint[:1].upper() + hint[1:].removesuffix(".") + "."


def _values(match: Match) -> dict[str, str]:
    """Return what fills in the words of a row; only what a shell takes as one word."""
    found = [pair for sign in match.signs for pair in sign.values.items()]
    return {name: value for name, value in found if _SAFE.fullmatch(value)}


@dataclass(frozen=True)
class Part:
    """A piece of an explanation, which a command prints and the app lays out."""

    text: str = ""
    """Empty for an empty line."""
    label: str = ""
    """What stands before it, such as `line 4` or `do`; empty for a paragraph."""
    is_literal: bool = False
    """Whether it is to be copied: a command, an address."""
    sure: str = ""
    """How sure it is, where the text ends with that in brackets."""
    indent: int = 0
    """Columns before the label."""


def text(one: Explanation, paint: Paint = unpainted) -> str:
    """Return the explanation for people: the first cause at length, the others in a line each."""
    return "\n".join(line for part in parts(one) for line in _lines(part, paint))


def _lines(part: Part, paint: Paint) -> list[str]:
    if part.is_literal:  # never wrapped, so that it can be copied
        text = as_typed(part.text)
        return [f"{part.label:<7} {text}" if part.label else f"  {text}"]
    width = 7 if not part.indent else 9
    first = f"{' ' * part.indent}{part.label:<{width}} " if part.label else ""
    lines = wrap(part.text, first, " " * len(first)) or [""]
    if part.sure:
        sure = f"({part.sure})"
        lines = [line.replace(sure, f"({paint(part.sure, part.sure)})") for line in lines]
    return lines


def parts(one: Explanation) -> Iterator[Part]:
    """Yield the explanation: the first cause at length, the others in a line each."""
    if not one.matches:
        yield from _nothing(one)
        return
    first, *others = one.matches
    yield from _at_length(first, one)
    groups = (
        ("Follows from it:", [o for o in others if o.explained_by == first.failure.id]),
        ("The log also shows:", [o for o in others if _is_other(o, first)]),
        ("Harmless here:", [o for o in others if _is_notice(o, first)]),
    )
    for heading, group in groups:
        if group:
            yield Part()
            yield Part(heading)
            for match in group[:OTHERS]:
                yield _in_a_line(match, one.lines)
            if len(group) > OTHERS:
                yield Part(f"  and {len(group) - OTHERS} more (`--json` has them all)")


def _is_notice(match: Match, first: Match) -> bool:
    """Return whether something is harmless; a line that tells the cause is not."""
    told = {sign.line for sign in first.signs}
    is_told = all(sign.line in told for sign in match.signs)
    is_other = match.explained_by != first.failure.id and not is_told
    return is_other and match.failure.role == "notice"


def _is_other(match: Match, first: Match) -> bool:
    return match.explained_by != first.failure.id and match.failure.role != "notice"


def _at_length(match: Match, one: Explanation) -> Iterator[Part]:
    yield Part(visible(f"{title(match)} ({match.confidence})"), sure=match.confidence)
    for sign in _telling(match):
        yield Part(visible(sign.quote), _place(sign, one.lines))
    if one.own_line:
        yield Part(visible(cut(one.own_line, 300)), "where")
    if match.here:
        yield Part(visible(match.here), "here")
    yield Part()
    yield Part(cause(match))
    yield Part()
    for number, fix in enumerate(fixes(match, one.python)):
        label = "or" if number else "do"
        yield Part(visible(fix), label, is_literal=known.is_command(fix))
    if match.failure.never:
        yield Part(match.failure.never, "don't")
    if match.failure.read:
        yield Part(f"tpustarter learn {match.failure.read}", "read", is_literal=True)
    for source in match.failure.sources[:SOURCES]:
        yield Part(source, "source", is_literal=True)


def _place(sign: Sign, lines: int) -> str:
    """Return where a sign stands: what comes behind the log tells how the command ended."""
    return f"line {sign.line}" if sign.line <= lines else "end"


def _telling(match: Match) -> list[Sign]:
    """Return the signs worth quoting: three at most, and none that another one holds."""
    signs = list({sign.quote: sign for sign in reversed(match.signs)}.values())[::-1]

    def is_in(sign: Sign, other: Sign) -> bool:
        return other is not sign and other.line == sign.line and sign.quote in other.quote

    return [sign for sign in signs if not any(is_in(sign, other) for other in signs)][:3]


def _in_a_line(match: Match, lines: int) -> Part:
    what = known.filled(match.failure.what, _values(match))
    where = _place(match.signs[0], lines)
    return Part(f"{what} ({match.confidence})", where, sure=match.confidence, indent=2)


def _nothing(one: Explanation) -> Iterator[Part]:
    size = "1 line" if one.lines == 1 else f"{one.lines:,} lines"
    if not one.lines:
        yield Part("The log is empty, so there is nothing to explain.")
        return
    if one.mistake:
        yield from of_mistake(one.mistake)
        return
    yield Part(f"No known failure of a TPU matches in {size}.")
    if one.last_error:
        yield Part(visible(cut(one.last_error, 300)), "last")
    yield Part()
    yield from advice()


def of_mistake(found: Found) -> Iterator[Part]:
    """Yield what is wrong in the program, where, and what to do."""
    if title := found.mistake.title:
        yield Part(f"The lesson “{title}” names this error.")
    else:
        yield Part("This looks like a mistake in the program, and not like a failure of a TPU.")
    yield Part(visible(cut(found.error, 300)), "error")
    if found.place:
        yield Part(visible(cut(": ".join(filter(None, (found.place, found.code))), 300)), "where")
    yield Part()
    yield Part(found.mistake.means)
    yield Part()
    if found.mistake.fix:
        yield Part(found.mistake.fix, "do")
    if found.mistake.read:
        yield Part(f"tpustarter learn {found.mistake.read}", "read", is_literal=True)
    if found.mistake.source:
        yield Part(found.mistake.source, "source", is_literal=True)


def advice() -> Iterator[Part]:
    """Yield what to collect where nothing known matches."""
    yield Part(
        "If you expected one, the line that tells may be missing. On a slice the worker that fails "
        "first says why, and the others only say that it is gone, so collect the output of all of "
        "them. Frameworks say more with these variables set:"
    )
    yield Part(VERBOSE, is_literal=True)
    yield Part("Then see whether this machine is sound:")
    yield Part("tpustarter check", is_literal=True)
    yield Part("If it is, this collects what the maintainers of a framework ask for:")
    yield Part("tpustarter report --log FILE", is_literal=True)


def document(one: Explanation) -> dict[str, Any]:
    """Return the explanation as a JSON document."""
    return {
        "schema": SCHEMA,
        "lines": one.lines,
        "last_error": one.last_error or None,
        "matches": [_fields(match, one.python) for match in one.matches],
        "own_line": one.own_line or None,
        "mistake": _mistake_fields(one.mistake) if one.mistake else None,
        "exit_code": int(one.code),
    }


def _mistake_fields(found: Found) -> dict[str, Any]:
    mistake = found.mistake
    return {
        "error": found.error,
        "place": found.place or None,
        "cause": mistake.means,
        "fix": mistake.fix or None,
        "lesson": mistake.read or None,
        "source": mistake.source or None,
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
        "cause": cause(match),
        "fix": fixes(match, python),
        "never": failure.never or None,
        "lesson": failure.read or None,
        "sources": list(failure.sources),
    }
