"""What is there of a failure to explain: what was written, how it ended, where it ran."""

from __future__ import annotations

import io
import re
import signal
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpustarter.checking import text
from tpustarter.checking.results import Result
from tpustarter.problem import Problem
from tpustarter.short_ids import near_file
from tpustarter.terminal import cut, visible
from tpustarter.tui.plain import Tail
from tpustarter.tui.variables import in_app

if TYPE_CHECKING:
    from tpustarter.content import Lesson
    from tpustarter.explain.scanning import Scan
    from tpustarter.learning.block_results import BlockResult
    from tpustarter.learning.lesson_process import LessonSession
    from tpustarter.setup.run import StepEnded

_SIGNAL = re.compile(rf"\b({'|'.join(one.name for one in signal.Signals)})\b")
KEPT = 1 << 16
"""Bytes at the end of a log that are read to be shown."""
BLOCK, ANSWER, CHECK, STEP, PROGRAM = "block", "answer", "check", "step", "program"
PASTED, LOG = "text", "log"
OWN = {PASTED: "The end of what you pasted", LOG: "The end of the log"}
"""What comes from a program of the learner's own, and what its last lines are called."""

MOST_SHOWN = 60
"""Characters of a path that are repeated."""
_PATH = re.compile(r"[^\s:]*/[^\s:]*")
"""One word that is rather a path than an error."""
_NAME = re.compile(r"[^\s:]+\.(?P<ending>[^\s:.]{2,5})")
_ENDINGS = ("log", "txt", "out", "err")
_NEAR = 0.8
"""How alike the ending of a log and a slip of it are; `error` and `log10` are less so."""


@dataclass(frozen=True)
class Failed:
    """One check, block, answer or step that failed, or a program of the learner's own."""

    kind: str
    """What it is: a block, an answer to an exercise, a check, a step, a program that was rehearsed,
    a pasted text or a log."""
    name: str
    log: str = ""
    """What it wrote, as far as that was kept."""
    file: Path | None = None
    """Where all of it is; null where the log holds all there is."""
    ended: tuple[str, ...] = ()
    """How it ended, in lines."""
    advice: tuple[str, ...] = ()
    """What it says itself is to be done: the hints of a check's findings."""
    lesson: str = ""
    """The lesson that explains it, or in which it happened; empty where none is named."""
    is_in_lesson: bool = False
    """Whether that lesson is the one that is open, and has a section on what can go wrong."""
    is_crash: bool = False
    """Whether it says of a process how that ended."""
    words: str = ""
    """The framework and the platform, which a log often leaves out."""

    @property
    def code(self) -> int:
        """Its exit code, as a shell tells it; 0 where none is told."""
        found = _SIGNAL.search("\n".join(self.ended)) if self.is_crash else None
        return 128 + signal.Signals[found[1]] if found else 0

    def last_words(self) -> str:
        """Return the end of what it wrote, as plain text.

        Raises:
            OSError: its file is gone.
        """
        tail = Tail()
        if self.file:
            with self.file.open("rb") as stream:
                stream.seek(max(0, self.file.stat().st_size - KEPT))
                tail.add(stream.read().decode("utf-8", "replace"))
        else:
            tail.add(self.log)
        return tail.text

    def scan(self) -> Scan:
        """Return what all of that shows; lines behind the log's own tell how it ended.

        Raises:
            OSError: its file is gone.
        """
        from tpustarter.explain import known, scanning

        begun = scanning.Scanner(known.read()).begin()
        lines = 0
        with self.file.open("rb") if self.file else io.BytesIO(self.log.encode()) as stream:
            last = b""
            while chunk := stream.read(1 << 16):
                begun.take(chunk)
                lines, last = lines + chunk.count(b"\n"), chunk
        if last and not last.endswith(b"\n"):
            begun.take(b"\n")
            lines += 1
        behind = "\n".join((*self.ended, *self.advice, self.words))
        begun.take(f"{behind}\n".encode())
        return replace(begun.end(), lines=lines)


def named_file(text: str) -> Path | None:
    """Return the file that a text is the path of; null for any other text."""
    name = text.strip()
    if not name or "\n" in name or len(name) > 4096 or "\0" in name:
        return None
    try:
        path = Path(name).expanduser()
        return path if path.is_file() else None
    except (OSError, RuntimeError):  # a name that is too long, or a home that nobody has
        return None


