"""The explanation of a program's output: known failures, and mistakes in the program itself."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tpustarter.core.problem import Problem
from tpustarter.explain import (
    exit_code_failures,
    failure_ranking,
    known_failures,
    lesson_failures,
    library_errors,
    program_mistakes,
    program_python,
)
from tpustarter.explain.explanation import Explanation
from tpustarter.explain.failure_ranking import FailureMatch
from tpustarter.explain.last_error import find_framework, find_last_error, tells_of_crash
from tpustarter.explain.log_scanner import LogScan
from tpustarter.explain.program_mistakes import ProgramMistake
from tpustarter.explain.tracebacks import (
    TRACEBACK,
    Traceback,
    is_exception_line,
    read_bare_frames,
    read_crash,
    read_tracebacks,
    strip_quotation,
)


@dataclass(frozen=True)
class CommandEnd:
    """A command's exit code, and the processes killed while it ran."""

    code: int
    """Exit code as a shell reports it."""
    kills: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of processes the kernel killed for lack of memory while it ran, keyed by the file that
    counts them."""


def explain_log(
    scan: LogScan,
    end: CommandEnd | None = None,
    *,
    python: str | None = None,
    lessons: Path | None = None,
    lesson: str = "",
) -> Explanation:
    """Explain a log; on this machine, only source files named in its traceback are read.

    Args:
        scan: The signs found in the log.
        end: The command's end, if known.
        python: The Python command that ran the program; None to take it from the log.
        lessons: The folder of lessons, which name errors too; None for the bundled lessons.
        lesson: The lesson in which the error happened, if any.
    """
    failures = known_failures.read_known_failures()
    scan = replace(scan, last=strip_quotation(scan.last))
    matches = failure_ranking.rank_failures(scan, failures)
    if end:
        matches = exit_code_failures.add_exit_code(matches, scan, failures, end.code)
        matches = exit_code_failures.add_out_of_memory_kills(matches, scan, failures, end.kills)
    tracebacks = read_tracebacks(scan.last, scan.lines)
    last = tracebacks[-1] if tracebacks else read_bare_frames(scan.last)
    own = _own_error(matches, tracebacks or ([last] if is_exception_line(last.error) else []))
    if python is None:
        python = program_python.find_program_python(scan.last)
    last_error = own.error if own else _last_error(matches, scan.last, last)
    found = Explanation(
        tuple(matches),
        scan.lines,
        last_error,
        python,
        has_failed=_has_failed(scan, end, last_error),
        has_own_error=bool(own),
        framework=find_framework(scan.last),
        is_cut=last.is_cut and not own,
    )
    traceback = own or (_complete(last_error, scan.last, tracebacks) if last.is_cut else last)
    if found.is_explained:
        return replace(found, own_line=_own_line(matches[0], scan.last, tracebacks))
    if traceback is None:
        found = replace(
            found,
            own_line=library_errors.find_program_line(last),
            library=library_errors.find_library_of_call(last),
        )
        return _add_component(found)
    return _explain_program(found, traceback, lesson_failures.read_lesson_failures(lessons, lesson))


def _explain_program(
    found: Explanation, traceback: Traceback, named: Sequence[ProgramMistake]
) -> Explanation:
    """Return the explanation with the program's mistake and the library that raised the error."""
    errors = dict.fromkeys(filter(None, (found.last_error, traceback.error)))
    told = (
        program_mistakes.find_mistake(one, traceback, named, python=found.python) for one in errors
    )
    mistake = next(filter(None, told), None)
    library = library_errors.find_library_error(traceback, _prefixes(found.python))
    if mistake and mistake.mistake.component:
        library = None
    last_error = traceback.error if library and not mistake else found.last_error
    own_line = "" if mistake or library else library_errors.find_program_line(traceback)
    return replace(
        found, last_error=last_error, mistake=mistake, library=library, own_line=own_line
    )


def _add_component(found: Explanation) -> Explanation:
    """Return a cut traceback's explanation, with the component that a line above it names."""
    mistake = program_mistakes.find_failed_component(found.last_error, python=found.python)
    return replace(found, mistake=mistake, library=None) if mistake else found


def _has_failed(scan: LogScan, end: CommandEnd | None, last_error: str) -> bool:
    if bool(end and end.code) or TRACEBACK in scan.last:
        return True
    return is_exception_line(last_error) or tells_of_crash(last_error)


def _last_error(matches: Sequence[FailureMatch], end_of_log: str, last: Traceback) -> str:
    """Return a log's last error, passing over a harmless line if an error was raised before it."""
    notices = [one for one in matches if one.failure.role == "notice"]
    quotes = {" ".join(sign.quote.split()) for one in notices for sign in one.signs} - {""}

    def is_harmless(line: str) -> bool:
        text = " ".join(line.split())
        return any(quote in text or (text and text in quote) for quote in quotes)

    found = find_last_error(end_of_log)
    if not is_harmless(found):
        return found
    others = (line for line in end_of_log.split("\n") if not line.strip() or not is_harmless(line))
    other = last.error or find_last_error("\n".join(others))
    return other if is_exception_line(other) or last.error or last.is_cut else found


def _complete(
    last_error: str, end_of_log: str, tracebacks: Sequence[Traceback]
) -> Traceback | None:
    """Return the complete traceback of the last error if the last one printed is cut off."""
    above = [*reversed(tracebacks[:-1]), read_bare_frames(end_of_log.partition(TRACEBACK)[0])]
    return next((one for one in above if one.error and one.error in last_error), None)


def _own_error(
    matches: Sequence[FailureMatch], tracebacks: Sequence[Traceback]
) -> Traceback | None:
    """Return the error that ended a program before it lost the other processes of its job.

    When one process of a job raises, the others lose contact with it, and their last lines report
    only that. None if no process was lost, or if a cause is known.
    """
    if not matches or not matches[0].failure.of_peer:
        return None
    signs = [sign for match in matches if match.failure.of_peer for sign in match.signs]
    first = min(sign.line for sign in signs)
    quotes = [" ".join(sign.quote.split()) for sign in signs]
    own = [
        one
        for one in tracebacks
        if one.error and not any(" ".join(one.error.split()) in quote for quote in quotes)
    ]
    before = [one for one in own if one.line < first]
    after = own if matches[0].failure.may_precede else []
    return next(iter((*reversed(before), *after)), None)


def _own_line(match: FailureMatch, end_of_log: str, tracebacks: Sequence[Traceback]) -> str:
    """Return the line of the user's program that led to a failure, or "" if it is unknown."""
    if match.failure.role == "symptom" and (crash := read_crash(end_of_log)):
        return f"{crash.file}, line {crash.line}, in {crash.name}"
    text = end_of_log.rpartition(TRACEBACK)[2]
    is_told = any(sign.quote and sign.quote in text for sign in match.signs)
    return library_errors.find_program_line(tracebacks[-1]) if is_told and tracebacks else ""


def _prefixes(python: str) -> Iterator[Path]:
    """Yield the prefixes of Python installations that may hold a library's source."""
    if executable := program_python.locate_python(python):
        yield executable.parent.parent
    from tpustarter.checking.plan import interpreters

    with contextlib.suppress(Problem):
        chosen, _ = interpreters.choose_interpreter(None, os.environ, Path.cwd())
        yield chosen.path.parent.parent
