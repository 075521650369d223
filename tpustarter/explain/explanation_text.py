"""An explanation as text; `explanation_document` has it as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from tpustarter.explain import known_failures, log_scanner, program_python
from tpustarter.explain.explanation import Explanation
from tpustarter.explain.failure_ranking import FailureMatch
from tpustarter.explain.library_errors import PYTHON, LibraryError
from tpustarter.explain.log_scanner import FailureSign
from tpustarter.explain.program_mistakes import FoundMistake
from tpustarter.machine import frameworks, pip_command
from tpustarter.text import phrases
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import Paint, cut_text, escape_text, paint_nothing, wrap

MAX_WORDS = 150
"""Most words of an answer as it is printed."""
MAX_QUOTED_WORDS, MIN_QUOTED_WORDS = 25, 10
"""Most words that an answer quotes from the log, and how many it quotes at least."""
MAX_SOURCES = 2
"""Most sources shown."""
_OVERLAP = 60
"""Characters at the beginning of a quote by which another quote of the same line repeats it."""
VERBOSE_VARIABLES = "TPU_STDERR_LOG_LEVEL=0 TPU_MIN_LOG_LEVEL=0"
"""Settings that make libtpu log more."""

_SAFE = re.compile(r"[\w./][\w./:@+-]{0,200}", re.ASCII)


def format_problem(match: FailureMatch) -> str:
    """Return a match's problem as a sentence, with values from the log filled in."""
    what = known_failures.fill_placeholders(match.failure.what, _values(match))
    return what[:1].upper() + what[1:]


def list_fixes(match: FailureMatch, python: str, framework: str = "") -> list[str]:
    """Return a match's fixes: the one for this machine first, then the general ones.

    Args:
        match: The match.
        python: The user's interpreter command; empty if unknown.
        framework: The framework that the log names, for which a row may have separate fixes.
    """
    values = _values(match)
    hint = [hint_as_sentence(match.hint)] if match.hint else []
    without = match.failure.without_tpu if not match.here else ""
    last = [f"If that machine has no TPU, {without}."] if without else []
    return [
        *hint,
        *(
            pip_command.format_pip_command(
                known_failures.fill_placeholders(program_python.fill_in_python(fix, python), values)
            )
            for fix in match.failure.fix_in.get(framework, match.failure.fix)
        ),
        *last,
    ]


def format_cause(match: FailureMatch) -> str:
    """Return a failure's cause, with the memory sizes from the log if it has any."""
    told = next(
        (
            size
            for sign in match.signs
            if (size := known_failures.format_memory_shortage(sign.values))
        ),
        None,
    )
    if not told or not match.failure.numbers:
        return match.failure.why
    return f"{known_failures.fill_placeholders(match.failure.numbers, told)} {match.failure.why}"


def hint_as_sentence(hint: str) -> str:
    """Return a hint, which is a lowercase clause, as a sentence."""
    return hint[:1].upper() + hint[1:].removesuffix(".") + "."


def _values(match: FailureMatch) -> dict[str, str]:
    """Return the values for a row's placeholders, limited to those safe as one shell word."""
    found = [pair for sign in match.signs for pair in sign.values.items()]
    return {name: value for name, value in found if _SAFE.fullmatch(value)}


class PartKind(Enum):
    """The kinds of text in an explanation."""

    SENTENCE = auto()
    QUOTE = auto()
    """Text from the log or the program, shown verbatim."""
    COMMAND = auto()
    LESSON = auto()
    """The command that shows a lesson."""
    SOURCE = auto()
    """The URL of a page."""


