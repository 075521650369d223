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
_SEPARATOR = re.compile(r"[|&;()<>]+")
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
        commands = [_parse_entry(cast("Mapping[str, Any]", entry)) for entry in entries]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Problem(f"cannot read the commands in `{file}`: {error!r}") from error
    return sorted(commands, key=lambda command: -len(command.words))


def _parse_entry(fields: Mapping[str, Any]) -> Documented:
    allowed = {"command", "flags", "changes", "source"}
    if set(fields) - allowed or not str(fields["source"]).startswith("https://"):
        raise ValueError(f"`{fields['command']}` needs a public source, and only {sorted(allowed)}")
    flags = frozenset(str(flag) for flag in fields.get("flags") or ())
    words = tuple(str(fields["command"]).split())
    return Documented(words, flags, str(fields["changes"]), str(fields["source"]))


def complaints(lesson: Lesson, documented: Sequence[Documented]) -> Iterator[tuple[int, str]]:
    """Yield the commands of a lesson that no entry covers, each with its line."""
    for token in tokens("\n".join(source_lines(lesson))):
        if token.type != "fence" or token.info.split()[:1] != ["sh"]:
            continue
        for number, line in _command_lines(token.content):
            file_line = lesson.first_line + cast("tuple[int, int]", token.map)[0] + 1 + number
            try:
                commands = list(_split_commands(line))
            except ValueError as error:
                yield file_line, f"a shell could not read this command: {error}"
                continue
            for words in commands:
                if complaint := _find_complaint(words, documented):
                    yield file_line, complaint


def _command_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield commands with the number of their first line; one may go on after a backslash."""
    command, first_line = "", 0
    for number, line in enumerate(text.split("\n")):
        first_line = first_line if command else number
        command += line.removesuffix("\\") + " "
        if not line.endswith("\\"):
            yield first_line, command.strip()
            command = ""


def _split_commands(line: str) -> Iterator[list[str]]:
    """Yield the simple commands of a line, without what sets variables for them."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    words: list[str] = []
    for word in [*reader, ";"]:
        if not _SEPARATOR.fullmatch(word):
            words.append(word)
            continue
        while words and (_ASSIGNMENT.match(words[0]) or words[0] == "sudo"):
            words.pop(0)
        if words and word[0] not in "<>":
            yield words
            words = []


def _find_complaint(words: list[str], documented: Sequence[Documented]) -> str | None:
    """Return what is wrong with a command, or None."""
    program = words[0].rpartition("/")[2]
    if program in SHELL or program == "tpustarter":
        return None
    own_words = words[: words.index("--")] if "--" in words else words  # what follows is another's
    names = [program, *(word for word in own_words[1:] if not word.startswith("-"))]
    entry = next(
        (command for command in documented if tuple(names[: len(command.words)]) == command.words),
        None,
    )
    if entry is None:
        return f"`{' '.join(names[:4])}` is not in commands.yml"
    for word in own_words[1:]:
        match = _FLAG.match(word)
        if match and match[0] not in entry.flags:
            return f"`{' '.join(entry.words)}` has no flag `{match[0]}` in commands.yml"
    return None
