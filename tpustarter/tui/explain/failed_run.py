"""The data of a failure: the output, how it ended, and where it ran."""

from __future__ import annotations

import io
import re
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tpustarter.checking.output import results_text
from tpustarter.checking.results.results import Result, read_hint
from tpustarter.core import locations
from tpustarter.core.problem import Problem
from tpustarter.core.short_ids import find_nearest_file
from tpustarter.text import phrases
from tpustarter.text.terminal import cut_text, escape_text
from tpustarter.tui.app.shell_variables import add_restart_hint
from tpustarter.tui.kit.safe_text import OutputTail

if TYPE_CHECKING:
    from tpustarter.core.content import Lesson
    from tpustarter.explain.log_scanner import LogScan
    from tpustarter.learning.run.block_results import BlockResult
    from tpustarter.learning.run.lesson_process import LessonSession
    from tpustarter.setup.setup_plan import StepEnded

_SIGNAL = re.compile(rf"\b({'|'.join(one.name for one in signal.Signals)})\b")
SHOWN_LOG_BYTES = 1 << 16
"""Number of bytes at the end of a log that are shown."""
BLOCK, ANSWER, CHECK, STEP, PROGRAM = "block", "answer", "check", "step", "program"
PASTED, LOG = "text", "log"
OWN_TITLES = {PASTED: "The end of what you pasted", LOG: "The end of the log"}
"""The output's title by kind, for the kinds that are the user's own programs."""

MOST_SHOWN = 60
"""Maximum length of a path in messages."""
_PATH = re.compile(r"[^\s:]*/[^\s:]*")
"""A word that looks more like a path than an error."""
_NAME = re.compile(r"[^\s:]+\.(?P<ending>[^\s:.]{2,5})")
_ENDINGS = ("log", "txt", "out", "err")


@dataclass(frozen=True)
class FailedRun:
    """A failed check, block, answer, set-up step or program."""

    kind: str
    """`BLOCK`, `ANSWER`, `CHECK`, `STEP`, `PROGRAM`, `PASTED` or `LOG`."""
    name: str
    log: str = ""
    """The stored output."""
    file: Path | None = None
    """The file with the complete output, or None if `log` has it."""
    end_lines: tuple[str, ...] = ()
    """The lines that describe how the run ended."""
    advice: tuple[str, ...] = ()
    """The hints of a check's findings."""
    lesson: str = ""
    """The id of the lesson that explains the failure or in which it happened, or ""."""
    is_in_lesson: bool = False
    """True if that lesson is open and has a section on failures."""
    is_crash: bool = False
    """True if `end_lines` describes how a process ended."""
    context: str = ""
    """The framework and the platform, which logs often omit."""

    @property
    def code(self) -> int:
        """The exit code that a shell reports for the signal in `end_lines`, or 0."""
        found = _SIGNAL.search("\n".join(self.end_lines)) if self.is_crash else None
        return 128 + signal.Signals[found[1]] if found else 0

    def read_last_output(self) -> str:
        """Return the end of the output as plain text.

        Raises:
            OSError: The file cannot be read.
        """
        tail = OutputTail()
        if self.file:
            with self.file.open("rb") as stream:
                stream.seek(max(0, self.file.stat().st_size - SHOWN_LOG_BYTES))
                tail.add(stream.read().decode("utf-8", "replace"))
        else:
            tail.add(self.log)
        return tail.text

    def scan(self) -> LogScan:
        """Scan the whole output, followed by `end_lines`, `advice` and `context`.

        Raises:
            OSError: The file cannot be read.
        """
        from tpustarter.explain import known_failures, log_scanner

        log_pass = log_scanner.FailureScanner(known_failures.read_known_failures()).start_scan()
        lines = 0
        with self.file.open("rb") if self.file else io.BytesIO(self.log.encode()) as stream:
            last = b""
            while chunk := stream.read(1 << 16):
                log_pass.feed(chunk)
                lines, last = lines + chunk.count(b"\n"), chunk
        if last and not last.endswith(b"\n"):
            log_pass.feed(b"\n")
            lines += 1
        behind = "\n".join((*self.end_lines, *self.advice, self.context))
        log_pass.feed(f"{behind}\n".encode())
        return replace(log_pass.finish(), lines=lines)