@dataclass(frozen=True)
class ExplanationPart:
    """A part of an explanation, which the command prints and the app lays out."""

    text: str = ""
    """Empty for an empty line."""
    label: str = ""
    """The word shown before the text, such as `line 4` or `do`; empty for a paragraph."""
    kind: PartKind = PartKind.SENTENCE
    line: int | None = None
    """The line of the log that it refers to."""
    lesson: str = ""
    """The lesson's id, for `PartKind.LESSON`."""
    sure: str = ""
    """The confidence, shown in parentheses after the text."""
    indent: int = 0
    """Columns of indentation before the label."""

    @property
    def is_literal(self) -> bool:
        """True if the part must be copied exactly, such as a command or a URL."""
        return self.kind in (PartKind.COMMAND, PartKind.LESSON, PartKind.SOURCE)


def render_explanation(one: Explanation, paint: Paint = paint_nothing) -> str:
    """Return the explanation as text: the first cause in detail, the others on a line each."""
    return "\n".join(format_parts(explanation_parts(one), paint))


def format_parts(parts: Iterable[ExplanationPart], paint: Paint = paint_nothing) -> list[str]:
    """Return the terminal lines for some parts."""
    return [line for part in parts for line in _lines(part, paint)]


def _lines(part: ExplanationPart, paint: Paint) -> list[str]:
    if part.is_literal:  # never wrapped, so that it can be copied
        text = format_commands(part.text)
        return [f"{part.label:<7} {text}" if part.label else f"  {text}"]
    width = 7 if not part.indent else max(9, len(part.label))
    first = f"{' ' * part.indent}{part.label:<{width}} " if part.label else ""
    sure = f"({part.sure})" if part.sure else ""
    lines = wrap(f"{part.text} {sure}".rstrip(), first, " " * len(first)) or [""]
    if sure:  # the wrapped text ends with it
        lines[-1] = lines[-1].removesuffix(sure) + f"({paint(part.sure, part.sure)})"
    return lines


def explanation_parts(one: Explanation, *, has_all_logs: bool = False) -> Iterator[ExplanationPart]:
    """Yield the explanation's parts: the first cause in detail, the others on a line each.

    Args:
        one: The explanation.
        has_all_logs: True if the other workers' logs were read too.
    """
    if not one.is_explained:
        shown = list(_explain_no_match(one, advises=not has_all_logs))
        yield from shown
        if one.matches:
            heading = "Follows from it:" if one.has_own_error else "The log also shows:"
            yield from _groups([(heading, one.matches)], one.lines, MAX_WORDS - _count_words(shown))
        return
    first, *others = one.matches
    shown = list(_describe_in_detail(first, one))
    yield from shown
    groups = (
        ("The log also shows:", [o for o in others if _is_other(o, first)]),
        ("Follows from it:", [o for o in others if _is_consequence(o, first)]),
        ("Harmless here:", [o for o in others if _is_notice(o, first)]),
    )
    yield from _groups(groups, one.lines, MAX_WORDS - _count_words(shown))


def _count_words(parts: Iterable[ExplanationPart]) -> int:
    return sum(len(line.split()) for line in format_parts(parts))


def _groups(
    groups: Iterable[tuple[str, Sequence[FailureMatch]]], lines: int, room: int
) -> Iterator[ExplanationPart]:
    """Yield the other failures, a line each, as long as there is room for their words."""
    rows = [(heading, match) for heading, group in groups for match in group]
    shown = ""
    for number, (heading, match) in enumerate(rows):
        parts = [] if heading == shown else [ExplanationPart(), ExplanationPart(heading)]
        parts.append(_describe_in_a_line(match, lines))
        words = _count_words(parts)
        if words + _count_words(_count_hidden(len(rows) - number - 1)) > room:
            yield from _count_hidden(len(rows) - number)
            return
        room, shown = room - words, heading
        yield from parts


def _count_hidden(number: int) -> list[ExplanationPart]:
    if not number:
        return []
    what = phrases.choose_plural(number, "1 more failure", f"{number} more failures")
    return [ExplanationPart(), ExplanationPart(f"The log shows {what} (`--json` lists all).")]


