"""The commands of a lesson: whole where they stand alone, and by the program's name in a sentence.

What starts the program here may be long, as `python3 -m uv run tpustarter` is, and a sentence with
it is hard to read. So it is said once how such a command is typed; lists of commands, such as help,
name them short as well, for there it would hide the word in which they differ.
"""

from __future__ import annotations

import re

from tpustarter.invocation import NAME, as_typed, command

TYPED = "To run such a command here, type `{}` in place of `{}`."
"""Said below the first sentence of a lesson that has a command."""
IN_SHELL = "In a shell, type `{}` in place of `{}`."
"""Said once above a list of keys or actions, whose commands are short."""
_FENCE = re.compile(r"^ *```.*?^ *```\s*$", re.MULTILINE | re.DOTALL)
_IN_SENTENCE = re.compile(rf"`{NAME}\s[^`]+`")
_GOES_ON = re.compile(r"[ *>|-]|\d+\. ")
"""Begins a line that belongs to what stands above it, such as a list, also after an empty one."""


def with_whole_commands(text: str) -> str:
    """Return Markdown whose commands work here where they stand alone, in a fence."""
    return _FENCE.sub(lambda fence: as_typed(fence[0]), text)


def in_shell() -> str:
    """Return how the commands of a list are typed; nothing where the name alone starts them."""
    return "" if command() == NAME else IN_SHELL.format(command(), NAME)


def says_how(text: str) -> tuple[str, str, str] | None:
    """Return some Markdown down to the first sentence with a command, how one is typed, the rest.

    None where no sentence has one, and where the program's name alone starts it.
    """
    without_fences = _FENCE.sub(lambda fence: " " * len(fence[0]), text)
    found = _IN_SENTENCE.search(without_fences)
    if found is None or command() == NAME:
        return None
    end = text.find("\n\n", found.end())
    while end >= 0 and _GOES_ON.match(text[end:].lstrip("\n")):
        end = text.find("\n\n", end + 2)
    end = end if end >= 0 else len(text)
    return text[:end], TYPED.format(command(), NAME), text[end:].strip("\n")
