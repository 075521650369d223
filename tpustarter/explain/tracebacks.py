"""The tracebacks in a log: their frames and errors, as Python, IPython and Rich print them.

Launchers and loggers put a prefix before each line, such as `(EngineCore pid=7) ERROR 06-02
12:00:00 [core.py:330] `. It is removed, and other processes' lines in between are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

TRACEBACK = "Traceback (most recent call last"
"""The first line of a traceback, without its end, because a log may be cut within it."""
_HIDDEN_BY_JAX = "JAX has removed its internal frames"
_NAMES = r"(?:[A-Za-z_]\w*\.)"
_RAISED = re.compile(rf"(?P<name>{_NAMES}*[A-Z]\w*)(?:: .*|:?$)|{_NAMES}+\w*error(?:: .*|$)")
"""A traceback's last line: the exception's name and message."""
_LEVEL = re.compile(
    r"^(?:\([^()\n]{0,80}\bpid=\d+[^()\n]{0,40}\)\s?)?"
    r"(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\s\d\d-\d\d\s\d\d:\d\d:\d\d\s\[?[\w./]{1,80}:\d+\]\s?)?"
)
"""The prefix of a line printed by vLLM: process, level, time and file."""
_DIGITS = re.compile(r"\d+")
_TOLD_BEFORE = re.compile(r"Exception in device=\w+:\d+: (?P<error>\S.*)")
"""The line in which torch_xla's launcher prints an error, before its traceback."""
_CODE = re.compile(r"\s|$|[│|╭╰]|-+>|\d+ ")
"""Beginning of a line below a frame that is not an error: code, or the border of a box."""

_PYTHON_FRAME = re.compile(
    r'^ *File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:,? in (?P<name>\S+))?'
)
_IPYTHON_FRAME = re.compile(
    r"^(?:(?:File |\[)?(?P<file>[~/.][^\s\]]*?|<[^>\n]*>)(?::(?P<line>\d+))?"
    r"(?:\]\(https?://[^)\s]*\))?,? in (?P<name>[\w.<>]+)"
    r"|(?P<cell>(?:Cell |Input )?In ?\[\d+\])(?:, line (?P<cell_line>\d+)|,? in ).*)"
)
_CRASH = re.compile(
    r"^(?:Current thread|Stack)\b[^\n]* ?\(most recent call first\):\n( +File \"[^\n]*)",
    re.MULTILINE,
)
"""The innermost frame of the thread that received a signal; other threads are printed above it."""
_RICH_FRAME = re.compile(r"^[│|] (?P<file>\S+\.py):(?P<line>\d+) in (?P<name>\S+)\s+[│|]$")
_ARROW = re.compile(r"^(?:-+> ?|[│|] +❱ +)(?P<line>\d+) (?:[│|])?(?P<code>.*?)(?:[│|])?$")


@dataclass(frozen=True)
class TracebackFrame:
    """A call in a traceback."""

    file: str
    line: int
    """0 if the traceback lacks it."""
    name: str = ""
    """The function; empty if the traceback lacks it."""
    code: str = ""

    @property
    def place(self) -> str:
        """Return the file name and line, such as `train.py, line 3`."""
        name = self.file if self.file.startswith("<") else PurePosixPath(self.file).name
        return f"{name}, line {self.line}" if self.line else name

    @property
    def text(self) -> str:
        """Return the location and the code, such as `train.py, line 3: step(x)`."""
        return ": ".join(filter(None, (self.place, self.code)))


@dataclass(frozen=True)
class Traceback:
    """A traceback and its error."""

    frames: tuple[TracebackFrame, ...]
    """Outermost call first."""
    error: str
    """The line with the exception; empty if the log ends before it."""
    line: int
    """The number of that line in the log, counted from 1."""
    hides_jax: bool = False
    """True if JAX removed its own frames; the last frame then did not raise the error."""
    is_cut: bool = False
    """True if the log ends before the error."""


def read_tracebacks(end_of_log: str, lines: int) -> list[Traceback]:
    """Return a log's tracebacks, with chained tracebacks as separate ones.

    The lines above the first traceback may belong to one whose first line is cut off.

    Args:
        end_of_log: The log's last lines.
        lines: Number of lines in the whole log.
    """
    last_lines = end_of_log.split("\n")
    before = lines - len(last_lines) + (not last_lines[-1])
    begins = [number for number, line in enumerate(last_lines) if TRACEBACK in line]
    found: list[Traceback] = []
    cut = read_bare_frames("\n".join(last_lines[: begins[0]])) if begins else None
    if cut and cut.frames and is_exception_line(cut.error):
        found.append(replace(cut, line=before + cut.line))
    for begin in begins:
        body = list(_body(last_lines, begin))
        end = next((at for at, (_, line) in enumerate(body) if can_end_traceback(line)), len(body))
        error, number = (body[end][1].strip(), body[end][0]) if end < len(body) else ("", begin)
        if not error and begin and (told := _TOLD_BEFORE.match(last_lines[begin - 1])):
            found.append(Traceback((), told["error"], before + begin))
            continue
        after = " ".join(line for _, line in body[end + 1 : end + 4])
        found.append(
            Traceback(
                tuple(read_frames([line for _, line in body[:end]])),
                error,
                before + number + 1,
                _HIDDEN_BY_JAX in after,
                end == len(body) and _is_cut([line for _, line in body]),
            )
        )
    return found


