"""The part of another process's command line that may be shown: its program and script.

Arguments are private, because they contain passwords, keys, buckets and project names.
"""

from __future__ import annotations

import re

from tpustarter.machine.machine import clean_text

_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_SHELL = re.compile(r"-?(ba|da|k|z)?sh")


def shorten_command_line(data: str) -> str:
    """Return the program and script named by the text of a `/proc/PID/cmdline`."""
    words = data.rstrip("\0").split("\0")
    if len(words) == 1:
        words = words[0].split()  # a title that the process set for itself
    if not words:
        return ""
    program = _file_name(words[0])
    script = None
    if _PYTHON.fullmatch(program):
        script = _python_script(words[1:])
    elif _SHELL.fullmatch(program):
        script = _shell_script(words[1:])
    return clean_text(" ".join(filter(None, (program, script))))


def _python_script(words: list[str]) -> str | None:
    # Source: docs.python.org/3/using/cmdline.html, Interface options (read 2026-11).
    remaining = iter(words)
    for word in remaining:
        if word == "--check-hash-based-pycs":
            next(remaining, None)
        elif word == "-" or not word.startswith("-"):
            return _file_name(word)
        elif not word.startswith("--"):
            option = re.search(r"[cmWX]", word)
            if not option:
                continue
            value = word[option.end() :]
            if option[0] == "c":
                return "-c"
            value = value or next(remaining, "")
            if option[0] == "m":
                return f"-m {value}"
    return None


def _shell_script(words: list[str]) -> str | None:
    for word in words:
        if re.fullmatch(r"-\w*c\w*", word):
            return "-c"
        if not word.startswith(("-", "+")):
            return _file_name(word)
    return None


def _file_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
