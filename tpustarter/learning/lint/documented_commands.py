"""Compare the commands in lessons with their documented forms in `lessons/commands.yml`.

Tests do not run them, because they need a project and some cost money. This check finds
undocumented flags instead.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from tpustarter.core import content, locations, yaml_rows
from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.content.markdown import parse_tokens, source_lines, token_line_range

SHELL = frozenset(
    (
        "[",
        "alias",
        "awk",
        "bash",
        "cat",
        "cd",
        "chmod",
        "cp",
        "cut",
        "date",
        "df",
        "dmesg",
        "du",
        "echo",
        "env",
        "exit",
        "export",
        "false",
        "file",
        "find",
        "free",
        "fuser",
        "grep",
        "head",
        "hostname",
        "id",
        "if",
        "kill",
        "less",
        "ln",
        "ls",
        "lsof",
        "lspci",
        "man",
        "mkdir",
        "mount",
        "mv",
        "nano",
        "nohup",
        "nproc",
        "printf",
        "ps",
        "pwd",
        "python",
        "python3",
        "read",
        "rm",
        "sed",
        "set",
        "sh",
        "sleep",
        "sort",
        "source",
        "stat",
        "sync",
        "systemctl",
        "tail",
        "tee",
        "test",
        "then",
        "time",
        "timeout",
        "top",
        "touch",
        "tr",
        "true",
        "ulimit",
        "uname",
        "unset",
        "vim",
        "wait",
        "watch",
        "wc",
        "which",
        "while",
        "xargs",
        "do",
        "done",
        "fi",
        "for",
    )
)
"""Shell words, and programs documented on the machine itself, which need no entry."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SEPARATOR = re.compile(r"[|&;()<>]+")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")


@dataclass(frozen=True)
class DocumentedCommand:
    """The documented form of a command."""

    words: tuple[str, ...]
    """Program and subcommands: `gcloud`, `compute`, `ssh`."""
    flags: frozenset[str]
    changes: str
    """Its effects and costs; `nothing` if it only reads."""
    source: str


def read_documented_commands(folder: Path | None = None) -> list[DocumentedCommand]:
    """Read the documented commands, longest first.

    Raises:
        Problem: The file cannot be used.
    """
    file = (folder or locations.content_folder("lessons")) / "commands.yml"
    try:
        entries: object = content.read_yaml(locations.read_text(file)) or []
        commands = [_parse_entry(entry) for entry in msgspec.convert(entries, list[object])]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise Problem(f"cannot read the commands in `{file}`: {error!r}") from error
    return sorted(commands, key=lambda command: -len(command.words))


class _CommandEntry(msgspec.Struct, forbid_unknown_fields=True):
    command: str
    changes: str
    source: Annotated[str, msgspec.Meta(pattern="^https://")]
    flags: tuple[str, ...] = ()


def _parse_entry(row: object) -> DocumentedCommand:
    entry = yaml_rows.convert_value(row, _CommandEntry)
    words, flags = tuple(entry.command.split()), frozenset(entry.flags)
    return DocumentedCommand(words, flags, entry.changes, entry.source)


def find_undocumented_commands(
    lesson: Lesson, documented: Sequence[DocumentedCommand]
) -> Iterator[tuple[int, str]]:
    """Yield the line and a complaint for each command in a lesson that commands.yml lacks.

    Unlisted flags and lines that a shell could not parse are reported too.
    """
    for token in parse_tokens("\n".join(source_lines(lesson))):
        if token.type != "fence" or token.info.split()[:1] != ["sh"]:
            continue
        for number, line in _command_lines(token.content):
            file_line = lesson.first_line + token_line_range(token)[0] + 1 + number
            try:
                commands = list(_split_commands(line))
            except ValueError as error:
                yield file_line, f"a shell could not read this command: {error}"
                continue
            for words in commands:
                if complaint := _find_complaint(words, documented):
                    yield file_line, complaint


def _command_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield commands with the index of their first line; a backslash continues a line."""
    command, first_line = "", 0
    for number, line in enumerate(text.split("\n")):
        first_line = first_line if command else number
        command += line.removesuffix("\\") + " "
        if not line.endswith("\\"):
            yield first_line, command.strip()
            command = ""


def _split_commands(line: str) -> Iterator[list[str]]:
    """Yield the simple commands of a line, without variable assignments and `sudo`."""
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


def _find_complaint(words: list[str], documented: Sequence[DocumentedCommand]) -> str | None:
    program = words[0].rpartition("/")[2]
    if program in SHELL or program == "tpustarter":
        return None
    # The words after `--` belong to another program.
    own_words = words[: words.index("--")] if "--" in words else words
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