def _body(lines: Sequence[str], begin: int) -> Iterator[tuple[int, str]]:
    """Yield the lines below a traceback's first line, without a launcher's prefix."""
    prefix = _prefix_of(lines, begin)
    for number in range(begin + 1, len(lines)):
        line = lines[number]
        if prefix is not None:
            if not (match := prefix.match(line)):
                continue
            line = line[match.end() :]
        if TRACEBACK in line:
            return
        yield number, line


def _prefix_of(lines: Sequence[str], begin: int) -> re.Pattern[str] | None:
    """Return a pattern for the prefix of a traceback's lines, or None if they have none."""
    text = lines[begin][: lines[begin].index(TRACEBACK)].rstrip()
    if not text:
        return None
    pattern = re.compile(r"\d+".join(map(re.escape, _DIGITS.split(text))) + " ?")
    return pattern if any(map(pattern.match, lines[begin + 1 : begin + 6])) else None


def read_frames(lines: Sequence[str]) -> Iterator[TracebackFrame]:
    """Yield the frames in a traceback's lines, outermost call first."""
    patterns = (_PYTHON_FRAME, _IPYTHON_FRAME, _RICH_FRAME)
    current: re.Match[str] | None = None
    code, line_number = "", 0
    for line in lines:
        match = next((found for one in patterns if (found := one.match(line))), None)
        if match:
            if current:
                yield _frame(current, code, line_number)
            current, code, line_number = match, "", 0
        elif current and (arrow := _ARROW.match(line)):
            code, line_number = arrow["code"].strip(), int(arrow["line"])
        elif current and current.re is _PYTHON_FRAME and not code and line.startswith("  "):
            code = line.strip()
    if current:
        yield _frame(current, code, line_number)


def _frame(match: re.Match[str], code: str, line: int) -> TracebackFrame:
    groups = match.groupdict()
    number = line or int(groups["line"] or groups.get("cell_line") or 0)
    return TracebackFrame(groups["file"] or groups["cell"], number, groups["name"] or "", code)


def _is_cut(lines: Sequence[str]) -> bool:
    """Return whether the lines contain only frames and their code."""
    return all(_CODE.match(line) or _is_frame(line) for line in lines)


def _is_frame(line: str) -> bool:
    return any(one.match(line) for one in (_PYTHON_FRAME, _IPYTHON_FRAME, _RICH_FRAME))


def read_bare_frames(end_of_log: str) -> Traceback:
    """Return the frames in a log that lack a traceback's first line, as in a syntax error."""
    lines = [strip_log_prefix(line) for line in end_of_log.split("\n")]
    last = max((at for at, line in enumerate(lines) if _is_frame(line)), default=len(lines))
    end = next((at for at in range(last, len(lines)) if can_end_traceback(lines[at])), len(lines))
    error = lines[end].strip() if end < len(lines) else ""
    is_cut = last < len(lines) and not error and _is_cut(lines[last:])
    number = min(end + 1, len(lines))
    return Traceback(tuple(read_frames(lines)), error, number, is_cut=is_cut)


def read_crash(end_of_log: str) -> TracebackFrame | None:
    """Return the innermost frame that faulthandler prints in a crash, or None if there is none."""
    match = _CRASH.search(end_of_log)
    return next(iter(read_frames([match[1]])), None) if match else None


def can_end_traceback(line: str) -> bool:
    """Return whether a line can end a traceback, whatever its exception is called.

    Other lines have this form too, so it is significant only below a frame.
    """
    return bool(_RAISED.match(line))


def is_exception_line(line: str) -> bool:
    """Return whether a line begins with an exception's name."""
    match = _RAISED.match(line)
    return bool(match and (match["name"] or "").endswith(("Error", "Exception")))


def strip_quotation(text: str) -> str:
    """Strip the quotation mark `> ` from a quoted log, if most of its lines begin with one."""
    lines = text.split("\n")
    quoted = sum(line.startswith(("> ", ">\t")) or line == ">" for line in lines)
    if quoted * 5 < 4 * sum(bool(line.strip()) for line in lines) or not quoted:
        return text
    return "\n".join(line[1:].removeprefix(" ") if line[:1] == ">" else line for line in lines)


def strip_log_prefix(line: str) -> str:
    """Strip the prefix that vLLM prints before a line: process, level, time and file."""
    return line[_LEVEL.match(line).end() :]  # type: ignore[union-attr]