def _is_notice(match: FailureMatch, first: FailureMatch) -> bool:
    """Return whether a match is a harmless notice that the first cause does not explain."""
    is_other = match.explained_by != first.failure.id and not _repeats(match, first)
    return is_other and match.failure.role == "notice"


def _is_consequence(match: FailureMatch, first: FailureMatch) -> bool:
    return match.explained_by == first.failure.id and not _repeats(match, first)


def _is_other(match: FailureMatch, first: FailureMatch) -> bool:
    is_repeated = match.failure.role == "symptom" and _repeats(match, first)
    is_other = match.explained_by != first.failure.id and not is_repeated
    return is_other and match.failure.role != "notice"


def _repeats(match: FailureMatch, first: FailureMatch) -> bool:
    """Return whether a match has only lines that the first match has too."""
    told = {sign.line for sign in first.signs}
    return all(sign.line in told for sign in match.signs)


def _describe_in_detail(match: FailureMatch, one: Explanation) -> Iterator[ExplanationPart]:
    title = ExplanationPart(escape_text(format_problem(match)), sure=match.confidence)
    rest = list(_cause_and_fixes(match, one))
    others = _count_hidden(len(one.matches) - 1)
    yield title
    yield from _quotes(match, one.lines, MAX_WORDS - _count_words([title, *rest, *others]))
    yield from rest


def _quotes(match: FailureMatch, lines: int, room: int) -> Iterator[ExplanationPart]:
    """Yield the lines of the log that show a failure, in as many words as there is room for."""
    room = max(MIN_QUOTED_WORDS, min(MAX_QUOTED_WORDS, room))
    for number, sign in enumerate(_select_quoted_signs(match)):
        line = _line(sign, lines)
        label = _label_line(line)
        left = room - len(label.split())
        if number and len(sign.quote.split()) > left:
            return
        kind = PartKind.QUOTE if line else PartKind.SENTENCE
        yield ExplanationPart(escape_text(_cut_quote(sign, left)), label, kind, line)
        room = left - len(sign.quote.split())


def _cut_quote(sign: FailureSign, most: int) -> str:
    """Return at most so many words of a quote: its first ones, and the end of what matched."""
    words = sign.quote.split(" ")
    if len(words) <= most:
        return sign.quote
    match = log_scanner.compile_pattern(sign.pattern).search(sign.quote)
    begin, end = (sign.quote.count(" ", 0, place) for place in (match.span() if match else (0, 0)))
    if end < most - 1 or begin < 3:
        return " ".join([*words[: most - 1], "..."])
    first = most // 4
    end = min(end + 4, len(words))
    return " ".join([*words[:first], "...", *words[end - (most - first - 1) : end]])


def _cause_and_fixes(match: FailureMatch, one: Explanation) -> Iterator[ExplanationPart]:
    if one.own_line:
        yield ExplanationPart(escape_text(cut_text(one.own_line, 300)), "where", PartKind.QUOTE)
    if match.here:
        yield ExplanationPart(escape_text(match.here), "here")
    yield ExplanationPart()
    yield ExplanationPart(format_cause(match))
    yield ExplanationPart()
    for number, fix in enumerate(list_fixes(match, one.python, one.framework)):
        label = "or" if number else "do"
        kind = PartKind.COMMAND if known_failures.is_fix_command(fix) else PartKind.SENTENCE
        yield ExplanationPart(escape_text(fix), label, kind)
    if match.failure.never:
        yield ExplanationPart(match.failure.never, "don't")
    if match.failure.read:
        yield _lesson(match.failure.read)
    for source in match.failure.sources[:MAX_SOURCES]:
        yield ExplanationPart(source, "source", PartKind.SOURCE)


def _lesson(name: str) -> ExplanationPart:
    return ExplanationPart(f"tpustarter learn {name}", "read", PartKind.LESSON, lesson=name)


def _line(sign: FailureSign, lines: int) -> int | None:
    return sign.line if sign.line <= lines else None