def names_a_log(text: str) -> bool:
    """Return whether a text is the path of a log, or looks like one that was mistyped."""
    return bool(named_file(text)) or _is_like_a_path(text.strip())


def _is_like_a_path(word: str) -> bool:
    """Return whether a word has a slash, or ends as a log does, but for a slip."""
    if _PATH.fullmatch(word):
        return True
    ending = found["ending"] if (found := _NAME.fullmatch(word)) else ""
    swapped = any(sorted(ending) == sorted(one) for one in _ENDINGS)
    return swapped or bool(get_close_matches(ending, _ENDINGS, n=1, cutoff=_NEAR))


def of_text(text: str) -> Failed:
    """Return what there is to explain of what was pasted or typed.

    Raises:
        Problem: it names a file that is not there, or cannot be read.
    """
    name = text.strip()
    path = named_file(name)
    if path is None and not _is_like_a_path(name):
        return Failed(PASTED, "your error", text)
    path, shown = path or Path(name).expanduser(), visible(cut(name, MOST_SHOWN))
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe, which may never end
        raise Problem(f"`{shown}` is no file")
    try:
        path.open("rb").close()
    except OSError as error:
        near = near_file(path) if isinstance(error, FileNotFoundError) else None
        hint = f"Did you mean `{visible(str(near))}`?" if near else None
        raise Problem(f"`{shown}` cannot be read: {error.strerror}", hint=hint) from error
    return Failed(LOG, visible(cut(path.name, MOST_SHOWN)), file=path)


def check(result: Result, platform: object) -> Failed:
    """Return what there is of a check that failed."""
    wrong = [one for one in result.findings if one["verdict"] in ("warn", "fail")]
    ended = [text.finding_line(one) for one in wrong]
    if result.status != "fail" and not (result.detail and result.detail in result.log):
        ended.insert(0, text.summary(result))
    return Failed(
        CHECK, result.id, result.log, ended=tuple(ended), lesson=result.lesson,
        advice=tuple(in_app(str(one["hint"])) for one in wrong if one["hint"]),
        is_crash=result.reason == "crashed",
        words=_words(result.framework, platform),
    )  # fmt: skip


def block(name: str, result: BlockResult, lesson: Lesson, session: LessonSession | None) -> Failed:
    """Return what there is of a block that failed, by what its reader knows it by."""
    from tpustarter.explain import taught

    reason = (result.reason or "").replace("-", " ")
    ended = f"{reason}: {result.detail}" if reason else result.detail
    is_said = bool(result.detail) and result.detail in result.output  # the end of a traceback
    words = _words(lesson.framework, session and session.target["platform"])
    told = () if is_said else (ended,)
    is_crash = result.reason == "crashed"
    return Failed(
        BLOCK, name, result.output, ended=told, is_crash=is_crash, words=words,
        lesson=lesson.id, is_in_lesson=taught.has_section(lesson),
    )  # fmt: skip


def answer(result: BlockResult, lesson: Lesson, session: LessonSession | None) -> Failed:
    """Return what there is of an answer that broke, to an exercise of a lesson."""
    shown = block("your answer", result, lesson, session)
    return replace(shown, kind=ANSWER, is_in_lesson=False)


def step(name: str, ended: StepEnded) -> Failed:
    """Return what there is of a set-up step that failed."""
    log = "\n".join(ended.tail)
    file = ended.log if ended.log.is_file() else None
    return Failed(STEP, name, log, file, tuple(ended.step.note.splitlines()), is_crash=True)


def program(name: str, said: str, ended: str = "") -> Failed:
    """Return what there is of a program that could not be compiled for a TPU.

    Args:
        name: What it is called.
        said: What it wrote, or the compiler said of it.
        ended: How it ended, where that does not stand in what it wrote.
    """
    told = (ended,) if ended and ended not in said else ()
    return Failed(PROGRAM, name, said, ended=told, words=_words("jax", "tpu"))


def _words(*names: Any) -> str:
    return " ".join(f"[{name}]" for name in names if name)
