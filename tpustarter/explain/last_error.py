"""The error at the end of a log: its line, and the framework that the log names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tpustarter.core.redact import drop_incomplete_line
from tpustarter.explain.tracebacks import TRACEBACK, can_end_traceback, strip_log_prefix
from tpustarter.machine import frameworks

_ERROR = re.compile(
    r"(?:Error|Exception|Interrupt|\b(?:FATAL|Fatal|[EF]\d{4} \d\d|[Ee]rror|ERROR|"
    r"[Ff]ailed\w*|FAILED|[Aa]borted|Killed|SIG(?:SEGV|ABRT|BUS|ILL|FPE)|[Ss]egmentation fault))\b|"
    r"\b(?:INVALID_ARGUMENT|FAILED_PRECONDITION|RESOURCE_EXHAUSTED|UNIMPLEMENTED|INTERNAL|NOT_FOUND|"
    r"UNAVAILABLE|PERMISSION_DENIED|UNAUTHENTICATED|DEADLINE_EXCEEDED|ABORTED|OUT_OF_RANGE|DATA_LOSS|"
    r"ALREADY_EXISTS|CANCELLED|UNKNOWN): "
)
"""Words of an error, glog's severity letter, and the status codes of absl and gRPC."""
_FATAL = re.compile(r"LLVM ERROR: |(?:.*: )?[A-Za-z ]{5,30}\(core dumped\)")
"""Beginning of a line that tells of a crash: LLVM's own, or the shell's."""
_ADDRESS = re.compile(r"https?://\S+")
_NO_ERROR = re.compile(
    r"\s*(?:-+> *)?\d+(?:\s|$)|"
    r"(?:\d{4}-\d\d-\d\d [\d:.]+: )?[WI](?:\d{4})? (?=\S+\.(?:cc|cpp)|\S+/\S)|"
    r"\W*(?:see|hint|help|note|tip|usage|for (?:more|help|details)|please (?:see|check|refer))\b",
    re.IGNORECASE,
)
"""Beginning of a line of code with IPython's number, of a warning, or of advice."""
_OPENS = re.compile(r"[{\[]\s*$")
"""End of a line that opens a JSON object."""
_MESSAGE = re.compile(r"\s*\W?message\W?: *\W?(?P<text>\S.*?)\W*$")
_RICH_ERROR = re.compile(r"\[[\d:/ ]+\] (?:ERROR|CRITICAL)\s")
"""Beginning of an error logged by Rich, which wraps it to a narrow column."""
_QUALIFIED = re.compile(r"(?:[a-z_]\w*\.)+[A-Z]\w*: ")
"""An exception with its module, such as `torch._dynamo.exc.InvalidBackend: `."""
_PACKAGE = re.compile(
    r"\b(jax|torch|tensorflow(?!/(?:c(?:c|ore|ompiler)?/|stream_executor|tsl)))(?:lib|_xla)?[./]"
)
"""A framework's package name, in a path or before a dot. TensorFlow's C++ files do not count,
because every framework contains them."""
_LIBRARY = {"torch": "torch_xla"}
"""The library that runs a package on a TPU, for packages that do not do so themselves."""
_LOG_WORDS = {
    name: re.compile(one.log_words) for name, one in frameworks.FRAMEWORKS.items() if one.log_words
}
_LONGEST = 4_000
"""Characters of a line that are searched, because patterns with `.*` are slow on longer ones."""


def find_framework(end_of_log: str) -> str:
    """Return the framework that a log names, or "": torch_xla if it is among them, or the last."""
    if _LOG_WORDS["torch_xla"].search(end_of_log):  # its builds print paths of the others too
        return "torch_xla"
    if names := _PACKAGE.findall(end_of_log):
        package = str(names[-1])
        return _LIBRARY.get(package, package)
    return next((name for name, sign in _LOG_WORDS.items() if sign.search(end_of_log)), "")


def tells_of_crash(line: str) -> bool:
    """Return whether a line says that a process crashed."""
    return bool(_FATAL.match(line))


def find_last_error(end_of_log: str) -> str:
    """Return the last line that looks like an error, or "" if none does."""
    lines = [strip_log_prefix(line) for line in end_of_log.split("\n")]
    for at in range(len(lines) - 1, -1, -1):
        line, before = lines[at], lines[at - 1] if at else ""
        match = _ERROR.search(_ADDRESS.sub(lambda found: " " * len(found[0]), line))
        is_error = match or _QUALIFIED.match(line)
        if TRACEBACK in line:
            continue
        if is_error and not _NO_ERROR.match(line):
            line = _whole_error(lines, at)
        elif not (before.startswith("  ") and can_end_traceback(line)):
            continue
        if line:
            # Skip a progress bar drawn before it on the same line.
            begin = match.start() if match else 0
            start = max(0, begin - _LONGEST // 2) if len(line) > _LONGEST else 0
            part = drop_incomplete_line(line[start:]) if start else line
            return " ".join(part[:_LONGEST].split())
    return ""


def _whole_error(lines: Sequence[str], at: int) -> str:
    """Return the error that begins in a line, or "" if it opens an object without a message."""
    line, below = lines[at], lines[at + 1 : at + 7]
    if _OPENS.search(line):
        return next((found["text"] for one in below if (found := _MESSAGE.match(one))), "")
    if _RICH_ERROR.match(line):
        end = next((n for n, one in enumerate(below) if TRACEBACK in one), len(below))
        return " ".join([line, *(one for one in below[:end] if one.startswith("  "))])
    return line