def _label_line(line: int | None) -> str:
    return f"line {line}" if line else "end"


def _select_quoted_signs(match: FailureMatch) -> list[FailureSign]:
    """Return the signs worth quoting: at most three, none quoting part of another's quote.

    Of two quotes of a long line that overlap, the first is kept.
    """
    signs = list({sign.quote: sign for sign in reversed(match.signs)}.values())[::-1]

    def is_in(sign: FailureSign, other: FailureSign) -> bool:
        return other is not sign and other.line == sign.line and sign.quote in other.quote

    def overlaps(sign: FailureSign, other: FailureSign) -> bool:
        first, second = sign.quote, other.quote
        is_shared = first[:_OVERLAP] in second or second[:_OVERLAP] in first
        return other.line == sign.line and is_shared

    told: list[FailureSign] = []
    for sign in signs:
        if not any(is_in(sign, other) for other in signs):
            told += [] if any(overlaps(sign, one) for one in told) else [sign]
    return told[:3]


def _describe_in_a_line(match: FailureMatch, lines: int) -> ExplanationPart:
    what = known_failures.fill_placeholders(match.failure.what, _values(match))
    line = _line(match.signs[0], lines)
    return ExplanationPart(what, _label_line(line), line=line, sure=match.confidence, indent=2)


def _explain_no_match(one: Explanation, *, advises: bool) -> Iterator[ExplanationPart]:
    size = phrases.choose_plural(one.lines, "1 line", f"{one.lines:,} lines")
    if not one.lines:
        yield ExplanationPart("The log is empty, so there is nothing to explain.")
        return
    if one.mistake:
        yield from describe_mistake(one.mistake, one.library)
        return
    if one.library and not one.is_cut:
        yield from describe_library_error(one.last_error, one.library)
        return
    yield ExplanationPart(f"No known failure of a TPU matches in {size}.")
    if one.is_cut:
        yield ExplanationPart(
            "The last traceback is cut off, so the line that names its error is missing. Look for "
            "it in the complete log, below the last line of this one."
        )
    if one.library:
        yield ExplanationPart(f"The last call that it shows is in {_name_raiser(one.library)}.")
        yield ExplanationPart(escape_text(one.library.place), "in", PartKind.QUOTE)
    if one.last_error:
        yield ExplanationPart(escape_text(cut_text(one.last_error, 300)), "last")
    if one.own_line:
        yield ExplanationPart(escape_text(cut_text(one.own_line, 300)), "where", PartKind.QUOTE)
    if advises:
        yield ExplanationPart()
        yield from describe_next_commands(one.framework)


def describe_mistake(
    found: FoundMistake, library: LibraryError | None = None
) -> Iterator[ExplanationPart]:
    """Yield the parts for a mistake: the error, its location, the cause and the fix.

    Args:
        found: The mistake.
        library: The library that raised the error; None if the program itself did.
    """
    if found.mistake.component:
        yield ExplanationPart(
            "No known failure of a TPU matches, but the error names the part of the software that "
            f"failed: {found.mistake.component}",
            sure="possible",
        )
    elif title := found.mistake.title:
        yield ExplanationPart(f"The lesson “{title}” names this error.")
    elif library:
        yield ExplanationPart(f"{_name_raiser(library)} raised this error.")
    elif found.is_own:
        yield ExplanationPart(
            "This looks like a mistake in the program, and not like a failure of a TPU."
        )
    else:
        yield ExplanationPart("No known failure of a TPU matches, but the error itself is known.")
    yield ExplanationPart(escape_text(cut_text(found.error, 300)), "error", PartKind.QUOTE)
    if library and library.condition:
        yield ExplanationPart(escape_text(library.condition), "if", PartKind.QUOTE)
    if found.place:
        where = cut_text(": ".join(filter(None, (found.place, found.code))), 300)
        yield ExplanationPart(escape_text(where), "where", PartKind.QUOTE)
    yield ExplanationPart()
    yield ExplanationPart(found.mistake.means)
    yield ExplanationPart()
    if found.command:
        is_command = known_failures.is_fix_command(found.command)
        kind = PartKind.COMMAND if is_command else PartKind.SENTENCE
        yield ExplanationPart(escape_text(found.command), "do", kind)
    if found.mistake.fix:
        yield ExplanationPart(found.mistake.fix, "or" if found.command else "do")
    if found.mistake.read:
        yield _lesson(found.mistake.read)
    if found.mistake.source:
        yield ExplanationPart(found.mistake.source, "source", PartKind.SOURCE)