def find_file(text: str) -> Path | None:
    """Return the path if the text names an existing file, or None."""
    name = text.strip()
    if not name or "\n" in name or len(name) > 4096 or "\0" in name:
        return None
    try:
        path = locations.expand_path(name)
        return path if path.is_file() else None
    except (OSError, RuntimeError):  # the name is too long, or `~name` has no home directory
        return None


def is_log_path(text: str) -> bool:
    """Return whether what was typed is the path of a log, or looks like a mistyped one."""
    return bool(find_file(text)) or _is_like_a_path(text.strip())


def _is_like_a_path(word: str) -> bool:
    """Return whether a word has a slash or a log's extension, allowing for a typing mistake."""
    if _PATH.fullmatch(word):
        return True
    ending = found["ending"] if (found := _NAME.fullmatch(word)) else ""
    return bool(phrases.near_matches(ending, _ENDINGS))


def read_failure(text: str) -> FailedRun:
    """Return the failure described by typed text, or by the log file that the text names.

    Raises:
        Problem: The text names a file that does not exist or cannot be read.
    """
    name = text.strip()
    path = find_file(name)
    if path is None and not _is_like_a_path(name):
        return FailedRun(PASTED, "your error", text)
    path, shown = path or locations.expand_path(name), escape_text(cut_text(name, MOST_SHOWN))
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe, which may never end
        raise Problem(f"`{shown}` is no file")
    try:
        path.open("rb").close()
    except OSError as error:
        near = find_nearest_file(path) if isinstance(error, FileNotFoundError) else None
        hint = f"Did you mean `{escape_text(str(near))}`?" if near else None
        raise Problem(f"`{shown}` cannot be read: {error.strerror}", hint=hint) from error
    return FailedRun(LOG, escape_text(cut_text(path.name, MOST_SHOWN)), file=path)


def make_check_failure(result: Result, platform: object) -> FailedRun:
    """Return a check's failure."""
    wrong = [one for one in result.findings if one["verdict"] in ("warn", "fail")]
    end_lines = [results_text.finding_line(one) for one in wrong]
    if result.status != "fail" and not (result.detail and result.detail in result.log):
        end_lines.insert(0, results_text.summarize_result(result))
    return FailedRun(
        CHECK,
        result.id,
        result.log,
        end_lines=tuple(end_lines),
        lesson=result.lesson,
        advice=tuple(add_restart_hint(read_hint(one)) for one in wrong if one["hint"]),
        is_crash=result.reason == "crashed",
        context=_format_context(result.framework, platform),
    )


def make_block_failure(
    name: str, result: BlockResult, lesson: Lesson, session: LessonSession | None
) -> FailedRun:
    """Return a block's failure; `name` is the block's displayed name."""
    from tpustarter.explain import lesson_failures

    reason = (result.reason or "").replace("-", " ")
    ended = f"{reason}: {result.detail}" if reason else result.detail
    is_in_output = bool(result.detail) and result.detail in result.output  # the end of a traceback
    context = _format_context(lesson.framework, session and session.target.get("platform"))
    end_lines = () if is_in_output else (ended,)
    is_crash = result.reason == "crashed"
    return FailedRun(
        BLOCK,
        name,
        result.output,
        end_lines=end_lines,
        is_crash=is_crash,
        context=context,
        lesson=lesson.id,
        is_in_lesson=lesson_failures.has_section(lesson),
    )


def make_answer_failure(
    result: BlockResult, lesson: Lesson, session: LessonSession | None
) -> FailedRun:
    """Return the failure of an answer to an exercise."""
    shown = make_block_failure("your answer", result, lesson, session)
    return replace(shown, kind=ANSWER, is_in_lesson=False)


def make_step_failure(name: str, ended: StepEnded) -> FailedRun:
    """Return a set-up step's failure."""
    log = "\n".join(ended.tail)
    file = ended.log if ended.log.is_file() else None
    return FailedRun(STEP, name, log, file, tuple(ended.step.note.splitlines()), is_crash=True)


def make_program_failure(name: str, said: str, ended: str = "") -> FailedRun:
    """Return the failure of a program that could not be compiled for a TPU.

    Args:
        name: The program's name.
        said: The program's output or the compiler's message.
        ended: How the run ended; left out if the output contains it.
    """
    end_lines = (ended,) if ended and ended not in said else ()
    return FailedRun(
        PROGRAM, name, said, end_lines=end_lines, context=_format_context("jax", "tpu")
    )


def _format_context(*names: object) -> str:
    return " ".join(f"[{name}]" for name in names if name)
