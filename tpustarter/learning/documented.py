"""Compares the commands that lessons show with their documented forms, `lessons/commands.yml`.

Nobody runs them while the lessons are tested: they need a project, and some cost money. A flag that
no document knows is found here. Nothing here runs anything.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tpustarter import content, locations
from tpustarter.content import Lesson
from tpustarter.learning.markdown import source_lines, tokens
from tpustarter.problem import Problem

SHELL = frozenset((
    "[", "alias", "awk", "bash", "cat", "cd", "chmod", "cp", "cut", "date", "df", "dmesg", "du",
    "echo", "env", "exit", "export", "false", "file", "find", "free", "fuser", "grep", "head",
    "hostname", "id", "if", "kill", "less", "ln", "ls", "lsof", "lspci", "man", "mkdir",
    "mount", "mv", "nano", "nohup", "nproc", "printf", "ps", "pwd", "python", "python3", "read",
    "rm", "sed", "set", "sh", "sleep", "sort", "source", "stat", "sync", "systemctl", "tail",
    "tee", "test", "then", "time", "timeout", "top", "touch", "tr", "true", "ulimit", "uname",
    "unset", "vim", "wait", "watch", "wc", "which", "while", "xargs", "do", "done", "fi", "for",
))  # fmt: skip
"""Words of every shell, and programs whose manual is on the machine: no document is needed."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_ENDS = re.compile(r"[|&;()<>]+")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")


@dataclass(frozen=True)
class Documented:
    """One form of a command, as its documentation has it."""

    words: tuple[str, ...]
    """Program and subcommands: `gcloud`, `compute`, `ssh`."""
    flags: frozenset[str]
    changes: str
    """What it changes, and what it costs; `nothing` for one that looks."""
    source: str


def read(folder: Path | None = None) -> list[Documented]:
    """Return the documented commands, longest first; raises Problem for a broken file."""
    file = (folder or locations.content("lessons")) / "commands.yml"
    try:
        entries: Any = content.read_yaml(locations.read_text(file)) or []
        made = [_entry(cast("Mapping[str, Any]", one)) for one in entries]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Problem(f"cannot read the commands in `{file}`: {error!r}") from error
    return sorted(made, key=lambda one: -len(one.words))


def _entry(fields: Mapping[str, Any]) -> Documented:
    known = {"command", "flags", "changes", "source"}
    if set(fields) - known or not str(fields["source"]).startswith("https://"):
        raise ValueError(f"`{fields['command']}` needs a public source, and only {sorted(known)}")
    flags = frozenset(str(one) for one in fields.get("flags") or ())
    words = tuple(str(fields["command"]).split())
    return Documented(words, flags, str(fields["changes"]), str(fields["source"]))


def complaints(lesson: Lesson, documented: Sequence[Documented]) -> Iterator[tuple[int, str]]:
    """Yield the commands of a lesson that no entry covers, each with its line."""
    for token in tokens("\n".join(source_lines(lesson))):
        if token.type != "fence" or token.info.split()[:1] != ["sh"]:
            continue
        for number, line in _lines(token.content):
            where = lesson.first_line + cast("tuple[int, int]", token.map)[0] + 1 + number
            try:
                commands = list(_commands(line))
            except ValueError as error:
                yield where, f"this is no command a shell could read: {error}"
                continue
            for words in commands:
                if wrong := _wrong(words, documented):
                    yield where, wrong


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield commands with the number of their first line; one may go on after a backslash."""
    begun, first = "", 0
    for number, line in enumerate(text.split("\n")):
        first = first if begun else number
        begun += line.removesuffix("\\") + " "
        if not line.endswith("\\"):
            yield first, begun.strip()
            begun = ""


def _commands(line: str) -> Iterator[list[str]]:
    """Yield the simple commands of a line, without what sets variables for them."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    words: list[str] = []
    for word in [*reader, ";"]:
        if not _ENDS.fullmatch(word):
            words.append(word)
            continue
        while words and (_ASSIGNMENT.match(words[0]) or words[0] == "sudo"):
            words.pop(0)
        if words and word[0] not in "<>":
            yield words
            words = []


def _wrong(words: list[str], documented: Sequence[Documented]) -> str | None:
    """Return what is wrong with a command, or None."""
    program = words[0].rpartition("/")[2]
    if program in SHELL or program == "tpustarter":
        return None
    own = words[: words.index("--")] if "--" in words else words  # what follows is another's
    names = [program, *(word for word in own[1:] if not word.startswith("-"))]
    entry = next((one for one in documented if tuple(names[: len(one.words)]) == one.words), None)
    if entry is None:
        return f"`{' '.join(names[:4])}` is not in commands.yml"
    for word in own[1:]:
        found = _FLAG.match(word)
        if found and found[0] not in entry.flags:
            return f"`{' '.join(entry.words)}` has no flag `{found[0]}` in commands.yml"
    return None