def describe_library_error(error: str, found: LibraryError) -> Iterator[ExplanationPart]:
    """Yield the parts for an error raised by a library: location, condition, and advice.

    Args:
        error: The line with the exception.
        found: The library that raised it.
    """
    yield ExplanationPart(
        f"No known failure of a TPU matches. {_name_raiser(found)} raised the error."
    )
    yield ExplanationPart(escape_text(cut_text(error, 300)), "error", PartKind.QUOTE)
    if found.place:
        yield ExplanationPart(escape_text(found.place), "raised", PartKind.QUOTE)
    if found.condition:
        yield ExplanationPart(escape_text(found.condition), "if", PartKind.QUOTE)
    if found.documentation:
        text = f"`{found.documented}`: {found.documentation}"
        yield ExplanationPart(escape_text(text), "about", PartKind.QUOTE)
    if found.caller:
        yield ExplanationPart(escape_text(cut_text(found.caller, 300)), "where", PartKind.QUOTE)
    yield ExplanationPart()
    told = "The line after `if` is where its source raises this error. "
    asked = "Print what you pass to it, right before your line."
    if not found.caller:
        asked = (
            "No line of your own is in the traceback, so compare the options and the versions"
            f"{_name_packages(found)}."
        )
    yield ExplanationPart(f"{told if found.condition else ''}{asked}")
    yield ExplanationPart()
    if found.issues:
        yield ExplanationPart("Search the library's issues for the words of the error.", "do")
    yield ExplanationPart("tpustarter report --log FILE", "or" if found.issues else "do",
                          PartKind.COMMAND)  # fmt: skip
    if found.issues:
        yield ExplanationPart(found.issues, "source", PartKind.SOURCE)


def _name_raiser(found: LibraryError) -> str:
    """Return the library and function that raised an error, worded to begin a sentence."""
    if found.library == PYTHON:
        return f"Python's own `{found.function}`" if found.function else "Python itself"
    if found.function:
        return f"`{found.function}` of `{escape_text(found.library)}`"
    return f"`{escape_text(found.library)}`"


def _name_packages(found: LibraryError) -> str:
    """Return the packages whose versions may not fit together, worded to follow `versions`."""
    if len(found.packages) < 2:
        return ""
    return f" of {phrases.join_words(f'`{escape_text(name)}`' for name in found.packages)}"


def describe_next_commands(framework: str = "") -> Iterator[ExplanationPart]:
    """Yield the commands that collect more information when no known failure matches.

    Args:
        framework: The framework that the log names; empty if none.
    """
    yield ExplanationPart(
        "If you expected one, its line may be missing. On a slice only the worker that fails first "
        "says why, so collect the output of all. Frameworks say more with these variables set:"
    )
    assignments = frameworks.FRAMEWORKS[framework or "jax"].verbose_assignments
    yield ExplanationPart(f"export {assignments} {VERBOSE_VARIABLES}", kind=PartKind.COMMAND)
    yield ExplanationPart("Then see whether this machine is sound:")
    yield ExplanationPart("tpustarter check", kind=PartKind.COMMAND)
    yield ExplanationPart("If it is, this collects what the maintainers of a framework ask for:")
    yield ExplanationPart("tpustarter report --log FILE", kind=PartKind.COMMAND)
